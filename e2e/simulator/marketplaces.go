package simulator

import (
	"regexp"
	"slices"
	"strconv"
)

// dateForm is a day or a time in Moscow, without a zone.
var dateForm = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?)?$`)

const (
	jsonType = "application/json"
	formType = "application/x-www-form-urlencoded"
)

// Wildberries: a raw token in Authorization, many hosts, paging by the last
// row's time and number, by a counted next or by the date of a change, and headers of its own for the
// wait.
func Wildberries() Service {
	const key = "wb-token-of-the-simulator"
	cards := paging{
		Rows: rows(250, func(n int) map[string]any {
			return map[string]any{"nmID": 1000 + n, "vendorCode": "ART", "photos": []any{"dropped"}, "updatedAt": "2026-11-01T00:00:00Z"}
		}),
		In: "body", Name: "settings.cursor.nmID", Size: "settings.cursor.limit", Max: 100,
		Mark: func(next int) any { return 1000 + next }, Find: numbered(1000),
	}
	list := cards.byCursor(func(page []any, _ any) any {
		cursor := map[string]any{"total": len(page)}
		if len(page) > 0 {
			last, _ := page[len(page)-1].(map[string]any)
			cursor["updatedAt"], cursor["nmID"] = last["updatedAt"], last["nmID"]
		}
		return map[string]any{"cards": page, "cursor": cursor}
	})
	orders := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"id": n} }),
		Name: "next", Size: "limit", Max: 1000, Mark: func(next int) any { return next }, Find: numbered(0),
	}
	prices := paging{
		Rows: rows(7, func(n int) map[string]any { return map[string]any{"nmID": n, "discount": 5} }),
		Name: "offset", Size: "limit", Max: 1000,
	}
	// Rows changed after a date, so many at once as the service likes; no row
	// more tells the end.
	changed := rows(5, func(n int) map[string]any {
		return map[string]any{"srid": n, "lastChangeDate": "2026-11-0" + strconv.Itoa(n) + "T10:11:07"}
	})
	changes := func(r *Request) Reply {
		since := r.URL.Query().Get("dateFrom")
		if since == "" {
			return says(400, map[string]any{"errors": []any{"dateFrom: field required"}})
		}
		if !dateForm.MatchString(since) {
			return says(400, map[string]any{"errors": "dateFrom: Value not validated"})
		}
		from := slices.IndexFunc(changed, func(row any) bool {
			fields, _ := row.(map[string]any)
			date, _ := fields["lastChangeDate"].(string)
			return date > since
		})
		if from < 0 {
			return says(200, []any{})
		}
		return says(200, changed[from:min(from+2, len(changed))])
	}
	return Service{
		ID:    "wildberries",
		Good:  Credential{Fields: map[string]string{"api_key": key}},
		Stale: Credential{Fields: map[string]string{"api_key": "wb-token-of-last-year"}},
		Auth:  inHeader("Authorization", key),
		Refusal: refusals(func(status int, code, message string) any {
			return map[string]any{"title": code, "detail": message, "requestId": "req-simulated", "status": status, "statusText": code}
		}, map[Trouble]refusal{
			NoCredential: {401, "Unauthorized", "token problem; token is malformed", nil},
			NoPath:       {404, "Not Found", "path not found", nil},
			NoMethod:     {405, "Method Not Allowed", "method not allowed", nil},
			NoType:       {415, "Unsupported Media Type", "application/json is expected", nil},
			NoHeader:     {400, "Bad Request", "a header is missing", nil},
			BadValue:     {400, "Bad Request", "a value is not valid", nil},
			Missing:      {404, "Not Found", "no such order", nil},
			TooMany:      {429, "Too Many Requests", "limited by c122a060", []string{"X-Ratelimit-Retry", "1", "X-Ratelimit-Limit", "20", "X-Ratelimit-Reset", "4"}},
		}),
		Routes: []Route{
			{Call: "GET common-api.wildberries.ru/ping", Answer: fixed(200, map[string]any{"TS": "2026-11-30T12:00:00Z", "Status": "OK"})},
			{Call: "POST content-api.wildberries.ru/content/v2/get/cards/list", Type: jsonType, Answer: func(r *Request) Reply {
				if (r.text("settings.cursor.updatedAt") == "") != (r.text("settings.cursor.nmID") == "") {
					return r.Refuse(BadValue)
				}
				return list(r)
			}},
			{Call: "GET marketplace-api.wildberries.ru/api/v3/orders", Answer: orders.byCursor(func(page []any, next any) any {
				if next == nil {
					next = 0
				}
				return map[string]any{"next": next, "orders": page}
			})},
			{Call: "GET marketplace-api.wildberries.ru/api/v3/orders/new", Busy: 1, Answer: fixed(200, map[string]any{"orders": []any{map[string]any{"id": 1}}})},
			{Call: "PATCH marketplace-api.wildberries.ru/api/v3/orders/*/cancel", Answer: fixed(204, nil)},
			{Call: "GET discounts-prices-api.wildberries.ru/api/v2/list/goods/filter", Answer: prices.byNumber(func(page []any, _ int) any {
				return map[string]any{"data": map[string]any{"listGoods": page}, "error": false, "errorText": ""}
			})},
			{Call: "POST discounts-prices-api.wildberries.ru/api/v2/upload/task", Type: jsonType, Answer: func(r *Request) Reply {
				goods, _ := r.Body["data"].([]any)
				if len(goods) == 0 {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"data": map[string]any{"id": 77, "alreadyExists": false}, "error": false, "errorText": ""})
			}},
			{Call: "GET statistics-api.wildberries.ru/api/v1/supplier/orders", Answer: changes},
			{Call: "GET statistics-api.wildberries.ru/api/v1/supplier/sales", Answer: changes},
		},
	}
}

// Ozon: two headers, nearly everything POST, cursors in the body, one pace for
// all methods.
func Ozon() Service {
	const client, key = "770077", "ozon-key-of-the-simulator"
	products := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"product_id": n, "offer_id": "ART"} }),
		In:   "body", Name: "last_id", Size: "limit", Max: 1000,
	}
	return Service{
		ID:    "ozon",
		Good:  Credential{Fields: map[string]string{"client_id": client, "api_key": key}},
		Stale: Credential{Fields: map[string]string{"client_id": client, "api_key": "ozon-key-of-last-year"}},
		Auth:  all(inHeader("Api-Key", key), inHeader("Client-Id", client)),
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"code": number(code), "message": message, "details": []any{}}
		}, map[Trouble]refusal{
			NoCredential: {401, "16", "Client-Id and Api-Key headers are required", nil},
			NoPath:       {404, "12", "404 page not found", nil},
			NoMethod:     {405, "12", "Method Not Allowed", nil},
			NoType:       {415, "3", "unsupported media type", nil},
			NoHeader:     {400, "3", "a header is missing", nil},
			BadValue:     {400, "3", "Request validation error: invalid request", nil},
			Missing:      {404, "5", "POSTING_NOT_FOUND", nil},
			TooMany:      {429, "8", "You have reached request rate limit per second", nil},
		}),
		Routes: []Route{
			{Call: "POST api-seller.ozon.ru/v1/seller/info", Type: jsonType, Answer: fixed(200, map[string]any{"company": map[string]any{"name": "Ромашка"}})},
			{Call: "POST api-seller.ozon.ru/v3/product/list", Type: jsonType, Answer: products.byCursor(func(page []any, next any) any {
				if next == nil {
					next = ""
				}
				return map[string]any{"result": map[string]any{"items": page, "total": 5, "last_id": next}}
			})},
			{Call: "POST api-seller.ozon.ru/v4/product/info/stocks", Type: jsonType, Busy: 1, Answer: fixed(200, map[string]any{"items": []any{map[string]any{"offer_id": "ART"}}, "cursor": "", "total": 1})},
			{Call: "POST api-seller.ozon.ru/v3/product/info/list", Type: jsonType, Answer: func(r *Request) Reply { return r.Refuse(BadValue) }},
			{Call: "POST api-seller.ozon.ru/v1/product/import/prices", Type: jsonType, Answer: func(r *Request) Reply {
				if _, ok := r.Body["prices"].([]any); !ok {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"result": []any{map[string]any{"offer_id": "ART-1", "updated": true}}})
			}},
			{Call: "POST api-seller.ozon.ru/v2/posting/fbs/cancel", Type: jsonType, Answer: fixed(200, map[string]any{"result": true})},
		},
	}
}
