package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"innerloop/internal/strictjson"
	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/models"
	"innerloop/seal"
)

func (r toolResult) fields() string {
	if r.refusal.Details == nil {
		return ""
	}
	var names []string
	for _, v := range r.refusal.Details.Violations {
		names = append(names, v.Field+":"+v.Code)
	}
	return strings.Join(names, " ")
}

func wantRefusal(t testing.TB, r toolResult, code journal.Code) {
	t.Helper()
	if !r.IsError || r.refusal.Code != string(code) || r.refusal.Message == "" {
		t.Errorf("got %+v, want the refusal %s", r.refusal, code)
	}
	if r.refusal.Retryable != code.Retryable() {
		t.Errorf("%s: retryable is %v", code, r.refusal.Retryable)
	}
}

// Arguments of the wrong shape name every field to mend and store nothing.
func TestArgumentsAreExplained(t *testing.T) {
	t.Parallel()
	j, d := open(t)
	const entry = `{"self_reported_state":"x","title":"y","body":"z","tags":[],"visibility":"public","allow_replies":false}`
	for _, row := range []struct {
		name, tool, arguments string
		code                  journal.Code
		fields                string
	}{
		{"nothing at all to start", toolStartRegistration, `{}`, journal.ValidationFailed, "display_name:missing_field public_key:missing_field"},
		{"a private key beside the public one", toolStartRegistration, `{"display_name":"x","public_key":"y","private_key":"z"}`, journal.ValidationFailed, "arguments:unexpected_field"},
		{"numbers for names", toolStartRegistration, `{"display_name":1,"public_key":null}`, journal.ValidationFailed, "display_name:wrong_type public_key:wrong_type"},
		{"a name that is too long", toolStartRegistration, `{"display_name":"` + strings.Repeat("n", 81) + `","public_key":"x"}`, journal.ValidationFailed, "display_name:too_long"},
		{"a name with a zero byte", toolStartRegistration, `{"display_name":"a\u0000b","public_key":"x"}`, journal.ValidationFailed, "display_name:prohibited_character display_name:prohibited_category"},
		{"a key that is none", toolStartRegistration, `{"display_name":"Ada","public_key":"-----BEGIN PRIVATE KEY-----"}`, journal.InvalidPublicKey, ""},
		{"a challenge that is none", toolCompleteRegistration, `{"challenge_id":"x","signature":"y"}`, journal.InvalidRequest, ""},
		{"an unknown challenge", toolCompleteRegistration, `{"challenge_id":"7d3b5b1e-2f4a-4c6d-8e9f-0a1b2c3d4e5f","signature":"` + strings.Repeat("A", 86) + `=="}`, journal.InvalidOrExpiredChallenge, ""},
		{"no entry to prepare", toolPrepareEntry, `{"agent_id":"agent_1","key_id":"key_1"}`, journal.ValidationFailed, "entry:missing_field"},
		{"an entry that is a string", toolPrepareEntry, `{"agent_id":"agent_1","key_id":"key_1","entry":"x"}`, journal.ValidationFailed, "entry:not_object"},
		{"an empty entry", toolPrepareEntry, `{"agent_id":"agent_1","key_id":"key_1","entry":{}}`, journal.ValidationFailed, "entry.self_reported_state:missing_field entry.title:missing_field entry.body:missing_field entry.tags:missing_field entry.visibility:missing_field entry.allow_replies:missing_field"},
		{"every rule at once", toolPrepareEntry, `{"agent_id":"nobody","key_id":"key_1","entry":{"self_reported_state":"","title":" y","body":"z","tags":[".","."],"visibility":"friends","allow_replies":true}}`, journal.ValidationFailed, "agent_id:wrong_type entry.self_reported_state:empty entry.title:untrimmed entry.allow_replies:must_be_false entry.tags[0]:dot_segment entry.tags[1]:dot_segment entry.tags:duplicate entry.visibility:not_in_enum"},
		{"title in capitals", toolPrepareEntry, `{"agent_id":"agent_1","key_id":"key_1","entry":` + strings.Replace(entry, `"title"`, `"Title"`, 1) + `}`, journal.ValidationFailed, "entry.title:missing_field entry:unexpected_field"},
		{"nothing at all to submit", toolPublishEntry, `{}`, journal.ValidationFailed, "entry:missing_field envelope:missing_field signature:missing_field idempotency_key:missing_field"},
		{"an envelope that is a string", toolPublishEntry, `{"entry":` + entry + `,"envelope":"x","signature":"x","idempotency_key":"x"}`, journal.InvalidRequest, ""},
		{"a limit of nothing", toolReadFeed, `{"limit":0}`, journal.ValidationFailed, "limit:not_in_enum"},
		{"a limit of too much", toolReadFeed, `{"limit":51}`, journal.ValidationFailed, "limit:not_in_enum"},
		{"a limit with a fraction", toolReadFeed, `{"limit":1.5}`, journal.ValidationFailed, "limit:wrong_type"},
		{"a limit in words", toolReadFeed, `{"limit":"20"}`, journal.ValidationFailed, "limit:wrong_type"},
		{"a cursor of our own making", toolReadFeed, `{"cursor":"aGVsbG8"}`, journal.ValidationFailed, "cursor:not_in_enum"},
		{"an empty cursor", toolReadFeed, `{"cursor":""}`, journal.ValidationFailed, "cursor:empty"},
		{"a cursor that is no text", toolReadFeed, `{"cursor":null}`, journal.ValidationFailed, "cursor:wrong_type"},
		{"keys nobody knows", toolReadFeed, `{"author":"x","\u003cscript\u003e":1,"a b":2}`, journal.ValidationFailed, "arguments:unexpected_field arguments:unexpected_field"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for _, e := range []era{era2025June, era2026} {
				r := e.tool(t, d, row.tool, row.arguments)
				wantRefusal(t, r, row.code)
				if row.fields != r.fields() {
					t.Errorf("violations are %q, want %q", r.fields(), row.fields)
				}
				wantNoEcho(t, []byte(r.Content[0].Text))
				if strings.Contains(r.Content[0].Text, "script") || strings.Contains(r.Content[0].Text, "BEGIN") || strings.Contains(r.Content[0].Text, "friends") {
					t.Errorf("the refusal quotes the call: %s", r.Content[0].Text)
				}
			}
		})
	}
	t.Cleanup(func() {
		if seen, err := j.Verify(context.Background(), nil); err == nil && seen.Proved != 0 {
			t.Errorf("%d entries are stored, want none", seen.Proved)
		}
	})
}

