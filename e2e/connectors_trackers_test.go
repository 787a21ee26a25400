package e2e

import "innerloop/coworker"

func trackerDrives() map[string]drive {
	const linear, asana, clickup, zendesk = "POST api.linear.app/graphql/", "app.asana.com/api/1.0", "api.clickup.com/api/v2", "acme.zendesk.com/api/v2"
	graph := func(field, query string, variables object) on {
		body := object{"query": query}
		if variables != nil {
			body["variables"] = variables
		}
		return on{linear + field, rest("api", "POST", "/graphql").with("body", body)}
	}
	const issues = "query($first: Int, $after: String) { issues(first: $first, after: $after) { nodes { identifier } pageInfo { hasNextPage endCursor } } }"
	return map[string]drive{
		"linear": {
			list:  graph("issues", issues, object{"first": 2}),
			pages: 3, rows: 5, at: "data.issues.nodes", field: "place", first: 1,
			write: graph("issueUpdate", "mutation($id: String!, $input: IssueUpdateInput!) { issueUpdate(id: $id, input: $input) { success } }", object{"id": "ENG-1", "input": object{"priority": 1}}),
			undo:  graph("issueDelete", `mutation { issueDelete(id: "ENG-1") { success } }`, nil),
			fails: graph("issue", `query { issue(id: "ENG-404") { id } }`, nil),
			code:  "INPUT_ERROR",
			busy:  graph("teams", "query { teams { nodes { id } } }", nil),
			more: []further{
				// Nothing but a message tells this failure.
				{on: graph("users", "query { users { nodes { id } } }", nil), want: coworker.UpstreamError, asked: 1, tells: `"upstream_message":"Something unusual"`},
				{on: graph("projects", "query { projects { nodes { id } } }", nil), want: coworker.UpstreamError, asked: 1, tells: `"upstream_code":"FORBIDDEN"`},
			},
		},
		"asana": {
			list:  on{"GET " + asana + "/tasks", rest("api", "GET", "/tasks").with("query", object{"project": "1", "limit": 2})},
			pages: 3, rows: 5, at: "data", field: "place", first: 1,
			write: on{"PUT " + asana + "/tasks/*", rest("api", "PUT", "/tasks/1").with("body", object{"data": object{"completed": true}})},
			undo:  on{"DELETE " + asana + "/tasks/*", rest("api", "DELETE", "/tasks/1")},
			fails: on{"GET " + asana + "/tasks/*", rest("api", "GET", "/tasks/404")},
			code:  "Not a recognized ID", bare: true,
			busy: on{"GET " + asana + "/projects", rest("api", "GET", "/projects").with("query", object{"workspace": "1"})},
			more: []further{
				// The refusal brings the token to ask with.
				{on: on{"GET " + asana + "/events", rest("api", "GET", "/events").with("query", object{"resource": "1"})}, want: coworker.UpstreamError, asked: 1, tells: "sync-token-simulated"},
			},
		},
		"clickup": {
			list:  on{"GET " + clickup + "/list/*/task", rest("api", "GET", "/list/1/task")},
			pages: 3, rows: 250, at: "tasks", field: "place", first: 1,
			write: on{"PUT " + clickup + "/task/*", rest("api", "PUT", "/task/1").with("body", object{"status": "done"})},
			undo:  on{"DELETE " + clickup + "/task/*", rest("api", "DELETE", "/task/1")},
			fails: on{"GET " + clickup + "/task/*", rest("api", "GET", "/task/404")},
			code:  "ITEM_013",
			busy:  on{"GET " + clickup + "/team/*/space", rest("api", "GET", "/team/1/space")},
			more: []further{
				// A view's pages end with one that is empty.
				{on: on{"GET " + clickup + "/view/*/task", rest("api", "GET", "/view/1/task").with("max_pages", 5)}, asked: 3, rows: 60},
			},
		},
		"zendesk": {
			list:  on{"GET " + zendesk + "/tickets.json", rest("support", "GET", "/tickets.json").with("query", object{"page[size]": 2})},
			pages: 3, rows: 5, at: "tickets", field: "id", first: 1,
			write: on{"PUT " + zendesk + "/users/*", rest("support", "PUT", "/users/1.json").with("body", object{"user": object{"name": "Anna"}})},
			undo:  on{"POST " + zendesk + "/tickets.json", rest("support", "POST", "/tickets.json").with("body", object{"ticket": object{"subject": "Help"}})},
			fails: on{"GET " + zendesk + "/tickets/*", rest("support", "GET", "/tickets/404.json")},
			code:  "RecordNotFound",
			busy:  on{"GET " + zendesk + "/views.json", rest("support", "GET", "/views.json")},
			more: []further{
				{on: on{"GET " + zendesk + "/search.json", rest("support", "GET", "/search.json").with("query", object{"query": "type:ticket", "per_page": 2}).with("max_pages", 5)}, asked: 3, rows: 5},
				// The last page names a next one too; an empty one ends them.
				{on: on{"GET " + zendesk + "/incremental/tickets/cursor.json", rest("support", "GET", "/incremental/tickets/cursor.json").with("query", object{"start_time": 1796000000, "per_page": 3}).with("max_pages", 5)}, asked: 3, rows: 5},
			},
		},
	}
}

