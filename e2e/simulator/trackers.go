package simulator

import (
	"regexp"
	"strings"
)

var rootField = regexp.MustCompile(`\{\s*([a-zA-Z]+)`)

// Linear: GraphQL at one address, a raw key, cursors in the variables, failures
// with status 400 and with 200. Its routes are the fields that are asked for.
func Linear() Service {
	const key, address = "linear-key-simulated", "api.linear.app/graphql"
	issues := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"identifier": "ENG", "place": n} }),
		In:   "body", Name: "variables.after", Size: "variables.first", Max: 250,
	}
	field := func(name string, answer func(*Request) Reply) Route {
		return Route{Call: "POST " + address + "/" + name, Type: jsonType, Takes: []string{"query", "variables"}, Answer: answer}
	}
	fault := func(message string, more map[string]any) map[string]any {
		one := map[string]any{"message": message, "locations": []any{}}
		for name, value := range more {
			one[name] = value
		}
		return map[string]any{"data": nil, "errors": []any{one}}
	}
	data := func(name string, value any) map[string]any {
		return map[string]any{"data": map[string]any{name: value}}
	}
	busy := field("teams", fixed(200, data("teams", map[string]any{"nodes": []any{}})))
	busy.Busy = 1
	list := issues.byCursor(func(page []any, next any) any {
		return data("issues", map[string]any{"nodes": page, "pageInfo": map[string]any{"hasNextPage": next != nil, "endCursor": next}})
	})
	return Service{
		ID:    "linear",
		Good:  Credential{Fields: map[string]string{"api_key": key}},
		Stale: Credential{Fields: map[string]string{"api_key": "linear-key-of-last-year"}},
		Auth: func(r *Request) bool {
			query, _ := object(r.Raw)["query"].(string)
			if found := rootField.FindStringSubmatch(query); found != nil && r.Place == address {
				r.Place += "/" + found[1]
			}
			return inHeader("Authorization", key)(r)
		},
		Refusal: refusals(func(_ int, code, message string) any {
			return fault(message, map[string]any{"extensions": map[string]any{"code": code, "type": "refused"}})
		}, map[Trouble]refusal{
			NoCredential: {400, "AUTHENTICATION_ERROR", "Authentication required, not authenticated", nil},
			NoPath:       {400, "GRAPHQL_VALIDATION_FAILED", "Cannot query that field", nil},
			NoMethod:     {405, "BAD_REQUEST", "POST is expected", nil},
			NoType:       {415, "BAD_REQUEST", "JSON is expected", nil},
			NoHeader:     {400, "BAD_REQUEST", "A header is missing", nil},
			BadValue:     {400, "GRAPHQL_VALIDATION_FAILED", "A variable is not declared", nil},
			Missing:      {200, "INPUT_ERROR", "Entity not found: Issue", nil},
			TooMany:      {400, "RATELIMITED", "Rate limit exceeded", nil},
		}),
		Routes: []Route{
			field("viewer", fixed(200, data("viewer", map[string]any{"id": "u-1", "name": "Robot"}))),
			field("issues", func(r *Request) Reply {
				for _, part := range []string{"$first: Int", "$after: String", "first: $first", "after: $after", "hasNextPage", "endCursor"} {
					if !strings.Contains(r.text("query"), part) {
						return r.Refuse(BadValue)
					}
				}
				return list(r)
			}),
			field("issue", refuses(Missing)),
			field("users", fixed(200, fault("Something unusual", nil))),
			field("projects", fixed(200, fault("You may not see that", map[string]any{"extensions": map[string]any{"code": "FORBIDDEN"}}))),
			busy,
			field("issueUpdate", func(r *Request) Reply {
				if !strings.HasPrefix(r.text("query"), "mutation") || r.text("variables.id") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, data("issueUpdate", map[string]any{"success": true}))
			}),
			field("issueDelete", fixed(200, data("issueDelete", map[string]any{"success": true}))),
		},
	}
}

