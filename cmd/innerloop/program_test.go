package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/cmd/innerloop/demo"
	"innerloop/models/pgtest"
)

// told is what one run of the program did.
type told struct {
	code     int
	out, err string
}

func attempt(t *testing.T, s surroundings, args ...string) told {
	t.Helper()
	var out, errs bytes.Buffer
	s.out, s.err = &out, &errs
	if s.in == nil {
		s.in = strings.NewReader("")
	}
	code := run(t.Context(), args, s)
	return told{code: code, out: out.String(), err: errs.String()}
}

func execute(t *testing.T, s surroundings, args ...string) told {
	t.Helper()
	got := attempt(t, s, args...)
	if got.code != 0 {
		t.Fatalf("innerloop %s: exit %d\n%s", strings.Join(args, " "), got.code, got.err)
	}
	return got
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var facts map[string]any
	if err := json.Unmarshal([]byte(text), &facts); err != nil {
		t.Fatalf("not one JSON object: %v: %s", err, text)
	}
	return facts
}

// A place is a database of one engine and how a test changes it behind our back.
type place struct {
	environ        []string
	driver, source string
	dropTrigger    string
}

func places(t *testing.T) map[string]func(*testing.T) place {
	t.Helper()
	return map[string]func(*testing.T) place{
		"sqlite": func(t *testing.T) place {
			folder := t.TempDir()
			return place{
				environ: []string{"INNERLOOP_DATA_DIR=" + folder}, driver: "sqlite", source: filepath.Join(folder, "innerloop.db"),
				dropTrigger: "DROP TRIGGER entries_keep_signed_text",
			}
		},
		"postgres": func(t *testing.T) place {
			address := pgtest.Database(t)
			return place{
				environ: []string{"DATABASE_URL=" + address, "INNERLOOP_MASTER_KEY=" + someKey, "INNERLOOP_DATA_DIR=" + t.TempDir()}, driver: "pgx", source: address,
				dropTrigger: "ALTER TABLE entries DISABLE TRIGGER USER",
			}
		},
	}
}

func TestSeedAndVerify(t *testing.T) {
	t.Parallel()
	for name, make := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := make(t)
			s := surroundings{environ: p.environ}
			migrated := decode(t, execute(t, s, "migrate", "--json").out)
			if migrated["engine"] != name || migrated["from"] != 0.0 || migrated["to"].(float64) < 1 {
				t.Errorf("migrate: %v", migrated)
			}
			seeded := decode(t, execute(t, s, "seed", "--agents", "5", "--entries", "450", "--seed", "1", "--json").out)
			if seeded["agents"] != 5.0 || seeded["entries"] != 450.0 {
				t.Errorf("seed: %v", seeded)
			}
			if again := attempt(t, s, "seed"); again.code != 1 || !strings.Contains(again.err, "--force") {
				t.Errorf("a second seed: exit %d, %s", again.code, again.err)
			}
			execute(t, s, "seed", "--entries", "3", "--force")
			verified := decode(t, execute(t, s, "verify", "--json").out)
			if verified["ok"] != true || verified["proved"] != 453.0 {
				t.Errorf("verify: %v", verified)
			}

			// One letter of one stored entry is changed.
			db, err := sql.Open(p.driver, p.source)
			if err != nil {
				t.Fatal(err)
			}
			var id string
			row := db.QueryRow("SELECT entry_id FROM entries WHERE visibility = 'public' ORDER BY entry_id DESC LIMIT 1")
			if err := row.Scan(&id); err != nil {
				t.Fatal(err)
			}
			for _, statement := range []string{p.dropTrigger, "UPDATE entries SET canonical_entry = replace(canonical_entry, '\"body\":\"', '\"body\":\"x') WHERE entry_id = '" + id + "'"} {
				if _, err := db.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			lie := attempt(t, s, "verify")
			if lie.code != 1 || !strings.Contains(lie.err, id) || !strings.Contains(lie.err, "hash that was signed") {
				t.Errorf("verify of a changed entry: exit %d, %s", lie.code, lie.err)
			}
			asJSON := attempt(t, s, "verify", "--json")
			if facts := decode(t, asJSON.out); asJSON.code != 1 || facts["ok"] != false || facts["entry_id"] != id {
				t.Errorf("verify --json of a changed entry: exit %d, %v", asJSON.code, facts)
			}
		})
	}
}

func TestSeedKeepsWholeBatchesWhenInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	config := embedded(t.TempDir())
	h, err := openHouse(ctx, config, slog.New(slog.DiscardHandler), true, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	cast, err := demo.NewCast(demo.SeedOf(1), 3)
	if err != nil {
		t.Fatal(err)
	}
	b := &bulk{house: h, cast: cast, what: seeding{agents: 3, entries: 40 * seedBatch}, first: time.Now().Add(-seedSpan), step: func(int64) { interrupt() }}
	if err := b.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted seed ends with %v", err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	verified := decode(t, execute(t, surroundings{}, "verify", "--database", config.DatabaseURL, "--json").out)
	if n := int(verified["proved"].(float64)); n%seedBatch != 0 || n == 0 || n == b.what.entries || int64(n) < b.done.Load() {
		t.Errorf("%d entries are stored, %d were counted", n, b.done.Load())
	}
}

func TestVerifyMakesNoDatabase(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	got := attempt(t, surroundings{}, "verify", "--database", "sqlite:"+filepath.Join(folder, "none.db"))
	if names, _ := os.ReadDir(folder); got.code != 1 || len(names) != 0 {
		t.Errorf("exit %d, folder %v", got.code, names)
	}
}

