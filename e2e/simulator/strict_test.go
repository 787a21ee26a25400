package simulator_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"innerloop/e2e/simulator"
)

// Attack: each way to ask for something that a service does not know.
// Expectation: each is refused in the service's words and counted; what comes
// too soon is refused as often as the route says.
func TestEveryTroubleIsSeen(t *testing.T) {
	t.Parallel()
	service := simulator.Service{
		Auth:    func(r *simulator.Request) bool { return r.Header.Get("Key") == "good" },
		Headers: map[string]string{"Version": "2"},
		Refusal: map[simulator.Trouble]simulator.Reply{},
		Routes: []simulator.Route{
			{Call: "POST host.example/things/*", Type: "application/json", Busy: 1, Answer: func(r *simulator.Request) simulator.Reply {
				return simulator.Reply{Status: 200, Body: map[string]any{"part": r.Parts[0], "name": r.Body["name"]}}
			}},
		},
	}
	for i, trouble := range simulator.Troubles() {
		service.Refusal[trouble] = simulator.Reply{Status: 460 + i, Body: map[string]any{"word": string(trouble)}}
	}
	s := simulator.Start(service)
	defer s.Close()
	type sent struct{ method, path, kind, body, key, version string }
	ask := func(q sent) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), q.method, s.URL+q.path, strings.NewReader(q.body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Key": q.key, "Version": q.version, "Content-Type": q.kind} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		var body bytes.Buffer
		if _, err := body.ReadFrom(answer.Body); err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, body.String()
	}
	good := sent{"POST", "/host.example/things/7", "application/json", `{"name":"a"}`, "good", "2"}
	for trouble, change := range map[simulator.Trouble]func(*sent){
		simulator.NoCredential: func(q *sent) { q.key = "bad" },
		simulator.NoPath:       func(q *sent) { q.path += "/8" },
		simulator.NoMethod:     func(q *sent) { q.method = "PUT" },
		simulator.NoType:       func(q *sent) { q.kind = "text/plain" },
		simulator.NoHeader:     func(q *sent) { q.version = "1" },
		simulator.BadValue:     func(q *sent) { q.body = `{"name":` },
	} {
		q := good
		change(&q)
		if status, body := ask(q); status != service.Refusal[trouble].Status || !strings.Contains(body, string(trouble)) {
			t.Errorf("%s: %d %s", trouble, status, body)
		}
		if n := s.Refused(trouble); n != 1 {
			t.Errorf("%s is counted %d times", trouble, n)
		}
	}
	if status, _ := ask(good); status != service.Refusal[simulator.TooMany].Status {
		t.Errorf("too soon: %d", status)
	}
	before := s.Count(service.Routes[0].Call)
	if status, body := ask(good); status != 200 || !strings.Contains(body, `"part":"7"`) || !strings.Contains(body, `"name":"a"`) {
		t.Errorf("a good request: %d %s", status, body)
	}
	if n := s.Count(service.Routes[0].Call); n != before+1 || s.Total() != 8 {
		t.Errorf("%d counted after %d, %d in all", n, before, s.Total())
	}
}

