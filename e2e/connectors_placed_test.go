package e2e

import "innerloop/coworker"

// placedDrives are of services whose credential stands in the address, in the
// body, or in a signature.
func placedDrives() map[string]drive {
	const trello = "api.trello.com/1"
	letters := func(method string) string { return "POST api.unisender.com/ru/api/" + method }
	bank := func(method string) string { return "POST securepay.tinkoff.ru/v2/" + method }
	return map[string]drive{
		"trello": {
			list:  on{"GET " + trello + "/boards/*/actions", rest("api", "GET", "/boards/b-1/actions").with("query", object{"limit": 2})},
			pages: 4, rows: 5, field: "place", first: 1,
			write: on{"PUT " + trello + "/cards/*", rest("api", "PUT", "/cards/c-1").with("body", object{"idList": "l-2", "pos": "top"})},
			undo:  on{"DELETE " + trello + "/cards/*", rest("api", "DELETE", "/cards/c-1")},
			fails: on{"GET " + trello + "/cards/*", rest("api", "GET", "/cards/c-404")},
			code:  "The requested resource was not found.", bare: true,
			busy: on{"GET " + trello + "/lists/*/cards", rest("api", "GET", "/lists/l-1/cards").with("query", object{"fields": "name"})},
			more: []further{
				// What a person may not see is 401 as well, and no reason to connect anew.
				{on: on{"GET " + trello + "/boards/*", rest("api", "GET", "/boards/b-2")}, want: coworker.UpstreamError, asked: 1, tells: "permission requested"},
			},
		},
		"unisender": {
			list:  on{letters("listMessages"), remote("api", "listMessages", object{"limit": 2})},
			pages: 3, rows: 5, at: "result", field: "id", first: 1,
			write: on{letters("createList"), remote("api", "createList", object{"title": "Customers"})},
			undo:  on{letters("deleteList"), remote("api", "deleteList", object{"list_id": 7})},
			fails: on{letters("getContact"), remote("api", "getContact", object{"email": "me@example.com"})},
			code:  "invalid_arg",
			busy:  on{letters("getCampaignStatus"), remote("api", "getCampaignStatus", object{"campaign_id": 1})},
			more: []further{
				// A failure is told by its words; a code is not always with them.
				{on: on{letters("getFields"), remote("api", "getFields", object{})}, want: coworker.UpstreamError, asked: 1, tells: "no confirmation letters"},
				{on: on{letters("getUserInfo"), remote("api", "getUserInfo", object{})}, want: coworker.UpstreamError, asked: 1, tells: `"upstream_code":"access_denied"`},
			},
		},
		"tbank_acquiring": {
			list:  on{bank("GetCardList"), remote("payments", "GetCardList", object{"CustomerKey": "client-1"})},
			pages: 1, rows: 3, field: "CardId", first: 1,
			write: on{bank("AddCustomer"), remote("payments", "AddCustomer", object{"CustomerKey": "client-1", "Email": "me@example.com"})},
			undo: on{bank("Init"), remote("payments", "Init", object{
				"Amount": 19200, "OrderId": "21090", "Description": "Подарочная карта на 1000 рублей",
				"Receipt": object{"Email": "me@example.com", "Taxation": "osn"},
			})},
			fails: on{bank("GetCustomer"), remote("payments", "GetCustomer", object{"CustomerKey": "client-404"})},
			code:  "503",
			busy:  on{bank("GetState"), remote("payments", "GetState", object{"PaymentId": "13660"})},
		},
	}
}
