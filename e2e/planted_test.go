package e2e

import (
	"crypto/md5" //nolint:gosec // what a service asks for
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"innerloop/coworker/catalog"
	"innerloop/e2e/program"
)

// A plant is a connection whose secrets are looked for everywhere, and a call
// that sends them.
type plant struct {
	kind, service, auth string
	fields              map[string]string
	module, method      string
	path                string
	body                map[string]any
	secrets             []string // what must be found nowhere; each is sent
	unsent              []string // more of it, which the service never sees
	sends               []string // what shows that it was used all the same
	signature           string   // of this very call, as good as the secret for it
}

// all are its secrets that a service may repeat in an answer to any call.
func (p plant) all() []string { return append(slices.Clone(p.secrets), p.unsent...) }

// signed are those, and the signature of the call if it has one.
func (p plant) signed() []string {
	if p.signature == "" {
		return p.all()
	}
	return append(p.all(), p.signature)
}

// sha256Of and md5Of are signatures as services want them.
func sha256Of(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

func md5Of(text string) string {
	return fmt.Sprintf("%x", md5.Sum([]byte(text))) //nolint:gosec // what a service asks for
}

// plants are of every kind of credential. The values hold signs that each
// spelling writes in another way.
func plants() []plant {
	const odd = `/planted+Va1ue=&"0123456789`
	return []plant{
		{kind: "header", service: "wildberries", fields: map[string]string{"api_key": "header" + odd}, module: "common", method: "GET", path: "/ping", secrets: []string{"header" + odd}},
		{kind: "two headers", service: "ozon", fields: map[string]string{"client_id": "77", "api_key": "headers" + odd}, method: "POST", path: "/v3/product/list", body: map[string]any{}, secrets: []string{"headers" + odd}},
		{kind: "bearer", service: "github", fields: map[string]string{"token": "bearer" + odd}, method: "GET", path: "/user/repos", secrets: []string{"bearer" + odd}},
		{kind: "basic", service: "onec", fields: map[string]string{"user": "robot", "password": "basic" + odd}, method: "Catalog_X", secrets: []string{"basic" + odd}},
		{kind: "query", service: "trello", fields: map[string]string{"key": "querykey" + odd, "token": "query" + odd}, method: "GET", path: "/boards/b1", secrets: []string{"querykey" + odd, "query" + odd}},
		{kind: "path", service: "telegram_bot", fields: map[string]string{"token": "7654321:path-planted-Va1ue_0123456789"}, method: "getMe", secrets: []string{"7654321:path-planted-Va1ue_0123456789"}},
		{kind: "an address", service: "bitrix24", auth: "webhook", fields: map[string]string{"webhook_url": "https://acme.example/rest/1/hookPlantedVa1ue0123456789/"}, method: "crm.deal.list", secrets: []string{"hookPlantedVa1ue0123456789"}},
		{kind: "body", service: "unisender", fields: map[string]string{"api_key": "body" + odd}, method: "getLists", secrets: []string{"body" + odd}},
		{kind: "client credentials", service: "cdek", fields: map[string]string{"client_id": "acme", "client_secret": "oauth2cc" + odd}, method: "GET", path: "/location/regions", secrets: []string{"oauth2cc" + odd, accessToken}},
		{kind: "a refresh token", service: "avito", auth: "oauth2_refresh", fields: map[string]string{"client_id": "acme", "client_secret": "oauth2" + odd, "refresh_token": "refresh" + odd}, module: "core", method: "GET", path: "/core/v1/accounts/self", secrets: []string{"oauth2" + odd, "refresh" + odd, rotatedToken, accessToken}},
		{kind: "client credentials in JSON", service: "ozon_performance", fields: map[string]string{"client_id": "acme", "client_secret": "oauth2json" + odd}, method: "GET", path: "/api/client/campaign", secrets: []string{"oauth2json" + odd, accessToken}},
		{kind: "client credentials in a header", service: "paypal", fields: map[string]string{"client_id": "acme", "client_secret": "oauth2basic" + odd}, method: "GET", path: "/v1/invoicing/invoices", secrets: []string{"oauth2basic" + odd, accessToken}},
		{kind: "an authorization code", service: "sber_business", fields: map[string]string{"client_id": "acme", "client_secret": "oauth2code" + odd, "certificate": "certificate" + odd}, method: "GET", path: "/client-info", secrets: []string{"oauth2code" + odd, accessToken}, unsent: []string{"certificate" + odd}},
		{kind: "a signature of AWS", service: "s3", fields: map[string]string{"access_key_id": "AKIDPLANTED01234567", "secret_access_key": "aws" + odd, "session_token": "session" + odd}, method: "GET", path: "/bucket/key", secrets: []string{"AKIDPLANTED01234567", "session" + odd}, unsent: []string{"aws" + odd}, sends: []string{"AWS4-HMAC-SHA256 Credential=AKIDPLANTED01234567/"}},
		{kind: "a signature", service: "tbank_acquiring", fields: map[string]string{"terminal_key": "Terminal1", "password": "signed" + odd}, method: "GetState", body: map[string]any{"PaymentId": "13660"}, signature: sha256Of("signed" + odd + "13660" + "Terminal1"), unsent: []string{"signed" + odd}},
		{kind: "a signature of the body", service: "mango_office", fields: map[string]string{"api_key": "mango" + odd, "api_salt": "salt" + odd}, method: "account/balance", secrets: []string{"mango" + odd}, signature: sha256Of("mango" + odd + url.Values{"vpbx_api_key": {"mango" + odd}}.Encode() + "salt" + odd), unsent: []string{"salt" + odd}},
		{kind: "a signature in the query", service: "robokassa", fields: map[string]string{"login": "acme", "password1": "first" + odd, "password2": "second" + odd}, method: "OpState", signature: md5Of("acme:first" + odd), unsent: []string{"first" + odd, "second" + odd}},
	}
}

const (
	accessToken  = "access-planted-Va1ue.of+the/service0123456789"
	rotatedToken = "rotated-planted-Va1ue.of+the/service0123456789"
)

// Attack: services that repeat every credential they are sent, in every answer
// and spelling; and whoever reads the database, the files, the log, the audit,
// an export, the list of processes or their environments afterwards.
// Expectation: the program sent each secret to its service, and it is found
// nowhere else; nor is a key of the organisation.
func TestAPlantedSecretIsFoundNowhere(t *testing.T) {
	t.Parallel()
	for name, engine := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plantAndSearch(t, engine(t))
		})
	}
}

