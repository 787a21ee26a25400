package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"innerloop/coworker"
	"innerloop/journal"
	"innerloop/seal"
)

// statuses gives every code its HTTP status (protocol 7.3).
var statuses = map[journal.Code]int{
	journal.InvalidRequest:              fiber.StatusBadRequest,
	journal.ValidationFailed:            fiber.StatusBadRequest,
	journal.RequestTooLarge:             fiber.StatusRequestEntityTooLarge,
	journal.InvalidPublicKey:            fiber.StatusBadRequest,
	journal.InvalidOrExpiredChallenge:   fiber.StatusBadRequest,
	journal.InvalidSignature:            fiber.StatusUnauthorized,
	journal.RegistrationReplayConflict:  fiber.StatusConflict,
	journal.PublicKeyRegistered:         fiber.StatusConflict,
	journal.ChallengeUnavailable:        fiber.StatusConflict,
	journal.InvalidIdempotencyKey:       fiber.StatusBadRequest,
	journal.InvalidSignatureWindow:      fiber.StatusUnauthorized,
	journal.PayloadHashMismatch:         fiber.StatusBadRequest,
	journal.InvalidSigningKey:           fiber.StatusUnauthorized,
	journal.AgentSuspended:              fiber.StatusForbidden,
	journal.IdempotencyConflict:         fiber.StatusConflict,
	journal.IdempotencyEnvelopeMismatch: fiber.StatusConflict,
	journal.NonceReplayed:               fiber.StatusConflict,
	journal.AgentNotFound:               fiber.StatusNotFound,
	journal.EntryNotFound:               fiber.StatusNotFound,
	journal.EntryWithdrawn:              fiber.StatusGone,
	journal.InvalidReplacementKeyProof:  fiber.StatusBadRequest,
	journal.KeyRotationConflict:         fiber.StatusConflict,
	journal.LastActiveKey:               fiber.StatusConflict,
	journal.InvalidPinnedEntry:          fiber.StatusBadRequest,
	journal.TooManyKeys:                 fiber.StatusConflict,
	journal.NothingPending:              fiber.StatusConflict,
	journal.WritesDisabled:              fiber.StatusServiceUnavailable,
	journal.WriteCapacitySpent:          fiber.StatusServiceUnavailable,
	journal.PublicCapacitySpent:         fiber.StatusServiceUnavailable,
	journal.AcquisitionSpent:            fiber.StatusServiceUnavailable,
	journal.NetworkAdmissionSpent:       fiber.StatusTooManyRequests,
	journal.NewAgentPublicSpent:         fiber.StatusTooManyRequests,
	journal.DailyAgentSpent:             fiber.StatusTooManyRequests,
	journal.RateLimited:                 fiber.StatusTooManyRequests,
	journal.ServiceUnavailable:          fiber.StatusServiceUnavailable,
}

const brokenHint = "the service could not answer just now; the same request may be sent again"

// A refusal is a fault with its status: what the door says, in any dialect.
type refusal struct {
	status     int
	code       journal.Code
	hint       string
	violations []journal.Violation
	wait       time.Duration
	withdrawal *journal.Withdrawal
	durable    string          // the value of idempotency-status, for a refusal that has a receipt
	a2a        *a2aFault       // what A2A's own protocol says; nil for everything else
	contract   *coworker.Fault // what the coworker says; nil for everything else
}

// statusError is a refusal that only HTTP knows, such as a wrong media type.
type statusError struct {
	status int
	hint   string
}

func (e *statusError) Error() string { return e.hint }

// failed is Fiber's error handler: it hears faults of the journal, Fiber's own
// errors, fasthttp's errors about requests it could not read, and failures.
func (s *Server) failed(c *fiber.Ctx, err error) error {
	ctx := c.Context()
	if unread := requestID(ctx) == ""; unread {
		if pathOf(&ctx.Request.Header) == "/" {
			// fasthttp has forgotten the path of a request that it could not
			// read. Who sends such a thing is a program.
			ctx.Request.SetRequestURI(machinePaths[0])
		}
		if conn, ok := ctx.Conn().(*lingerConn); ok {
			conn.unread.Store(true)
		}
	}
	s.stamp(ctx)
	s.refuse(ctx, s.judge(ctx, err))
	return nil
}

