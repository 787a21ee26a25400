package simulator

// GitHub: pages by the Link header, a version in a header, secondary limits as
// 403, the failing field in a list.
func GitHub() Service {
	const host, token = "api.github.com/", "github-token-simulated"
	repos := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"id": n, "node_id": "dropped"} }),
		Name: "page", Size: "per_page", Max: 100, Start: 1, Whole: true,
	}
	linked := func(page []any, next string, _ int) Reply {
		if next == "" {
			return says(200, page)
		}
		return says(200, page, "Link", `<`+next+`>; rel="next", <`+next+`&last>; rel="last"`)
	}
	// Pages of a repository's lists go on under its number.
	issues := func(r *Request) Reply {
		moved := *r.URL
		moved.Path = "/" + host + "repositories/1300192/issues"
		numbered := *r.Request
		numbered.URL = &moved
		in := *r
		in.Request = &numbered
		return repos.byAddress(linked)(&in)
	}
	return Service{
		ID:      "github",
		Good:    Credential{Fields: map[string]string{"token": token}},
		Stale:   Credential{Fields: map[string]string{"token": "github-token-of-last-year"}},
		Auth:    bearer(token),
		Headers: map[string]string{"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28", "User-Agent": ""},
		Refusal: refusals(func(_ int, code, message string) any {
			answer := map[string]any{"message": message, "documentation_url": "https://docs.github.com/rest"}
			if code != "" {
				answer["errors"] = []any{map[string]any{"resource": "Label", "field": "name", "code": code}}
			}
			return answer
		}, map[Trouble]refusal{
			NoCredential: {401, "", "Bad credentials", nil},
			NoPath:       {404, "", "Not Found", nil},
			NoMethod:     {404, "", "Not Found", nil},
			NoType:       {415, "", "Unsupported Media Type", nil},
			NoHeader:     {403, "", "Request forbidden by administrative rules.", nil},
			BadValue:     {422, "missing_field", "Validation Failed", nil},
			Missing:      {404, "", "Not Found", nil},
			TooMany:      {403, "", "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", []string{"Retry-After", "1"}},
		}),
		Routes: []Route{
			{Call: "GET " + host + "user", Answer: fixed(200, map[string]any{"login": "robot"})},
			{Call: "GET " + host + "user/repos", Answer: repos.byAddress(linked)},
			{Call: "GET " + host + "repos/*/*/issues", Answer: issues},
			{Call: "GET " + host + "repositories/*/issues", Answer: issues},
			{Call: "GET " + host + "search/issues", Busy: 1, Answer: fixed(200, map[string]any{"total_count": 0, "items": []any{}})},
			{Call: "GET " + host + "search/repositories", Answer: fixed(403, map[string]any{"message": "API rate limit exceeded for user ID 1."}, "Retry-After", "60", "X-RateLimit-Remaining", "0")},
			{Call: "POST " + host + "repos/*/*/labels", Type: jsonType, Answer: func(r *Request) Reply {
				if r.text("name") == "" {
					return r.Refuse(BadValue)
				}
				return says(201, map[string]any{"id": 1})
			}},
			{Call: "POST " + host + "repos/*/*/issues", Type: jsonType, Answer: func(r *Request) Reply {
				if r.text("title") == "" {
					return r.Refuse(BadValue)
				}
				return says(201, map[string]any{"number": 8})
			}},
			{Call: "PUT " + host + "repos/*/*/pulls/*/merge", Type: jsonType, Answer: fixed(200, map[string]any{"merged": true})},
		},
	}
}

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
