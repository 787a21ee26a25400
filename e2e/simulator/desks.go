package simulator

// Notion: a version in a header, cursors in a body, has_more.
func Notion() Service {
	const host, token = "api.notion.com/v1/", "notion-token-simulated"
	found := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"object": "page", "place": n} }),
		In:   "body", Name: "start_cursor", Size: "page_size", Max: 100,
	}
	return Service{
		ID:      "notion",
		Good:    Credential{Fields: map[string]string{"token": token}},
		Stale:   Credential{Fields: map[string]string{"token": "notion-token-of-last-year"}},
		Auth:    bearer(token),
		Headers: map[string]string{"Notion-Version": "2025-09-03"},
		Refusal: refusals(func(status int, code, message string) any {
			return map[string]any{"object": "error", "status": status, "code": code, "message": message, "request_id": "request-simulated"}
		}, map[Trouble]refusal{
			NoCredential: {401, "unauthorized", "API token is invalid.", nil},
			NoPath:       {400, "invalid_request_url", "Invalid request URL.", nil},
			NoMethod:     {400, "invalid_request_url", "Invalid request URL.", nil},
			NoType:       {400, "invalid_request", "This request is not supported.", nil},
			NoHeader:     {400, "missing_version", "Notion-Version header failed validation.", nil},
			BadValue:     {400, "validation_error", "body failed validation.", nil},
			Missing:      {404, "object_not_found", "Could not find page.", nil},
			TooMany:      {429, "rate_limited", "You have been rate limited.", []string{"Retry-After", "1"}},
		}),
		Routes: []Route{
			{Call: "GET " + host + "users/me", Answer: fixed(200, map[string]any{"object": "user", "type": "bot"})},
			{Call: "POST " + host + "search", Type: jsonType, Answer: found.byCursor(func(page []any, next any) any {
				return map[string]any{"object": "list", "results": page, "next_cursor": next, "has_more": next != nil}
			})},
			{Call: "GET " + host + "pages/*", Answer: func(r *Request) Reply { return r.Refuse(Missing) }},
			{Call: "GET " + host + "users", Busy: 1, Answer: fixed(200, map[string]any{"object": "list", "results": []any{}, "next_cursor": nil, "has_more": false})},
			{Call: "POST " + host + "pages", Type: jsonType, Answer: func(r *Request) Reply {
				if r.text("parent.data_source_id") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"object": "page", "id": "p-1"})
			}},
			{Call: "DELETE " + host + "comments/*", Answer: fixed(200, map[string]any{"object": "comment"})},
		},
	}
}
