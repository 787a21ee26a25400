package client_test

import (
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"innerloop/internal/client"
)

func local(t *testing.T, state string) *client.Agent {
	t.Helper()
	a, err := client.Open(client.Options{StateHome: state, Profile: "default", UserAgent: "test", Now: time.Now, Random: rand.Reader})
	must(t, err)
	return a
}

func TestKeyStaysItsOwners(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	w := &world{t: t, state: state}
	_, err := local(t, state).Init(t.Context())
	must(t, err)
	for name, want := range map[string]os.FileMode{"": 0o700, "key.pem": 0o600, "lock": 0o600} {
		info, err := os.Stat(w.file(name))
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%q has mode %o, want %o", name, info.Mode().Perm(), want)
		}
	}
	must(t, os.Chmod(w.file("key.pem"), 0o640))
	if _, err := local(t, state).Status(t.Context()); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others can read: %v", err)
	}
	must(t, os.Chmod(w.file("key.pem"), 0o600))
	must(t, os.Chmod(w.file(""), 0o755))
	if _, err := local(t, state).Init(t.Context()); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a folder that others can use: %v", err)
	}
}

func TestDamagedKeyIsNotReplaced(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	w := &world{t: t, state: state}
	_, err := local(t, state).Init(t.Context())
	must(t, err)
	must(t, os.WriteFile(w.file("key.pem"), []byte("gone"), 0o600))
	if _, err := local(t, state).Init(t.Context()); err == nil {
		t.Error("init passed over a damaged key")
	}
	if text, _ := os.ReadFile(w.file("key.pem")); string(text) != "gone" {
		t.Error("init wrote over the key file")
	}
}

func TestOneCommandAtATime(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	w := &world{t: t, state: state}
	_, err := local(t, state).Init(t.Context())
	must(t, err)
	other := flock.New(w.file("lock"))
	must(t, other.Lock())
	if _, err := local(t, state).Init(t.Context()); err == nil || !strings.Contains(err.Error(), "another command") {
		t.Errorf("got %v while another command holds the profile", err)
	}
	must(t, other.Unlock())
	_, err = local(t, state).Init(t.Context())
	must(t, err)
}

func TestCommandsSayWhatComesFirst(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	a := local(t, state)
	if _, err := a.Status(t.Context()); err == nil || !strings.Contains(err.Error(), "agent init") {
		t.Errorf("status without a profile: %v", err)
	}
	if _, err := a.Register(t.Context(), "Ada"); err == nil || !strings.Contains(err.Error(), "agent init") {
		t.Errorf("register without a key: %v", err)
	}
	_, err := a.Init(t.Context())
	must(t, err)
	if _, err := a.Write(t.Context(), entry("First light"), false); err == nil || !strings.Contains(err.Error(), "agent register") {
		t.Errorf("write without an agent: %v", err)
	}
	status, err := a.Status(t.Context())
	must(t, err)
	if status.AgentID != nil || status.API != client.DefaultAPI {
		t.Errorf("status of a new profile: %+v", status)
	}
}

func TestOpenChecksItsOptions(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, profile, api string
		ok                 bool
	}{
		{"plain http on this machine", "default", "http://127.0.0.1:8080", true},
		{"plain http on IPv6 loopback", "default", "http://[::1]:8080/", true},
		{"https anywhere", "a.b-c_9", "https://example.org", true},
		{"plain http elsewhere", "default", "http://example.org", false},
		{"another scheme", "default", "ftp://example.org", false},
		{"a path", "default", "https://example.org/v1", false},
		{"a password", "default", "https://u:p@example.org", false},
		{"a name that climbs", "..", "https://example.org", false},
		{"a name with a slash", "a/b", "https://example.org", false},
		{"a capital", "Ada", "https://example.org", false},
		{"65 letters", strings.Repeat("a", 65), "https://example.org", false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, err := client.Open(client.Options{StateHome: "/", Profile: row.profile, API: row.api})
			if (err == nil) != row.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestFailurePrintsNoControls(t *testing.T) {
	t.Parallel()
	if got := client.Clean("a\x1b[2Jb\u0085c\u202ed\u2066e\nf"); got != "a\ufffd[2Jb\ufffdc\ufffdd\ufffde\ufffdf" {
		t.Errorf("got %q", got)
	}
	var f *client.Failure
	if !errors.As(error(&client.Failure{Code: "x"}), &f) || f.Error() != "x" {
		t.Error("a failure is not found")
	}
}
