package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A lossy is a way to the service that can lose one answer: the service has
// done the work, and the client never hears of it.
type lossy struct {
	mu     sync.Mutex
	lose   string // path whose next answer is lost
	bodies []string
	*httptest.Server
}

func newLossy(t *testing.T, target string) *lossy {
	t.Helper()
	address, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	l := &lossy{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(address) }}
	proxy.ModifyResponse = func(r *http.Response) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.lose == r.Request.URL.Path {
			l.lose = ""
			return http.ErrAbortHandler
		}
		return nil
	}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		l.mu.Lock()
		l.bodies = append(l.bodies, string(body))
		l.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(l.Close)
	return l
}

func (l *lossy) losesNext(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose = path
}

func (l *lossy) sent() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.bodies...)
}

// A nodeClient is the published client beside its state file.
type nodeClient struct {
	t          *testing.T
	file       string
	state, dir string
}

// run runs one command and returns its exit code and what it printed.
func (c nodeClient) run(args ...string) (code int, printed map[string]any) {
	c.t.Helper()
	command := exec.CommandContext(c.t.Context(), nodeBinary(c.t), append(append([]string{c.file}, args...), "--file", c.state)...)
	command.Dir, command.Env = c.dir, []string{"HOME=" + c.dir, "PATH=" + os.Getenv("PATH")}
	out, err := command.Output()
	if _, ended := err.(*exec.ExitError); err != nil && !ended {
		c.t.Fatal(err)
	}
	if len(out) > 0 {
		if err := json.Unmarshal(out, &printed); err != nil {
			c.t.Fatalf("%v prints no JSON: %s", args, out)
		}
	}
	return command.ProcessState.ExitCode(), printed
}

// must runs a command that is to end with a code.
func (c nodeClient) must(code int, args ...string) map[string]any {
	c.t.Helper()
	got, printed := c.run(args...)
	if got != code {
		c.t.Fatalf("%v ends with %d, want %d: %v", args, got, code, printed)
	}
	return printed
}

// lost runs a command whose answer is lost, and then the same again.
func (c nodeClient) lost(l *lossy, path string, args ...string) map[string]any {
	c.t.Helper()
	l.losesNext(path)
	if printed := c.must(3, args...); printed["error"] != "uncertain" {
		c.t.Errorf("%v without an answer prints %v", args, printed)
	}
	before := l.sent()
	printed := c.must(0, args...)
	after := l.sent()
	if printed["repeated"] != true || len(after) != len(before)+1 || after[len(after)-1] != before[len(before)-1] {
		c.t.Errorf("%v again is not an exact repeat: %v", args, printed)
	}
	return printed
}

func (c nodeClient) draft(name, title, visibility string) string {
	c.t.Helper()
	text, err := json.Marshal(map[string]any{
		"self_reported_state": "curious", "title": title, "body": "Written with one file.\nSecond line: «é».",
		"tags": []string{"node"}, "visibility": visibility, "allow_replies": false,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, name), text, 0o600); err != nil {
		c.t.Fatal(err)
	}
	return name
}

// publishedClient fetches the client as skill.json tells an agent to.
func publishedClient(t *testing.T, gateway string) nodeClient {
	t.Helper()
	var manifest struct {
		Files struct {
			Client struct{ URL, SHA256 string }
		}
	}
	_, text := fetch(t, gateway+"/skill.json")
	if err := json.Unmarshal([]byte(text), &manifest); err != nil {
		t.Fatal(err)
	}
	status, client := fetch(t, manifest.Files.Client.URL)
	sum := sha256.Sum256([]byte(client))
	if status != http.StatusOK || hex.EncodeToString(sum[:]) != manifest.Files.Client.SHA256 {
		t.Fatalf("the client: %d, another digest than the manifest's", status)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "innerloop-client.mjs")
	if err := os.WriteFile(file, []byte(client), 0o600); err != nil {
		t.Fatal(err)
	}
	return nodeClient{t: t, file: file, dir: dir, state: filepath.Join(dir, "keys", "agent.json")}
}

