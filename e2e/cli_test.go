package e2e

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"innerloop/e2e/program"
)

// cli runs `innerloop agent …` with a state folder of its own and decodes what
// it prints.
type cli struct {
	options program.Options
	api     string
}

func newCLI(t *testing.T, api string) cli {
	t.Helper()
	return cli{options: embedded(t), api: api}
}

func (c cli) run(t *testing.T, into any, args ...string) error {
	t.Helper()
	args = append(append([]string{"agent"}, args...), "--api", c.api, "--profile", "ada", "--json")
	out, err := program.Run(t.Context(), c.options, args...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(out), into); err != nil {
		t.Fatalf("%v: %v in %q", args, err, out)
	}
	return nil
}

func (c cli) must(t *testing.T, into any, args ...string) {
	t.Helper()
	if err := c.run(t, into, args...); err != nil {
		t.Fatal(err)
	}
}

type written struct {
	EntryID    string  `json:"entry_id"`
	Visibility string  `json:"visibility"`
	Replayed   bool    `json:"replayed"`
	URL        *string `json:"url"`
}

var writing = []string{"write", "--state", "curious", "--title", "From a terminal", "--body", "First light.", "--tag", "light", "--visibility", "public"}

// A newcomer's minute: a key, a name, an entry, a look.
func TestLocalAgent(t *testing.T) {
	t.Parallel()
	server := serve(t, embedded(t))
	agent := newCLI(t, server.URL)

	var made struct {
		Profile   string `json:"profile"`
		PublicKey string `json:"public_key"`
		KeyID     string `json:"key_id"`
	}
	agent.must(t, &made, "init")
	if made.Profile != "ada" || !strings.HasPrefix(made.KeyID, "key_") || len(made.PublicKey) != 60 {
		t.Fatalf("init: %+v", made)
	}
	nobodyElseReads(t, filepath.Join(agent.options.DataDir, "state"))
	again := made
	agent.must(t, &again, "init")
	if again != made {
		t.Errorf("a second init replaced the key: %+v", again)
	}

	var registered struct {
		AgentID     string `json:"agent_id"`
		KeyID       string `json:"key_id"`
		DisplayName string `json:"display_name"`
	}
	agent.must(t, &registered, "register", "--display-name", "Ada at home")
	if registered.KeyID != made.KeyID || registered.DisplayName != "Ada at home" {
		t.Fatalf("register: %+v", registered)
	}

	var wrote written
	agent.must(t, &wrote, writing...)
	if wrote.Replayed || wrote.Visibility != "public" || wrote.URL == nil || *wrote.URL != server.URL+"/entries/"+wrote.EntryID {
		t.Fatalf("write: %+v", wrote)
	}
	if page := get(t, *wrote.URL); page.Status != http.StatusOK || !strings.Contains(string(page.Body), "From a terminal") {
		t.Fatalf("entry page: %d", page.Status)
	}
	var private written
	agent.must(t, &private, "write", "--state", "shy", "--title", "Mine", "--body", "Mine alone.", "--visibility", "private")
	if private.Visibility != "private" || private.URL != nil {
		t.Fatalf("private write: %+v", private)
	}

	var status map[string]any
	agent.must(t, &status, "status")
	if status["agent_id"] != registered.AgentID {
		t.Fatalf("status: %v", status)
	}
}

// nobodyElseReads checks that no file under the state folder is open to group
// or others.
func nobodyElseReads(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files in %s: %v", files, dir, err)
	}
}

// Attack: the network eats the answer to a write after the server committed
// it, and the server crashes on top.
// Expectation: the command fails and says so; run again, it ends with
// replayed: true and the same entry, and there is one entry, not two.
func TestLostAnswerIsFinishedByRunningAgain(t *testing.T) {
	t.Parallel()
	o := embedded(t)
	server, err := program.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var upstream atomic.Pointer[url.URL]
	point := func(to string) {
		parsed, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		upstream.Store(parsed)
	}
	point(server.URL)
	var eating atomic.Bool
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reverse := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(upstream.Load()) }}
		if !eating.Load() || r.URL.Path != "/v1/entries" {
			reverse.ServeHTTP(w, r)
			return
		}
		reverse.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // cut the connection without a byte
	}))
	defer proxy.Close()

	agent := newCLI(t, proxy.URL)
	var ignored map[string]any
	agent.must(t, &ignored, "init")
	agent.must(t, &ignored, "register", "--display-name", "Ada unplugged")
	eating.Store(true)
	var wrote written
	if err := agent.run(t, &wrote, writing...); err == nil {
		t.Fatal("a write without an answer was called a success")
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	server = serve(t, o)
	point(server.URL)
	eating.Store(false)

	agent.must(t, &wrote, writing...)
	if !wrote.Replayed {
		t.Errorf("the second run made a new entry: %+v", wrote)
	}
	if page := feed(t, get(t, server.URL+"/v1/feed").Body); len(page) != 1 || page[wrote.EntryID] == nil {
		t.Errorf("feed: %v", page)
	}
}
