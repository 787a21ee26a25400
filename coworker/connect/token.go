package connect

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// tokens keeps access tokens in memory until they end. One exchange runs at a
// time for each connection, and all that wait take its outcome.
type tokens struct {
	mu sync.Mutex
	of map[string]*tokenOf
}

type tokenOf struct {
	exchange sync.Mutex // held while one is under way
	version  int64
	value    string
	past     []string // what value was before, and refresh tokens that were exchanged
	until    time.Time
	used     time.Time
}

// pastMax is how many tokens are still masked after others took their place: a
// service may repeat one that it refused, or that has not ended for it.
const pastMax = 8

// leaves remembers a secret that another takes the place of.
func (t *tokenOf) leaves(secret string) {
	if secret == "" || slices.Contains(t.past, secret) {
		return
	}
	t.past = append(slices.Clone(t.past[max(0, len(t.past)-pastMax+1):]), secret)
}

// known are all tokens that an answer may repeat.
func (t *tokenOf) known() []string {
	if t.value == "" {
		return slices.Clip(t.past)
	}
	return append(slices.Clip(t.past), t.value)
}

const (
	tokensMax   = 4096
	tokenMargin = 30 * time.Second // before its end a token is no longer used
	tokenLife   = 5 * time.Minute  // when nobody says
	tokenAnswer = 256 << 10        // bytes
	rotateTime  = 30 * time.Second // for an exchange that must not be cut
)

func exchanges(a *catalog.Auth) bool { return a.Token != nil }

func (t *tokens) entry(id string, now time.Time) *tokenOf {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.of[id]
	if !ok {
		if len(t.of) >= tokensMax {
			oldest := ""
			for other, o := range t.of {
				if oldest == "" || o.used.Before(t.of[oldest].used) {
					oldest = other
				}
			}
			delete(t.of, oldest)
		}
		e = &tokenOf{}
		t.of[id] = e
	}
	e.used = now
	return e
}

// known are the tokens of a connection, as tokenOf.known.
func (t *tokens) known(id string) []string {
	t.mu.Lock()
	e := t.of[id]
	t.mu.Unlock()
	if e == nil {
		return nil
	}
	e.exchange.Lock()
	defer e.exchange.Unlock()
	return e.known()
}

// token returns the access token of a connection, and every one that must not
// be told. It is exchanged anew when there is none, when it ends, or when it was
// made from another version of the credential. refused is a token that the
// service did not take.
//
// A credential that rotates is good for one exchange. It is read again once it
// is this call's turn, and what the service gives in its place is kept even if
// the caller has gone meanwhile: otherwise the connection would be lost.
func (x *execution) token(ctx context.Context, p *prepared, d *draft, refused string) (token string, known []string, err error) {
	entry := x.tokens.entry(p.ID, x.now())
	entry.exchange.Lock()
	defer entry.exchange.Unlock()
	rotates := p.auth.Token.Rotates
	if entry.version > p.Version || rotates {
		if err := x.latest(ctx, p, d); err != nil {
			return "", nil, err
		}
	}
	if entry.value != "" && entry.version == p.Version && entry.value != refused && x.now().Add(tokenMargin).Before(entry.until) {
		return entry.value, entry.known(), nil
	}
	if err := ctx.Err(); err != nil {
		return "", nil, err
	}
	if rotates {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), rotateTime)
		defer cancel()
	}
	value, life, err := x.exchange(ctx, p, entry)
	if f, refused := coworker.AsFault(err); refused && f.Code == coworker.NotConnected && rotates {
		// Another process may have had its turn with the same credential.
		before := p.Version
		if lookErr := x.latest(ctx, p, d); lookErr != nil || p.Version == before {
			return "", nil, err
		}
		value, life, err = x.exchange(ctx, p, entry)
	}
	if err != nil {
		return "", nil, err
	}
	if value != entry.value {
		entry.leaves(entry.value)
	}
	entry.value, entry.version, entry.until = value, p.Version, x.now().Add(life)
	return value, entry.known(), nil
}

func (x *execution) latest(ctx context.Context, p *prepared, d *draft) error {
	same, err := x.refresh(ctx, p, d)
	if err == nil && !same {
		err = &coworker.Fault{Code: coworker.NotConnected, Hint: "the connection was replaced during the call; call again", Details: reason{"revoked"}}
	}
	return err
}

