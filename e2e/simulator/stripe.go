package simulator

import (
	"fmt"
	"sync"
)

// Stripe: forms with brackets, the last id as cursor, keys that let a write be
// repeated: a repeat with another key would be another object.
func Stripe() Service {
	const host, key = "api.stripe.com/v1/", "secret-key-simulated"
	customers := paging{
		Rows: rows(5, func(n int) map[string]any { return map[string]any{"id": fmt.Sprintf("cus_%d", n), "created": n} }),
		Name: "starting_after", Size: "limit", Max: 100,
		Mark: func(next int) any { return next },
		Find: func(cursor string) (int, bool) {
			var n int
			_, err := fmt.Sscanf(cursor, "cus_%d", &n)
			return n, err == nil && n > 0
		},
	}
	var mu sync.Mutex
	keys := map[string]int{}
	once := func(answer func(*Request) Reply) func(*Request) Reply {
		return func(r *Request) Reply {
			mu.Lock()
			defer mu.Unlock()
			if keys[r.Header.Get("Idempotency-Key")]++; len(keys) != 1 {
				return r.Refuse(BadValue)
			}
			return answer(r)
		}
	}
	return Service{
		ID:    "stripe",
		Good:  Credential{Fields: map[string]string{"secret_key": key}},
		Stale: Credential{Fields: map[string]string{"secret_key": "secret-key-of-last-year"}},
		Auth:  bearer(key),
		Refusal: refusals(func(_ int, code, message string) any {
			return map[string]any{"error": map[string]any{"type": "invalid_request_error", "code": code, "message": message}}
		}, map[Trouble]refusal{
			NoCredential: {401, "api_key_expired", "Expired API Key provided.", nil},
			NoPath:       {404, "url_invalid", "Unrecognized request URL.", nil},
			NoMethod:     {405, "method_not_allowed", "Unsupported method.", nil},
			NoType:       {400, "content_type_invalid", "Invalid content type.", nil},
			NoHeader:     {400, "header_missing", "A header is missing.", nil},
			BadValue:     {400, "parameter_missing", "Missing required param.", nil},
			Missing:      {404, "resource_missing", "No such customer: 'cus_404'", nil},
			TooMany:      {429, "lock_timeout", "This object cannot be accessed right now.", nil},
		}),
		Routes: []Route{
			{Call: "GET " + host + "balance", Answer: fixed(200, map[string]any{"object": "balance"})},
			{Call: "GET " + host + "customers", Answer: customers.byCursor(func(page []any, next any) any {
				return map[string]any{"object": "list", "data": page, "has_more": next != nil}
			})},
			{Call: "GET " + host + "customers/*", Answer: func(r *Request) Reply { return r.Refuse(Missing) }},
			{Call: "GET " + host + "balance_transactions", Busy: 1, Answer: fixed(200, map[string]any{"object": "list", "data": []any{}, "has_more": false})},
			{Call: "POST " + host + "customers", Type: formType, Answer: func(r *Request) Reply {
				if r.text("metadata[plan]") != "pro" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"id": "cus_6"})
			}},
			{Call: "POST " + host + "refunds", Type: formType, Answer: fixed(200, map[string]any{"id": "re_1", "status": "succeeded"})},
			{Call: "POST " + host + "products", Type: formType, Busy: 1, Answer: fixed(200, map[string]any{"id": "prod_1"})},
			{Call: "POST " + host + "coupons", Type: formType, Busy: 1, Answer: once(func(r *Request) Reply {
				if r.Header.Get("Idempotency-Key") == "" {
					return r.Refuse(BadValue)
				}
				return says(200, map[string]any{"id": "coupon_1"})
			})},
		},
	}
}
