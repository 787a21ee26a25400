//go:build linux && (amd64 || arm64)

package repl_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/coworkertest"
	"innerloop/coworker/repl"
	"innerloop/coworker/sandbox"
)

// Attack: the key of a run is revoked, or loses what it may do, while the code
// is between two calls. Expectation: the next call is refused, and nothing of
// it reaches the service.
func TestAKeyThatIsTakenAwayDuringARunHoldsAtOnce(t *testing.T) {
	t.Parallel()
	const twice = `
import coworker
for _ in range(2):
    try: print(coworker.call('wildberries', 'GET', '/ping', module='common')['status'])
    except coworker.Error as e: print(e.code, e.details)`
	for name, row := range map[string]struct {
		take func(w *world, k coworker.KeyID) error
		want string
	}{
		"revoked": {func(w *world, k coworker.KeyID) error {
			_, err := w.RevokeKey(w.t.Context(), coworker.Operator(), w.acme.Organization.ID, k)
			return err
		}, "200\nUNAUTHENTICATED {'reason': 'revoked'}\n"},
		"for another service": {func(w *world, k coworker.KeyID) error {
			_, err := w.UpdateKey(w.t.Context(), coworker.Operator(), w.acme.Organization.ID, k, coworker.Change{Connectors: &[]string{"ozon"}})
			return err
		}, "200\nPERMISSION_DENIED"},
		"that may not run code": {func(w *world, k coworker.KeyID) error {
			scopes := coworker.ReadTools
			_, err := w.UpdateKey(w.t.Context(), coworker.Operator(), w.acme.Organization.ID, k, coworker.Change{Scopes: &scopes})
			return err
		}, "200\nPERMISSION_DENIED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil).connected()
			who := w.with(coworker.NewKey{})
			w.serve = func(out http.ResponseWriter, _ *http.Request) {
				if err := row.take(w, who.Key); err != nil {
					t.Error(err)
				}
				out.Header().Set("Content-Type", "application/json")
				_, _ = out.Write([]byte("{}"))
			}
			if a := w.ran(who, repl.Request{Code: twice}); !strings.HasPrefix(a.Stdout, row.want) || len(w.asked) != 1 {
				t.Errorf("%s%s, asked %q", a.Stdout, a.Stderr, w.asked)
			}
		})
	}
}

// Attack: code prints the credential it was lent, as it is and in the spellings
// it takes in headers and addresses, wherever an answer carries text.
func TestALentCredentialIsMaskedInAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).connected()
	a := w.ran(w.with(coworker.NewKey{}), repl.Request{Services: []string{"wildberries"}, Return: []string{"kept.txt"}, Code: `
import os, sys, base64, json, urllib.parse
key = os.environ['WILDBERRIES_API_KEY']
spellings = [key, base64.b64encode(key.encode()).decode(), base64.urlsafe_b64encode(b'user:' + key.encode()).decode(), urllib.parse.quote(key, safe=''), urllib.parse.quote_plus(key), urllib.parse.quote(key), json.dumps(key), key.encode().hex()]
for s in spellings: print('out', s)
for s in spellings: print('err', s, file=sys.stderr)
open('kept.txt', 'w').write('\n'.join(spellings))
spellings`})
	if a.ExitCode != 0 || strings.Count(a.Stdout, "[secret]") != 8 || strings.Count(a.Stderr, "[secret]") != 8 || strings.Count(*a.Result, "[secret]") != 8 || len(a.Attached) != 1 {
		t.Fatalf("%+v", a)
	}
	said, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	said = append(said, a.Attached[0].Body...)
	for _, spelling := range []string{planted, "cGxhbnRlZCtjcmVkZW50aWFsLzVkMWYwYz09", "planted%2Bcredential%2F5d1f0c%3D%3D", "planted%2bcredential", "706c616e746564"} {
		if bytes.Contains(said, []byte(spelling)) {
			t.Errorf("%s came back: %s", spelling, said)
		}
	}
	// One that raises has it in its traceback.
	a = w.ran(w.with(coworker.NewKey{}), repl.Request{Services: []string{"wildberries"}, Code: "import os\nraise ValueError(os.environ['WILDBERRIES_API_KEY'])"})
	if a.ExitCode != 1 || !strings.Contains(a.Stderr, "ValueError: [secret]") {
		t.Errorf("%+v", a)
	}
}