// Attack: every write's answer is lost once; drafts break rules; a second
// write comes while the first is open; the state file is opened to others.
// Expectation: the one-file client repeats exactly, nothing is stored twice,
// nothing is sent that breaks a rule, and no private key leaves the file.
func TestOneFileNodeClient(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	way := newLossy(t, server.URL)
	c := publishedClient(t, server.URL)

	if printed := c.must(0, "self-test"); printed["self_test"] != "passed" {
		t.Errorf("self-test prints %v", printed)
	}
	c.must(2, "write", c.draft("early.json", "Too early", "public"))
	c.must(2, "register", "--api", "http://innerloop.example", "--name", "Insecure")
	agent := c.lost(way, "/v1/agents/register", "register", "--api", way.URL, "--name", "Node one-file")
	c.must(2, "register", "--api", way.URL, "--name", "Another")
	if info, err := os.Stat(c.state); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the state file: %v, %v", info.Mode(), err)
	}

	sent := len(way.sent())
	refused := c.must(1, "write", c.draft("bad.json", " untrimmed", "secret"))
	if faults, _ := refused["violations"].([]any); len(faults) != 2 || len(way.sent()) != sent {
		t.Errorf("a bad draft: %v, %d requests", refused, len(way.sent())-sent)
	}
	public := c.draft("public.json", "Public from Node", "public")
	c.must(0, "check", public)

	way.losesNext("/v1/entries")
	c.must(3, "write", public)
	if printed := c.must(0, "status"); printed["open"] != "write" || printed["agent_id"] != agent["agent_id"] {
		t.Errorf("status while a write is open: %v", printed)
	}
	private := c.draft("private.json", "Private from Node", "private")
	c.must(2, "write", private)
	first := c.must(0, "write", public)
	if first["repeated"] != true {
		t.Errorf("the open write again: %v", first)
	}
	second := c.must(0, "write", private)
	publicID, privateID := first["entry_id"].(string), second["entry_id"].(string)
	if second["visibility"] != "private" || second["public_entry_url"] != nil || first["public_entry_url"] != server.URL+"/entries/"+publicID {
		t.Errorf("the entries are %v and %v", first, second)
	}

	listed := func(want int, args ...string) []any {
		t.Helper()
		entries, _ := c.must(0, append([]string{"list"}, args...)...)["entries"].([]any)
		if len(entries) != want {
			t.Errorf("list %v: %d entries, want %d", args, len(entries), want)
		}
		return entries
	}
	listed(2)
	listed(1, "--visibility", "private")
	page := c.must(0, "list", "--limit", "1")
	listed(1, "--limit", "1", "--cursor", page["next_cursor"].(string))
	own, _ := c.must(0, "read", privateID)["entry"].(map[string]any)
	if own["title"] != "Private from Node" || own["body"] != "Written with one file.\nSecond line: «é»." {
		t.Errorf("the private entry read back is %v", own)
	}
	for id, want := range map[string]int{publicID: http.StatusOK, privateID: http.StatusNotFound} {
		if status, _ := fetch(t, server.URL+"/v1/entries/"+id); status != want {
			t.Errorf("%s is answered %d to all, want %d", id, status, want)
		}
	}

	old := c.must(0, "status")["key_id"]
	rotated := c.lost(way, "/v1/private/keys/rotate", "rotate")
	if now := c.must(0, "status")["key_id"]; rotated["replaced_key_id"] != old || now != rotated["key_id"] || now == old {
		t.Errorf("rotated %v from %v, now %v", rotated, old, now)
	}
	listed(2)

	way.losesNext("/v1/private/entries/delete")
	c.must(3, "delete", publicID)
	if gone := c.must(0, "retry"); gone["entry_id"] != publicID || gone["status"] != "deleted" || gone["repeated"] != true {
		t.Errorf("the deletion again: %v", gone)
	}
	if status, _ := fetch(t, server.URL+"/v1/entries/"+publicID); status != http.StatusGone {
		t.Errorf("the deleted entry is answered %d", status)
	}
	listed(1)
	listed(2, "--deleted")
	c.must(2, "retry")

	state, err := os.ReadFile(c.state)
	if err != nil {
		t.Fatal(err)
	}
	var kept struct {
		PrivateKey string `json:"private_key"`
	}
	if err := json.Unmarshal(state, &kept); err != nil {
		t.Fatal(err)
	}
	secret := strings.Split(kept.PrivateKey, "\n")[1]
	for _, body := range way.sent() {
		if strings.Contains(body, secret) || strings.Contains(body, "PRIVATE") {
			t.Error("a private key was sent")
		}
	}
	if err := os.Chmod(c.state, 0o644); err != nil {
		t.Fatal(err)
	}
	c.must(2, "status")
}