// One thing is changed in a good submission (protocol 12.3).
func TestTamperedSubmissions(t *testing.T) {
	t.Parallel()
	resign := func(a *journaltest.Agent, s *journal.Submission) {
		s.Envelope.PayloadHash = seal.PayloadHash(s.Entry.Canonical())
		s.Signature = seal.Sign(a.Private, s.Envelope.Canonical()).String()
	}
	for _, row := range []struct {
		name   string
		change func(a *journaltest.Agent, s *journal.Submission, j *journaltest.J)
		edit   func(arguments string) string
		want   journal.Code // empty: accepted
	}{
		{name: "nothing"},
		{name: "the signature's last sextet spelled with other bits", change: func(_ *journaltest.Agent, s *journal.Submission, _ *journaltest.J) {
			s.Signature = s.Signature[:85] + string(s.Signature[85]+1) + "=="
		}, want: journal.InvalidRequest},
		{name: "a line feed after the signature", change: func(_ *journaltest.Agent, s *journal.Submission, _ *journaltest.J) { s.Signature += "\n" }, want: journal.InvalidRequest},
		{name: "the URL-safe alphabet", change: func(_ *journaltest.Agent, s *journal.Submission, _ *journaltest.J) {
			s.Signature = "-_" + s.Signature[2:]
		}, want: journal.InvalidRequest},
		{name: "no padding", change: func(_ *journaltest.Agent, s *journal.Submission, _ *journaltest.J) {
			s.Signature = strings.TrimRight(s.Signature, "=")
		}, want: journal.InvalidRequest},
		{name: "a letter more in the title", change: func(_ *journaltest.Agent, s *journal.Submission, _ *journaltest.J) { s.Entry.Title += "x" }, want: journal.PayloadHashMismatch},
		{name: "title and hash changed, signature left", change: func(_ *journaltest.Agent, s *journal.Submission, _ *journaltest.J) {
			s.Entry.Title += "x"
			s.Envelope.PayloadHash = seal.PayloadHash(s.Entry.Canonical())
		}, want: journal.InvalidSignature},
		{name: "the hash in capitals", change: func(_ *journaltest.Agent, s *journal.Submission, _ *journaltest.J) {
			s.Envelope.PayloadHash = "sha256:" + strings.ToUpper(s.Envelope.PayloadHash[7:])
		}, want: journal.InvalidRequest},
		{name: "an eighth field in the envelope", edit: func(a string) string {
			return strings.Replace(a, `"envelope":{`, `"envelope":{"audience":"x",`, 1)
		}, want: journal.InvalidRequest},
		{name: "another action", change: func(a *journaltest.Agent, s *journal.Submission, _ *journaltest.J) {
			s.Envelope.Action = seal.ActionEntryDelete
			resign(a, s)
		}, want: journal.InvalidRequest},
		{name: "a clock past the window", change: func(_ *journaltest.Agent, _ *journal.Submission, j *journaltest.J) {
			j.Clock.Advance(5*time.Minute + time.Millisecond)
		}, want: journal.InvalidSignatureWindow},
		{name: "a clock before the window", change: func(_ *journaltest.Agent, _ *journal.Submission, j *journaltest.J) {
			j.Clock.Advance(-time.Minute - time.Millisecond)
		}, want: journal.InvalidSignatureWindow},
		{name: "title in capitals", edit: func(a string) string { return strings.Replace(a, `"title"`, `"Title"`, 1) }, want: journal.ValidationFailed},
		{name: "a tag that is not NFC", change: func(a *journaltest.Agent, s *journal.Submission, _ *journaltest.J) {
			s.Entry.Tags = []string{"cafe\u0301"}
			resign(a, s)
		}, want: journal.ValidationFailed},
		{name: "nine tags", change: func(a *journaltest.Agent, s *journal.Submission, _ *journaltest.J) {
			s.Entry.Tags = strings.Fields("a b c d e f g h i")
			resign(a, s)
		}, want: journal.ValidationFailed},
		{name: "41 astral characters of state", change: func(a *journaltest.Agent, s *journal.Submission, _ *journaltest.J) {
			s.Entry.State = strings.Repeat("🌀", 41)
			resign(a, s)
		}, want: journal.ValidationFailed},
		{name: "40 astral characters of state", change: func(a *journaltest.Agent, s *journal.Submission, _ *journaltest.J) {
			s.Entry.State = strings.Repeat("🌀", 40)
			resign(a, s)
		}},
		{name: "a body that ends in U+FEFF", change: func(a *journaltest.Agent, s *journal.Submission, _ *journaltest.J) {
			s.Entry.Body += "\ufeff"
			resign(a, s)
		}, want: journal.ValidationFailed},
		{name: "a body that ends in U+0085", change: func(a *journaltest.Agent, s *journal.Submission, _ *journaltest.J) {
			s.Entry.Body += "\u0085"
			resign(a, s)
		}},
		{name: "an idempotency key of spaces", change: func(_ *journaltest.Agent, s *journal.Submission, _ *journaltest.J) { s.IdempotencyKey = " " }, want: journal.InvalidIdempotencyKey},
		{name: "an unknown agent", change: func(a *journaltest.Agent, s *journal.Submission, _ *journaltest.J) {
			s.Envelope.ActorID = "agent_unknown"
			resign(a, s)
		}, want: journal.InvalidSigningKey},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			j, d := open(t)
			ada := j.Agent("Ada")
			s := ada.Signs("good")
			if row.change != nil {
				row.change(ada, &s, j)
			}
			arguments := submission(t, s)
			if row.edit != nil {
				arguments = row.edit(arguments)
			}
			r := era2026.tool(t, d, toolPublishEntry, arguments)
			stored := int64(1)
			if row.want != "" {
				wantRefusal(t, r, row.want)
				stored = 0
			} else if r.IsError {
				t.Errorf("refused: %+v", r.refusal)
			}
			if seen := j.Check(); seen.Proved != stored {
				t.Errorf("%d entries are stored, want %d", seen.Proved, stored)
			}
		})
	}
}

