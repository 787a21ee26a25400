package e2e

import (
	"innerloop/coworker"
)

// rest and remote are the two ways to call a service.
func rest(module, method, path string) args {
	return args{"module": module, "method": method, "path": path}
}

func remote(module, method string, body map[string]any) args {
	return args{"module": module, "method": method, "path": "", "body": body}
}

type object = map[string]any

// drives says what is done at each service.
func drives() map[string]drive {
	all := map[string]drive{}
	for _, part := range []map[string]drive{marketplaceDrives(), businessDrives(), tradeDrives(), yandexDrives(), messengerDrives(), globalDrives(), placedDrives(), trackerDrives(), sellerDrives()} {
		for id, d := range part {
			all[id] = d
		}
	}
	return all
}

func marketplaceDrives() map[string]drive {
	return map[string]drive{
		"wildberries": {
			list:  on{"POST content-api.wildberries.ru/content/v2/get/cards/list", rest("content", "POST", "/content/v2/get/cards/list").with("body", object{"settings": object{"cursor": object{"limit": 100}}})},
			pages: 3, rows: 250, at: "cards", field: "nmID", first: 1001,
			write: on{"POST discounts-prices-api.wildberries.ru/api/v2/upload/task", rest("prices", "POST", "/api/v2/upload/task").with("body", object{"data": []any{object{"nmID": 1, "price": 990}}})},
			undo:  on{"PATCH marketplace-api.wildberries.ru/api/v3/orders/*/cancel", rest("marketplace", "PATCH", "/api/v3/orders/12345/cancel")},
			fails: on{"GET statistics-api.wildberries.ru/api/v1/supplier/orders", rest("statistics", "GET", "/api/v1/supplier/orders")},
			code:  "dateFrom: field required", bare: true,
			busy: on{"GET marketplace-api.wildberries.ru/api/v3/orders/new", rest("marketplace", "GET", "/api/v3/orders/new")},
			more: []further{
				{on: on{"GET marketplace-api.wildberries.ru/api/v3/orders", rest("marketplace", "GET", "/api/v3/orders").with("query", object{"limit": 2, "next": 0}).with("max_pages", 5)}, asked: 3},
				{on: on{"GET discounts-prices-api.wildberries.ru/api/v2/list/goods/filter", rest("prices", "GET", "/api/v2/list/goods/filter").with("query", object{"limit": 3, "offset": 0}).with("max_pages", 5)}, asked: 4},
				// The date of the last change is where the next page begins.
				{on: on{"GET statistics-api.wildberries.ru/api/v1/supplier/sales", rest("statistics", "GET", "/api/v1/supplier/sales").with("query", object{"dateFrom": "2026-11-01"}).with("max_pages", 5)}, asked: 4, rows: 5},
			},
		},
		"ozon": {
			list:  on{"POST api-seller.ozon.ru/v3/product/list", rest("seller", "POST", "/v3/product/list").with("body", object{"filter": object{}, "limit": 2})},
			pages: 3, rows: 5, at: "result.items", field: "product_id", first: 1,
			write: on{"POST api-seller.ozon.ru/v1/product/import/prices", rest("seller", "POST", "/v1/product/import/prices").with("body", object{"prices": []any{object{"offer_id": "ART-1", "price": "990"}}})},
			undo:  on{"POST api-seller.ozon.ru/v2/posting/fbs/cancel", rest("seller", "POST", "/v2/posting/fbs/cancel").with("body", object{"posting_number": "1"})},
			fails: on{"POST api-seller.ozon.ru/v3/product/info/list", rest("seller", "POST", "/v3/product/info/list").with("body", object{"offer_id": []any{}})},
			code:  "3",
			busy:  on{"POST api-seller.ozon.ru/v4/product/info/stocks", rest("seller", "POST", "/v4/product/info/stocks").with("body", object{"limit": 100})},
		},
		"yandex_market": {
			list:  on{"POST api.partner.market.yandex.ru/businesses/*/offer-mappings", rest("partner", "POST", "/businesses/1/offer-mappings").with("query", object{"limit": 2}).with("body", object{})},
			pages: 3, rows: 5, at: "result.offerMappings", field: "mapping.marketSku", first: 1,
			write: on{"POST api.partner.market.yandex.ru/businesses/*/offer-prices/updates", rest("partner", "POST", "/businesses/1/offer-prices/updates").with("body", object{"offers": []any{object{"offerId": "ART-1"}}})},
			undo:  on{"PUT api.partner.market.yandex.ru/campaigns/*/orders/*/cancellation/accept", rest("partner", "PUT", "/campaigns/1/orders/2/cancellation/accept").with("body", object{"accepted": true})},
			fails: on{"GET api.partner.market.yandex.ru/campaigns/*/orders/*", rest("partner", "GET", "/campaigns/1/orders/999")},
			code:  "NOT_FOUND",
			busy:  on{"POST api.partner.market.yandex.ru/campaigns/*/offers/stocks", rest("partner", "POST", "/campaigns/1/offers/stocks").with("body", object{})},
		},
		"avito": {
			list:  on{"GET api.avito.ru/core/v1/items", rest("core", "GET", "/core/v1/items").with("query", object{"per_page": 2})},
			pages: 3, rows: 5, at: "resources", field: "id", first: 1,
			write: on{"POST api.avito.ru/core/v1/items/*/update_price", rest("core", "POST", "/core/v1/items/1/update_price").with("body", object{"price": 1000})},
			undo:  on{"POST api.avito.ru/messenger/v1/accounts/*/chats/*/messages", rest("messenger", "POST", "/messenger/v1/accounts/1/chats/u2i-1/messages").with("body", object{"type": "text", "message": object{"text": "Hello"}})},
			fails: on{"GET api.avito.ru/core/v1/accounts/*/items/*/", rest("core", "GET", "/core/v1/accounts/1/items/404/")},
			code:  "item is not found", bare: true,
			busy:   on{"GET api.avito.ru/ratings/v1/info", rest("ratings", "GET", "/ratings/v1/info")},
			counts: map[string]int{"POST api.avito.ru/token": 1}, // for the check and for all calls
			more: []further{
				{on: on{"GET api.avito.ru/order-management/1/orders", rest("orders", "GET", "/order-management/1/orders").with("query", object{"limit": 2}).with("max_pages", 5)}, asked: 3, rows: 5},
			},
		},
	}
}

