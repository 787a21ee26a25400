package simulator

// MoySklad: gzip is a must, whole addresses of next pages, the wait in
// milliseconds.
func MoySklad() Service {
	const token = "moysklad-token-simulated"
	const root = "api.moysklad.ru/api/remap/1.2/"
	products := paging{
		Rows: rows(5, func(n int) map[string]any {
			return map[string]any{"code": n, "meta": map[string]any{"type": "product"}}
		}),
		Name: "offset", Size: "limit", Max: 1000,
	}
	return Service{
		ID:      "moysklad",
		Good:    Credential{Fields: map[string]string{"token": token}},
		Stale:   Credential{Auth: "basic", Fields: map[string]string{"login": "admin@acme", "password": "last year's"}},
		Auth:    bearer(token),
		Headers: map[string]string{"Accept-Encoding": "gzip"},
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"errors": []any{map[string]any{"error": message, "code": number(code)}}}
		}, map[Trouble]refusal{
			NoCredential: {401, "1056", "Ошибка аутентификации", nil},
			NoPath:       {404, "1002", "Неизвестный путь", nil},
			NoMethod:     {405, "1005", "Метод не поддерживается", nil},
			NoType:       {400, "1062", "Неверный заголовок Content-Type", nil},
			NoHeader:     {415, "1066", "Нужен заголовок Accept-Encoding: gzip", nil},
			BadValue:     {400, "1038", "Ошибка в параметре", nil},
			Missing:      {404, "1021", "Объект не найден", nil},
			TooMany:      {429, "1049", "Превышено ограничение на количество запросов", []string{"X-Lognex-Retry-After", "300", "X-RateLimit-Limit", "45"}},
		}),
		Routes: []Route{
			{Call: "GET " + root + "entity/metadata", Answer: fixed(200, map[string]any{"product": map[string]any{}})},
			{Call: "GET " + root + "entity/product", Answer: products.byAddress(func(page []any, next string, total int) Reply {
				meta := map[string]any{"size": total}
				if next != "" {
					meta["nextHref"] = next
				}
				return says(200, map[string]any{"meta": meta, "rows": page})
			})},
			{Call: "GET " + root + "entity/counterparty/*", Answer: func(r *Request) Reply { return r.Refuse(Missing) }},
			{Call: "GET " + root + "report/stock/bystore", Busy: 1, Answer: fixed(200, map[string]any{"meta": map[string]any{"size": 0}, "rows": []any{}})},
			{Call: "POST " + root + "entity/counterparty", Type: jsonType, Answer: func(r *Request) Reply {
				if r.text("name") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"id": "c-1", "name": r.text("name")})
			}},
			{Call: "DELETE " + root + "entity/counterparty/*", Answer: fixed(200, nil)},
		},
	}
}

// AmoCRM: the account's own host, a refresh token that is good once, access
// tokens that end, problems as failures.
func AmoCRM() Service {
	const root = "acme.amocrm.ru/"
	grant := &exchange{id: "integration-1", secret: "amocrm-secret-simulated", refresh: "refresh-0-simulated", redirect: "https://acme.example/back", uses: 5}
	leads := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"id": n, "price": 100} }),
		Name: "page", Size: "limit", Max: 250, Start: 1, Whole: true,
	}
	fields := func(refresh string) map[string]string {
		return map[string]string{"client_id": grant.id, "client_secret": grant.secret, "refresh_token": refresh, "redirect_uri": grant.redirect}
	}
	account := map[string]string{"subdomain": "acme"}
	return Service{
		ID:    "amocrm",
		Good:  Credential{Auth: "oauth2_refresh", Fields: fields(grant.refresh), Params: account},
		Stale: Credential{Auth: "oauth2_refresh", Fields: fields("refresh-of-last-year"), Params: account},
		Auth:  grant.good,
		Refusal: refusals(func(status int, code, message string) any {
			return map[string]any{"title": code, "type": "https://httpstatus.es/" + code, "status": status, "detail": message}
		}, map[Trouble]refusal{
			NoCredential: {401, "401", "Unauthorized", []string{"Content-Type", "application/problem+json"}},
			NoPath:       {404, "404", "Cannot find the page", []string{"Content-Type", "application/problem+json"}},
			NoMethod:     {405, "405", "Method not allowed", []string{"Content-Type", "application/problem+json"}},
			NoType:       {415, "415", "Unsupported media type", []string{"Content-Type", "application/problem+json"}},
			NoHeader:     {400, "400", "A header is missing", []string{"Content-Type", "application/problem+json"}},
			BadValue:     {400, "400", "Request validation failed", []string{"Content-Type", "application/problem+json"}},
			Missing:      {404, "404", "Not found", []string{"Content-Type", "application/problem+json"}},
			TooMany:      {429, "429", "Too many requests", []string{"Content-Type", "application/problem+json"}},
		}),
		Routes: []Route{
			{Call: "POST " + root + "oauth2/access_token", Type: jsonType, Open: true, Answer: grant.refreshes},
			{Call: "GET " + root + "api/v4/account", Answer: fixed(200, map[string]any{"id": 1, "subdomain": "acme"})},
			{Call: "GET " + root + "api/v4/leads", Answer: leads.byAddress(func(page []any, next string, _ int) Reply {
				links := map[string]any{"self": map[string]any{"href": "here"}}
				if next != "" {
					links["next"] = map[string]any{"href": next}
				}
				return says(200, map[string]any{"_links": links, "_embedded": map[string]any{"leads": page}}, "Content-Type", "application/hal+json")
			})},
			{Call: "GET " + root + "api/v4/leads/*", Answer: func(r *Request) Reply { return r.Refuse(BadValue) }},
			{Call: "GET " + root + "api/v4/leads/pipelines", Answer: fixed(200, map[string]any{})},
			{Call: "GET " + root + "api/v4/users", Busy: 1, Answer: fixed(204, nil)},
			{Call: "PATCH " + root + "api/v4/leads/*", Type: jsonType, Answer: func(r *Request) Reply {
				if r.text("status_id") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"id": 1, "updated_at": 1796000000}, "Content-Type", "application/hal+json")
			}},
			{Call: "POST " + root + "api/v4/talks/*/close", Type: jsonType, Answer: fixed(202, nil)},
		},
	}
}