func sellerDrives() map[string]drive {
	const orders, offers = "POST api.megamarket.tech/api/market/v1/orderService", "POST api.megamarket.tech/api/merchantIntegration/v1/offerService"
	const performance, hh = "api-performance.ozon.ru/api/client", "api.hh.ru"
	body := func(data object) object { return object{"meta": object{}, "data": data} }
	vk := func(method string) string { return "POST api.vk.com/method/" + method }
	return map[string]drive{
		"megamarket": {
			list:  on{orders + "/order/get", rest("orders", "POST", "/order/get").with("body", body(object{"shipments": []any{"1"}}))},
			pages: 1, rows: 3, at: "data.shipments", field: "shipmentId", first: 1,
			write: on{offers + "/stock/update", rest("offers", "POST", "/stock/update").with("body", body(object{"stocks": []any{object{"offerId": "A-1", "quantity": 10}}}))},
			undo:  on{orders + "/order/reject", rest("orders", "POST", "/order/reject").with("body", body(object{"shipments": []any{}}))},
			fails: on{orders + "/order/confirm", rest("orders", "POST", "/order/confirm").with("body", body(object{"shipments": []any{}})).with("confirm", true)},
			code:  "1002",
			busy:  on{orders + "/sticker/print", rest("orders", "POST", "/sticker/print").with("body", body(object{"shipments": []any{"1"}}))},
		},
		"ozon_performance": {
			list:  on{"POST " + performance + "/campaign/search_promo/v2/products", rest("api", "POST", "/api/client/campaign/search_promo/v2/products").with("body", object{"pageSize": 2})},
			pages: 3, rows: 5, at: "products", field: "id", first: 1,
			write: on{"PATCH " + performance + "/campaign/*", rest("api", "PATCH", "/api/client/campaign/1").with("body", object{"dailyBudget": "500000000"})},
			undo:  on{"POST " + performance + "/campaign/*/activate", rest("api", "POST", "/api/client/campaign/1/activate")},
			fails: on{"GET " + performance + "/statistics/*", rest("api", "GET", "/api/client/statistics/r-404")},
			code:  "5",
			busy:  on{"GET " + performance + "/limits/list", rest("api", "GET", "/api/client/limits/list")},
			// One token for the check and for all calls.
			counts: map[string]int{"POST " + performance + "/token": 1},
			more: []further{
				// Once for the check.
				{on: on{"GET " + performance + "/campaign", rest("api", "GET", "/api/client/campaign").with("query", object{"pageSize": 2}).with("max_pages", 5)}, asked: 4, rows: 5},
			},
		},
		"hh": {
			list:  on{"GET " + hh + "/vacancies", rest("api", "GET", "/vacancies").with("query", object{"text": "go", "per_page": 2})},
			pages: 3, rows: 5, at: "items", field: "id", first: 1,
			write: on{"PUT " + hh + "/common/chats/*/message/*/read", rest("api", "PUT", "/common/chats/1/message/2/read")},
			undo:  on{"PUT " + hh + "/employers/*/vacancies/archived/*", rest("api", "PUT", "/employers/1/vacancies/archived/2")},
			fails: on{"GET " + hh + "/resumes/*", rest("api", "GET", "/resumes/404")},
			code:  "not_found",
			busy:  on{"GET " + hh + "/dictionaries", rest("api", "GET", "/dictionaries")},
			// That a token has ended is said with 403 and exchanged for, once.
			lapses: 1, counts: map[string]int{"POST " + hh + "/token": 2},
		},
		"vk": {
			list:  on{vk("groups.getMembers"), remote("api", "groups.getMembers", object{"group_id": "apiclub", "count": 2})},
			pages: 3, rows: 5, at: "items", field: "id", first: 1,
			write: on{vk("wall.edit"), remote("api", "wall.edit", object{"owner_id": -1, "post_id": 7, "message": "News"})},
			undo:  on{vk("messages.send"), remote("api", "messages.send", object{"peer_id": 1, "random_id": 12345, "message": "Hello"})},
			fails: on{vk("wall.get"), remote("api", "wall.get", object{"owner_id": -404, "count": 1})},
			code:  "15",
			busy:  on{vk("users.get"), remote("api", "users.get", object{"user_ids": "1"})},
			more: []further{
				{on: on{vk("newsfeed.search"), remote("api", "newsfeed.search", object{"q": "shop", "count": 2}).with("max_pages", 5)}, asked: 3, rows: 5},
				// Neither a community's token at a person's method nor a captcha ends the connection.
				{on: on{vk("groups.getById"), remote("api", "groups.getById", object{"group_id": "apiclub"})}, want: coworker.UpstreamError, asked: 1, tells: `"upstream_code":"27"`},
				{on: on{vk("stats.get"), remote("api", "stats.get", object{"group_id": 1})}, want: coworker.UpstreamError, asked: 1, tells: `"upstream_code":"14"`},
				// A number that no rule names is a failure all the same.
				{on: on{vk("photos.get"), remote("api", "photos.get", object{"owner_id": 1})}, want: coworker.UpstreamError, asked: 1, tells: `"upstream_code":"100"`},
			},
		},
	}
}
