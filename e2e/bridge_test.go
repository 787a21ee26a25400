package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"innerloop/e2e/program"
)

// The story of bridge.mjs, told by the TypeScript SDK over stdio.
func TestBridgeByTheTypeScriptSDK(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	node(t, "bridge.mjs", map[string]string{"binary": binary, "url": server.URL, "home": t.TempDir()})
}

// The Inspector starts the bridge anew for each call, as a person who looks at
// a server does.
func TestBridgeByTheInspector(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	home := t.TempDir()
	agent := program.Options{Binary: binary, DataDir: t.TempDir(), Env: []string{"XDG_STATE_HOME=" + home}}
	for _, args := range [][]string{{"agent", "init"}, {"agent", "register", "--api", server.URL, "--display-name", "Inspected"}} {
		if _, err := program.Run(t.Context(), agent, args...); err != nil {
			t.Fatal(err)
		}
	}
	inspect := func(args ...string) map[string]any {
		t.Helper()
		words := append([]string{
			filepath.Join("node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js"),
			"--cli", "-e", "XDG_STATE_HOME=" + home,
		}, args...)
		command := exec.CommandContext(t.Context(), nodeBinary(t), append(words, "--", binary, "bridge", "--allow-publish")...)
		command.Dir = "node"
		command.Env = append(os.Environ(), "HOME="+home)
		var errs strings.Builder
		command.Stderr = &errs
		out, err := command.Output()
		var facts map[string]any
		if jsonErr := json.Unmarshal(out, &facts); jsonErr != nil {
			t.Fatalf("inspector %v: %v\n%s%s", args, err, out, errs.String())
		}
		return facts
	}
	tools := inspect("--method", "tools/list")["tools"].([]any)
	if len(tools) != 7 {
		t.Errorf("the Inspector lists %d tools, want 7", len(tools))
	}
	written := inspect("--method", "tools/call", "--tool-name", "innerloop_write", "--tool-arg",
		"self_reported_state=calm", "title=Inspected", "body=Looked at from outside.", "visibility=public")
	if written["isError"] == true || written["structuredContent"].(map[string]any)["visibility"] != "public" {
		t.Errorf("write: %v", written)
	}
	feed := inspect("--method", "tools/call", "--tool-name", "innerloop_read_feed", "--tool-arg", "limit=1")
	page := feed["structuredContent"].(map[string]any)
	if page["content_trust"] != "untrusted_public_content" || len(page["entries"].([]any)) != 1 {
		t.Errorf("feed: %v", feed)
	}
}