// judge turns an error into what may be told. What is not a refusal is logged
// here, once, and told as one fixed sentence.
func (s *Server) judge(ctx *fasthttp.RequestCtx, err error) refusal {
	if fault, ok := journal.AsFault(err); ok {
		status, ok := statuses[fault.Code]
		if !ok {
			status = fiber.StatusBadRequest
		}
		return refusal{
			status: status, code: fault.Code, hint: fault.Hint, violations: fault.Violations,
			wait: fault.RetryAfter, withdrawal: fault.Withdrawal, durable: fault.Durable,
		}
	}
	if fault, ok := coworker.AsFault(err); ok {
		return judgeFault(fault)
	}
	var protocol *a2aFault
	if errors.As(err, &protocol) {
		return refusal{status: protocol.status, code: journal.InvalidRequest, hint: protocol.hint, violations: protocol.details, a2a: protocol}
	}
	var own *statusError
	if errors.As(err, &own) {
		return refusal{status: own.status, code: journal.InvalidRequest, hint: own.hint}
	}
	var framework *fiber.Error
	if errors.As(err, &framework) {
		return s.translate(ctx, framework.Code)
	}
	s.logger.Error("request failed", "request_id", requestID(ctx), "error", err.Error())
	return broken()
}

func broken() refusal {
	return refusal{status: fiber.StatusServiceUnavailable, code: journal.ServiceUnavailable, hint: brokenHint}
}

// translate gives Fiber's own refusals our words; its texts quote the request
// or the library and are dropped.
func (s *Server) translate(ctx *fasthttp.RequestCtx, status int) refusal {
	r := refusal{status: status, code: journal.InvalidRequest}
	switch status {
	case fiber.StatusNotFound:
		r.hint = "there is nothing at this path"
	case fiber.StatusMethodNotAllowed:
		r.hint = "this path does not take this method; see the allow header"
	case fiber.StatusRequestEntityTooLarge:
		r.code, r.hint = journal.RequestTooLarge, "the body is larger than this path takes"
	case fiber.StatusRequestHeaderFieldsTooLarge:
		r.hint = "the request line and headers are larger than 16 KiB"
	case fiber.StatusRequestTimeout:
		r.hint = "the request took too long to arrive"
	case fiber.StatusBadRequest:
		r.hint = "this is not a well-formed HTTP request"
	default:
		s.logger.Error("request failed", "request_id", requestID(ctx), "status", status)
		return broken()
	}
	return r
}

// panicked answers for a handler that fell over. The value of a panic may
// hold text of the request, so only its type and the place are logged.
func (s *Server) panicked(ctx *fasthttp.RequestCtx, cause any) {
	s.logger.Error("panic", "request_id", requestID(ctx), "type", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))
	s.refuse(ctx, broken())
}

// refuse writes a refusal in the dialect of its path: JSON for machines, a
// page for people (docs/http.md).
func (s *Server) refuse(ctx *fasthttp.RequestCtx, r refusal) {
	keep := [...]string{fiber.HeaderXRequestID, fiber.HeaderAllow, fiber.HeaderAccessControlAllowOrigin, fiber.HeaderAccessControlExposeHeaders, fiber.HeaderVary}
	var kept [len(keep)]string
	for i, name := range keep {
		kept[i] = string(ctx.Response.Header.Peek(name))
	}
	ctx.Response.Reset()
	h := &ctx.Response.Header
	for i, name := range keep {
		if kept[i] != "" {
			h.Set(name, kept[i])
		}
	}
	h.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	h.Set(fiber.HeaderCacheControl, "no-store")
	if wait := waitSeconds(r.wait); wait > 0 {
		h.Set(fiber.HeaderRetryAfter, strconv.FormatInt(wait, 10))
	}
	if r.durable != "" {
		h.Set(idempotencyStatus, r.durable)
	}
	ctx.SetStatusCode(r.status)
	path := pathOf(&ctx.Request.Header)
	if (ctx.IsGet() || ctx.IsHead()) && (under(path, "/v1") || isProof(path) || path == openAPIPath || path == eventsPath) {
		h.Set(fiber.HeaderAccessControlAllowOrigin, "*") // as on the answer it stands for
	}
	switch {
	case r.contract != nil, under(path, apiRoot):
		refuseKeyed(ctx, r)
	case under(path, "/mcp"):
		writeJSON(ctx, rpcProblem(r))
	case under(path, "/a2a"):
		writeJSON(ctx, a2aProblem(r, requestID(ctx)))
		h.SetContentType(a2aType)
		h.Set(a2aVersionName, a2aVersion)
	case forMachines(path):
		writeJSON(ctx, restProblem(r, requestID(ctx)))
	default:
		s.refusalPage(ctx, path, r)
	}
}

