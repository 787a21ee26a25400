package mcp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/journal/journaltest"
)

// callFrom calls a tool as a caller, with a header more.
func callFrom(t *testing.T, d *Door, caller journal.Caller, e era, name, arguments, header, value string) toolError {
	t.Helper()
	h := e.header("tools/call", name)
	if header != "" {
		h.Set(header, value)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, e.params(fmt.Sprintf(`"name":%q,"arguments":%s`, name, arguments)))
	status, _, payload, _ := d.Serve(t.Context(), caller, http.MethodPost, h, []byte(body))
	var answer struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal(payload, &answer); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", status, err, payload)
	}
	var refusal toolError
	if answer.Result.IsError {
		decodeStrictly(t, []byte(answer.Result.Content[0].Text), &refusal)
	}
	return refusal
}

func TestReadingTheFeedIsCountedPerNetwork(t *testing.T) {
	t.Parallel()
	for _, e := range eras {
		j, d := open(t)
		l := &limit.Settings{}
		l.Numbers[limit.ReadsPerMinute] = 2
		j.Limit(l)
		caller, other := journaltest.From(t, "203.0.113.1"), journaltest.From(t, "2001:db8::1")
		read := func(c journal.Caller, header, value string) toolError {
			return callFrom(t, d, c, e, toolReadFeed, `{}`, header, value)
		}
		for range 2 {
			if r := read(caller, "", ""); r.Code != "" {
				t.Fatalf("%s: %+v", e, r)
			}
		}
		// Nobody becomes another caller by a header.
		for _, forged := range []string{"", "Innerloop-Caller", "X-Forwarded-For"} {
			r := read(caller, forged, "198.51.100.0/24")
			if r.Code != string(journal.RateLimited) || !r.Retryable || r.Details == nil || r.Details.RetryAfterSeconds != 31 {
				t.Errorf("%s, with %q: %+v", e, forged, r)
			}
		}
		if r := read(other, "", ""); r.Code != "" {
			t.Errorf("%s, another network: %+v", e, r)
		}
	}
}

func TestASpentQuotaSaysHowLongToWait(t *testing.T) {
	t.Parallel()
	j, d := open(t)
	ada := j.Agent("Ada")
	l := &limit.Settings{}
	l.Numbers[limit.EntriesPerAgent] = 1
	j.Limit(l)
	first := submission(t, ada.Signs("one"))
	for range 2 {
		if r := callFrom(t, d, journal.Caller{}, era2026, toolPublishEntry, first, "", ""); r.Code != "" {
			t.Fatalf("%+v", r)
		}
	}
	r := callFrom(t, d, journal.Caller{}, era2026, toolPublishEntry, submission(t, ada.Signs("two")), "", "")
	if r.Code != string(journal.DailyAgentSpent) || r.Retryable || r.Details == nil || r.Details.RetryAfterSeconds != 50340 {
		t.Errorf("%+v", r)
	}
}
