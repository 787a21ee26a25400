package simulator

import "strconv"

// Megamarket: the token within the body's data, every call a POST, failures in
// answers of status 200 that say success 0.
func Megamarket() Service {
	const token = "megamarket-token-simulated"
	const orders, offers = "POST api.megamarket.tech/api/market/v1/orderService/", "POST api.megamarket.tech/api/merchantIntegration/v1/offerService/"
	good := func(data any) map[string]any {
		return map[string]any{"success": 1, "meta": map[string]any{}, "data": data}
	}
	whole := func(answer func(*Request) Reply) func(*Request) Reply {
		return func(r *Request) Reply {
			if _, ok := r.Body["meta"].(map[string]any); !ok {
				return r.Refuse(BadValue)
			}
			return answer(r)
		}
	}
	call := func(place string, busy int, answer func(*Request) Reply) Route {
		return Route{Call: place, Type: jsonType, Takes: []string{"meta", "data"}, Busy: busy, Answer: whole(answer)}
	}
	shipments := rows(3, func(n int) map[string]any { return map[string]any{"shipmentId": strconv.Itoa(n)} })
	return Service{
		ID:    "megamarket",
		Good:  Credential{Fields: map[string]string{"token": token}},
		Stale: Credential{Fields: map[string]string{"token": "megamarket-token-of-last-year"}},
		Auth:  inObject("data.token", token),
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"success": 0, "meta": map[string]any{}, "error": map[string]any{"code": code, "message": message}}
		}, map[Trouble]refusal{
			NoCredential: {401, "401", "The token is not valid", nil},
			NoPath:       {404, "404", "There is no such method", nil},
			NoMethod:     {405, "405", "POST is expected", nil},
			NoType:       {415, "415", "JSON is expected", nil},
			NoHeader:     {400, "400", "A header is missing", nil},
			BadValue:     {200, "1001", "The body is not valid", nil},
			Missing:      {200, "1002", "There is no such shipment", nil},
			TooMany:      {429, "429", "Too many requests", nil},
		}),
		Routes: []Route{
			call(orders+"order/search", 0, fixed(200, good(map[string]any{"shipments": []any{"946045978"}}))),
			call(orders+"order/get", 0, fixed(200, good(map[string]any{"shipments": shipments}))),
			call(orders+"sticker/print", 1, fixed(200, good(map[string]any{"html": "x"}))),
			call(orders+"order/confirm", 0, refuses(Missing)),
			call(orders+"order/reject", 0, fixed(200, good(map[string]any{}))),
			call(offers+"stock/update", 0, func(r *Request) Reply {
				data, _ := r.Body["data"].(map[string]any)
				if stocks, _ := data["stocks"].([]any); len(stocks) == 0 {
					return r.Refuse(BadValue)
				}
				return says(200, good(map[string]any{"savedStocks": 1}))
			}),
		},
	}
}

