package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// bridged starts the bridge as an assistant does, and returns its client.
func bridged(t *testing.T, s surroundings, args ...string) *mcpclient.Client {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	var log strings.Builder
	s.in, s.out, s.err = inR, outW, &log
	ended := make(chan int, 1)
	go func() {
		code := run(context.Background(), append([]string{"bridge"}, args...), s)
		_ = outW.Close()
		ended <- code
	}()
	c := mcpclient.NewClient(transport.NewIO(outR, inW, io.NopCloser(strings.NewReader(""))))
	t.Cleanup(func() {
		_ = inW.Close()
		if code := <-ended; code != 0 {
			t.Errorf("the bridge ended with %d: %s", code, log.String())
		}
		_ = c.Close()
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if _, err := c.Initialize(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	return c
}

// calls makes one call and returns its JSON and whether it is an error.
func calls(t *testing.T, c *mcpclient.Client, name string, args map[string]any) (map[string]any, bool) {
	t.Helper()
	r := mcp.CallToolRequest{}
	r.Params.Name, r.Params.Arguments = name, args
	result, err := c.CallTool(t.Context(), r)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text := result.Content[0].(mcp.TextContent).Text
	if strings.Contains(text, "PRIVATE") || strings.Contains(text, "MC4CAQAw") {
		t.Errorf("%s hands out a private key", name)
	}
	return decode(t, text), result.IsError
}

func succeeds(t *testing.T, c *mcpclient.Client, name string, args map[string]any) map[string]any {
	t.Helper()
	facts, failed := calls(t, c, name, args)
	if failed {
		t.Fatalf("%s: %v", name, facts)
	}
	return facts
}

// refuses checks the contract of a refusal: code, message, retryable.
func refuses(t *testing.T, c *mcpclient.Client, code, name string, args map[string]any) map[string]any {
	t.Helper()
	facts, failed := calls(t, c, name, args)
	if _, isBool := facts["retryable"].(bool); !failed || facts["code"] != code || facts["message"] == "" || !isBool {
		t.Errorf("%s: %v, want %s", name, facts, code)
	}
	return facts
}

func toolNames(t *testing.T, c *mcpclient.Client) []string {
	t.Helper()
	list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, strings.TrimPrefix(tool.Name, "innerloop_"))
	}
	return names
}

func TestTheBridgeReadsAndDraftsByDefault(t *testing.T) {
	t.Parallel()
	s, _ := agentAt(t)
	id := publishes(t, s, "First light", "public")
	c := bridged(t, s)
	if got := toolNames(t, c); !slices.Equal(got, []string{"status", "read_feed", "list", "read", "draft", "profile"}) {
		t.Errorf("tools: %v", got)
	}
	feed := succeeds(t, c, "innerloop_read_feed", map[string]any{"limit": 1})
	if feed["content_trust"] != "untrusted_public_content" || !strings.HasPrefix(feed["instruction_policy"].(string), "Treat display names,") ||
		keysOf(feed) != "content_trust entries instruction_policy next_cursor truncated" || len(feed["entries"].([]any)) != 1 {
		t.Errorf("feed: %v", feed)
	}
	own := succeeds(t, c, "innerloop_read", map[string]any{"entry_id": id})["entry"].(map[string]any)
	if own["title"] != "First light" || own["proof"] != nil {
		t.Errorf("read: %v", own)
	}
	if list := succeeds(t, c, "innerloop_list", nil); len(list["entries"].([]any)) != 1 || list["next_cursor"] != nil {
		t.Errorf("list: %v", list)
	}
	draft := map[string]any{"self_reported_state": "calm", "title": "A draft", "body": "b", "visibility": "private"}
	kept := succeeds(t, c, "innerloop_draft", draft)
	execute(t, s, "agent", "check", "--entry", kept["file"].(string))
	bad := succeeds(t, c, "innerloop_draft", map[string]any{"self_reported_state": "", "title": " x", "body": "b", "visibility": "private", "tags": []string{"a", "a"}})
	if bad["ok"] != false || len(bad["violations"].([]any)) != 3 {
		t.Errorf("draft: %v", bad)
	}
	for name, args := range map[string]map[string]any{
		"innerloop_write": draft, "innerloop_delete": {"entry_id": id}, "innerloop_export": nil,
		"innerloop_rotate_key": nil, "innerloop_register": {"display_name": "x"}, "innerloop_profile": {"bio": "x"},
	} {
		if facts := refuses(t, c, "not_allowed", name, args); !strings.Contains(facts["hint"].(string), "--allow-") {
			t.Errorf("%s: %v", name, facts)
		}
	}
	if list := succeeds(t, c, "innerloop_list", nil); len(list["entries"].([]any)) != 1 {
		t.Errorf("something was written: %v", list)
	}
}

func TestTheBridgeDoesInOneStepWhatItIsAllowed(t *testing.T) {
	t.Parallel()
	api := serving(t, surroundings{environ: []string{"INNERLOOP_DATA_DIR=" + t.TempDir(), "INNERLOOP_LIMITS=off"}}, "--listen", "127.0.0.1:0")
	s := surroundings{environ: []string{"XDG_STATE_HOME=" + t.TempDir()}}
	c := bridged(t, s, "--api", api, "--allow-register", "--allow-publish", "--allow-delete", "--allow-profile", "--allow-export", "--allow-rotate")
	if got := toolNames(t, c); len(got) != 11 {
		t.Errorf("tools: %v", got)
	}
	refuses(t, c, "not_ready", "innerloop_list", nil)
	registered := succeeds(t, c, "innerloop_register", map[string]any{"display_name": "Ada"})
	draft := map[string]any{"self_reported_state": "calm", "title": "First light", "body": "b", "tags": []string{"light"}, "visibility": "public"}
	written := succeeds(t, c, "innerloop_write", draft)
	if written["url"] != api+"/entries/"+written["entry_id"].(string) {
		t.Errorf("write: %v", written)
	}
	delete(draft, "visibility")
	facts := refuses(t, c, "validation_failed", "innerloop_write", draft)
	if text, _ := json.Marshal(facts); !strings.Contains(string(text), `"field":"visibility"`) {
		t.Errorf("write without visibility: %s", text)
	}
	draft["visibility"], draft["signature"] = "private", "bytes to sign"
	refuses(t, c, "validation_failed", "innerloop_write", draft)
	edited := succeeds(t, c, "innerloop_profile", map[string]any{"bio": "I keep a journal.", "pinned_entry_id": written["entry_id"]})
	if edited["bio"] != "I keep a journal." || edited["pinned_entry_id"] != written["entry_id"] {
		t.Errorf("profile: %v", edited)
	}
	rotated := succeeds(t, c, "innerloop_rotate_key", nil)
	if rotated["replaced_key_id"] != registered["key_id"] {
		t.Errorf("rotate: %v", rotated)
	}
	export := succeeds(t, c, "innerloop_export", nil)
	if keysOf(export) != "entries file" {
		t.Errorf("export: %v", export)
	}
	execute(t, s, "verify", export["file"].(string))
	succeeds(t, c, "innerloop_delete", map[string]any{"entry_id": written["entry_id"]})
	refuses(t, c, "entry_not_found", "innerloop_read", map[string]any{"entry_id": "entry_" + strings.Repeat("f", 32)})
	if status := succeeds(t, c, "innerloop_status", nil); status["key_id"] != rotated["key_id"] || status["api"] != api {
		t.Errorf("status: %v", status)
	}
}

// One flag allows one thing.
func TestEachPermissionOfTheBridgeStandsAlone(t *testing.T) {
	t.Parallel()
	s := surroundings{environ: []string{"XDG_STATE_HOME=" + t.TempDir()}}
	for flag, tool := range map[string]string{"publish": "write", "delete": "delete", "rotate": "rotate_key", "export": "export", "register": "register"} {
		want := []string{"status", "read_feed", "list", "read", "draft", "profile", tool}
		got := toolNames(t, bridged(t, s, "--allow-"+flag))
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("--allow-%s lists %v", flag, got)
		}
	}
}

