package client

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"innerloop/internal/strictjson"
)

// Bounds of one exchange (protocol 0.2).
const (
	requestLimit = 15 * time.Second
	maxAnswer    = 1 << 20
	maxWait      = 7 * 24 * time.Hour
)

var requestIDPattern = regexp.MustCompile(`(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// An answer has passed every check that does not depend on the operation.
type answer struct {
	status      int
	idempotency string
	idempotent  bool // there is an idempotency-status, whatever it says
	requestID   string
	raw         []byte
	body        strictjson.Value
}

// post sends a request and returns a success. Everything else is a *Failure:
// a refusal with the server's code, or an answer that may not be believed.
func (a *Agent) post(ctx context.Context, r saved) (answer, error) {
	a.step("send")
	got, err := a.exchange(ctx, r)
	a.step("answer")
	return got, err
}

func (a *Agent) exchange(ctx context.Context, r saved) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.API+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if r.IdempotencyKey != "" {
		request.Header.Set("Idempotency-Key", r.IdempotencyKey)
	}
	response, err := a.do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	return read(response, a.now(), true)
}

func (a *Agent) do(request *http.Request) (*http.Response, error) {
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", a.userAgent)
	request.Header.Set("X-Innerloop-Distribution-Source", "cli")
	response, err := a.http.Do(request)
	if err != nil {
		return nil, &Failure{Code: NoAnswer, Message: "there was no answer from " + request.URL.Scheme + "://" + request.URL.Host + ": " + reason(err)}
	}
	return response, nil
}

// read checks an answer; a private one must not be kept by anyone on the way.
func read(response *http.Response, now time.Time, private bool) (answer, error) {
	got := answer{
		status: response.StatusCode, idempotency: response.Header.Get("Idempotency-Status"),
		idempotent: len(response.Header.Values("Idempotency-Status")) > 0,
		requestID:  response.Header.Get("X-Request-Id"),
	}
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case got.status >= 300 && got.status < 400:
		return got, got.unreadable("it is a redirect")
	case err != nil || media != "application/json":
		return got, got.unreadable("its content type is not application/json")
	case !requestIDPattern.MatchString(got.requestID):
		return got, got.unreadable("it has no valid x-request-id")
	case private && !noStore(response.Header.Values("Cache-Control")):
		return got, got.unreadable("it is not marked no-store")
	case response.ContentLength > maxAnswer:
		return got, got.unreadable("it is too large")
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return got, got.unreadable("it broke off")
	case len(text) > maxAnswer:
		return got, got.unreadable("it is too large")
	}
	got.raw = text
	if got.body, err = strictjson.Parse(text); err != nil || got.body.Kind() != strictjson.Object {
		return got, got.unreadable("it is not a JSON object")
	}
	if got.status >= 200 && got.status < 300 {
		return got, nil
	}
	return got, got.refusal(response.Header.Get("Retry-After"), now)
}

func noStore(values []string) bool {
	for directive := range strings.SplitSeq(strings.Join(values, ","), ",") {
		if strings.EqualFold(strings.TrimSpace(directive), "no-store") {
			return true
		}
	}
	return false
}

// unreadable makes the failure of an answer that breaks the protocol. What the
// server did stays unknown.
func (a answer) unreadable(why string) *Failure {
	f := &Failure{Code: BadAnswer, Status: a.status, Message: "the answer cannot be believed: " + why}
	if requestIDPattern.MatchString(a.requestID) {
		f.RequestID = a.requestID
	}
	return f
}

func (a answer) refusal(retryAfter string, now time.Time) *Failure {
	code := a.text("error")
	if !codePattern.MatchString(code) {
		return a.unreadable("it names no error code")
	}
	f := &Failure{Code: code, Status: a.status, Message: Clean(a.text("message")), RequestID: a.requestID}
	f.Durable = a.idempotency == "created" || a.idempotency == "replayed"
	if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
		f.RetryAfter = wait(retryAfter, now)
	}
	list, _ := a.body.Get("violations")
	for _, item := range list.Items() {
		field, _ := item.Get("field")
		message, _ := item.Get("message")
		where, _ := field.Text()
		what, _ := message.Text()
		f.Violations = append(f.Violations, Clean(where)+": "+Clean(what))
	}
	return f
}

// wait reads Retry-After: seconds or a date, at most a week.
func wait(text string, now time.Time) time.Duration {
	d := time.Duration(0)
	if n, err := strconv.ParseUint(text, 10, 32); err == nil {
		d = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		d = at.Sub(now)
	}
	if d < 0 || d > maxWait {
		return 0
	}
	return d
}

// text returns a string member, or the empty string.
func (a answer) text(name string) string {
	member, _ := a.body.Get(name)
	text, _ := member.Text()
	return text
}

// paired checks 201 with created and 200 with replayed (protocol 6.4), and
// tells whether it is a replay.
func (a answer) paired() (replayed bool, err error) {
	switch {
	case a.status == http.StatusCreated && a.idempotency == "created":
		return false, nil
	case a.status == http.StatusOK && a.idempotency == "replayed":
		return true, nil
	}
	return false, a.unreadable("its status and idempotency-status do not belong together")
}
