package simulator

// YandexDirect: one address a service of its own, the action in the body,
// failures in answers of status 200.
func YandexDirect() Service {
	const token = "direct-token-simulated"
	at := func(service string) string { return "POST api.direct.yandex.com/json/v5/" + service }
	action := func(name string, answer func(*Request) Reply) func(*Request) Reply {
		return func(r *Request) Reply {
			if _, ok := r.Body["params"].(map[string]any); !ok || r.text("method") != name {
				return r.Refuse(NoPath)
			}
			return answer(r)
		}
	}
	list := func(name string, count int) func(*Request) Reply {
		pages := paging{
			Rows: rows(count, func(n int) map[string]any { return map[string]any{"Id": n} }),
			In:   "body", Name: "params.Page.Offset", Size: "params.Page.Limit", Max: 10000, Mark: func(next int) any { return next }, Find: numbered(0),
		}
		return pages.byCursor(func(page []any, next any) any {
			result := map[string]any{name: page}
			if next != nil {
				result["LimitedBy"] = next
			}
			return map[string]any{"result": result}
		})
	}
	return Service{
		ID:      "yandex_direct",
		Good:    Credential{Fields: map[string]string{"token": token}, Params: map[string]string{"client_login": "acme-client"}},
		Stale:   Credential{Fields: map[string]string{"token": "direct-token-of-last-year"}, Params: map[string]string{"client_login": "acme-client"}},
		Auth:    bearer(token),
		Headers: map[string]string{"Client-Login": "acme-client", "Accept-Language": "en"},
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"error": map[string]any{"request_id": "8695244274068608439", "error_code": number(code), "error_string": "Error", "error_detail": message}}
		}, map[Trouble]refusal{
			NoCredential: {200, "53", "Invalid OAuth token", nil},
			NoPath:       {200, "55", "Method is not supported", nil},
			NoMethod:     {405, "55", "POST is expected", nil},
			NoType:       {200, "8000", "JSON is expected", nil},
			NoHeader:     {200, "8000", "Client-Login is expected", nil},
			BadValue:     {200, "4001", "Selection criteria are not valid", nil},
			Missing:      {200, "8800", "Object not found", nil},
			TooMany:      {200, "506", "The limit of connections is exceeded", nil},
		}),
		Routes: []Route{
			{Call: at("campaigns"), Type: jsonType, Answer: action("get", list("Campaigns", 2))},
			{Call: at("keywords"), Type: jsonType, Answer: action("get", list("Keywords", 5))},
			{Call: at("adgroups"), Type: jsonType, Answer: action("get", func(r *Request) Reply { return r.Refuse(BadValue) })},
			{Call: at("dictionaries"), Type: jsonType, Busy: 1, Answer: action("get", fixed(200, map[string]any{"result": map[string]any{"GeoRegions": []any{}}}, "Units", "10/20828/64000"))},
			{Call: at("ads"), Type: jsonType, Answer: action("suspend", fixed(200, map[string]any{"result": map[string]any{"SuspendResults": []any{map[string]any{"Id": 1}}}}))},
			{Call: at("sitelinks"), Type: jsonType, Answer: action("delete", fixed(200, map[string]any{"result": map[string]any{"DeleteResults": []any{map[string]any{"Id": 1}}}}))},
		},
	}
}