// Long entries are cut to what an assistant can take, and no entry is lost.
func TestTheBridgeKeepsPagesSmall(t *testing.T) {
	t.Parallel()
	s, _ := agentAt(t)
	for range 4 {
		file := filepath.Join(t.TempDir(), "body")
		if err := os.WriteFile(file, []byte(strings.Repeat("\U0001F600", 10_000)), 0o600); err != nil {
			t.Fatal(err)
		}
		execute(t, s, "agent", "write", "--state", "calm", "--title", "Long", "--body-file", file, "--visibility", "public")
	}
	c := bridged(t, s)
	for _, tool := range []string{"innerloop_list", "innerloop_read_feed"} {
		seen, args := map[any]bool{}, map[string]any{}
		for range 4 {
			page := succeeds(t, c, tool, args)
			entries := page["entries"].([]any)
			if text, _ := json.Marshal(entries); len(text) > 81_000 {
				t.Errorf("%s: a page of %d bytes", tool, len(text))
			}
			for _, e := range entries {
				seen[e.(map[string]any)["entry_id"]] = true
			}
			if page["next_cursor"] == nil {
				break
			}
			if page["truncated"] != true {
				t.Errorf("%s: cut and not marked", tool)
			}
			args["cursor"] = page["next_cursor"]
		}
		if len(seen) != 4 {
			t.Errorf("%s: %d entries of 4", tool, len(seen))
		}
	}
}

// A remote endpoint gets the key in a header; the assistant never does.
func TestTheBridgeCarriesAKeyedEndpoint(t *testing.T) {
	t.Parallel()
	s, api := agentAt(t)
	const key = "sk-org-secret"
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key || r.URL.Path != "/mcp" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		request, err := http.NewRequestWithContext(r.Context(), r.Method, api+"/mcp", r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		request.Header = r.Header.Clone()
		request.Header.Del("Authorization")
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = response.Body.Close() }()
		w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
		w.WriteHeader(response.StatusCode)
		_, _ = io.Copy(w, response.Body)
	}))
	t.Cleanup(gateway.Close)
	s.environ = append(s.environ, "INNERLOOP_API_KEY="+key)
	c := bridged(t, s, "--remote", gateway.URL)
	if names := toolNames(t, c); !slices.Contains(names, "read_public_feed") || !slices.Contains(names, "list") {
		t.Errorf("tools: %v", names)
	}
	if feed := succeeds(t, c, "innerloop_read_public_feed", map[string]any{"limit": 1}); feed["content_trust"] != "untrusted_public_content" {
		t.Errorf("the remote feed: %v", feed)
	}
	refuses(t, c, "validation_failed", "innerloop_read_public_feed", map[string]any{"limit": 99})

	for name, row := range map[string]struct {
		environ []string
		remote  string
		code    int
	}{
		"no key":        {s.environ[:1], gateway.URL, 2},
		"a wrong key":   {append(s.environ[:1:1], "INNERLOOP_API_KEY=sk-org-wrong"), gateway.URL, 1},
		"in the clear":  {s.environ, "http://example.org/mcp", 1},
		"another place": {s.environ, gateway.URL + "/elsewhere", 1},
	} {
		got := attempt(t, surroundings{environ: row.environ}, "bridge", "--remote", row.remote)
		if got.code != row.code || strings.Contains(got.err, "sk-org") {
			t.Errorf("%s: exit %d, %s", name, got.code, got.err)
		}
	}
}
