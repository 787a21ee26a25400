package simulator

// VK: methods by name, forms, a version in the address, every failure in an
// answer of status 200 with a number of its own.
func VK() Service {
	const token = "vk-token-simulated"
	at := func(method string) string { return "POST api.vk.com/method/" + method }
	members := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"id": n, "track_code": "dropped"} }),
		In:   "body", Name: "offset", Size: "count", Max: 1000,
	}
	news := members
	news.Name, news.Max = "start_from", 200
	versioned := func(answer func(*Request) Reply) func(*Request) Reply {
		return func(r *Request) Reply {
			if r.URL.Query().Get("v") != "5.199" {
				return r.Refuse(NoHeader)
			}
			return answer(r)
		}
	}
	fault := func(code, message string) map[string]any {
		return map[string]any{"error": map[string]any{"error_code": number(code), "error_msg": message, "request_params": []any{}}}
	}
	method := func(name string, answer func(*Request) Reply, takes ...string) Route {
		return Route{Call: at(name), Type: formType, Takes: append([]string{}, takes...), Answer: versioned(answer)}
	}
	busy := method("users.get", fixed(200, map[string]any{"response": []any{map[string]any{"id": 1}}}), "user_ids")
	busy.Busy = 1
	return Service{
		ID:      "vk",
		Good:    Credential{Fields: map[string]string{"access_token": token}},
		Stale:   Credential{Fields: map[string]string{"access_token": "vk-token-of-last-year"}},
		Auth:    bearer(token),
		Carries: []string{"v"},
		Refusal: refusals(func(_ int, code, message string) any { return fault(code, message) }, map[Trouble]refusal{
			NoCredential: {200, "5", "User authorization failed: invalid access_token (4).", nil},
			NoPath:       {200, "3", "Unknown method passed", nil},
			NoMethod:     {200, "8", "Invalid request: method is not supported", nil},
			NoType:       {200, "8", "Invalid request: a form is expected", nil},
			NoHeader:     {200, "8", "Invalid request: v (version) is required", nil},
			BadValue:     {200, "100", "One of the parameters specified was missing or invalid", nil},
			Missing:      {200, "15", "Access denied", nil},
			TooMany:      {200, "6", "Too many requests per second", nil},
		}),
		Routes: []Route{
			method("utils.getServerTime", fixed(200, map[string]any{"response": 1796000000})),
			method("groups.getMembers", members.byNumber(func(page []any, total int) any {
				return map[string]any{"response": map[string]any{"count": total, "items": page}}
			}), "group_id", "offset", "count"),
			method("newsfeed.search", news.byCursor(func(page []any, next any) any {
				found := map[string]any{"items": page, "count": len(page)}
				if next != nil {
					found["next_from"] = next
				}
				return map[string]any{"response": found}
			}), "q", "start_from", "count"),
			method("wall.get", refuses(Missing), "owner_id", "count"),
			method("groups.getById", fixed(200, fault("27", "Group authorization failed: method is unavailable with group auth.")), "group_id"),
			method("stats.get", fixed(200, fault("14", "Captcha needed")), "group_id"),
			method("photos.get", refuses(BadValue), "owner_id"),
			busy,
			method("wall.edit", func(r *Request) Reply {
				if r.text("post_id") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"response": map[string]any{"post_id": 7}})
			}, "owner_id", "post_id", "message"),
			method("messages.send", func(r *Request) Reply {
				if r.text("random_id") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"response": 9})
			}, "peer_id", "random_id", "message"),
		},
	}
}