// YandexMarket: a key in a header, tokens of pages in the query of a POST, 420
// for too many requests.
func YandexMarket() Service {
	const key = "ACMA:simulated:key"
	const root = "api.partner.market.yandex.ru/"
	offers := paging{
		Rows: rows(5, func(n int) map[string]any {
			return map[string]any{"offer": map[string]any{"offerId": "ART", "pictures": []any{"dropped"}}, "mapping": map[string]any{"marketSku": n}}
		}),
		Name: "page_token", Size: "limit", Max: 200,
	}
	return Service{
		ID:    "yandex_market",
		Good:  Credential{Fields: map[string]string{"api_key": key}},
		Stale: Credential{Fields: map[string]string{"api_key": "ACMA:last:year"}},
		Auth:  inHeader("Api-Key", key),
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"status": "ERROR", "errors": []any{map[string]any{"code": code, "message": message}}}
		}, map[Trouble]refusal{
			NoCredential: {401, "UNAUTHORIZED", "Api-Key is not valid", nil},
			NoPath:       {404, "NOT_FOUND", "No such resource", nil},
			NoMethod:     {405, "METHOD_NOT_ALLOWED", "Request method is not supported", nil},
			NoType:       {415, "UNSUPPORTED_MEDIA_TYPE", "Content type is not supported", nil},
			NoHeader:     {400, "BAD_REQUEST", "A header is missing", nil},
			BadValue:     {400, "BAD_REQUEST", "A parameter is not valid", nil},
			Missing:      {404, "NOT_FOUND", "Order 999 not found", nil},
			TooMany:      {420, "LIMIT_EXCEEDED", "Hit rate limit of 4 parallel requests", []string{"X-RateLimit-Resource-Limit", "4"}},
		}),
		Routes: []Route{
			{Call: "GET " + root + "campaigns", Answer: fixed(200, map[string]any{"campaigns": []any{}})},
			{Call: "POST " + root + "businesses/*/offer-mappings", Type: jsonType, Answer: offers.byCursor(func(page []any, next any) any {
				paging := map[string]any{}
				if next != nil {
					paging["nextPageToken"] = next
				}
				return map[string]any{"status": "OK", "result": map[string]any{"offerMappings": page, "paging": paging}}
			})},
			{Call: "GET " + root + "campaigns/*/orders/*", Answer: func(r *Request) Reply { return r.Refuse(Missing) }},
			{Call: "POST " + root + "campaigns/*/offers/stocks", Type: jsonType, Busy: 1, Answer: fixed(200, map[string]any{"status": "OK", "result": map[string]any{"warehouses": []any{}, "paging": map[string]any{}}})},
			{Call: "POST " + root + "businesses/*/offer-prices/updates", Type: jsonType, Answer: func(r *Request) Reply {
				if offers, _ := r.Body["offers"].([]any); len(offers) == 0 {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"status": "OK"})
			}},
			{Call: "PUT " + root + "campaigns/*/orders/*/cancellation/accept", Type: jsonType, Answer: fixed(200, map[string]any{"status": "OK"})},
		},
	}
}

// YandexMetrika: the word OAuth before the token, numbers of rows from 1,
// quotas by name.
func YandexMetrika() Service {
	const token = "metrika-token-simulated"
	const root = "api-metrika.yandex.net/"
	data := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"metrics": []any{n}, "row": n} }),
		Name: "offset", Size: "limit", Max: 100000, Start: 1,
	}
	return Service{
		ID:    "yandex_metrika",
		Good:  Credential{Fields: map[string]string{"token": token}},
		Stale: Credential{Fields: map[string]string{"token": "metrika-token-of-last-year"}},
		Auth:  inHeader("Authorization", "OAuth "+token),
		Refusal: refusals(func(status int, code, message string) any {
			return map[string]any{"errors": []any{map[string]any{"error_type": code, "message": message}}, "code": status, "message": message}
		}, map[Trouble]refusal{
			NoCredential: {401, "invalid_token", "Invalid oauth_token", nil},
			NoPath:       {404, "not_found", "Path not found", nil},
			NoMethod:     {405, "method_not_allowed", "Method is not allowed", nil},
			NoType:       {415, "unsupported_media_type", "Content type is not supported", nil},
			NoHeader:     {400, "missing_header", "A header is missing", nil},
			BadValue:     {400, "invalid_parameter", "A parameter is not valid", nil},
			Missing:      {403, "access_denied", "Access to the counter is denied", nil},
			TooMany:      {429, "quota_requests_by_uid", "Quota of requests is exceeded", nil},
		}),
		Routes: []Route{
			{Call: "GET " + root + "management/v1/counters", Answer: fixed(200, map[string]any{"rows": 2, "counters": []any{map[string]any{"id": 1}}})},
			{Call: "GET " + root + "stat/v1/data", Answer: data.byNumber(func(page []any, total int) any {
				return map[string]any{"data": page, "total_rows": total, "sampled": false}
			})},
			{Call: "GET " + root + "stat/v1/data/bytime", Busy: 1, Answer: fixed(200, map[string]any{"data": []any{}, "total_rows": 0})},
			{Call: "GET " + root + "management/v1/counter/*/goals", Answer: func(r *Request) Reply { return r.Refuse(Missing) }},
			{Call: "POST " + root + "management/v1/counter/*/goals", Type: jsonType, Answer: func(r *Request) Reply {
				if r.text("goal.name") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"goal": map[string]any{"id": 3}})
			}},
			{Call: "DELETE " + root + "management/v1/counter/*/goal/*", Answer: fixed(200, map[string]any{"success": true})},
		},
	}
}
