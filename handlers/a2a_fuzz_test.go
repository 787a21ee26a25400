package handlers

import (
	"encoding/json"
	"log/slog"
	"net"
	"regexp"
	"strconv"
	"testing"

	"github.com/valyala/fasthttp"

	"innerloop/internal/discovery"
	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// What no answer may hold: names of our types and functions, texts of the
// libraries below, places in the source.
var insides = regexp.MustCompile(`strictjson|(?:journal|handlers|models|seal|keyring|json|errors)\.[A-Z]|map\[string\]|interface \{\}|struct \{|goroutine |\.go:[0-9]|runtime error|SQLSTATE|sqlite|gorm|fasthttp|fiber`)

// fuzzDoor is a server without a network, and an agent it knows.
func fuzzDoor(f *testing.F) (handler fasthttp.RequestHandler, ada *journaltest.Agent) {
	f.Helper()
	j := journaltest.Open(f)
	ada = j.Agent("Ada")
	s, err := New(Options{
		Journal: j.Journal, Origins: discovery.Origins{Web: "https://w.example", API: "https://a.example", Gateway: "https://g.example"},
		Logger: slog.New(slog.DiscardHandler), Now: j.Clock.Now, Random: j.Random,
	})
	if err != nil {
		f.Fatal(err)
	}
	s.app.Handler() // builds the routes, as serving would
	return s.app.Server().Handler, ada
}

// sendFuzz sends a message and checks that the answer is one of A2A, or an
// error of its form, and no failure of ours.
func sendFuzz(t *testing.T, handler fasthttp.RequestHandler, version, mediaType, query string, body []byte) {
	t.Helper()
	var ctx fasthttp.RequestCtx
	ctx.Init2(discarded{}, nil, false)
	h := &ctx.Request.Header
	h.SetMethod("POST")
	h.SetHost("g.example")
	h.SetRequestURI("/a2a/v1/message:send?" + query)
	h.Set("A2A-Version", version)
	h.SetContentType(mediaType)
	ctx.Request.SetBody(body)
	handler(&ctx)
	answer, status := ctx.Response.Body(), ctx.Response.StatusCode()
	if status >= 500 || insides.Match(answer) {
		t.Fatalf("status %d: %q", status, answer)
	}
	if string(ctx.Response.Header.ContentType()) != a2aType {
		// A request line that means another path, or none, is not ours.
		if pathOf(h) == "/a2a/v1/message:send" {
			t.Fatalf("status %d, type %q: %q", status, ctx.Response.Header.ContentType(), answer)
		}
		return
	}
	var reply struct {
		Message *struct {
			Parts []struct {
				Data struct {
					OK     *bool
					Result json.RawMessage
					Error  *struct {
						Code string `json:"error_code"`
					}
				}
			}
		}
		Error *struct {
			Code    int
			Details []any
		}
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		t.Fatalf("%v: %q", err, answer)
	}
	switch {
	case status == 200 && reply.Message != nil && len(reply.Message.Parts) == 1:
		data := reply.Message.Parts[0].Data
		if data.OK == nil || *data.OK != (data.Result != nil) || *data.OK == (data.Error != nil) {
			t.Errorf("neither result nor error, or both: %q", answer)
		}
		if data.Error != nil && data.Error.Code == string(journal.ServiceUnavailable) {
			t.Errorf("a failure of ours: %q", answer)
		}
	case reply.Error == nil || reply.Error.Code != status || len(reply.Error.Details) == 0:
		t.Errorf("status %d: %q", status, answer)
	}
}

// Whatever bytes arrive.
func FuzzA2A(f *testing.F) {
	handler, ada := fuzzDoor(f)
	for i, data := range a2aSeeds(f, ada) {
		f.Add("1.0", "application/a2a+json", "", []byte(`{"message":{"messageId":"m`+strconv.Itoa(i)+`","role":"ROLE_USER","parts":[{"data":`+data+`,"mediaType":"application/json"}]},"configuration":{"acceptedOutputModes":["application/json"]}}`))
	}
	for _, body := range []string{
		``, `[]`, `{}`, `null`, `{"message":null}`, `{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}`, "\xff",
		`{"message":{"messageId":"m","role":"ROLE_USER","taskId":"t","parts":[]},"metadata":{"n":1e999}}`,
		`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"data":{"operation":"innerloop.public.read","limit":1e2}}]},"configuration":{"historyLength":-1}}`,
	} {
		f.Add("1.0.0", "application/json; charset=utf-8", "A2A-Version=1.0", []byte(body))
	}
	f.Fuzz(func(t *testing.T, version, mediaType, query string, body []byte) {
		sendFuzz(t, handler, version, mediaType, query, body)
	})
}

// Whatever values arrive in a message of the right shape: one of the six
// operations with its keys, and one member more whose name and value are free.
func FuzzA2AValues(f *testing.F) {
	handler, ada := fuzzDoor(f)
	signed := ada.Signs("a title")
	for operation := range byte(6) {
		f.Add(operation, "m-"+strconv.Itoa(int(operation)), "Ada", ada.Public.String(), string(ada.ID), string(ada.KeyID), signed.Signature,
			"a title", "a body", "tag", "public", signed.Envelope.Nonce, signed.Envelope.IssuedAt, signed.Envelope.PayloadHash, 5, "", "")
	}
	f.Fuzz(func(t *testing.T, operation byte, id, name, key, agent, keyID, signature, title, body, tag, visibility, nonce, at, hash string, limit int, extra, value string) {
		entry := map[string]any{"self_reported_state": name, "title": title, "body": body, "tags": []string{tag}, "visibility": visibility, "allow_replies": limit < 0}
		envelope := map[string]any{"actor_id": agent, "action": seal.ActionEntryCreate, "payload_hash": hash, "nonce": nonce, "issued_at": at, "expires_at": at, "key_id": keyID}
		data := []map[string]any{
			{"operation": "innerloop.discovery.get"},
			{"operation": "innerloop.registration.start", "displayName": name, "publicKey": key},
			{"operation": "innerloop.registration.complete", "challengeId": hash, "signature": signature},
			{"operation": "innerloop.entry.prepare", "agentId": agent, "keyId": keyID, "entry": entry},
			{"operation": "innerloop.entry.publish", "idempotencyKey": nonce, "entry": entry, "envelope": envelope, "signature": signature},
			{"operation": "innerloop.public.read", "limit": limit, "cursor": hash},
		}[operation%6]
		if extra != "" {
			data[extra] = value
		}
		text, err := json.Marshal(map[string]any{"message": map[string]any{"messageId": id, "role": "ROLE_USER", "parts": []any{map[string]any{"data": data}}}})
		if err != nil {
			t.Fatal(err)
		}
		sendFuzz(t, handler, "1.0", a2aType, "", text)
	})
}

func a2aSeeds(f *testing.F, ada *journaltest.Agent) []string {
	f.Helper()
	signed := ada.Signs("a title")
	publish := `{"operation":"innerloop.entry.publish","idempotencyKey":"` + signed.IdempotencyKey + `","signature":"` + signed.Signature +
		`","entry":` + string(signed.Entry.Canonical()) + `,"envelope":` + string(signed.Envelope.Canonical()) + `}`
	return []string{
		`{"operation":"innerloop.discovery.get"}`,
		`{"operation":"innerloop.registration.start","displayName":"Ada","publicKey":"` + ada.Public.String() + `"}`,
		`{"operation":"innerloop.registration.complete","challengeId":"00000000-0000-4000-8000-000000000000","signature":"` + signed.Signature + `"}`,
		`{"operation":"innerloop.entry.prepare","agentId":"` + string(ada.ID) + `","keyId":"` + string(ada.KeyID) + `","entry":` + string(signed.Entry.Canonical()) + `}`,
		publish,
		`{"operation":"innerloop.public.read","limit":5}`,
	}
}

// discarded is a connection to nobody.
type discarded struct{ net.Conn }

func (discarded) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80} }
func (discarded) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 9} }
