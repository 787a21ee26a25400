package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
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
	body   any  // decoded, or a text
	binary bool // neither
	secret redactor
}

// pages does the call, and those of further pages when they are asked for.
func (x *execution) pages(ctx context.Context, p *prepared, d *draft, bound []byte) (*Answer, error) {
	rule, paged := p.service.Paging(x.target)
	var all []any
	info := &PageInfo{}
	var last *reply
	for {
		r, err := x.attempts(ctx, p, d)
		if err != nil {
			return nil, err
		}
		last = r
		if p.Doubted {
			if err := x.book.Works(ctx, p.ID, p.Version); err != nil {
				return nil, err
			}
			p.Doubted = false
		}
		info.Pages++
		if !paged || r.binary {
			break
		}
		next, _, total := follow(rule, d, r.header, r.body)
		info.HasMore, info.Total, info.Next = next != nil, total, ""
		if next == nil {
			all = append(all, r.body)
			break
		}
		if info.Next, err = x.cursor(next, bound); err != nil {
			return nil, err
		}
		all = append(all, r.body)
		if info.Pages >= x.call.MaxPages || int(x.trace.BytesIn) > readMax {
			break
		}
		x.at = next
		if err := x.turn(p.service, d, next); err != nil {
			return nil, err
		}
	}
	return x.answer(ctx, p, last, merge(rule, d, last, all), paged, info)
}

// merge puts the items of several pages together.
func merge(rule catalog.Pagination, d *draft, last *reply, all []any) any {
	if len(all) < 2 {
		return result(d, last.body)
	}
	var items []any
	for _, body := range all {
		list, ok := find(body, orText(rule.Items, "$"))
		l, isList := list.([]any)
		if !ok || !isList {
			return all // whole answers, one after the other
		}
		items = append(items, l...)
	}
	return items
}

// result is the part of a remote method's answer that is its outcome.
func result(d *draft, body any) any {
	if d.rpc == nil || d.rpc.Result == "" {
		return body
	}
	if value, ok := find(body, d.rpc.Result); ok {
		return value
	}
	return body
}

// attempts sends a request until it succeeds or may not be repeated.
func (x *execution) attempts(ctx context.Context, p *prepared, d *draft) (*reply, error) {
	x.tried, x.began = 0, x.now()
	refused := ""
	for {
		x.tried++
		r, token, wait, err := x.once(ctx, p, d, refused)
		if err == nil {
			return r, nil
		}
		if wait < 0 || x.tried >= triesMax || x.now().Add(wait).Sub(x.began) > triesTime {
			return nil, err
		}
		refused = token
		if waitErr := x.sleep(ctx, wait); waitErr != nil {
			return nil, err
		}
		x.trace.Retries++
		// The credential may have been changed, or renewed, meanwhile.
		if same, lookErr := x.refresh(ctx, p, d); lookErr != nil {
			return nil, lookErr
		} else if !same {
			return nil, err
		}
	}
}

// refresh reads the connection again. When it was changed meanwhile the request
// is composed anew too: its address may hold a credential, or be another. It
// tells false when the call would now be made with another connection.
func (x *execution) refresh(ctx context.Context, p *prepared, d *draft) (same bool, err error) {
	fresh, err := x.book.Connection(ctx, x.who, p.Service, x.call.Connection)
	if err != nil || fresh.ID != p.ID {
		return false, err
	}
	if fresh.Version == p.Version {
		return true, nil
	}
	next, err := prepare(p.service, fresh)
	if err != nil {
		return false, err
	}
	again, err := x.draft(next)
	if err != nil {
		return false, err
	}
	*p, *d = *next, *again
	return true, nil
}

const never = time.Duration(-1)