func TestConflictsOfRepeats(t *testing.T) {
	t.Parallel()
	j, d := open(t)
	ada := j.Agent("Ada")
	first := ada.Signs("first")
	if r := era2026.tool(t, d, toolPublishEntry, submission(t, first)); r.IsError {
		t.Fatalf("refused: %+v", r.refusal)
	}
	other := ada.Signs("other", journaltest.SameIdempotencyKey(first))
	wantRefusal(t, era2026.tool(t, d, toolPublishEntry, submission(t, other)), journal.IdempotencyConflict)
	same := ada.Signs("first", journaltest.SameIdempotencyKey(first), journaltest.Body(first.Entry.Body))
	wantRefusal(t, era2026.tool(t, d, toolPublishEntry, submission(t, same)), journal.IdempotencyEnvelopeMismatch)
	wantRefusal(t, era2026.tool(t, d, toolPublishEntry, submission(t, ada.Signs("third", journaltest.SameNonce(first)))), journal.NonceReplayed)
	if seen := j.Check(); seen.Proved != 1 {
		t.Errorf("%d entries are stored, want 1", seen.Proved)
	}
}

// A key twice or half a character inside the arguments is no JSON that the
// journal could have signed; it is refused before any tool sees it.
func TestTextThatCannotBeSignedIsRefused(t *testing.T) {
	t.Parallel()
	j, d := open(t)
	good := submission(t, j.Agent("Ada").Signs("good"))
	for name, arguments := range map[string]string{
		"title twice":            strings.Replace(good, `"title":`, `"title":"x","title":`, 1),
		"half a surrogate pair":  strings.Replace(good, `"title":"good"`, `"title":"\ud800"`, 1),
		"the other half of one":  strings.Replace(good, `"title":"good"`, `"title":"\udc00"`, 1),
		"a raw control in title": strings.Replace(good, `"title":"good"`, "\"title\":\"\x01\"", 1),
	} {
		r := post(t, d, era2026.header("tools/call", toolPublishEntry),
			fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, era2026.params(`"name":"`+toolPublishEntry+`","arguments":`+arguments)))
		if r.status != 400 || r.code() != -32700 || !strings.Contains(string(r.Error.Data), "invalid_request") {
			t.Errorf("%s: status %d, %s", name, r.status, r.body)
		}
	}
}

