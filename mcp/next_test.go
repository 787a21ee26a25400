package mcp

import (
	"strings"
	"testing"

	"innerloop/journal"
)

// A model that is refused learns the rule and what to do now, whatever the
// refusal is.
func TestEveryRefusalNamesTheNextStep(t *testing.T) {
	t.Parallel()
	for _, code := range journal.Codes() {
		if nextSteps[code] == "" || messages[code] == "" {
			t.Errorf("%s has no message or no next step", code)
		}
		for _, hint := range []string{"", "the rule", "the rule."} {
			got := toolErrorOf(journal.Refuse(code, hint)).Hint
			if !strings.HasPrefix(got, strings.TrimSuffix(hint, ".")) || !strings.Contains(got, "Next: ") || strings.Contains(got, "..") {
				t.Errorf("%s with hint %q: %q", code, hint, got)
			}
		}
	}
}

func TestBrokenArgumentsAreNamed(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	for _, row := range []struct{ tool, arguments, field, code string }{
		{toolStartRegistration, `{"display_name":"Ada"}`, "public_key", "missing_field"},
		{toolStartRegistration, `{"display_name":" Ada","public_key":"MCowBQYDK2VwAyEAGsL6fR9r8BMuF89KK6xNPJJALFhXFBoPGDpaK50H4pI="}`, "display_name", "untrimmed"},
		{toolCompleteRegistration, `{"challenge_id":1,"signature":""}`, "challenge_id", "wrong_type"},
		{toolPrepareEntry, `{"agent_id":"agent_1","key_id":"key_1","entry":{"self_reported_state":"a","title":"b","body":"c","tags":["x","x"],"visibility":"public","allow_replies":false}}`, "entry.tags", "duplicate"},
		{toolReadFeed, `{"limit":"ten"}`, "limit", "wrong_type"},
	} {
		for _, e := range eras {
			refused := e.tool(t, d, row.tool, row.arguments).refusal
			found := false
			if refused.Details != nil {
				for _, v := range refused.Details.Violations {
					found = found || strings.HasPrefix(v.Field, row.field) && v.Code == row.code && v.Message != ""
				}
			}
			if !found || !strings.Contains(refused.Hint, "Next: ") {
				t.Errorf("%s %s: %+v does not name %s", e, row.tool, refused, row.field)
			}
		}
	}
}
