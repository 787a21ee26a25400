package simulator

import (
	"strconv"
	"strings"
)

// refuses answers every request with one refusal.
func refuses(t Trouble) func(*Request) Reply {
	return func(r *Request) Reply { return r.Refuse(t) }
}

// Trello: key and token in the address, actions from the newest on with the
// number of the last one seen, refusals as plain text. 401 is also what a
// person may not see.
func Trello() Service {
	const root, key, token = "api.trello.com/1/", "trello-key-simulated", "trello-token-simulated"
	const before = "65f0c0ffee00000000000"
	plain := []string{"Content-Type", "text/plain; charset=utf-8"}
	actions := paging{
		Rows: rows(5, func(n int) map[string]any {
			return map[string]any{"id": before + strconv.Itoa(100+n), "type": "commentCard", "place": n}
		}),
		Name: "before", Size: "limit", Max: 1000,
		Find: func(cursor string) (int, bool) {
			n, err := strconv.Atoi(strings.TrimPrefix(cursor, before))
			return n - 100, err == nil && strings.HasPrefix(cursor, before) && n > 100
		},
		Mark: func(next int) any { return next },
	}
	texts := refusals(func(_ int, _, message string) any { return message }, map[Trouble]refusal{
		NoCredential: {401, "", "invalid token", plain},
		NoPath:       {404, "", "Cannot find that address", plain},
		NoMethod:     {404, "", "Cannot do that at this address", plain},
		NoType:       {400, "", "Error parsing body: bad media type", plain},
		NoHeader:     {400, "", "a header is missing", plain},
		BadValue:     {400, "", "invalid value for idList", plain},
		Missing:      {404, "", "The requested resource was not found.", plain},
	})
	texts[TooMany] = says(429, map[string]any{"error": "API_TOKEN_LIMIT_EXCEEDED", "message": "Rate limit exceeded"})
	return Service{
		ID:      "trello",
		Good:    Credential{Fields: map[string]string{"key": key, "token": token}},
		Stale:   Credential{Fields: map[string]string{"key": key, "token": "trello-token-of-last-year"}},
		Auth:    all(inQuery("key", key), inQuery("token", token)),
		Carries: []string{"key", "token"},
		Refusal: texts,
		Routes: []Route{
			{Call: "GET " + root + "members/me", Takes: []string{"fields"}, Answer: fixed(200, map[string]any{"id": "m-1", "username": "robot"})},
			{Call: "GET " + root + "boards/*/actions", Takes: []string{"before", "limit"}, Answer: actions.byCursor(func(page []any, _ any) any { return page })},
			{Call: "GET " + root + "boards/*", Takes: []string{}, Answer: fixed(401, "unauthorized permission requested", plain...)},
			{Call: "GET " + root + "cards/*", Takes: []string{"fields"}, Answer: refuses(Missing)},
			{Call: "GET " + root + "lists/*/cards", Takes: []string{"fields"}, Busy: 1, Answer: fixed(200, []any{})},
			{Call: "PUT " + root + "cards/*", Type: jsonType, Takes: []string{"idList", "pos"}, Answer: func(r *Request) Reply {
				if r.text("idList") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"id": r.Parts[0], "idList": r.text("idList")})
			}},
			{Call: "DELETE " + root + "cards/*", Takes: []string{}, Answer: fixed(200, map[string]any{"limits": map[string]any{}})},
		},
	}
}

// UniSender: methods by name, the key within a form, failures in answers of
// status 200, some of them without a code.
func UniSender() Service {
	const key = "unisender-key-simulated"
	at := func(method string) string { return "POST api.unisender.com/ru/api/" + method }
	letters := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"id": n, "subject": "News"} }),
		In:   "body", Name: "offset", Size: "limit", Max: 100,
	}
	form := func(answer func(*Request) Reply) func(*Request) Reply {
		return func(r *Request) Reply {
			if r.text("format") != "json" {
				return r.Refuse(BadValue)
			}
			return answer(r)
		}
	}
	method := func(name string, answer func(*Request) Reply, takes ...string) Route {
		return Route{Call: at(name), Type: formType, Takes: append([]string{}, takes...), Answer: form(answer)}
	}
	slow := method("getCampaignStatus", fixed(200, map[string]any{"result": map[string]any{"status": "completed"}}), "campaign_id")
	slow.Busy = 1
	return Service{
		ID:      "unisender",
		Good:    Credential{Fields: map[string]string{"api_key": key}},
		Stale:   Credential{Fields: map[string]string{"api_key": "unisender-key-of-last-year"}},
		Auth:    inForm("api_key", key),
		Carries: []string{"api_key", "format"},
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"error": message, "code": code}
		}, map[Trouble]refusal{
			NoCredential: {200, "invalid_api_key", "The API key is not valid", nil},
			NoPath:       {200, "unknown_method", "There is no such method", nil},
			NoMethod:     {200, "unspecified", "POST is expected", nil},
			NoType:       {200, "unspecified", "A form is expected", nil},
			NoHeader:     {200, "unspecified", "A header is missing", nil},
			BadValue:     {200, "invalid_arg", "An argument is not valid", nil},
			Missing:      {200, "invalid_arg", "There is no such contact", nil},
			TooMany:      {200, "api_call_limit_exceeded_for_api_key", "More than 1200 calls a minute", nil},
		}),
		Routes: []Route{
			method("getLists", fixed(200, map[string]any{"result": []any{map[string]any{"id": 1, "title": "All"}}})),
			method("listMessages", letters.byNumber(func(page []any, _ int) any { return map[string]any{"result": page} }), "limit", "offset"),
			method("getContact", refuses(Missing), "email"),
			method("getFields", fixed(200, map[string]any{"error": "These list ids have no confirmation letters"})),
			method("getUserInfo", fixed(200, map[string]any{"error": "No right to this method", "code": "access_denied"})),
			slow,
			method("createList", func(r *Request) Reply {
				if r.text("title") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"result": map[string]any{"id": 7}})
			}, "title"),
			method("deleteList", fixed(200, map[string]any{"result": map[string]any{}}), "list_id"),
		},
	}
}