func basicOf(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

func plantAndSearch(t *testing.T, o program.Options) {
	server := serve(t, o)
	acme := found(t, o)
	_, key := acme.key(t, o, "write:tools,read:data")
	admitLoopback(t, o, acme)
	service := newParrot(t)
	var told strings.Builder // every answer of the program
	tell := func(_ int, body string) { told.WriteString(body + "\n") }
	rest := server.URL + "/api/v1/organizations/" + acme.ID
	secrets := &needles{}
	ids := map[string]string{}
	for _, p := range plants() {
		wish := map[string]any{"service": p.service, "base_url": service.URL, "fields": p.fields}
		if p.auth != "" {
			wish["auth"] = p.auth
		}
		ids[p.service] = connected(t, server, acme, wish)
		for _, secret := range p.signed() {
			secrets.add(p.kind, secret)
		}
	}
	secrets.add("the admin's key", acme.Key[15:])
	secrets.add("the user's key", key[15:])

	for _, p := range plants() {
		arguments := map[string]any{"service": p.service, "method": p.method, "path": p.path}
		if p.module != "" {
			arguments["module"] = p.module
		}
		if p.body != nil {
			arguments["body"] = p.body
		}
		with := func(name string, value any) map[string]any {
			more := map[string]any{name: value}
			for k, v := range arguments {
				more[k] = v
			}
			return more
		}
		quoted := p.signed()
		if p.auth == "oauth2_refresh" { // the first one is good for nothing once it was exchanged
			quoted = slices.DeleteFunc(slices.Clone(quoted), func(s string) bool { return s == p.fields["refresh_token"] })
		}
		// Nobody can mask a token that was never given: the first call gets it.
		service.choose("a good answer", quoted)
		tell(0, says(t, server, key, arguments).Text)
		for way := range ways() {
			service.choose(way, quoted)
			s := says(t, server, key, arguments)
			tell(0, s.Text)
			service.used(t, p, way, s)
			if file := s.Answer.File; way == "a binary file" {
				// What is kept is looked for too: here, that it was masked.
				if status, kept := asked(t, http.MethodGet, server.URL+"/api/v1/memory/"+file, key, ""); status != http.StatusOK || !strings.Contains(kept, "[secret]") {
					t.Errorf("%s: the file %s: %d %q", p.kind, file, status, kept)
				}
			}
			if way == "a next page" && s.Answer.Page != nil && s.Answer.Page.Next != "" {
				tell(0, says(t, server, key, with("page", s.Answer.Page.Next)).Text)
				tell(0, says(t, server, key, with("max_pages", 3)).Text)
			}
		}
		service.choose("a good answer", quoted)
		for name, more := range map[string]map[string]any{"a dry run": with("dry_run", true), "a selection": with("select", ".")} {
			s := says(t, server, key, more)
			tell(0, s.Text)
			if name == "a dry run" && s.Failed || !strings.Contains(strings.ReplaceAll(s.Text, "%5Bsecret%5D", "[secret]"), "[secret]") {
				t.Errorf("%s: %s: %s", p.kind, name, s.Text)
			}
		}
		for _, more := range []map[string]any{with("select", ".. | .nothing[0]"), with("connection", "second"), with("max_bytes", 1024)} {
			tell(0, says(t, server, key, more).Text)
		}
		service.choose("a good answer", p.all())
		tell(asked(t, http.MethodPost, rest+"/connections/"+ids[p.service]+"/check", acme.Key, ""))
	}
	all, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	pages, tested := openSettings(t, server, acme.Key), 0
	for _, p := range plants() {
		service.mu.Lock()
		heard := service.heard.String()
		service.mu.Unlock()
		used := append(slices.Clone(p.secrets), p.sends...)
		if p.signature != "" {
			used = append(used, p.signature)
		}
		for _, secret := range used { // a test that sends nothing finds nothing
			sent := append(spellings(secret), basicOf("robot", secret), basicOf("acme", secret))
			if !slices.ContainsFunc(sent, func(one string) bool { return strings.Contains(heard, one) }) {
				t.Errorf("%s: the service was never sent %s", p.kind, secret)
			}
		}
		if one, _ := all.Service(p.service); one.Check == nil {
			continue
		}
		// The page of a test that fails, and its refusal over REST.
		service.choose("a bad answer", p.all())
		page := pages.tests(p.service, ids[p.service])
		tell(0, page)
		if !strings.Contains(page, "status 400") {
			t.Errorf("%s: the page of a test that fails: %s", p.kind, page)
		}
		status, body := asked(t, http.MethodPost, rest+"/connections/"+ids[p.service]+"/check", acme.Key, "")
		tell(status, body)
		if status != http.StatusBadGateway || !strings.Contains(body, "[secret]") {
			t.Errorf("%s: a test that fails: %d %s", p.kind, status, body)
		}
		tested++
	}

	if tested < 8 {
		t.Errorf("%d connections were tested", tested)
	}

	t.Run("processes", func(t *testing.T) { watchProcesses(t, server, acme, service, secrets) })

	for _, path := range []string{"", "/users", "/api-keys", "/connections", "/export", "/networks", "/settings"} {
		tell(asked(t, http.MethodGet, rest+path, acme.Key, ""))
	}
	for _, path := range []string{"/api/v1/audit?limit=500", "/api/v1/audit/days", "/api/v1/memory?limit=500", "/api/v1/mcp/info"} {
		status, body := asked(t, http.MethodGet, server.URL+path, acme.Key, "")
		tell(status, body)
		for _, p := range plants() { // the audit knows of every one
			if strings.HasPrefix(path, "/api/v1/audit?") && !strings.Contains(body, `"service":"`+p.service+`"`) {
				t.Errorf("the audit has no call of %s", p.service)
			}
		}
	}
	tell(0, settingsPages(t, server, acme.Key))
	for _, args := range [][]string{{"connection", "list", "--org", acme.ID}, {"org", "export", acme.ID}, {"memory", "list", "--org", acme.ID}} {
		out, err := program.Run(t.Context(), o, args...)
		if err != nil {
			t.Fatal(err)
		}
		tell(0, out)
	}
	const control = "a control that must be found 0123456789"
	if status, body := asked(t, http.MethodPut, server.URL+"/api/v1/memory/control.txt", acme.Key, control); status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	stored := everyTable(t, o) + everyFile(t, o)
	for what, text := range map[string]string{"the database": stored, "the answers": told.String()} {
		if !strings.Contains(text, map[string]string{"the database": control, "the answers": "[secret]"}[what]) {
			t.Errorf("the search does not see %s", what)
		}
	}
	for where, text := range map[string]string{"the database and its files": stored, "the log": server.Log(), "the answers": told.String()} {
		secrets.find(t, where, text)
	}
	master := "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
	if raw, err := os.ReadFile(o.DataDir + "/master.key"); err == nil {
		master = strings.TrimRight(strings.TrimSpace(string(raw)), "=")
	}
	keys := &needles{}
	keys.add("the master key", master)
	keys.find(t, "everywhere", stored+server.Log()+told.String())
}

// watchProcesses looks at the program and at every process below it while jq
// and Python run for a caller with connections.
func watchProcesses(t *testing.T, server *program.Server, g organization, service *parrot, n *needles) {
	service.choose("a good answer", plants()[0].secrets)
	for _, call := range []struct{ name, tool, arguments string }{
		{"innerloop-jq", "connector_execute", `{"service":"wildberries","module":"common","method":"GET","path":"/ping","select":"last(range(1e15))"}`},
		{"python3", "repl_execute", `{"code":"import time\ntime.sleep(60)","timeout_seconds":5}`},
	} {
		done := make(chan string, 1)
		go func() {
			_, body := asked(t, http.MethodPost, server.URL+"/mcp", g.Key, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+call.tool+`","arguments":`+call.arguments+`}}`)
			done <- body
		}()
		seen := map[string]bool{}
		each := time.NewTicker(20 * time.Millisecond)
		for running := true; running; {
			select {
			case body := <-done:
				n.find(t, call.tool, body)
				running = false
			case <-each.C:
			}
			for _, pid := range append(below(t, server.Pid()), server.Pid()) {
				for _, what := range []string{"cmdline", "environ"} {
					raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, what))
					if err != nil {
						continue // it ended
					}
					text := string(raw)
					seen[what+" "+fmt.Sprint(pid == server.Pid(), strings.Contains(text, call.name))] = true
					n.find(t, fmt.Sprintf("%s of process %d beside %s", what, pid, call.name), text)
					if pid != server.Pid() && strings.Contains(text, "MASTER_KEY") {
						t.Errorf("%s of a process beside %s names the master key", what, call.name)
					}
				}
			}
		}
		each.Stop()
		if !seen["cmdline false true"] || !seen["environ false false"] {
			t.Errorf("%s was never seen running: %v", call.name, seen)
		}
	}
}