// once sends a request a single time. wait is how long to wait before another
// try, or never; token is an access token that was refused.
func (x *execution) once(ctx context.Context, p *prepared, d *draft, refused string) (r *reply, token string, wait time.Duration, err error) {
	if exchanges(p.auth) {
		if token, err = x.token(ctx, p, d, refused); err != nil {
			return nil, "", never, err
		}
	}
	secrets := p.secrets
	if token != "" {
		secrets = append(secrets[:len(secrets):len(secrets)], token)
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
	mask := newRedactor(append(secrets[:len(secrets):len(secrets)], full.hidden...)...)
	done, err := x.take(ctx, p, x.target, request.URL.Host)
	if err != nil {
		return nil, "", never, err
	}
	defer done()
	x.trace.BytesOut += int64(len(body))
	answer, err := x.clients(p.Networks, p.own).Do(request)
	if err != nil {
		return nil, "", x.again(0, nil, 0, time.Second), x.unreachable(err, p)
	}
	defer func() { _ = answer.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, readMax+1))
	x.trace.Status = answer.StatusCode
	x.trace.BytesIn += int64(len(raw))
	if err != nil {
		return nil, "", x.again(0, nil, 0, time.Second), x.unreachable(err, p)
	}
	if len(raw) > readMax {
		return nil, "", never, &coworker.Fault{
			Code: coworker.ResponseTooLarge, Hint: "ask for less: a narrower query, fewer fields, or smaller pages",
			Details: map[string]any{"original_bytes": ">" + strconv.Itoa(readMax), "limit": readMax},
		}
	}
	r = decode(answer, raw, mask)
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
	if rule == nil && !failed {
		return r, "", 0, nil
	}
	if rule != nil && !failed && rule.JSON == "" && rule.Body == "" {
		return r, "", 0, nil // a rule by status alone is about failures
	}
	if r.status == http.StatusUnauthorized && exchanges(p.auth) && token != "" && refused == "" {
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

// again tells how long to wait before a call may be repeated: only one that
// reads, or that the service knows again by its key.
func (x *execution) again(status int, rule *catalog.ErrorRule, told, usual time.Duration) time.Duration {
	if x.class != catalog.Read && x.call.IdempotencyKey == "" {
		return never
	}
	retry := status == 0 || status == http.StatusTooManyRequests || status == http.StatusBadGateway ||
		status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
	if rule != nil {
		retry = rule.Retry
	}
	switch {
	case !retry:
		return never
	case told > 0:
		return told
	case rule != nil && rule.After > 0:
		return time.Duration(rule.After)
	}
	return usual << (x.tried - 1)
}

func retryAfter(r *reply, rule *catalog.ErrorRule, now time.Time) time.Duration {
	names := []string{"Retry-After", "X-Ratelimit-Retry"}
	if rule != nil && rule.AfterHeader != "" {
		names = append([]string{rule.AfterHeader}, names...)
	}
	if rule != nil && rule.AfterJSON != "" {
		if value, ok := find(r.body, rule.AfterJSON); ok {
			if seconds, err := strconv.ParseFloat(plain(value), 64); err == nil && seconds >= 0 && seconds < 1e6 {
				return time.Duration(seconds * float64(time.Second))
			}
		}
	}
	for _, name := range names {
		text := r.header.Get(name)
		if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < 1e6 {
			return time.Duration(seconds * float64(time.Second))
		}
		if at, err := http.ParseTime(text); err == nil && at.After(now) {
			return at.Sub(now)
		}
	}
	return 0
}

// failure is the fault of an upstream's answer.
func (x *execution) failure(p *prepared, r *reply, rule *catalog.ErrorRule) *coworker.Fault {
	f := x.upstream(p, r, retryAfter(r, rule, x.now()))
	if rule != nil {
		f.Retry = rule.Retry
		if rule.Note != "" {
			f.Hint = rule.Note
		}
	}
	return f
}

// UpstreamDetails tell how a service refused. Texts are the service's own, and
// are data.
type UpstreamDetails struct {
	Status     int    `json:"status"`
	Code       string `json:"upstream_code,omitempty"`
	Message    string `json:"upstream_message,omitempty"`
	Body       string `json:"body,omitempty"` // its first 2,048 bytes
	RetryAfter int64  `json:"retry_after_ms,omitempty"`
	RequestID  string `json:"request_id,omitempty"`
}

const (
	bodyHead = 2048
	bodyLook = 64 << 10 // a secret that the cut would part is seen whole
	textHead = 500
)

// head cuts a text at a rune within a number of bytes.
func head(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

func (e *Engine) upstream(p *prepared, r *reply, after time.Duration) *coworker.Fault {
	mask, status := r.secret, r.status
	details := UpstreamDetails{Status: status, RetryAfter: after.Milliseconds(), RequestID: mask.text(requestID(r.header))}
	quoted := r.raw
	if _, text := r.body.(string); r.body != nil && !text {
		// Read as JSON first, since a text may spell any character by its number.
		if again, err := encodeJSON(mask.value(copied(r.body))); err == nil {
			quoted = again
		}
	}
	details.Body = strings.ToValidUTF8(mask.text(string(quoted[:min(len(quoted), bodyLook)])), "\uFFFD")
	details.Body = head(details.Body, bodyHead)
	if fields := p.service.ErrorFields; fields != nil {
		field := func(path string) string {
			value, _ := find(r.body, path)
			return head(mask.text(plain(value)), textHead)
		}
		details.Code, details.Message = field(fields.Code), field(fields.Message)
		details.RequestID = orText(field(fields.RequestID), details.RequestID)
	}
	f := &coworker.Fault{Code: coworker.UpstreamError, Details: details, RetryAfter: after}
	f.Retry = status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500
	switch {
	case status == http.StatusNotFound:
		f.Hint = "the service knows no such thing; check the path and the ids in it"
	case status == http.StatusForbidden:
		f.Hint = "the credential may not do this at the service"
	case status >= 300 && status < 400:
		f.Hint = "the service answered with another address, which is not followed"
	}
	return f
}

// unreachable is the fault of an exchange that did not happen. What the
// network says may hold addresses, so only its kind is told.
func (e *Engine) unreachable(err error, p *prepared) error {
	hint := "the service could not be reached"
	var refused interface{ Refused() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &refused) && refused.Refused():
		return &coworker.Fault{Code: coworker.UpstreamError, Hint: "the address of this connection may not be called from here; an admin can allow its network"}
	case errors.Is(err, context.DeadlineExceeded):
		hint = "the service did not answer in time"
	case strings.Contains(err.Error(), "tls:") || strings.Contains(err.Error(), "x509:"):
		hint = "the service's certificate is not good"
	case strings.Contains(err.Error(), "no such host"):
		hint = "the service's name is not known"
	}
	_ = p
	return &coworker.Fault{Code: coworker.UpstreamError, Hint: hint, Retry: true}
}

func requestID(header http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id", "X-Amz-Request-Id", "X-Github-Request-Id", "Cf-Ray"} {
		if value := header.Get(name); value != "" && len(value) <= 200 {
			return value
		}
	}
	return ""
}

// decode reads an answer as JSON where it is, as text where it is text.
func decode(answer *http.Response, raw []byte, mask redactor) *reply {
	r := &reply{status: answer.StatusCode, header: answer.Header, raw: raw, secret: mask}
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 {
		return r
	}
	if strings.Contains(kind, "json") || trimmed[0] == '{' || trimmed[0] == '[' {
		decoder := json.NewDecoder(bytes.NewReader(trimmed))
		decoder.UseNumber()
		var body any
		if err := decoder.Decode(&body); err == nil && !decoder.More() {
			r.body = body
			return r
		}
	}
	if !utf8.Valid(raw) || bytes.IndexByte(raw, 0) >= 0 {
		r.binary = true
		return r
	}
	r.body = string(raw)
	return r
}

// answer shapes what came back.
func (x *execution) answer(ctx context.Context, p *prepared, r *reply, data any, paged bool, info *PageInfo) (*Answer, error) {
	a := &Answer{Status: r.status, Class: x.class, OriginalBytes: int(x.trace.BytesIn), Headers: told(r), RequestID: r.secret.text(requestID(r.header))}
	if paged {
		a.Page = info
	}
	if r.binary {
		if x.files == nil {
			return nil, &coworker.Fault{Code: coworker.ResponseTooLarge, Hint: "the answer is no text and there is nowhere to keep it", Details: map[string]any{"original_bytes": len(r.raw), "limit": 0}}
		}
		path, err := x.files.Keep(ctx, x.who, p.Service+"-"+orText(a.RequestID, "answer"), r.raw)
		if err != nil {
			return nil, err
		}
		a.File, a.Hint = path, "the answer is no text; it is kept as a file"
		return a, nil
	}
	data = r.secret.value(data)
	if x.call.Select != "" {
		selected, err := selectJQ(ctx, x.call.Select, data)
		if err != nil {
			return nil, err
		}
		data = selected
	} else if shape := p.service.Shape; shape != nil {
		data, a.Omitted = trim(data, shape.Drop, shape.MaxItems)
	}
	var cut []Omission
	a.Data, cut = fit(data, x.call.MaxBytes)
	a.Omitted = append(a.Omitted, cut...)
	a.Truncated = len(a.Omitted) > 0
	if a.Truncated {
		a.Hint = "parts were left out (see omitted): name what you need with select, ask for smaller pages, or work on it with repl_execute"
	}
	return a, nil
}

// told are the headers worth passing on: how much of a limit is left.
func told(r *reply) map[string]string {
	out := map[string]string{}
	for name := range r.header {
		lower := strings.ToLower(name)
		if strings.Contains(lower, "ratelimit") || strings.Contains(lower, "rate-limit") || lower == "retry-after" || lower == "units" || lower == "x-total-count" {
			if value := r.header.Get(name); len(value) <= 200 {
				out[lower] = r.secret.text(value)
			}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// preview is a dry run: the request as it would be sent, secrets masked.
func (x *execution) preview(p *prepared, d *draft) (*Answer, error) {
	full := d.clone()
	const token = "an-access-token-that-is-not-exchanged-in-a-dry-run"
	if err := p.authorize(full, x.module, map[bool]string{true: token}[exchanges(p.auth)]); err != nil {
		return nil, err
	}
	if s := p.auth.Sign; s != nil && s.In == "query" {
		full.query.Set(s.Name, Masked)
	}
	request, body, err := full.request(context.Background())
	if err != nil {
		return nil, err
	}
	if p.auth.Kind == catalog.AWSSigV4 {
		if err := p.signAWS(request, body, x.now()); err != nil {
			return nil, err
		}
	}
	mask := newRedactor(append(append(p.secrets[:len(p.secrets):len(p.secrets)], token), full.hidden...)...)
	show := &Preview{Method: request.Method, URL: mask.text(request.URL.String()), Header: map[string]string{}, Body: mask.text(string(body))}
	for name := range request.Header {
		value := request.Header.Get(name)
		if name == "Authorization" {
			value, _, _ = strings.Cut(value, " ")
			value += " " + Masked
			if !strings.Contains(request.Header.Get(name), " ") {
				value = Masked
			}
		}
		show.Header[name] = mask.text(value)
	}
	if s := p.auth.Sign; s != nil {
		show.mask(s.Name)
	}
	return &Answer{Class: x.class, Request: show, Hint: "nothing was sent"}, nil
}

// mask hides the signature, which is as good as the secret for this request.
func (p *Preview) mask(name string) {
	if _, ok := p.Header[name]; ok {
		p.Header[name] = Masked
	}
	var body map[string]any
	if json.Unmarshal([]byte(p.Body), &body) == nil {
		if _, ok := body[name]; ok {
			body[name] = Masked
			if raw, err := encodeJSON(body); err == nil {
				p.Body = string(raw)
			}
		}
	}
}