func (e *Engine) exchange(ctx context.Context, p *prepared, entry *tokenOf) (string, time.Duration, error) {
	t := p.auth.Token
	template := t.URL
	if p.Test && t.TestURL != "" {
		template = t.TestURL
	}
	address, err := p.address(template)
	if err != nil {
		return "", 0, err
	}
	r, err := e.tokenRequest(ctx, p, address)
	if err != nil {
		return "", 0, err
	}
	answer, err := e.clients(p.Networks, p.own).Do(r)
	if err != nil {
		return "", 0, unreachable(err)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, tokenAnswer))
	if err != nil {
		return "", 0, unreachable(err)
	}
	var body any
	_ = json.Unmarshal(raw, &body) // a failure has no token in it either
	value, _ := find(body, orText(t.Access, "$.access_token"))
	text := plain(value)
	if answer.StatusCode/100 != 2 || text == "" {
		if answer.StatusCode/100 == 2 {
			raw, body = nil, nil // a token may be in it under another name
		}
		basic := strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")
		mask := newRedactor(slices.Concat(p.secrets, entry.known(), []string{text, basic})...)
		return "", 0, e.refusedToken(ctx, p, &reply{status: answer.StatusCode, header: answer.Header, raw: raw, body: body, secret: mask})
	}
	if t.Rotates {
		if next, _ := find(body, "$.refresh_token"); plain(next) != "" {
			renewed, err := e.renew(ctx, p, plain(next))
			if err != nil {
				return "", 0, err
			}
			entry.leaves(p.values["refresh_token"])
			renewed.Doubted = p.Doubted // until the service takes it
			next, err := prepare(p.service, renewed)
			if err != nil {
				return "", 0, err
			}
			*p = *next
		}
	}
	life := time.Duration(t.Lifetime)
	if told, ok := find(body, orText(t.Expires, "$.expires_in")); ok {
		if seconds, err := strconv.ParseFloat(plain(told), 64); err == nil && seconds > 0 && seconds < 1e8 {
			life = time.Duration(seconds * float64(time.Second))
		}
	}
	if life == 0 {
		life = tokenLife
	}
	return text, life, nil
}

// renew keeps a refresh token, with more than one try: the one before it is
// good for nothing any more, so that a stumble of the store would lose both.
func (e *Engine) renew(ctx context.Context, p *prepared, token string) (c Connection, err error) {
	for try := range triesMax {
		if try > 0 {
			if waitErr := e.sleep(ctx, time.Second<<(try-1)); waitErr != nil {
				return c, err
			}
		}
		if c, err = e.book.Renew(ctx, p.ID, p.Version, "refresh_token", token); err == nil {
			return c, nil
		}
	}
	return c, err
}

func (e *Engine) tokenRequest(ctx context.Context, p *prepared, address *url.URL) (*http.Request, error) {
	t := p.auth.Token
	fields := map[string]any{}
	form := url.Values{}
	for name, template := range t.Fields {
		text, missing := expand(template, p.values)
		if missing != "" {
			return nil, unusable("the value " + missing + " is missing")
		}
		fields[name] = text
		form.Set(name, text)
	}
	var body io.Reader
	contentType := ""
	switch t.Send {
	case "json":
		raw, err := encodeJSON(fields)
		if err != nil {
			return nil, err
		}
		body, contentType = bytes.NewReader(raw), "application/json"
	case "query":
		address.RawQuery = form.Encode()
	default:
		body, contentType = strings.NewReader(form.Encode()), "application/x-www-form-urlencoded"
	}
	r, err := http.NewRequestWithContext(ctx, orText(t.Method, http.MethodPost), address.String(), body)
	if err != nil {
		return nil, unusable("its token address is none")
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "innerloop")
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if t.Basic != "" {
		text, _ := expand(t.Basic, p.values)
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(text)))
	}
	with := map[string]string{"uuid": uuid()}
	for name, value := range p.values {
		with[name] = value
	}
	for name, template := range t.Headers {
		text, _ := expand(template, with)
		r.Header.Set(name, text)
	}
	return r, nil
}

// refusedToken tells a credential that is no longer good from a service that
// is not well (RFC 6749 section 5.2).
func (e *Engine) refusedToken(ctx context.Context, p *prepared, r *reply) error {
	word, _ := find(r.body, "$.error")
	gone := plain(word) == "invalid_grant" || plain(word) == "invalid_client" || plain(word) == "unauthorized_client" ||
		r.status == http.StatusUnauthorized || r.status == http.StatusForbidden
	if !gone && r.status != http.StatusBadRequest {
		return e.upstream(p, r, 0)
	}
	if err := e.book.Broken(ctx, p.ID, p.Version); err != nil {
		return err
	}
	return &coworker.Fault{
		Code: coworker.NotConnected, Message: "The service no longer takes this credential.",
		Hint: "ask whoever manages the connections to connect the service again", Details: reason{"revoked"},
	}
}

func orText(text, fallback string) string {
	if text != "" {
		return text
	}
	return fallback
}

func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b[:])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
