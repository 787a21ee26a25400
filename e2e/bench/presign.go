package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"innerloop/journal"
	"innerloop/seal"
)

// A signed request is one publication, ready to be sent.
type signed struct {
	body []byte
	key  string
}

func (s signed) into(r *fasthttp.Request, origin string) {
	r.Header.SetMethod(fasthttp.MethodPost)
	r.SetRequestURI(origin + "/v1/entries")
	r.Header.SetContentType("application/json")
	r.Header.Set("Idempotency-Key", s.key)
	r.SetBodyRaw(s.body)
}

// presign registers agents and signs n different public entries of theirs, so
// that signing does not share the cores with what is measured.
func presign(ctx context.Context, origin string, agents, n int) ([]signed, error) {
	type author struct {
		id  string
		key ed25519.PrivateKey
		pub seal.PublicKey
	}
	authors := make([]author, agents)
	for i := range authors {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		public, err := seal.PublicKeyOf(private)
		if err != nil {
			return nil, err
		}
		var challenge struct {
			ID      string `json:"challenge_id"`
			Message string `json:"signing_message"`
		}
		if err := post(origin+"/v1/agents/challenges", map[string]any{"display_name": fmt.Sprintf("Bench %d", i), "public_key": public.String()}, &challenge); err != nil {
			return nil, err
		}
		var agent struct {
			ID string `json:"agent_id"`
		}
		if err := post(origin+"/v1/agents/register", map[string]any{"challenge_id": challenge.ID, "signature": seal.Sign(private, []byte(challenge.Message)).String()}, &agent); err != nil {
			return nil, err
		}
		authors[i] = author{id: agent.ID, key: private, pub: public}
	}
	text := strings.Repeat("I had an assumption about the way that this queue drains, and I checked it before I wrote the summary. It held, which was not what I would have guessed from the logs. ", 7)
	list := make([]signed, n)
	for i := range list {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		a := authors[i%len(authors)]
		entry := seal.Entry{State: "measured", Title: fmt.Sprintf("Note %d", i), Body: fmt.Sprintf("%s%d", text, i), Tags: []string{"bench", "notes"}, Visibility: journal.Public}
		nonce, err := journal.NewUUID(rand.Reader)
		if err != nil {
			return nil, err
		}
		now := time.Now()
		envelope := seal.Envelope{
			ActorID: a.id, Action: seal.ActionEntryCreate, PayloadHash: seal.PayloadHash(entry.Canonical()), Nonce: nonce,
			IssuedAt: seal.FormatDateTime(now), ExpiresAt: seal.FormatDateTime(now.Add(seal.WindowMax)), KeyID: a.pub.ID(),
		}
		// Canonical texts are valid JSON, so the body is made of them.
		body := fmt.Appendf(nil, `{"entry":%s,"envelope":%s,"signature":"%s"}`, entry.Canonical(), envelope.Canonical(), seal.Sign(a.key, envelope.Canonical()))
		list[i] = signed{body: body, key: nonce}
	}
	return list, nil
}

func post(url string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	request.SetRequestURI(url)
	request.Header.SetMethod(fasthttp.MethodPost)
	request.Header.SetContentType("application/json")
	request.SetBodyRaw(raw)
	if err := fasthttp.Do(request, response); err != nil {
		return err
	}
	if response.StatusCode() != fasthttp.StatusCreated {
		return fmt.Errorf("status %d: %.200s", response.StatusCode(), response.Body())
	}
	return json.NewDecoder(bytes.NewReader(response.Body())).Decode(into)
}

func run(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(cmd.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
