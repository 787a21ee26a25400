package proof_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"innerloop/handlers"
	"innerloop/internal/client"
	"innerloop/internal/client/proof"
	"innerloop/internal/discovery"
	"innerloop/internal/keyring"
	"innerloop/journal"
	"innerloop/models"
	"innerloop/seal"
)

// samples are the documents that every checker is run on, this package, the
// scripts and the program; verdicts.txt has what each must say.
const samples = "../../../docs/verify/samples"

// TestSamples proves the committed documents. INNERLOOP_UPDATE_GOLDEN=1 makes
// them anew, from a service with a fixed clock and fixed randomness.
func TestSamples(t *testing.T) {
	t.Parallel()
	if os.Getenv("INNERLOOP_UPDATE_GOLDEN") != "" {
		makeSamples(t)
	}
	text, err := os.ReadFile(filepath.Join(samples, "verdicts.txt"))
	must(t, err)
	verdicts := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(verdicts) < 20 {
		t.Fatalf("only %d verdicts", len(verdicts))
	}
	for _, line := range verdicts {
		name, want, _ := strings.Cut(line, "\t")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(samples, name))
			must(t, err)
			if got := verdict(text); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func verdict(text []byte) string {
	seen, err := proof.Verify(bytes.NewReader(text), nil)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("every entry proves: %d entries, %d tombstones", seen.Proved, seen.Tombstones)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A service with a clock that steps and randomness that repeats.
type service struct {
	api   string
	mu    sync.Mutex
	time  time.Time
	dice  *rand.ChaCha8
	state string
}

func (s *service) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.time = s.time.Add(time.Second)
	return s.time
}

func (s *service) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dice.Read(p)
}

func serve(t *testing.T) *service {
	t.Helper()
	s := &service{time: time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC), dice: rand.NewChaCha8([32]byte{7}), state: t.TempDir()}
	store, err := models.Open(t.Context(), models.Options{URL: "sqlite:" + filepath.Join(t.TempDir(), "j.db"), Migrate: true})
	must(t, err)
	keys, err := keyring.New(bytes.Repeat([]byte{1}, keyring.MasterSize))
	must(t, err)
	j, err := journal.New(journal.Options{Store: store, Now: s.now, Random: s, Keys: keys})
	must(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s.api = "http://" + listener.Addr().String()
	server, err := handlers.New(handlers.Options{
		Journal: j, Origins: discovery.Origins{Web: s.api, API: s.api, Gateway: s.api},
		Logger: slog.New(slog.DiscardHandler), Now: s.now, Random: s,
	})
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		if err := errors.Join(server.Shutdown(context.Background()), <-ended, store.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *service) agent(t testing.TB, profile string) *client.Agent {
	t.Helper()
	a, err := client.Open(client.Options{StateHome: s.state, Profile: profile, API: s.api, UserAgent: "test", Now: s.now, Random: s})
	must(t, err)
	return a
}

func (s *service) proof(t testing.TB, id string) []byte {
	t.Helper()
	response, err := http.Get(s.api + "/entries/" + id + "/proof.json")
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("proof.json: %d %s", response.StatusCode, text)
	}
	return append(text, '\n')
}

// makeSamples lets an agent live through every way of changing keys, and then
// spoils what the service says about it.
func makeSamples(t *testing.T) {
	t.Helper()
	s := serve(t)
	write := func(a *client.Agent, title, visibility string) string {
		w, err := a.Write(t.Context(), seal.Entry{
			State: "curious", Title: title, Body: "A body with \"quotes\", <marks> & a \u007f\u2028\U0001F600.", Tags: []string{"light", "été"}, Visibility: visibility,
		}, false)
		must(t, err)
		return w.EntryID
	}
	ada := s.agent(t, "ada")
	_, err := ada.Init(t.Context())
	must(t, err)
	_, err = ada.Register(t.Context(), "Ada")
	must(t, err)
	first := write(ada, "First light", "public")
	_, err = ada.RotateKey(t.Context())
	must(t, err)
	gone := write(ada, "To go", "private")
	_, err = ada.AddKey(t.Context(), "ada-2", false)
	must(t, err)
	second := s.agent(t, "ada-2")
	write(second, "From the laptop", "private")
	recovery := filepath.Join(t.TempDir(), "recovery.pem")
	_, err = second.SetRecovery(t.Context(), recovery, "", false)
	must(t, err)
	_, err = ada.UseRecovery(t.Context(), recovery, "")
	must(t, err)
	last := write(ada, "I am back", "public")
	_, err = ada.Delete(t.Context(), gone, false)
	must(t, err)

	var lines bytes.Buffer
	_, err = ada.Export(t.Context(), &lines, true, nil)
	must(t, err)
	page, err := ada.ExportPage(t.Context(), client.Query{IncludeDeleted: true, Limit: 500})
	must(t, err)

	m := maker{t: t, folder: samples}
	must(t, os.RemoveAll(samples))
	must(t, os.MkdirAll(samples, 0o755))
	m.spoil(s.proof(t, first), s.proof(t, last), lines.Bytes(), append(page.Raw, '\n'))
	must(t, os.WriteFile(filepath.Join(samples, "verdicts.txt"), m.verdicts.Bytes(), 0o644))
}

type maker struct {
	t        *testing.T
	folder   string
	verdicts bytes.Buffer
}

func (m *maker) add(name string, text []byte) {
	must(m.t, os.WriteFile(filepath.Join(m.folder, name), text, 0o644))
	fmt.Fprintf(&m.verdicts, "%s\t%s\n", name, verdict(text))
}

// changed is a document with one change to its parsed form.
func (m *maker) changed(name string, text []byte, change func(doc map[string]any)) {
	var doc map[string]any
	must(m.t, json.Unmarshal(text, &doc))
	change(doc)
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	must(m.t, encoder.Encode(doc))
	m.add(name, out.Bytes())
}
