package handlers_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/connect"
	"innerloop/coworker/coworkertest"
	"innerloop/coworker/memory"
	"innerloop/coworker/skills"
	"innerloop/handlers"
	"innerloop/internal/discovery"
	"innerloop/internal/limit"
	"innerloop/journal/journaltest"
	"innerloop/mcp"
)

// An office is a door with both halves and an organisation.
type office struct {
	*door
	*coworkertest.C
	org    coworker.Founding
	keeper *connect.Keeper
	engine *connect.Engine
	shelf  *skills.Shelf
	files  *memory.Memory
}

func openOffice(t *testing.T, change ...func(*handlers.Options)) *office {
	t.Helper()
	j := journaltest.Open(t)
	o := &office{C: coworkertest.On(t, j)}
	services, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	origins := discovery.Origins{Web: origin, API: origin, Gateway: origin}
	o.keeper, o.engine = connections(t, o.C, services)
	o.files = o.Memory()
	o.shelf = o.Skills(services)
	tools, err := mcp.New(mcp.Options{Journal: j.Journal, Coworker: o.C.Coworker, Catalog: services, Memory: o.files, Origins: origins, ServerName: "innerloop", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	o.door = openOn(t, j, append([]func(*handlers.Options){func(options *handlers.Options) {
		options.Memory, options.Skills = o.files, o.shelf
		options.Keeper, options.Engine = o.keeper, o.engine
		options.Tools, options.Coworker, options.ServerName, options.Limits = tools, o.C.Coworker, "innerloop", limit.Defaults()
	}}, change...)...)
	o.org = o.Found("Acme")
	return o
}

func (o *office) scoped(words ...string) (coworker.Key, string) {
	o.t.Helper()
	scopes, ok := coworker.ParseScopes(words)
	if !ok {
		o.t.Fatal(words)
	}
	o.Clock.Advance(time.Millisecond)
	k, secret := o.Key(o.org, coworker.NewKey{Scopes: scopes})
	return k, secret.Reveal()
}

// rpc calls the tool door; a key may be empty.
func (o *office) rpc(key, method, params string) reply {
	o.t.Helper()
	headers := []string{"Accept", "application/json, text/event-stream"}
	if key != "" {
		headers = append(headers, "Authorization", "Bearer "+key)
	}
	return o.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, headers...)
}

func (o *office) call(key, tool, arguments string) reply {
	o.t.Helper()
	return o.rpc(key, "tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
}

type contract struct {
	Code, Message, Hint string
	Retryable           *bool
	Details             json.RawMessage
}

// toolFault reads a tool error of the contract.
func toolFault(t *testing.T, r reply) contract {
	t.Helper()
	var answer struct {
		Result struct {
			IsError bool
			Content []struct{ Type, Text string }
			Twin    any `json:"structuredContent"`
		}
	}
	if err := json.Unmarshal([]byte(r.Body), &answer); err != nil || r.Status != http.StatusOK {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	a := answer.Result
	if !a.IsError || len(a.Content) != 1 || a.Content[0].Type != "text" || a.Twin != nil {
		t.Fatalf("%s", r.Body)
	}
	return readContract(t, a.Content[0].Text)
}

func readContract(t *testing.T, text string) contract {
	t.Helper()
	var c contract
	if err := json.Unmarshal([]byte(text), &c); err != nil || c.Code == "" || c.Message == "" || c.Retryable == nil {
		t.Fatalf("not the contract: %s", text)
	}
	return c
}

func (o *office) toolNames(key string) []string {
	o.t.Helper()
	var answer struct {
		Result struct{ Tools []struct{ Name string } }
	}
	r := o.rpc(key, "tools/list", "{}")
	if err := json.Unmarshal([]byte(r.Body), &answer); err != nil || r.Status != http.StatusOK {
		o.t.Fatalf("%d %s", r.Status, r.Body)
	}
	var names []string
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

const initialize = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`

func unknownKey(t *testing.T) string {
	t.Helper()
	s, err := coworker.NewSecret(rand.NewChaCha8([32]byte{9}))
	if err != nil {
		t.Fatal(err)
	}
	return s.Reveal()
}

// wantRefused fails unless the whole request was refused for a reason.
func wantRefused(t *testing.T, r reply, reason string) {
	t.Helper()
	var details struct{ Reason string }
	f := readContract(t, r.Body)
	if err := json.Unmarshal(f.Details, &details); err != nil {
		t.Fatal(err)
	}
	if r.Status != http.StatusUnauthorized || f.Code != "UNAUTHENTICATED" || details.Reason != reason || *f.Retryable ||
		r.Header.Get("Www-Authenticate") != `Bearer realm="innerloop", error="invalid_token"` || r.Header.Get("Cache-Control") != "no-store" ||
		!strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		t.Errorf("%d %s %v", r.Status, r.Body, r.Header)
	}
}