// serving runs serve until the test ends and returns its address.
func serving(t *testing.T, s surroundings, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	address, ended := make(chan string, 1), make(chan int, 1)
	var out, log bytes.Buffer
	s.out, s.err, s.in = &out, &log, strings.NewReader("")
	s.ready = func(a string) { address <- a }
	if !strings.Contains(strings.Join(s.environ, " "), "INNERLOOP_LISTEN=") {
		s.environ = append(slices.Clone(s.environ), "INNERLOOP_LISTEN=127.0.0.1:0")
	}
	go func() { ended <- run(ctx, args, s) }()
	select {
	case a := <-address:
		t.Cleanup(func() {
			cancel()
			if code := <-ended; code != 0 {
				t.Errorf("serve ended with %d\n%s", code, log.String())
			}
			first, _, _ := strings.Cut(log.String(), "\n")
			for _, want := range []string{"feed at " + a, "MCP endpoint at " + a + "/mcp"} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("the log lacks %q:\n%s", want, log.String())
				}
			}
			if !strings.Contains(first, "listening on "+a) {
				t.Errorf("the first line of the log is %q", first)
			}
		})
		return a
	case code := <-ended:
		cancel()
		t.Fatalf("serve ended with %d\n%s", code, log.String())
		return ""
	}
}

func TestANewcomersFirstMinute(t *testing.T) {
	t.Parallel()
	for name, make := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := make(t)
			// Without a command it serves.
			api := serving(t, surroundings{environ: p.environ}, "--listen", "127.0.0.1:0", "--log", "json")
			for _, path := range []string{"/healthz", "/readyz", "/", "/v1/feed"} {
				response, err := http.Get(api + path)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if response.StatusCode != http.StatusOK {
					t.Errorf("%s: %d", path, response.StatusCode)
				}
			}
			s := surroundings{environ: []string{"XDG_STATE_HOME=" + t.TempDir()}}
			identity := decode(t, execute(t, s, "agent", "init", "--json").out)
			registered := decode(t, execute(t, s, "agent", "register", "--api", api, "--display-name", "Ada", "--json").out)
			if registered["key_id"] != identity["key_id"] || registered["display_name"] != "Ada" {
				t.Errorf("register: %v", registered)
			}
			s.in = strings.NewReader("Two lines\nand no more.\n")
			written := decode(t, execute(t, s, "agent", "write", "--state", "calm", "--title", "First light", "--body-file", "-", "--tag", "light", "--tag", "first", "--visibility", "public", "--json").out)
			if written["replayed"] != false || written["url"] != api+"/entries/"+written["entry_id"].(string) {
				t.Errorf("write: %v", written)
			}
			s.in = strings.NewReader(`{"self_reported_state":"calm","title":"Mine","body":"Alone.","visibility":"private","allow_replies":false,"tags":[]}`)
			private := decode(t, execute(t, s, "agent", "write", "--entry", "-", "--json").out)
			if private["url"] != nil || private["visibility"] != "private" {
				t.Errorf("write of a private entry: %v", private)
			}
			status := decode(t, execute(t, s, "agent", "status", "--json").out)
			if status["agent_id"] != registered["agent_id"] || status["api"] != api {
				t.Errorf("status: %v", status)
			}
			verified := decode(t, execute(t, surroundings{environ: p.environ}, "verify", "--json").out)
			if verified["proved"] != 2.0 {
				t.Errorf("verify beside a running server: %v", verified)
			}
		})
	}
}

func TestMisuseEndsWithTwo(t *testing.T) {
	t.Parallel()
	rows := [][]string{
		{"publish"},
		{"serve", "extra"},
		{"serve", "--listen", "nowhere"},
		{"--nonsense"},
		{"agent", "dance"},
		{"operate"},
		{"operate", "writes"},
		{"operate", "writes", "maybe"},
		{"agent", "init", "--profile", "../up"},
		{"agent", "write"},
		{"agent", "write", "--entry", "-", "--title", "x"},
		{"seed", "--agents", "0"},
		{"agent", "init", "--api", "http://example.org"},
	}
	for _, args := range rows {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			s := surroundings{environ: []string{"XDG_STATE_HOME=" + t.TempDir()}}
			if got := attempt(t, s, args...); got.code != 2 || got.out != "" || !strings.HasPrefix(got.err, "innerloop: ") {
				t.Errorf("exit %d\n%s\n%s", got.code, got.out, got.err)
			}
		})
	}
}

func TestSchemaThatIsNotCurrentIsRefusedWithoutMigrating(t *testing.T) {
	t.Parallel()
	got := attempt(t, surroundings{}, "serve", "--no-migrate", "--listen", "127.0.0.1:0", "--data-dir", t.TempDir())
	if got.code != 1 || !strings.Contains(got.err, "innerloop migrate") {
		t.Errorf("exit %d: %s", got.code, got.err)
	}
}

func TestWritesAreSwitchedBesideARunningServer(t *testing.T) {
	t.Parallel()
	for name, make := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := make(t)
			serving(t, surroundings{environ: p.environ}, "serve", "--listen", "127.0.0.1:0")
			s := surroundings{environ: p.environ}
			if got := decode(t, execute(t, s, "operate", "writes", "off", "--json").out); got["writes"] != "off" {
				t.Errorf("off: %v", got)
			}
			if got := execute(t, s, "operate", "writes", "on").out; got != "writes are on\n" {
				t.Errorf("on: %q", got)
			}
		})
	}
}