// What is driven is what is shipped, but for hosts, one pace and waits.
func TestOnlyHostsAndTimesAreOverridden(t *testing.T) {
	t.Parallel()
	times := regexp.MustCompile(`requests: (1|60), per: 60s, burst: (1|60)\b|\bafter: [0-9]+s`)
	slow, one := 0, []byte("requests: 1, per: 60s, burst: 1,")
	for _, service := range simulator.All() {
		shipped, err := os.ReadFile(filepath.Join("..", "..", "coworker", "catalog", "services", service.ID+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		made := simulator.Overridden(shipped)
		moved := bytes.ReplaceAll(made, []byte("https://simulator.example/"), []byte("https://"))
		if !bytes.Equal(times.ReplaceAll(moved, nil), times.ReplaceAll(shipped, nil)) {
			t.Errorf("%s: more than hosts and times is changed", service.ID)
		}
		slow += bytes.Count(shipped, one)
		if bytes.Contains(made, one) {
			t.Errorf("%s: one call a minute stays", service.ID)
		}
		if own := bytes.Contains(shipped, []byte(`base_url: "{`)); own == bytes.Contains(made, []byte("base_url: https://simulator.example/")) {
			t.Errorf("%s: a host of a module stays, or one is made up", service.ID)
		}
		if bytes.Contains(made, []byte("base_url: https://")) != bytes.Contains(made, []byte("base_url: https://simulator.example/")) {
			t.Errorf("%s: a host stays", service.ID)
		}
	}
	if slow == 0 {
		t.Error("no pace had to be lifted")
	}
}

// A request as it is sent to a simulator, and the trouble that it is refused
// for; none when it is answered.
type placed struct {
	what, path, body string
	header           [2]string
	trouble          simulator.Trouble
}

// Attack: each credential of an address, a form and a signature at every other
// place, twice, in part, of another request. Expectation: only the one that
// stands where the service reads it is taken, and unknown names are refused.
func TestACredentialStandsInOnePlace(t *testing.T) {
	t.Parallel()
	const (
		asForm = "application/x-www-form-urlencoded"
		asJSON = "application/json"
		lists  = "/api.unisender.com/ru/api/getLists"
		order  = "/securepay.tinkoff.ru/v2/CheckOrder"
		search = "/api.megamarket.tech/api/market/v1/orderService/order/search"
		clock  = "/api.vk.com/method/utils.getServerTime"
		graph  = "/api.linear.app/graphql"
		stated = `"OrderId":"0","TerminalKey":"1700000000001DEMO"`
	)
	bearer := [2]string{"Authorization", "Bearer vk-token-simulated"}
	// Order, password, terminal: the order of their names.
	sum := sha256.Sum256([]byte("0" + "tbank-password-simulated" + "1700000000001DEMO"))
	token := `"Token":"` + hex.EncodeToString(sum[:]) + `"`
	const me, both = "/api.trello.com/1/members/me", "?key=trello-key-simulated&token=trello-token-simulated"
	for id, tries := range map[string][]placed{
		"trello": {
			{what: "as it should be", path: me + both},
			{what: "twice", path: me + both + "&token=trello-token-simulated", trouble: simulator.NoCredential},
			{what: "without the key", path: me + "?token=trello-token-simulated", trouble: simulator.NoCredential},
			{what: "in a header", path: me, header: [2]string{"Authorization", "Bearer trello-token-simulated"}, trouble: simulator.NoCredential},
			{what: "in a header too", path: me + both, header: [2]string{"Authorization", "Bearer trello-token-simulated"}, trouble: simulator.NoCredential},
			{what: "an unknown name", path: me + both + "&field=id", trouble: simulator.BadValue},
		},
		"unisender": {
			{what: "as it should be", path: lists, body: "api_key=unisender-key-simulated&format=json", header: [2]string{"Content-Type", asForm}},
			{what: "no format", path: lists, body: "api_key=unisender-key-simulated", header: [2]string{"Content-Type", asForm}, trouble: simulator.BadValue},
			{what: "in the address", path: lists + "?api_key=unisender-key-simulated", body: "format=json", header: [2]string{"Content-Type", asForm}, trouble: simulator.NoCredential},
			{what: "in the address too", path: lists + "?api_key=unisender-key-simulated", body: "api_key=unisender-key-simulated&format=json", header: [2]string{"Content-Type", asForm}, trouble: simulator.NoCredential},
			{what: "as JSON", path: lists, body: `{"api_key":"unisender-key-simulated","format":"json"}`, header: [2]string{"Content-Type", asJSON}, trouble: simulator.NoCredential},
			{what: "an unknown name", path: lists, body: "api_key=unisender-key-simulated&format=json&x=1", header: [2]string{"Content-Type", asForm}, trouble: simulator.BadValue},
		},
		"megamarket": {
			{what: "as it should be", path: search, body: `{"meta":{},"data":{"token":"megamarket-token-simulated"}}`, header: [2]string{"Content-Type", asJSON}},
			{what: "outside of data", path: search, body: `{"meta":{},"data":{},"token":"megamarket-token-simulated"}`, header: [2]string{"Content-Type", asJSON}, trouble: simulator.NoCredential},
			{what: "in meta too", path: search, body: `{"meta":{"token":"megamarket-token-simulated"},"data":{"token":"megamarket-token-simulated"}}`, header: [2]string{"Content-Type", asJSON}, trouble: simulator.NoCredential},
			{what: "no meta", path: search, body: `{"data":{"token":"megamarket-token-simulated"}}`, header: [2]string{"Content-Type", asJSON}, trouble: simulator.BadValue},
		},
		"vk": {
			{what: "a body of no type", path: clock + "?v=5.199", body: "a=", header: bearer, trouble: simulator.NoType},
			{what: "in the address", path: clock + "?v=5.199&access_token=vk-token-simulated", body: "a=", header: [2]string{"Content-Type", asForm}, trouble: simulator.NoCredential},
		},
		"linear": {
			{what: "a body of no type", path: graph, body: `{"query":"query { viewer { id } }"}`, header: [2]string{"Authorization", "linear-key-simulated"}, trouble: simulator.NoType},
			{what: "with a word before it", path: graph, body: `{"query":"query { viewer { id } }"}`, header: [2]string{"Authorization", "Bearer linear-key-simulated"}, trouble: simulator.NoCredential},
		},
		"tbank_acquiring": {
			{what: "as it should be", path: order, body: "{" + stated + "," + token + "}", header: [2]string{"Content-Type", asJSON}},
			{what: "of another order", path: order, body: "{" + strings.Replace(stated, `"0"`, `"1"`, 1) + "," + token + "}", header: [2]string{"Content-Type", asJSON}, trouble: simulator.NoCredential},
			{what: "without the terminal", path: order, body: `{"OrderId":"0",` + token + "}", header: [2]string{"Content-Type", asJSON}, trouble: simulator.NoCredential},
			{what: "with the password", path: order, body: "{" + stated + `,"Password":"tbank-password-simulated",` + token + "}", header: [2]string{"Content-Type", asJSON}, trouble: simulator.NoCredential},
			{what: "in the address", path: order + "?Token=x", body: "{" + stated + "," + token + "}", header: [2]string{"Content-Type", asJSON}, trouble: simulator.NoCredential},
			{what: "an object is not signed", path: order, body: "{" + stated + `,"DATA":{"a":1},` + token + "}", header: [2]string{"Content-Type", asJSON}, trouble: simulator.BadValue},
		},
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			at := slices.IndexFunc(simulator.All(), func(s simulator.Service) bool { return s.ID == id })
			s := simulator.Start(simulator.All()[at])
			defer s.Close()
			for _, try := range tries {
				method := http.MethodGet
				if try.body != "" {
					method = http.MethodPost
				}
				r, err := http.NewRequestWithContext(t.Context(), method, s.URL+try.path, strings.NewReader(try.body))
				if err != nil {
					t.Fatal(err)
				}
				if try.header[0] != "" {
					r.Header.Set(try.header[0], try.header[1])
				}
				before := refusals(s)
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				after := refusals(s)
				if try.trouble != "" {
					before[try.trouble]++
				}
				if !maps.Equal(before, after) {
					t.Errorf("%s: refused so often: %v, want %v", try.what, after, before)
				}
			}
		})
	}
}

func refusals(s *simulator.Server) map[simulator.Trouble]int {
	all := map[simulator.Trouble]int{}
	for _, trouble := range simulator.Troubles() {
		all[trouble] = s.Refused(trouble)
	}
	return all
}