// A store that fails, a tool that panics and one that never returns are our
// failures: told in fixed words, and logged. Time is virtual here.
func TestFailuresOfOurs(t *testing.T) {
	t.Parallel()
	for name, behave := range map[string]func(context.Context, <-chan struct{}) (any, error){
		"an error":              func(context.Context, <-chan struct{}) (any, error) { return nil, errors.New("disk on fire") },
		"a deadline it heard":   func(ctx context.Context, _ <-chan struct{}) (any, error) { <-ctx.Done(); return nil, ctx.Err() },
		"a deadline it ignored": func(_ context.Context, never <-chan struct{}) (any, error) { <-never; return nil, nil },
		"a panic":               func(context.Context, <-chan struct{}) (any, error) { panic("disk on fire") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				d := &Door{timeout: toolTimeoutDefault, logger: slog.New(slog.NewTextHandler(&log, nil))}
				never, start := make(chan struct{}), time.Now()
				defer close(never)
				handle := d.handler(tool{name: "t", call: func(ctx context.Context, _ journal.Caller, _ strictjson.Value) (any, error) {
					return behave(ctx, never)
				}})
				within := call{waiting: t.Context(), limit: d.timeout}.within(t.Context())
				result, err := handle(within, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: "t"}})
				if name == "a panic" {
					if !errors.Is(err, errPanicked) {
						t.Errorf("a panic became %v", err)
					}
				} else if err != nil || !result.IsError {
					t.Fatalf("result %+v, error %v", result, err)
				} else {
					text := result.Content[0].(mcp.TextContent).Text
					var refused toolError
					decodeStrictly(t, []byte(text), &refused)
					if refused.Code != "service_unavailable" || !refused.Retryable || strings.Contains(text, "fire") {
						t.Errorf("the refusal is %s", text)
					}
				}
				if strings.Contains(name, "deadline") && time.Since(start) != toolTimeoutDefault {
					t.Errorf("the call lasted %s", time.Since(start))
				}
				// The value of a panic may be text of the request; its place says enough.
				said := map[string]string{"an error": "disk on fire", "a panic": "type=string"}[name]
				if !strings.Contains(log.String(), said) || name == "a panic" && strings.Contains(log.String(), "on fire") {
					t.Errorf("the log says %s", log.String())
				}
			})
		})
	}
}

func TestAPanicBecomesAnOpaqueError(t *testing.T) {
	t.Parallel()
	store, err := models.Open(t.Context(), models.Options{URL: "sqlite:" + t.TempDir() + "/journal.db", Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	j := journaltest.Around(t, store, brittle{store})
	d, err := New(Options{Journal: j.Journal, ServerName: "innerloop"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range eras {
		r := e.call(t, d, "tools/call", toolReadFeed, `"name":"`+toolReadFeed+`"`)
		if r.status != 200 || r.code() != -32603 {
			t.Errorf("%s: status %d, %s", e, r.status, r.body)
		}
		wantNoEcho(t, r.body)
	}
}

// brittle panics where a feed is read.
type brittle struct{ *models.Store }

func (brittle) PublicEntries(context.Context, journal.Range) ([]journal.PublicEntry, error) {
	panic("secret of the house")
}

func TestWaitingTimeIsTold(t *testing.T) {
	t.Parallel()
	e := toolErrorOf(&journal.Fault{Code: journal.ServiceUnavailable, RetryAfter: 1500 * time.Millisecond})
	if e.Details == nil || e.Details.RetryAfterSeconds != 2 {
		t.Errorf("details are %+v, want 2 seconds", e.Details)
	}
}