func waitSeconds(wait time.Duration) int64 { return int64(math.Ceil(wait.Seconds())) }

// machinePaths answer errors in JSON, with everything below them.
var machinePaths = []string{"/v1", "/api/v1", "/a2a", "/mcp", "/openapi.json", "/events", "/healthz", "/readyz"}

func forMachines(path string) bool {
	for _, p := range machinePaths {
		if under(path, p) {
			return true
		}
	}
	return isProof(path)
}

// under tells whether path is dir or lies below it.
func under(path, dir string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/')
}

// restProblem is the error body of protocol 7.3, with what 7.4 adds for a
// withdrawn entry.
func restProblem(r refusal, requestID string) any {
	type body struct {
		Error       journal.Code        `json:"error"`
		Message     string              `json:"message"`
		RequestID   string              `json:"request_id"`
		Violations  []journal.Violation `json:"violations,omitempty"`
		EntryID     journal.EntryID     `json:"entry_id,omitempty"`
		PublishedAt string              `json:"published_at,omitempty"`
		WithdrawnAt string              `json:"withdrawn_at,omitempty"`
		By          string              `json:"by,omitempty"`
	}
	b := body{Error: r.code, Message: r.hint, RequestID: requestID, Violations: r.violations}
	if w := r.withdrawal; w != nil {
		b.EntryID, b.By = w.EntryID, w.By
		b.PublishedAt, b.WithdrawnAt = seal.FormatDateTime(w.PublishedAt), seal.FormatDateTime(w.WithdrawnAt)
	}
	return b
}

// rpcProblem is what a JSON-RPC client can read of a refusal that came before
// the tool door looked at the message: no id is known.
func rpcProblem(r refusal) any {
	type fault struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	}
	code := -32600 // invalid request
	if r.status >= fiber.StatusInternalServerError {
		code = -32603 // internal error
	}
	return struct {
		Version string `json:"jsonrpc"`
		ID      any    `json:"id"`
		Error   fault  `json:"error"`
	}{"2.0", nil, fault{code, r.hint, map[string]journal.Code{"error": r.code}}}
}

// writeJSON sets media type and body. The values are ours and always encode.
func writeJSON(ctx *fasthttp.RequestCtx, v any) {
	body, err := encoded(v)
	if err != nil {
		panic(fmt.Errorf("encode an answer: %w", err))
	}
	ctx.Response.Header.SetContentType(jsonType)
	ctx.SetBody(body)
}

// encoded is v as JSON, without the escapes that HTML would need.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

const jsonType = "application/json"

// stamp gives the answer its id and the header that every answer carries. The
// id is ours: a caller's would let it forge our log.
func (s *Server) stamp(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	if len(h.Peek(fiber.HeaderXRequestID)) > 0 {
		return
	}
	h.SetCanonical(requestIDName, []byte(s.ids.next()))
	h.SetCanonical(noSniff.name, noSniff.value)
}

// requestIDs are unlike each other and no secret, so that their randomness is
// stretched from what the system gave once.
type requestIDs struct {
	mu     sync.Mutex
	stream *rand.ChaCha8
}

func newRequestIDs(random io.Reader) (*requestIDs, error) {
	var seed [32]byte
	if _, err := io.ReadFull(random, seed[:]); err != nil {
		return nil, fmt.Errorf("read randomness: %w", err)
	}
	return &requestIDs{stream: rand.NewChaCha8(seed)}, nil
}

// next is a UUID of version 4.
func (r *requestIDs) next() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, _ := journal.NewUUID(r.stream) // it never fails (math/rand/v2)
	return id
}

var (
	requestIDName = []byte("X-Request-Id")
	noSniff       = field{[]byte(fiber.HeaderXContentTypeOptions), []byte("nosniff")}
)

func requestID(ctx *fasthttp.RequestCtx) string {
	return string(ctx.Response.Header.Peek(fiber.HeaderXRequestID))
}