// TBankAcquiring: methods by name, a signature over the body's root values,
// failures in answers of status 200 with a number as text; 0 is success.
func TBankAcquiring() Service {
	const terminal, password = "1700000000001DEMO", "tbank-password-simulated"
	at := func(method string) string { return "POST securepay.tinkoff.ru/v2/" + method }
	done := func(more map[string]any) map[string]any {
		answer := map[string]any{"Success": true, "ErrorCode": "0", "TerminalKey": terminal}
		for name, value := range more {
			answer[name] = value
		}
		return answer
	}
	cards := rows(3, func(n int) map[string]any {
		return map[string]any{"CardId": strconv.Itoa(n), "Pan": "430000******0777", "Status": "A"}
	})
	return Service{
		ID:      "tbank_acquiring",
		Good:    Credential{Fields: map[string]string{"terminal_key": terminal, "password": password}},
		Stale:   Credential{Fields: map[string]string{"terminal_key": terminal, "password": "tbank-password-of-last-year"}},
		Auth:    sortedSum("Token", password, map[string]string{"TerminalKey": terminal}),
		Carries: []string{"TerminalKey", "Token"},
		Refusal: refusals(func(status int, code, message string) any {
			if status != 200 {
				return message
			}
			return map[string]any{"Success": false, "ErrorCode": code, "Message": "Неверные параметры.", "Details": message}
		}, map[Trouble]refusal{
			NoCredential: {200, "204", "Неверный токен. Проверьте пару TerminalKey/SecretKey.", nil},
			NoPath:       {404, "", "Not Found", []string{"Content-Type", "text/plain"}},
			NoMethod:     {405, "", "Method Not Allowed", []string{"Content-Type", "text/plain"}},
			NoType:       {415, "", "Unsupported Media Type", []string{"Content-Type", "text/plain"}},
			NoHeader:     {200, "203", "Параметры запроса не должны быть пустыми.", nil},
			BadValue:     {200, "201", "Поле не должно быть пустым.", nil},
			Missing:      {200, "503", "CustomerKey не найден.", nil},
			TooMany:      {200, "402", "Повторите попытку позже.", nil},
		}),
		Routes: []Route{
			{Call: at("CheckOrder"), Type: jsonType, Takes: []string{"OrderId"}, Answer: fixed(200, done(map[string]any{"OrderId": "0", "Payments": []any{}}))},
			{Call: at("GetCustomer"), Type: jsonType, Takes: []string{"CustomerKey"}, Answer: refuses(Missing)},
			{Call: at("GetCardList"), Type: jsonType, Takes: []string{"CustomerKey"}, Answer: fixed(200, cards)},
			{Call: at("GetState"), Type: jsonType, Takes: []string{"PaymentId"}, Busy: 1, Answer: fixed(200, done(map[string]any{"Status": "CONFIRMED"}))},
			{Call: at("AddCustomer"), Type: jsonType, Takes: []string{"CustomerKey", "Email"}, Answer: func(r *Request) Reply {
				if r.text("CustomerKey") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, done(map[string]any{"CustomerKey": r.text("CustomerKey")}))
			}},
			// The receipt is no part of the signature, the number is.
			{Call: at("Init"), Type: jsonType, Takes: []string{"Amount", "OrderId", "Description", "Receipt"}, Answer: func(r *Request) Reply {
				if receipt, _ := r.Body["Receipt"].(map[string]any); len(receipt) == 0 || r.text("Amount") != "19200" {
					return r.Refuse(BadValue)
				}
				return says(200, done(map[string]any{"PaymentId": "13660", "Status": "NEW", "PaymentURL": "https://securepay.example/pay"}))
			}},
		},
	}
}
