package connect_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/connect"
)

var pathPart = regexp.MustCompile(`\['([^']+)'\]|\[([0-9]+)\]|\.?([A-Za-z_]+)`)

// holding is a JSON value that has a text at a path of the catalog.
func holding(path, text string) any {
	var value any = text
	parts := pathPart.FindAllStringSubmatch(strings.TrimPrefix(path, "$"), -1)
	for i := len(parts) - 1; i >= 0; i-- {
		if parts[i][2] != "" {
			value = []any{value}
			continue
		}
		value = map[string]any{parts[i][1] + parts[i][3]: value}
	}
	return value
}

// answerOf is an answer that a rule is about.
func answerOf(rule catalog.ErrorRule) (status int, body string) {
	status = rule.Status
	if status == 0 {
		status = http.StatusOK
	}
	switch {
	case rule.JSON != "":
		raw, _ := json.Marshal(holding(rule.JSON, orSome(rule.Equals)))
		return status, string(raw)
	case rule.Body != "":
		return status, `{"unknown":` + strconv.Quote(rule.Body) + `}`
	}
	return status, `{}`
}

func orSome(text string) string {
	if text == "" {
		return "some"
	}
	return text
}

// connectedTo makes a connection of a service, with values of the right form.
func connectedTo(s *catalog.Service) connect.Connection {
	c := connect.Connection{ID: "connection_" + s.ID, Service: s.ID, Version: 1, Fields: map[string]string{}, Params: map[string]string{}}
	for _, field := range s.Auth[0].Fields {
		c.Fields[field.Name] = secret
		for _, form := range []string{"https://acme.bitrix24.ru/rest/1/s3cr3tcode123456/", "123456789:AAsecretsecretsecretsecretsecretsec", "123456", "AC" + strings.Repeat("0a", 16)} {
			if field.Pattern != "" && regexp.MustCompile(`^(?:`+field.Pattern+`)$`).MatchString(form) {
				c.Fields[field.Name] = form
			}
		}
	}
	for _, param := range s.Params {
		for _, value := range []string{"some", "AC" + strings.Repeat("0a", 16), "acme.bitrix24.ru", "https://one.acme.example/base", "acme", param.Default} {
			if param.Accepts(value) == nil {
				c.Params[param.Name] = value
			}
		}
	}
	return c
}

// TestEveryRuleForErrorsIsReached: each answer that a checked service's file has
// a rule for ends as that rule says, whatever status it came with and whatever
// rules stand before.
func TestEveryRuleForErrorsIsReached(t *testing.T) {
	t.Parallel()
	all, err := services()
	if err != nil {
		t.Fatal(err)
	}
	reached := 0
	for _, id := range all.IDs() {
		service, _ := all.Service(id)
		if service.Status != catalog.Checked {
			continue
		}
		for i, rule := range service.Errors {
			status, body := answerOf(rule)
			t.Run(fmt.Sprintf("%s/%d", id, i), func(t *testing.T) {
				t.Parallel()
				b := open(t, func(w http.ResponseWriter, r *http.Request) {
					if service.Auth[0].Token != nil && strings.HasSuffix(r.URL.Path, "/token") {
						say(200, `{"access_token":"token-of-the-exchange","expires_in":3600}`)(w, r)
						return
					}
					say(status, body)(w, r)
				})
				b.books[id] = connectedTo(service)
				c := *service.Check
				if method, path, ok := strings.Cut(rule.Match, " "); ok {
					c = catalog.Call{Module: c.Module, Method: method, Path: path}
				}
				call := connect.Call{Service: id, Module: c.Module, Method: c.Method, Path: c.Path, Query: c.Query, Body: c.Body}
				if rule.Reconnect {
					b.refused(call, coworker.NotConnected)
					// An access token is exchanged anew once, and that may keep a pace.
					if asked, _ := b.requests(); len(b.broken) != 1 || len(asked) != 1 && (service.Auth[0].Token == nil || len(asked) != 4) {
						t.Errorf("broken %v after %d requests", b.broken, len(asked))
					}
					return
				}
				f := b.refused(call, coworker.UpstreamError)
				if f.Retry != rule.Retry || rule.Note != "" && f.Hint != rule.Note {
					t.Errorf("%t %q, want %t %q", f.Retry, f.Hint, rule.Retry, rule.Note)
				}
				if again := len(b.slept) > 0; again != (rule.Retry && time.Duration(rule.After) < 20*time.Second) || again && rule.After > 0 && b.slept[0] != time.Duration(rule.After) {
					t.Errorf("slept %v, want %s", b.slept, time.Duration(rule.After))
				}
				if f.RetryAfter != time.Duration(rule.After) {
					t.Errorf("to be repeated after %s, want %s", f.RetryAfter, time.Duration(rule.After))
				}
				if d, ok := f.Details.(connect.UpstreamDetails); !ok || d.Status != status ||
					rule.JSON != "" && service.ErrorFields != nil && rule.JSON == service.ErrorFields.Code && d.Code != orSome(rule.Equals) {
					t.Errorf("%+v", f.Details)
				}
			})
			reached++
		}
	}
	if reached < 150 {
		t.Errorf("%d rules", reached)
	}
}