// TestPicturesAndTablesComeWithAnAnswer writes files of each kind: new pictures
// come by themselves, others when they are asked for.
func TestPicturesAndTablesComeWithAnAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	who := w.with(coworker.NewKey{})
	const png = "b'\\x89PNG\\r\\n\\x1a\\n' + bytes(16)"
	a := w.ran(who, repl.Request{Return: []string{"t.csv", "raw.bin", "missing", "link", "large", "dir"}, Code: `
import os
for n in range(5): open(f'plot{n}.png', 'wb').write(` + png + `)
open('not.PNG', 'w').write('text in the coat of a picture')
open('t.csv', 'w').write('a,1\n')
open('raw.bin', 'wb').write(b'\x00\xff')
open('large', 'wb').write(bytes((1 << 20) + 1))
os.mkdir('dir')
os.symlink('/etc/passwd', 'link')`})
	type attachment struct {
		path, image string
		text        bool
		bytes       int
	}
	var got []attachment
	for _, f := range a.Attached {
		got = append(got, attachment{f.Path, f.Image, f.Text, len(f.Body)})
	}
	want := []attachment{
		{"t.csv", "", true, 4},
		{"raw.bin", "", false, 2},
		{"plot0.png", "image/png", false, 24},
		{"plot1.png", "image/png", false, 24},
		{"plot2.png", "image/png", false, 24},
	}
	if !slices.Equal(got, want) || !slices.Equal(a.NotReturned, []string{"missing", "link", "large", "dir"}) {
		t.Errorf("attached %+v, not returned %q, %s", got, a.NotReturned, a.Stderr)
	}
	// What is there since before comes only when it is asked for.
	if a := w.ran(who, repl.Request{Code: "1"}); len(a.Attached) != 0 {
		t.Errorf("%+v", a.Attached)
	}
	if a := w.ran(who, repl.Request{Code: "1", Return: []string{"plot4.png"}}); len(a.Attached) != 1 || a.Attached[0].Image != "image/png" {
		t.Errorf("%+v", a.Attached)
	}
}

// TestAFullQueueIsToldAtOnce lets one run hold the only slot: of two that come,
// one waits and is done, and the other hears when to come again.
func TestAFullQueueIsToldAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *sandbox.Options) { o.Slots, o.PerUser, o.Queue = 1, 1, 1 }).connected()
	began, goOn := make(chan struct{}), make(chan struct{})
	w.serve = func(out http.ResponseWriter, _ *http.Request) {
		close(began)
		<-goOn
	}
	who := w.with(coworker.NewKey{})
	type outcome struct {
		answer *repl.Answer
		err    error
	}
	start := func(code string) chan outcome {
		done := make(chan outcome, 1)
		go func() {
			a, _, err := w.Run(t.Context(), who, repl.Request{Code: code, Timeout: 60 * time.Second})
			done <- outcome{a, err}
		}()
		return done
	}
	first := start("import coworker\ntry: coworker.call('wildberries', 'GET', '/ping', module='common')\nexcept coworker.Error: pass")
	<-began
	second, third := start("1"), start("1")
	var refused outcome
	waits := second
	select {
	case refused = <-second:
		waits = third
	case refused = <-third:
	}
	f := coworkertest.WantCode(t, refused.err, coworker.RateLimited)
	if said, err := json.Marshal(f.Contract()); err != nil || !strings.Contains(string(said), `"retryable":true`) || !strings.Contains(string(said), `"retry_after_ms":5000`) || !strings.Contains(string(said), `"scope":"sandbox"`) {
		t.Errorf("%s %v", said, err)
	}
	close(goOn)
	for _, done := range []chan outcome{first, waits} {
		if o := <-done; o.err != nil || o.answer.ExitCode != 0 {
			t.Errorf("%+v %v", o.answer, o.err)
		}
	}
}