// Asana: data around everything, offsets that the service made, a refusal that
// belongs to one address alone.
func Asana() Service {
	const root, token = "app.asana.com/api/1.0/", "asana-token-simulated"
	tasks := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"gid": "t", "place": n, "resource_type": "dropped"} }),
		Name: "offset", Size: "limit", Max: 100,
	}
	return Service{
		ID:    "asana",
		Good:  Credential{Fields: map[string]string{"token": token}},
		Stale: Credential{Fields: map[string]string{"token": "asana-token-of-last-year"}},
		Auth:  bearer(token),
		Refusal: refusals(func(_ int, _, message string) any {
			return map[string]any{"errors": []any{map[string]any{"message": message, "help": "For more information on API status codes"}}}
		}, map[Trouble]refusal{
			NoCredential: {401, "", "Not Authorized", nil},
			NoPath:       {404, "", "No matching route for request", nil},
			NoMethod:     {404, "", "No matching route for request", nil},
			NoType:       {400, "", "Could not parse request data, invalid JSON", nil},
			NoHeader:     {400, "", "a header is missing", nil},
			BadValue:     {400, "", "data: Missing input", nil},
			Missing:      {404, "", "task: Not a recognized ID: 404", nil},
			TooMany:      {429, "", "You have made too many requests recently. Please, be chill.", []string{"Retry-After", "1"}},
		}),
		Routes: []Route{
			{Call: "GET " + root + "users/me", Takes: []string{}, Answer: fixed(200, map[string]any{"data": map[string]any{"gid": "u-1"}})},
			{Call: "GET " + root + "tasks", Takes: []string{"project", "offset", "limit"}, Answer: tasks.byCursor(func(page []any, next any) any {
				answer := map[string]any{"data": page, "next_page": nil}
				if next != nil {
					answer["next_page"] = map[string]any{"offset": next, "path": "/tasks"}
				}
				return answer
			})},
			{Call: "GET " + root + "events", Takes: []string{"resource", "sync"}, Answer: fixed(412, map[string]any{
				"errors": []any{map[string]any{"message": "Sync token invalid or too old."}}, "sync": "sync-token-simulated",
			})},
			{Call: "GET " + root + "tasks/*", Takes: []string{}, Answer: refuses(Missing)},
			{Call: "GET " + root + "projects", Takes: []string{"workspace"}, Busy: 1, Answer: fixed(200, map[string]any{"data": []any{}, "next_page": nil})},
			{Call: "PUT " + root + "tasks/*", Type: jsonType, Takes: []string{"data"}, Answer: func(r *Request) Reply {
				if r.text("data.completed") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"data": map[string]any{"gid": r.Parts[0], "completed": true}})
			}},
			{Call: "DELETE " + root + "tasks/*", Takes: []string{}, Answer: fixed(200, map[string]any{"data": map[string]any{}})},
		},
	}
}

// ClickUp: a raw token, pages counted from 0 whose size nobody can choose.
func ClickUp() Service {
	const root, token = "api.clickup.com/api/v2/", "clickup-token-simulated"
	task := func(n int) map[string]any { return map[string]any{"id": "t", "place": n, "sharing": "dropped"} }
	list := paging{Rows: rows(250, task), Name: "page", Max: 100}
	view := paging{Rows: rows(60, task), Name: "page", Max: 30}
	show := func(page []any, _ int) any { return map[string]any{"tasks": page} }
	return Service{
		ID:    "clickup",
		Good:  Credential{Fields: map[string]string{"token": token}},
		Stale: Credential{Fields: map[string]string{"token": "clickup-token-of-last-year"}},
		Auth:  inHeader("Authorization", token),
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"err": message, "ECODE": code}
		}, map[Trouble]refusal{
			NoCredential: {401, "OAUTH_025", "Token invalid", nil},
			NoPath:       {404, "APP_001", "Route not found", nil},
			NoMethod:     {404, "APP_001", "Route not found", nil},
			NoType:       {400, "INPUT_001", "JSON is expected", nil},
			NoHeader:     {400, "INPUT_002", "A header is missing", nil},
			BadValue:     {400, "INPUT_003", "A value is not valid", nil},
			Missing:      {404, "ITEM_013", "Task not found, deleted", nil},
			TooMany:      {429, "APP_002", "Rate limit reached", nil},
		}),
		Routes: []Route{
			{Call: "GET " + root + "user", Takes: []string{}, Answer: fixed(200, map[string]any{"user": map[string]any{"id": 1}})},
			{Call: "GET " + root + "list/*/task", Takes: []string{"page"}, Answer: list.byPage(show)},
			{Call: "GET " + root + "view/*/task", Takes: []string{"page"}, Answer: view.byPage(show)},
			{Call: "GET " + root + "task/*", Takes: []string{}, Answer: refuses(Missing)},
			{Call: "GET " + root + "team/*/space", Takes: []string{}, Busy: 1, Answer: fixed(200, map[string]any{"spaces": []any{}})},
			{Call: "PUT " + root + "task/*", Type: jsonType, Takes: []string{"name", "status"}, Answer: func(r *Request) Reply {
				if r.text("status") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"id": r.Parts[0]})
			}},
			{Call: "DELETE " + root + "task/*", Takes: []string{}, Answer: fixed(204, nil)},
		},
	}
}

