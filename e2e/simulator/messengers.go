package simulator

import "strings"

// TelegramBot: the token in the path, methods by name, the wait in the body;
// updates are asked for from the one after the last that was seen.
func TelegramBot() Service {
	const host, token = "api.telegram.org/", "123456789:AAsimulatedsimulatedsimulatedsimula"
	at := func(method string) string { return "POST " + host + method }
	updates := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"update_id": 700 + n} }),
		In:   "body", Name: "offset", Size: "limit", Max: 100, Mark: func(next int) any { return next }, Find: numbered(701),
	}
	return Service{
		ID:    "telegram_bot",
		Good:  Credential{Fields: map[string]string{"token": token}},
		Stale: Credential{Fields: map[string]string{"token": "123456789:AAtakenbacktakenbacktakenbacktakenb"}},
		Auth:  inPath(host+"bot", token),
		Refusal: refusals(func(status int, code, message string) any {
			answer := map[string]any{"ok": false, "error_code": status, "description": message}
			if code != "" {
				answer["parameters"] = map[string]any{"retry_after": number(code)}
			}
			return answer
		}, map[Trouble]refusal{
			NoCredential: {401, "", "Unauthorized", nil},
			NoPath:       {404, "", "Not Found", nil},
			NoMethod:     {405, "", "Method Not Allowed", nil},
			NoType:       {400, "", "Bad Request: unsupported content type", nil},
			NoHeader:     {400, "", "Bad Request: a header is missing", nil},
			BadValue:     {400, "", "Bad Request: message text is empty", nil},
			Missing:      {400, "", "Bad Request: chat not found", nil},
			TooMany:      {429, "1", "Too Many Requests: retry after 1", nil},
		}),
		Routes: []Route{
			{Call: at("getMe"), Type: jsonType, Answer: fixed(200, map[string]any{"ok": true, "result": map[string]any{"id": 123456789, "is_bot": true}})},
			{Call: at("getUpdates"), Type: jsonType, Answer: updates.byCursor(func(page []any, _ any) any {
				return map[string]any{"ok": true, "result": page}
			})},
			{Call: at("getChat"), Type: jsonType, Answer: func(r *Request) Reply { return r.Refuse(Missing) }},
			{Call: at("getChatAdministrators"), Type: jsonType, Busy: 1, Answer: fixed(200, map[string]any{"ok": true, "result": []any{}})},
			{Call: at("setMyCommands"), Type: jsonType, Answer: func(r *Request) Reply {
				if commands, _ := r.Body["commands"].([]any); len(commands) == 0 {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"ok": true, "result": true})
			}},
			{Call: at("sendMessage"), Type: jsonType, Answer: func(r *Request) Reply {
				if r.text("text") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"ok": true, "result": map[string]any{"message_id": 9}})
			}},
		},
	}
}

// Slack: forms, failures in answers of status 200, cursors on pages that may
// be empty, Retry-After.
func Slack() Service {
	const token = "bot-token-of-the-simulator"
	at := func(method string) string { return "POST slack.com/api/" + method }
	channels := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"id": "C1", "num_members": n} }),
		In:   "body", Name: "cursor", Size: "limit", Max: 200, Gap: 2,
	}
	good := bearer(token)
	return Service{
		ID:    "slack",
		Good:  Credential{Auth: "bot", Fields: map[string]string{"bot_token": token}},
		Stale: Credential{Auth: "bot", Fields: map[string]string{"bot_token": "bot-token-of-last-year"}},
		Auth:  good,
		Refusal: refusals(func(_ int, code, _ string) any {
			return map[string]any{"ok": false, "error": code}
		}, map[Trouble]refusal{
			NoCredential: {200, "invalid_auth", "", nil},
			NoPath:       {200, "unknown_method", "", nil},
			NoMethod:     {200, "invalid_method", "", nil},
			NoType:       {200, "invalid_post_type", "", nil},
			NoHeader:     {200, "invalid_headers", "", nil},
			BadValue:     {200, "invalid_arguments", "", nil},
			Missing:      {200, "channel_not_found", "", nil},
			TooMany:      {429, "ratelimited", "", []string{"Retry-After", "1"}},
		}),
		Routes: []Route{
			{Call: at("auth.test"), Type: formType, Answer: fixed(200, map[string]any{"ok": true, "user": "robot", "team": "Acme"})},
			{Call: at("conversations.list"), Type: formType, Answer: channels.byCursor(func(page []any, next any) any {
				if next == nil {
					next = ""
				}
				return map[string]any{"ok": true, "channels": page, "response_metadata": map[string]any{"next_cursor": next}}
			})},
			{Call: at("conversations.info"), Type: formType, Answer: func(r *Request) Reply { return r.Refuse(Missing) }},
			{Call: at("users.info"), Type: formType, Busy: 1, Answer: fixed(200, map[string]any{"ok": true, "user": map[string]any{"id": "U1"}})},
			{Call: at("reactions.add"), Type: formType, Answer: func(r *Request) Reply {
				if r.text("channel") == "" || r.text("timestamp") == "" || strings.Contains(r.text("name"), ":") {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"ok": true})
			}},
			{Call: at("chat.postMessage"), Type: formType, Answer: func(r *Request) Reply {
				if r.text("channel") == "" || r.text("text") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"ok": true, "ts": "1790000000.000100"})
			}},
		},
	}
}
