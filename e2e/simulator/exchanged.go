package simulator

// Avito: a pair of keys is exchanged for a token, pages are numbered, failures
// have two shapes.
func Avito() Service {
	const root = "api.avito.ru/"
	grant := &exchange{id: "avito-client", secret: "avito-secret-simulated"}
	items := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"id": n, "status": "active"} }),
		Name: "page", Size: "per_page", Max: 100, Start: 1,
	}
	orders := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"id": n, "status": "ready_to_ship"} }),
		Name: "page", Size: "limit", Max: 20, Start: 1,
	}
	pair := func(secret string) map[string]string {
		return map[string]string{"client_id": grant.id, "client_secret": secret}
	}
	return Service{
		ID:    "avito",
		Good:  Credential{Auth: "oauth2_cc", Fields: pair(grant.secret)},
		Stale: Credential{Auth: "oauth2_cc", Fields: pair("avito-secret-of-last-year")},
		Auth:  grant.good,
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"error": map[string]any{"code": number(code), "message": message}}
		}, map[Trouble]refusal{
			NoCredential: {401, "401", "unauthorized", nil},
			NoPath:       {404, "404", "path is not found", nil},
			NoMethod:     {405, "405", "method is not allowed", nil},
			NoType:       {415, "415", "content type is not supported", nil},
			NoHeader:     {400, "400", "a header is missing", nil},
			BadValue:     {400, "400", "bad request", nil},
			Missing:      {404, "404", "item is not found", nil},
			TooMany:      {429, "429", "too many requests", []string{"Retry-After", "1"}},
		}),
		Routes: []Route{
			{Call: "POST " + root + "token", Type: formType, Open: true, Answer: grant.credentials},
			{Call: "GET " + root + "core/v1/accounts/self", Answer: fixed(200, map[string]any{"id": 1, "name": "Acme"})},
			{Call: "GET " + root + "core/v1/items", Answer: items.byPage(func(page []any, _ int) any {
				return map[string]any{"meta": map[string]any{}, "resources": page}
			})},
			{Call: "GET " + root + "core/v1/accounts/*/items/*/", Answer: func(r *Request) Reply { return r.Refuse(Missing) }},
			{Call: "GET " + root + "order-management/1/orders", Takes: []string{"page", "limit"}, Answer: orders.byMore(func(page []any, more bool) any {
				return map[string]any{"orders": page, "hasMore": more}
			})},
			{Call: "GET " + root + "ratings/v1/info", Busy: 1, Answer: fixed(200, map[string]any{"isEnabled": true})},
			{Call: "POST " + root + "core/v1/items/*/update_price", Type: jsonType, Answer: func(r *Request) Reply {
				if r.text("price") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"result": map[string]any{"success": true}})
			}},
			{Call: "POST " + root + "messenger/v1/accounts/*/chats/*/messages", Type: jsonType, Answer: fixed(200, map[string]any{"id": "m-1"})},
		},
	}
}

// DaData: a word before the key, a second key for what is paid, no pages.
func DaData() Service {
	const key, secret = "dadata-key-simulated", "dadata-secret-simulated"
	const suggestions, cleaner = "suggestions.dadata.ru/suggestions/api/4_1/rs/", "cleaner.dadata.ru/api/v1/"
	return Service{
		ID:    "dadata",
		Good:  Credential{Fields: map[string]string{"api_key": key, "secret_key": secret}},
		Stale: Credential{Fields: map[string]string{"api_key": key, "secret_key": "dadata-secret-of-last-year"}},
		Auth: all(inHeader("Authorization", "Token "+key), on("cleaner.dadata.ru", inHeader("X-Secret", secret)),
			on("suggestions.dadata.ru", func(r *Request) bool { return r.Header.Get("X-Secret") == "" })),
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"family": "CLIENT_ERROR", "reason": code, "message": message}
		}, map[Trouble]refusal{
			NoCredential: {401, "Unauthorized", "authorization credentials are not valid", nil},
			NoPath:       {404, "Not Found", "no such method", nil},
			NoMethod:     {405, "Method Not Allowed", "POST is expected", nil},
			NoType:       {415, "Unsupported Media Type", "JSON is expected", nil},
			NoHeader:     {400, "Bad Request", "a header is missing", nil},
			BadValue:     {400, "Bad Request", "the query is not valid", nil},
			Missing:      {403, "Forbidden", "the daily limit is used up", nil},
			TooMany:      {429, "Too Many Requests", "too many requests a second", nil},
		}),
		Routes: []Route{
			{Call: "POST " + suggestions + "suggest/address", Type: jsonType, Answer: fixed(200, map[string]any{"suggestions": []any{}})},
			{Call: "POST " + suggestions + "suggest/party", Type: jsonType, Answer: func(r *Request) Reply {
				if r.text("query") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"suggestions": rows(3, func(n int) map[string]any { return map[string]any{"value": "ООО", "place": n} })})
			}},
			{Call: "POST " + suggestions + "findById/party", Type: jsonType, Answer: func(r *Request) Reply { return r.Refuse(Missing) }},
			{Call: "POST " + suggestions + "findById/bank", Type: jsonType, Busy: 1, Answer: fixed(200, map[string]any{"suggestions": []any{}})},
			{Call: "POST " + cleaner + "clean/phone", Type: jsonType, Answer: fixed(200, []any{map[string]any{"phone": "+7 916 823-34-54", "qc": 0}})},
		},
	}
}