// Zendesk: an agent's address and a token as user and password, cursors in
// brackets, numbered pages of a search, and exports that name a next page even
// on the last.
func Zendesk() Service {
	const root, token = "acme.zendesk.com/api/v2/", "zendesk-token-simulated"
	tickets := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"id": n, "status": "open"} }),
		Name: "page[after]", Size: "page[size]", Max: 100,
	}
	found := tickets
	found.Name, found.Size, found.Start = "page", "per_page", 1
	exported := tickets
	exported.Name, exported.Size = "cursor", "per_page"
	account := map[string]string{"subdomain": "acme"}
	entered := func(token string) map[string]string {
		return map[string]string{"email": "agent@acme.example", "api_token": token}
	}
	return Service{
		ID:    "zendesk",
		Good:  Credential{Fields: entered(token), Params: account},
		Stale: Credential{Fields: entered("zendesk-token-of-last-year"), Params: account},
		Auth:  basic("agent@acme.example/token", token),
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"error": code, "description": message}
		}, map[Trouble]refusal{
			NoCredential: {401, "Couldn't authenticate you", "", nil},
			NoPath:       {404, "InvalidEndpoint", "Not found", nil},
			NoMethod:     {404, "InvalidEndpoint", "Not found", nil},
			NoType:       {415, "UnsupportedMediaType", "JSON is expected", nil},
			NoHeader:     {400, "MissingHeader", "A header is missing", nil},
			BadValue:     {422, "RecordInvalid", "Record validation errors", nil},
			Missing:      {404, "RecordNotFound", "Not found", nil},
			TooMany:      {429, "APIRateLimitExceeded", "Number of allowed API requests per minute exceeded", []string{"Retry-After", "1"}},
		}),
		Routes: []Route{
			{Call: "GET " + root + "users/me.json", Takes: []string{}, Answer: fixed(200, map[string]any{"user": map[string]any{"id": 1, "role": "agent"}})},
			{Call: "GET " + root + "tickets.json", Takes: []string{"page[after]", "page[size]"}, Answer: tickets.byCursor(func(page []any, next any) any {
				return map[string]any{"tickets": page, "meta": map[string]any{"has_more": next != nil, "after_cursor": next}}
			})},
			{Call: "GET " + root + "search.json", Takes: []string{"query", "page", "per_page"}, Answer: found.byPage(func(page []any, total int) any {
				return map[string]any{"results": page, "count": total}
			})},
			{Call: "GET " + root + "incremental/tickets/cursor.json", Takes: []string{"start_time", "cursor", "per_page"}, Answer: func(r *Request) Reply {
				size, _ := exported.size(r)
				from, cursor := 0, r.URL.Query().Get("cursor")
				if cursor != "" {
					var ok bool
					if from, ok = marked(cursor); !ok {
						return r.Refuse(BadValue)
					}
				} else if r.URL.Query().Get("start_time") == "" {
					return r.Refuse(BadValue)
				}
				page := exported.cut(from, size)
				after, _ := marks(from + len(page)).(string)
				return says(200, map[string]any{
					"tickets": page, "end_of_stream": from+len(page) >= len(exported.Rows), "after_cursor": after,
					"after_url": r.Root + r.URL.EscapedPath() + "?cursor=" + after + "&per_page=" + r.URL.Query().Get("per_page"),
				})
			}},
			{Call: "GET " + root + "tickets/*", Takes: []string{}, Answer: refuses(Missing)},
			{Call: "GET " + root + "views.json", Takes: []string{}, Busy: 1, Answer: fixed(200, map[string]any{"views": []any{}, "meta": map[string]any{"has_more": false}})},
			{Call: "PUT " + root + "users/*", Type: jsonType, Takes: []string{"user"}, Answer: func(r *Request) Reply {
				if r.text("user.name") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"user": map[string]any{"id": 1}})
			}},
			{Call: "POST " + root + "tickets.json", Type: jsonType, Takes: []string{"ticket"}, Answer: fixed(201, map[string]any{"ticket": map[string]any{"id": 9}})},
		},
	}
}
