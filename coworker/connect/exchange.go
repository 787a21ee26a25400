package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// A reply is one upstream answer that means success.
type reply struct {
	status int
	header http.Header
	raw    []byte
	body   any    // decoded, or a text
	binary bool   // neither
	broken string // what is wrong with a body that is not what its headers say
	dense  bool   // more values than are read
	secret redactor
}

// once sends a request a single time. wait is how long to wait before another
// try, or never; token is an access token that was refused.
func (x *execution) once(ctx context.Context, p *prepared, d *draft, refused string) (r *reply, token string, wait time.Duration, err error) {
	var known []string
	if exchanges(p.auth) {
		if token, known, err = x.token(ctx, p, d, refused); err != nil {
			return nil, "", never, err
		}
	}
	full := d.clone()
	if err := p.authorize(full, x.module, token); err != nil {
		return nil, "", never, err
	}
	request, body, err := full.request(ctx)
	if err != nil {
		return nil, "", never, err
	}
	if p.auth.Kind == catalog.AWSSigV4 {
		if err := p.signAWS(request, body, x.now()); err != nil {
			return nil, "", never, err
		}
	}
	mask := newRedactor(slices.Concat(p.secrets, known, full.hidden)...)
	done, err := x.take(ctx, p, x.target, request.URL.Host)
	if err != nil {
		return nil, "", never, err
	}
	defer done()
	x.trace.BytesOut += int64(len(body))
	answer, err := x.clients(p.Networks, p.own).Do(request)
	if err != nil {
		return x.unanswered(err)
	}
	defer func() { _ = answer.Body.Close() }()
	x.trace.Status = answer.StatusCode
	raw, err := x.body(ctx, answer)
	x.trace.BytesIn += int64(len(raw))
	if f, refused := coworker.AsFault(err); refused {
		return nil, "", never, f
	}
	if err != nil {
		return x.unanswered(err)
	}
	if len(raw) > readMax {
		return nil, "", never, x.tooLarge(answer.StatusCode, "is larger than is read", map[string]any{"original_bytes": ">" + strconv.Itoa(readMax), "limit": readMax})
	}
	if r = decode(answer, raw, mask); r.dense {
		return nil, "", never, x.tooLarge(r.status, "has more values than are read", map[string]any{"original_bytes": len(raw), "values": ">" + strconv.Itoa(valuesMax), "limit": readMax})
	}
	return x.judge(ctx, p, d, r, token, refused)
}

// judge tells success from failure by status, and by the fields that a service
// puts its failures into.
func (x *execution) judge(ctx context.Context, p *prepared, d *draft, r *reply, token, refused string) (*reply, string, time.Duration, error) {
	failed := r.status < 200 || r.status > 299
	if d.rpc != nil && !failed {
		if value, ok := find(r.body, d.rpc.Error); ok && !nothing(value) {
			failed = true
		}
	}
	rule := x.errorRule(p.service, r, failed)
	if !failed && r.broken != "" {
		return nil, "", never, x.spoiled(p, r)
	}
	if rule == nil && !failed {
		return r, "", 0, nil
	}
	if rule != nil && !failed && rule.JSON == "" && rule.Body == "" {
		return r, "", 0, nil // a rule by status alone is about failures
	}
	// A token that ended is told with the words for a credential that did.
	if (r.status == http.StatusUnauthorized || rule != nil && rule.Reconnect) && exchanges(p.auth) && token != "" && refused == "" {
		return nil, token, 0, x.failure(p, r, rule)
	}
	if rule != nil && rule.Reconnect || rule == nil && r.status == http.StatusUnauthorized {
		if err := x.book.Broken(ctx, p.ID, p.Version); err != nil {
			return nil, "", never, err
		}
		f := x.failure(p, r, rule)
		f.Code, f.Message, f.Retry = coworker.NotConnected, "The service no longer takes this credential.", false
		f.Hint = "ask whoever manages the connections to connect the service again"
		f.Details = reason{"revoked"}
		return nil, "", never, f
	}
	wait := x.again(r.status, rule, retryAfter(r, rule, x.now()), time.Second)
	return nil, "", wait, x.failure(p, r, rule)
}

func (x *execution) errorRule(service *catalog.Service, r *reply, failed bool) *catalog.ErrorRule {
	for i := range service.Errors {
		rule := &service.Errors[i]
		if rule.Status != 0 && rule.Status != r.status || !service.Fits(rule.Match, x.target) {
			continue
		}
		if rule.Body != "" && !bytes.Contains(r.raw, []byte(rule.Body)) {
			continue
		}
		if rule.JSON != "" {
			value, ok := find(r.body, rule.JSON)
			if !ok || rule.Equals != "" && plain(value) != rule.Equals || rule.Equals == "" && nothing(value) {
				continue
			}
		} else if !failed && rule.Body == "" {
			continue
		}
		return rule
	}
	return nil
}

// decode reads an answer as JSON where it is, as text where it is text. What
// says that it is JSON must be; some services begin theirs with a byte order
// mark.
func decode(answer *http.Response, raw []byte, mask redactor) *reply {
	r := &reply{status: answer.StatusCode, header: answer.Header, raw: raw, secret: mask}
	if coding := answer.Header.Get("Content-Encoding"); coding != "" && len(raw) > 0 && !strings.EqualFold(coding, "identity") {
		r.raw, r.broken = nil, "the answer is compressed in a way that it was not asked for"
		return r
	}
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	if len(trimmed) == 0 {
		return r
	}
	declared := kind == "application/json" || kind == "text/json" || strings.HasSuffix(kind, "+json")
	if declared || trimmed[0] == '{' || trimmed[0] == '[' {
		if r.dense = dense(trimmed); r.dense {
			return r
		}
		decoder := json.NewDecoder(bytes.NewReader(trimmed))
		decoder.UseNumber()
		var body any
		if err := decoder.Decode(&body); err == nil && !decoder.More() {
			r.body = body
			return r
		}
	}
	if declared {
		r.broken = "the answer says that it is JSON and is not"
	}
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		r.binary = true
		return r
	}
	r.body = string(raw)
	return r
}

// valuesMax bounds the values of one answer: each costs much more memory than
// the two bytes it can be written in.
const valuesMax = 2_000_000

// dense tells whether a JSON text has more values than that, by what stands
// between them.
func dense(text []byte) bool {
	n, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n > valuesMax
}
