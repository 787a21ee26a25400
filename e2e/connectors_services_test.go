package e2e

func tradeDrives() map[string]drive {
	const sklad, amo = "api.moysklad.ru/api/remap/1.2", "acme.amocrm.ru/api/v4"
	const suggestions, cleaner = "suggestions.dadata.ru/suggestions/api/4_1/rs", "cleaner.dadata.ru/api/v1"
	clean := on{"POST " + cleaner + "/clean/phone", rest("cleaner", "POST", "/clean/phone").with("body", []any{"89168233454"})}
	return map[string]drive{
		"moysklad": {
			list:  on{"GET " + sklad + "/entity/product", rest("remap", "GET", "/entity/product").with("query", object{"limit": 2})},
			pages: 3, rows: 5, at: "rows", field: "code", first: 1,
			write: on{"POST " + sklad + "/entity/counterparty", rest("remap", "POST", "/entity/counterparty").with("body", object{"name": "Ромашка"})},
			undo:  on{"DELETE " + sklad + "/entity/counterparty/*", rest("remap", "DELETE", "/entity/counterparty/c-1")},
			fails: on{"GET " + sklad + "/entity/counterparty/*", rest("remap", "GET", "/entity/counterparty/c-404")},
			code:  "1021",
			busy:  on{"GET " + sklad + "/report/stock/bystore", rest("remap", "GET", "/report/stock/bystore").with("query", object{"limit": 100})},
		},
		"amocrm": {
			list:  on{"GET " + amo + "/leads", rest("crm", "GET", "/leads").with("query", object{"limit": 2})},
			pages: 3, rows: 5, at: "_embedded.leads", field: "id", first: 1,
			write: on{"PATCH " + amo + "/leads/*", rest("crm", "PATCH", "/leads/1").with("body", object{"status_id": 142})},
			undo:  on{"POST " + amo + "/talks/*/close", rest("crm", "POST", "/talks/1/close").with("body", object{"force_close": true})},
			fails: on{"GET " + amo + "/leads/*", rest("crm", "GET", "/leads/404")},
			code:  "400",
			busy:  on{"GET " + amo + "/users", rest("crm", "GET", "/users")},
			// One token for the check and the first calls, one after it ended.
			lapses: 1, counts: map[string]int{"POST acme.amocrm.ru/oauth2/access_token": 2},
		},
		"dadata": {
			list:  on{"POST " + suggestions + "/suggest/party", rest("suggestions", "POST", "/suggest/party").with("body", object{"query": "сбербанк", "count": 3})},
			pages: 1, rows: 3, at: "suggestions", field: "place", first: 1,
			write: clean,
			fails: on{"POST " + suggestions + "/findById/party", rest("suggestions", "POST", "/findById/party").with("body", object{"query": "1"})},
			code:  "Forbidden",
			busy:  on{"POST " + suggestions + "/findById/bank", rest("suggestions", "POST", "/findById/bank").with("body", object{"query": "044525225"})},
			stale: clean,
		},
	}
}

func yandexDrives() map[string]drive {
	direct := func(service string) string { return "POST api.direct.yandex.com/json/v5/" + service }
	const metrika = "api-metrika.yandex.net"
	ids := object{"SelectionCriteria": object{"Ids": []any{1}}}
	return map[string]drive{
		"yandex_direct": {
			list:  on{direct("keywords"), remote("direct", "keywords.get", object{"SelectionCriteria": object{}, "FieldNames": []any{"Id"}, "Page": object{"Limit": 2}})},
			pages: 3, rows: 5, at: "Keywords", field: "Id", first: 1,
			write: on{direct("ads"), remote("direct", "ads.suspend", ids)},
			undo:  on{direct("sitelinks"), remote("direct", "sitelinks.delete", ids)},
			fails: on{direct("adgroups"), remote("direct", "adgroups.get", object{})},
			code:  "4001",
			busy:  on{direct("dictionaries"), remote("direct", "dictionaries.get", object{"DictionaryNames": []any{"GeoRegions"}})},
		},
		"yandex_metrika": {
			list:  on{"GET " + metrika + "/stat/v1/data", rest("reports", "GET", "/data").with("query", object{"ids": 1, "metrics": "ym:s:visits", "limit": 2})},
			pages: 3, rows: 5, at: "data", field: "row", first: 1,
			write: on{"POST " + metrika + "/management/v1/counter/*/goals", rest("management", "POST", "/counter/1/goals").with("body", object{"goal": object{"name": "Order"}})},
			undo:  on{"DELETE " + metrika + "/management/v1/counter/*/goal/*", rest("management", "DELETE", "/counter/1/goal/3")},
			fails: on{"GET " + metrika + "/management/v1/counter/*/goals", rest("management", "GET", "/counter/2/goals")},
			code:  "403",
			busy:  on{"GET " + metrika + "/stat/v1/data/bytime", rest("reports", "GET", "/data/bytime").with("query", object{"ids": 1})},
		},
	}
}