func businessDrives() map[string]drive {
	bitrix := func(method string) string { return "POST acme.bitrix24.ru/" + method + ".json" }
	const key = "5e8f0f1c-0000-4000-8000-000000000001"
	return map[string]drive{
		"bitrix24": {
			list:  on{bitrix("crm.deal.list"), remote("webhook", "crm.deal.list", object{"select": []any{"ID"}})},
			pages: 3, rows: 120, at: "result", field: "ID", first: 1,
			write: on{bitrix("tasks.task.add"), remote("webhook", "tasks.task.add", object{"fields": object{"TITLE": "Call back"}})},
			undo:  on{bitrix("crm.deal.delete"), remote("webhook", "crm.deal.delete", object{"id": 1})},
			fails: on{bitrix("crm.contact.get"), remote("webhook", "crm.contact.get", object{"id": 404})},
			code:  "ERROR_NOT_FOUND",
			busy:  on{bitrix("crm.contact.list"), remote("webhook", "crm.contact.list", object{})},
			more: []further{
				// The method's running time is used up: a repeat would be useless.
				{on: on{bitrix("crm.item.list"), remote("webhook", "crm.item.list", object{"entityTypeId": 2})}, want: coworker.UpstreamError, asked: 1, tells: `"upstream_code":"OPERATION_TIME_LIMIT"`},
			},
		},
		"onec": {
			list:  on{"GET odata/standard.odata/Catalog_Номенклатура", remote("odata", "Catalog_Номенклатура.list", object{"$top": 2, "$inlinecount": "allpages"})},
			pages: 3, rows: 5, at: "value", field: "Code", first: 1,
			write: on{"PATCH odata/standard.odata/Catalog_Номенклатура(guid'" + key + "')", remote("odata", "Catalog_Номенклатура.update", object{"key": key, "Description": "Гвозди"})},
			undo:  on{"DELETE odata/standard.odata/Catalog_Номенклатура(guid'" + key + "')", remote("odata", "Catalog_Номенклатура.delete", object{"key": key})},
			fails: on{"GET odata/standard.odata/Catalog_Контрагенты(guid'" + key + "')", remote("odata", "Catalog_Контрагенты.get", object{"key": key})},
			code:  "9",
			busy:  on{"GET odata/standard.odata/AccumulationRegister_ТоварыНаСкладах/Balance()", rest("odata", "GET", "/AccumulationRegister_ТоварыНаСкладах/Balance()")},
		},
	}
}
