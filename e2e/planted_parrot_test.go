package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// A parrot answers with what it was sent and with the secrets it was told, in
// the way that was chosen last.
type parrot struct {
	*httptest.Server
	mu    sync.Mutex
	way   string
	knows []string
	asked int             // requests
	heard strings.Builder // all requests as they came
}

func newParrot(t *testing.T) *parrot {
	t.Helper()
	p := &parrot{}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *parrot) choose(way string, knows []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.way, p.knows = way, knows
}

// ways are how it quotes; each with the status it answers with.
func ways() map[string]int {
	return map[string]int{
		"a good answer": 200, "a bad answer": 400, "a fault of its own": 500, "a page of HTML": 404, "a header": 422, "a redirect": 302,
		"a token that fails": 500, "broken JSON": 200, "base64": 400, "base64 that succeeds": 200, "escaped for addresses": 400, "a next page": 200, "a binary file": 200, "nothing more to say": 204,
	}
}

func (p *parrot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body, _ := io.ReadAll(r.Body) // a request of the program is whole
	sent := fmt.Sprintf("%s %s %v %s", r.Method, r.URL, r.Header, body)
	p.heard.WriteString(sent + "\n")
	p.asked++
	quote := sent + " " + strings.Join(p.knows, " ")
	if strings.HasSuffix(r.URL.Path, "/token") && p.way != "a token that fails" {
		w.Header().Set("Content-Type", "application/json")
		// It has ended already: each call exchanges, and sends what was rotated.
		_, _ = io.WriteString(w, `{"access_token":"`+accessToken+`","refresh_token":"`+rotatedToken+`","expires_in":1}`)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	write := func(value any) {
		w.WriteHeader(ways()[p.way])
		_ = json.NewEncoder(w).Encode(value)
	}
	switch p.way {
	case "a header":
		header.Set("X-Request-Id", p.knows[0])
		header.Set("X-Ratelimit-Note", url.QueryEscape(p.knows[0]))
		header.Set("Retry-After", "1")
		write(map[string]any{"message": "no"})
	case "a redirect":
		header.Set("Location", p.URL+"/"+url.PathEscape(quote))
		write(map[string]any{"to": quote})
	case "a page of HTML":
		header.Set("Content-Type", "text/html")
		w.WriteHeader(404)
		_, _ = io.WriteString(w, "<p>no "+r.URL.Path+"?"+r.URL.RawQuery+" for "+quote+"</p><pre>"+html.EscapeString(quote)+"</pre>")
	case "broken JSON":
		w.WriteHeader(200)
		_, _ = io.WriteString(w, `{"x":"`+strings.ReplaceAll(quote, `"`, `\"`))
	case "base64", "base64 that succeeds":
		all := map[string]string{}
		for i, secret := range p.knows {
			for shift := range 3 {
				all[fmt.Sprint(i, shift)] = base64.StdEncoding.EncodeToString([]byte("abc"[:shift] + secret + "xyz"))
				all[fmt.Sprint(i, shift, "url")] = base64.RawURLEncoding.EncodeToString([]byte("abc"[:shift] + secret))
			}
			all[fmt.Sprint(i, "hex")] = fmt.Sprintf("%x", secret)
		}
		write(map[string]any{"error": all})
	case "escaped for addresses":
		write(map[string]any{"message": url.QueryEscape(quote), "description": url.PathEscape(quote), "error": lowEscapes(url.QueryEscape(quote))})
	case "a next page":
		next := p.URL + r.URL.Path + "?page=2&token=" + url.QueryEscape(p.knows[0])
		if r.URL.Query().Get("page") == "" {
			header.Set("Link", "<"+next+`>; rel="next"`)
		}
		write([]any{map[string]any{"next": next}})
	case "a binary file":
		header.Set("Content-Type", "application/octet-stream")
		w.WriteHeader(200)
		_, _ = io.WriteString(w, "\x00\xff\x01"+quote+"\x00")
	case "nothing more to say":
		w.WriteHeader(204)
	default:
		write(map[string]any{"error": map[string]any{"message": quote, quote: []any{r.URL.String(), r.Header}}, "ErrorCode": "9", "Message": quote, "code": quote, "description": quote})
	}
}

// used holds a call to having come to the service with its credential, and to
// telling what the service repeated, masked.
func (p *parrot) used(t *testing.T, one plant, way string, s said) {
	t.Helper()
	p.mu.Lock()
	asked := p.asked
	p.asked = 0
	p.mu.Unlock()
	if s.Failed && s.Refusal.Code != "UPSTREAM_ERROR" || asked == 0 {
		t.Errorf("%s: %s: %d requests and %s", one.kind, way, asked, s.Text)
	}
	silent := way == "nothing more to say" || way == "a binary file"
	if !silent && !strings.Contains(s.Text, "[secret]") || way == "a binary file" && !strings.Contains(s.Answer.Hint, "masked") {
		t.Errorf("%s: %s: what was repeated is not seen: %s", one.kind, way, s.Text)
	}
}
