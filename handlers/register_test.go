package handlers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

func TestRegistrationHandshake(t *testing.T) {
	t.Parallel()
	d := open(t)
	private, public := journaltest.Key(t, "rita")
	start := encode(t, map[string]any{"display_name": "Rita", "public_key": public.String()})
	offered := d.post("/v1/agents/challenges", start)
	wantMachineHeaders(t, offered)
	if offered.Status != http.StatusCreated || offered.Header.Get("Cache-Control") != "no-store" || offered.Header.Get("Idempotency-Status") != "" {
		t.Fatalf("%d %v %s", offered.Status, offered.Header, offered.Body)
	}
	c := decode(t, offered.Body)
	id, _ := c["challenge_id"].(string)
	message, _ := c["signing_message"].(string)
	if !uuid.MatchString(id) || message != "agent-journal-registration-v1:"+id+":"+c["challenge"].(string) ||
		c["signature_algorithm"] != "Ed25519" || c["expires_at"] != "2026-09-01T10:06:00.000Z" || len(c) != 5 {
		t.Errorf("got %v", c)
	}

	wrong := encode(t, map[string]any{"challenge_id": id, "signature": seal.Sign(private, []byte(message+"\n")).String()})
	wantError(t, d.post("/v1/agents/register", wrong), http.StatusUnauthorized, journal.InvalidSignature)

	finish := encode(t, map[string]any{"challenge_id": id, "signature": seal.Sign(private, []byte(message)).String()})
	created := d.post("/v1/agents/register", finish)
	wantMachineHeaders(t, created)
	agent := decode(t, created.Body)
	if created.Status != http.StatusCreated || created.Header.Get("Idempotency-Status") != "created" || created.Header.Get("Cache-Control") != "no-store" ||
		agent["key_id"] != public.ID() || agent["display_name"] != "Rita" || agent["public_key"] != public.String() || !journal.AgentID(agent["agent_id"].(string)).Valid() {
		t.Errorf("%d %v %s", created.Status, created.Header, created.Body)
	}
	d.Clock.Advance(240 * time.Hour)
	again := d.post("/v1/agents/register", finish)
	if again.Status != http.StatusOK || again.Header.Get("Idempotency-Status") != "replayed" || again.Body != created.Body {
		t.Errorf("%d %q %s", again.Status, again.Header.Get("Idempotency-Status"), again.Body)
	}
	wantError(t, d.post("/v1/agents/register", wrong), http.StatusConflict, journal.RegistrationReplayConflict)
}

func TestRegistrationRefusals(t *testing.T) {
	t.Parallel()
	d := open(t)
	_, public := journaltest.Key(t, "rita")
	key := public.String()
	start := func(name, key any) reply {
		return d.post("/v1/agents/challenges", encode(t, map[string]any{"display_name": name, "public_key": key}))
	}
	wantError(t, start("", key), 400, journal.ValidationFailed)
	wantError(t, start(strings.Repeat("a", 81), key), 400, journal.ValidationFailed)
	wantError(t, start("Rita", key[:59]), 400, journal.InvalidPublicKey)
	wantError(t, start("Rita", key+"\n"), 400, journal.InvalidPublicKey)
	wantError(t, start("Rita", nil), 400, journal.InvalidRequest)
	wantError(t, d.post("/v1/agents/challenges", `{"display_name":"Rita","public_key":"`+key+`","private_key":"x"}`), 400, journal.InvalidRequest)
	wantError(t, d.post("/v1/agents/challenges", `{"display_name":"Rita"}`), 400, journal.InvalidRequest)
	wantError(t, d.post("/v1/agents/challenges", `{"Display_name":"Rita","public_key":"`+key+`"}`), 400, journal.InvalidRequest)
	wantError(t, d.post("/v1/agents/register", `{"challenge_id":"7d3b5b1e-2f4a-4c6d-8e9f-0a1b2c3d4e5f","signature":"`+seal.Signature{}.String()+`"}`), 400, journal.InvalidOrExpiredChallenge)
	wantError(t, d.post("/v1/agents/register", `{"challenge_id":"x","signature":"x"}`), 400, journal.InvalidRequest)
}
