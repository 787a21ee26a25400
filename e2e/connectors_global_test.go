package e2e

import "innerloop/coworker"

func messengerDrives() map[string]drive {
	bot := func(method string) string { return "POST api.telegram.org/" + method }
	slack := func(method string) string { return "POST slack.com/api/" + method }
	return map[string]drive{
		"telegram_bot": {
			// The page after the last holds nothing, and only that tells.
			list:  on{bot("getUpdates"), remote("bot", "getUpdates", object{"limit": 2, "timeout": 0})},
			pages: 4, rows: 5, at: "result", field: "update_id", first: 701,
			write: on{bot("setMyCommands"), remote("bot", "setMyCommands", object{"commands": []any{object{"command": "start", "description": "Begin"}}})},
			undo:  on{bot("sendMessage"), remote("bot", "sendMessage", object{"chat_id": "@channel", "text": "Hello"})},
			fails: on{bot("getChat"), remote("bot", "getChat", object{"chat_id": "@nobody"})},
			code:  "400",
			busy:  on{bot("getChatAdministrators"), remote("bot", "getChatAdministrators", object{"chat_id": "@channel"})},
		},
		"slack": {
			// The second page is empty and has a cursor.
			list:  on{slack("conversations.list"), remote("web", "conversations.list", object{"limit": 2})},
			pages: 4, rows: 5, at: "channels", field: "num_members", first: 1,
			write: on{slack("reactions.add"), remote("web", "reactions.add", object{"channel": "C1", "timestamp": "1790000000.000100", "name": "eyes"})},
			undo:  on{slack("chat.postMessage"), remote("web", "chat.postMessage", object{"channel": "C1", "text": "Hello"})},
			fails: on{slack("conversations.info"), remote("web", "conversations.info", object{"channel": "C404"})},
			code:  "channel_not_found",
			busy:  on{slack("users.info"), remote("web", "users.info", object{"user": "U1"})},
		},
	}
}

func globalDrives() map[string]drive {
	const github, notion, stripe = "api.github.com", "api.notion.com/v1", "api.stripe.com/v1"
	bucket := args{"module": "s3", "method": "GET", "path": "/archive", "query": object{"list-type": 2, "max-keys": 4}}
	return map[string]drive{
		"github": {
			list:  on{"GET " + github + "/user/repos", rest("api", "GET", "/user/repos").with("query", object{"per_page": 2})},
			pages: 3, rows: 5, field: "id", first: 1,
			write:  on{"POST " + github + "/repos/*/*/issues", rest("api", "POST", "/repos/acme/shop/issues").with("body", object{"title": "Broken link"})},
			undo:   on{"PUT " + github + "/repos/*/*/pulls/*/merge", rest("api", "PUT", "/repos/acme/shop/pulls/1/merge").with("body", object{"merge_method": "squash"})},
			fails:  on{"POST " + github + "/repos/*/*/labels", rest("api", "POST", "/repos/acme/shop/labels").with("body", object{"name": "bug", "color": "ff0000"})},
			code:   "already_exists",
			busy:   on{"GET " + github + "/search/issues", rest("api", "GET", "/search/issues").with("query", object{"q": "is:open"})},
			stale:  on{"GET " + github + "/user/repos", rest("api", "GET", "/user/repos")},
			counts: map[string]int{"GET " + github + "/repositories/*/issues": 2},
			more: []further{
				// All pages but the first are under the repository's number.
				{on: on{"GET " + github + "/repos/*/*/issues", rest("api", "GET", "/repos/acme/shop/issues").with("query", object{"per_page": 2}).with("max_pages", 5)}, asked: 1, rows: 5},
				{on: on{"GET " + github + "/search/labels", rest("api", "GET", "/search/labels").with("query", object{"repository_id": 1, "q": "bug", "per_page": 2}).with("max_pages", 5)}, asked: 3, rows: 5},
				// Too long a wait is told, not waited for.
				{on: on{"GET " + github + "/search/code", rest("api", "GET", "/search/code").with("query", object{"q": "innerloop"})}, want: coworker.UpstreamError, asked: 1, tells: `"retry_after_ms":60000`},
			},
		},
		"notion": {
			list:  on{"POST " + notion + "/search", rest("api", "POST", "/search").with("body", object{"page_size": 2})},
			pages: 3, rows: 5, at: "results", field: "place", first: 1,
			write: on{"POST " + notion + "/pages", rest("api", "POST", "/pages").with("body", object{"parent": object{"type": "data_source_id", "data_source_id": "d-1"}})},
			undo:  on{"DELETE " + notion + "/comments/*", rest("api", "DELETE", "/comments/c-1")},
			fails: on{"GET " + notion + "/pages/*", rest("api", "GET", "/pages/p-404")},
			code:  "object_not_found",
			busy:  on{"GET " + notion + "/users", rest("api", "GET", "/users")},
		},
		"stripe": {
			list:  on{"GET " + stripe + "/customers", rest("v1", "GET", "/customers").with("query", object{"limit": 2})},
			pages: 3, rows: 5, at: "data", field: "created", first: 1,
			write: on{"POST " + stripe + "/customers", rest("v1", "POST", "/customers").with("body", object{"email": "me@example.com", "metadata": object{"plan": "pro"}})},
			undo:  on{"POST " + stripe + "/refunds", rest("v1", "POST", "/refunds").with("body", object{"payment_intent": "pi_1"})},
			fails: on{"GET " + stripe + "/customers/*", rest("v1", "GET", "/customers/cus_404")},
			code:  "resource_missing",
			busy:  on{"GET " + stripe + "/balance_transactions", rest("v1", "GET", "/balance_transactions")},
			more: []further{
				// A write is repeated only when the service knows it again.
				{on: on{"POST " + stripe + "/products", rest("v1", "POST", "/products").with("body", object{"name": "Hat"})}, want: coworker.UpstreamError, asked: 1},
				{on: on{"POST " + stripe + "/coupons", rest("v1", "POST", "/coupons").with("body", object{"percent_off": 10}).with("idempotency_key", "once-1")}, retries: 1, asked: 2},
			},
		},
		"s3": {
			list: on{"GET reports", args{
				"module": "s3", "method": "GET", "path": "/reports", "query": object{"list-type": 2, "max-keys": 3},
				"select": `[scan("<Key>part-([0-9]+)</Key>") | {place: (.[0] | tonumber)}]`,
			}},
			pages: 1, rows: 3, field: "place", first: 1,
			write: on{"PUT reports/*/*", rest("s3", "PUT", "/reports/2026/первый отчёт.txt").with("body", "Hello")},
			undo:  on{"DELETE reports/*/*", rest("s3", "DELETE", "/reports/2026/a+b.txt")},
			fails: on{"GET reports/none", rest("s3", "GET", "/reports/none")},
			code:  "NoSuchKey", bare: true,
			busy: on{"GET reports/slow", rest("s3", "GET", "/reports/slow")},
			more: []further{
				// The next page is asked for with the token of the last.
				{on: on{"GET archive", bucket.with("select", `capture("<NextContinuationToken>(?<t>[^<]+)").t`)}, asked: 2},
				{on: on{"GET archive", bucket.with("query", object{"list-type": 2, "max-keys": 4, "continuation-token": "@data"})}, asked: 2},
			},
		},
	}
}