// OzonPerformance: a pair of keys is exchanged as JSON for a token of half an
// hour; pages are numbered, in the address and in a body.
func OzonPerformance() Service {
	const root = "api-performance.ozon.ru/"
	grant := &exchange{id: "42-acme@advertising.performance.ozon.ru", secret: "performance-secret-simulated"}
	pair := func(secret string) map[string]string {
		return map[string]string{"client_id": grant.id, "client_secret": secret}
	}
	campaigns := paging{
		Rows: rows(5, func(n int) map[string]any {
			return map[string]any{"id": strconv.Itoa(n), "state": "CAMPAIGN_STATE_RUNNING"}
		}),
		Name: "page", Size: "pageSize", Max: 100, Start: 1,
	}
	products := campaigns
	products.In = "body"
	return Service{
		ID:    "ozon_performance",
		Good:  Credential{Fields: pair(grant.secret)},
		Stale: Credential{Fields: pair("performance-secret-of-last-year")},
		Auth:  grant.good,
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"code": number(code), "message": message, "details": []any{}}
		}, map[Trouble]refusal{
			NoCredential: {401, "16", "invalid client credentials", nil},
			NoPath:       {404, "12", "Not Found", nil},
			NoMethod:     {405, "12", "Method Not Allowed", nil},
			NoType:       {415, "3", "JSON is expected", nil},
			NoHeader:     {400, "3", "a header is missing", nil},
			BadValue:     {400, "3", "a value is not valid", nil},
			Missing:      {404, "5", "report not found", nil},
			TooMany:      {429, "8", "too many requests", nil},
		}),
		Routes: []Route{
			{Call: "POST " + root + "api/client/token", Type: jsonType, Open: true, Answer: grant.credentials},
			{Call: "GET " + root + "api/client/campaign", Takes: []string{"page", "pageSize"}, Answer: campaigns.byPage(func(page []any, total int) any {
				return map[string]any{"list": page, "total": strconv.Itoa(total)}
			})},
			{Call: "POST " + root + "api/client/campaign/search_promo/v2/products", Type: jsonType, Takes: []string{"page", "pageSize"}, Answer: products.byPage(func(page []any, _ int) any {
				return map[string]any{"products": page}
			})},
			{Call: "GET " + root + "api/client/statistics/*", Takes: []string{}, Answer: refuses(Missing)},
			{Call: "GET " + root + "api/client/limits/list", Takes: []string{}, Busy: 1, Answer: fixed(200, map[string]any{"limits": []any{}})},
			{Call: "PATCH " + root + "api/client/campaign/*", Type: jsonType, Takes: []string{"dailyBudget"}, Answer: func(r *Request) Reply {
				if r.text("dailyBudget") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{})
			}},
			{Call: "POST " + root + "api/client/campaign/*/activate", Takes: []string{}, Answer: fixed(200, map[string]any{})},
		},
	}
}

// HH: an agent of its own name in a header, pages counted from 0, an access
// token that ends with 403, and a refresh that is taken only then.
func HH() Service {
	const root, agent = "api.hh.ru/", "Acme/1.0 (me@example.com)"
	grant := &exchange{refresh: "refresh-0-simulated", uses: 5, patient: true}
	vacancies := paging{
		Rows: rows(5, func(n int) map[string]any {
			return map[string]any{"id": strconv.Itoa(n), "branded_description": "dropped"}
		}),
		Name: "page", Size: "per_page", Max: 100,
	}
	named := map[string]string{"user_agent": agent}
	return Service{
		ID:      "hh",
		Good:    Credential{Auth: "oauth2_refresh", Fields: map[string]string{"refresh_token": grant.refresh}, Params: named},
		Stale:   Credential{Auth: "oauth2_refresh", Fields: map[string]string{"refresh_token": "refresh-of-last-year"}, Params: named},
		Auth:    grant.good,
		Headers: map[string]string{"HH-User-Agent": agent},
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"errors": []any{map[string]any{"type": code, "value": message}}, "request_id": "request-simulated"}
		}, map[Trouble]refusal{
			NoCredential: {403, "oauth", "token_expired", nil},
			NoPath:       {404, "not_found", "path", nil},
			NoMethod:     {405, "method_not_allowed", "method", nil},
			NoType:       {400, "bad_argument", "content-type", nil},
			NoHeader:     {400, "bad_user_agent", "HH-User-Agent", nil},
			BadValue:     {400, "bad_argument", "a value", nil},
			Missing:      {404, "not_found", "resume", nil},
			TooMany:      {429, "too_many_requests", "slow down", nil},
		}),
		Routes: []Route{
			{Call: "POST " + root + "token", Type: formType, Open: true, Takes: []string{"grant_type", "refresh_token"}, Answer: grant.refreshes},
			{Call: "GET " + root + "me", Takes: []string{}, Answer: fixed(200, map[string]any{"id": "1", "is_employer": true})},
			{Call: "GET " + root + "vacancies", Takes: []string{"text", "page", "per_page"}, Answer: vacancies.byPage(func(page []any, total int) any {
				return map[string]any{"items": page, "found": total, "pages": 3}
			})},
			{Call: "GET " + root + "resumes/*", Takes: []string{}, Answer: refuses(Missing)},
			{Call: "GET " + root + "dictionaries", Takes: []string{}, Busy: 1, Answer: fixed(200, map[string]any{"currency": []any{}})},
			{Call: "PUT " + root + "common/chats/*/message/*/read", Takes: []string{}, Answer: fixed(204, nil)},
			{Call: "PUT " + root + "employers/*/vacancies/archived/*", Takes: []string{}, Answer: fixed(204, nil)},
		},
	}
}
