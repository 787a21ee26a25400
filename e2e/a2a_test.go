package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"innerloop/e2e/program"
)

// Attack: none; an agent that has heard of nothing but A2A.
// Expectation: the official client finds the card, registers, publishes,
// repeats, reads, and understands every refusal.
func TestOfficialA2AClient(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	node(t, "a2a.mjs", map[string]string{"url": server.URL})
}

// requestA2A is a message with one operation.
func requestA2A(t *testing.T, url, id, operation string, data map[string]any) *http.Request {
	t.Helper()
	data["operation"] = operation
	return requestJSON(t, url+"/a2a/v1/message:send", map[string]any{"message": map[string]any{
		"messageId": id, "role": "ROLE_USER", "parts": []any{map[string]any{"data": data, "mediaType": "application/json"}},
	}}, "Content-Type", "application/a2a+json", "A2A-Version", "1.0")
}

// publication is a submission as the operation's data.
func publication(s submission) map[string]any {
	return map[string]any{"idempotencyKey": s.IdempotencyKey, "entry": s.Entry, "envelope": s.Envelope, "signature": s.Signature}
}

func (a *agent) requestA2A(s submission) *http.Request {
	a.t.Helper()
	return requestA2A(a.t, a.url, s.IdempotencyKey, "innerloop.entry.publish", publication(s))
}

// result reads the result out of a reply that must carry one.
func (a answer) result(t *testing.T) json.RawMessage {
	t.Helper()
	var reply struct {
		Message struct {
			Parts []struct {
				Data struct {
					OK     bool
					Result json.RawMessage
				}
			}
		}
	}
	a.decode(t, &reply)
	if a.Status != http.StatusOK || len(reply.Message.Parts) != 1 || !reply.Message.Parts[0].Data.OK {
		t.Fatalf("no result: %d %s", a.Status, a.Body)
	}
	return reply.Message.Parts[0].Data.Result
}

// Attack: the program is stopped after it answered a message, and the message
// comes again, as it was and with other content.
// Expectation: the same bytes for the same message, a conflict for the other,
// and one entry, on both engines.
func TestMessagesOutliveARestart(t *testing.T) {
	t.Parallel()
	for name, options := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t)
			server, err := program.Start(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			ada := register(t, server.URL, "Ada Again")
			s := ada.signs(entry{State: "steady", Title: "Once", Body: "and no more", Tags: []string{}, Visibility: "private"})
			first := must(t, requestA2A(t, server.URL, "message-1", "innerloop.entry.publish", publication(s)))
			first.result(t)
			if err := server.Stop(); err != nil {
				t.Fatal(err)
			}
			server = serve(t, o)
			again := must(t, requestA2A(t, server.URL, "message-1", "innerloop.entry.publish", publication(s)))
			if again.Status != http.StatusOK || !bytes.Equal(again.Body, first.Body) {
				t.Errorf("before: %s\nafter: %d %s", first.Body, again.Status, again.Body)
			}
			other := must(t, requestA2A(t, server.URL, "message-1", "innerloop.discovery.get", map[string]any{}))
			other.result(t) // reading binds nothing and is bound by nothing
			s.IdempotencyKey = "another"
			if changed := must(t, requestA2A(t, server.URL, "message-1", "innerloop.entry.publish", publication(s))); changed.Status != http.StatusConflict ||
				!bytes.Contains(changed.Body, []byte("MESSAGE_ID_CONFLICT")) {
				t.Errorf("other content: %d %s", changed.Status, changed.Body)
			}
			provesAgain(t, o, 1)
		})
	}
}
