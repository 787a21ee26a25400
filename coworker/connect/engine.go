package connect

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/internal/keyring"
)

// A Doer sends one request and follows no redirect. Its answers are
// decompressed within bounds; their bodies are closed by the caller.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// Options are what an Engine is made of. Catalog, Book, Clients, Cursors and
// Now are required.
type Options struct {
	Catalog *catalog.Catalog
	Book    Book
	// Clients gives the way out for a connection: to public addresses, and to
	// the given networks for an address that is the organisation's own word.
	Clients func(networks []netip.Prefix, own string) Doer
	Files   Files // nil: what is no text cannot be passed on
	Cursors keyring.Key
	Random  io.Reader // safe for concurrent use; nil means crypto/rand
	Now     func() time.Time
	// Sleep waits between tries; nil means by the clock.
	Sleep func(context.Context, time.Duration) error
}

// Files keeps what cannot be part of an answer, for the caller's user.
type Files interface {
	// Keep stores a body under a name of our choice and returns its path.
	Keep(ctx context.Context, who coworker.Caller, name string, body []byte) (path string, err error)
}

// An Engine executes calls. It is safe for concurrent use.
type Engine struct {
	catalog *catalog.Catalog
	book    Book
	clients func([]netip.Prefix, string) Doer
	files   Files
	cursors keyring.Key
	random  io.Reader
	now     func() time.Time
	sleep   func(context.Context, time.Duration) error
	tokens  *tokens
	paces   paces
	// selecting has a place for each jq program that may run at once.
	selecting chan struct{}
	// large has a place for each call that holds a large answer; nil: as many
	// as there are.
	large  chan struct{}
	shares *shares
}

// New makes an Engine.
func New(o Options) (*Engine, error) {
	if o.Catalog == nil || o.Book == nil || o.Clients == nil || o.Now == nil || o.Cursors.Current() == "" {
		return nil, errors.New("connect: catalog, book, clients, clock and a key for cursors are required")
	}
	e := &Engine{
		catalog: o.Catalog, book: o.Book, clients: o.Clients, files: o.Files, cursors: o.Cursors, now: o.Now, sleep: o.Sleep,
		tokens: &tokens{of: map[string]*tokenOf{}}, paces: paces{of: map[string]*paceOf{}},
		selecting: make(chan struct{}, jqParallel()), large: make(chan struct{}, largeMax),
		shares: &shares{of: map[coworker.OrganizationID]*share{}},
	}
	if e.random = o.Random; e.random == nil {
		e.random = rand.Reader
	}
	if e.sleep == nil {
		e.sleep = sleep
	}
	return e, nil
}

// Limits of a call.
const (
	BytesDefault = 64 << 10  // of data in an answer
	BytesMax     = 256 << 10 // that a caller may ask for
	BytesMin     = 1 << 10
	PagesMax     = 10
	readMax      = 10 << 20         // of one upstream answer, decompressed
	callTime     = 50 * time.Second // of a whole call
	triesMax     = 3
	triesTime    = 20 * time.Second
	keyMax       = 255 // characters of an idempotency key
)

// A Call is what connector_execute takes.
type Call struct {
	Service        string
	Module         string // "" when the service has one, or its first
	Method         string
	Path           string
	Query          map[string]any
	Body           any
	Connection     string // by its name; "" for the usual one
	Select         string // jq
	MaxBytes       int    // 0: BytesDefault
	Page           string // page.next of an earlier answer
	MaxPages       int    // 0: 1
	IdempotencyKey string
	Confirm        bool
	DryRun         bool
	// MustConfirm reads whether the organisation wants what cannot be undone
	// confirmed; it is asked about such calls alone. nil: it does not.
	MustConfirm func(context.Context) (bool, error)
	// NoConfirm refuses what cannot be undone even when it is confirmed: for
	// callers that no person stands behind.
	NoConfirm bool
}

// An Answer is what connector_execute gives.
type Answer struct {
	Status        int               `json:"status"`
	Class         catalog.Class     `json:"class"`
	Data          any               `json:"data"`
	Page          *PageInfo         `json:"page,omitempty"`
	Truncated     bool              `json:"truncated"`
	OriginalBytes int               `json:"original_bytes"`
	Omitted       []Omission        `json:"omitted,omitempty"`
	File          string            `json:"file,omitempty"`
	Headers       map[string]string `json:"headers,omitempty"`
	RequestID     string            `json:"request_id,omitempty"`
	Took          int64             `json:"took_ms"`
	Retries       int               `json:"retries"`
	Hint          string            `json:"hint,omitempty"`
	Request       *Preview          `json:"request,omitempty"` // of a dry run alone
}

// PageInfo tells of further pages.
type PageInfo struct {
	Next    string `json:"next,omitempty"` // for the argument page
	HasMore bool   `json:"has_more"`
	Total   *int   `json:"total,omitempty"`
	Pages   int    `json:"pages"` // read for this answer
	// Error is why the page that Next leads to could not be read, when the
	// answer was to go on with it.
	Error *coworker.Contract `json:"error,omitempty"`
}

// A Preview is the request of a dry run, secrets masked.
type Preview struct {
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Header map[string]string `json:"headers"`
	Body   string            `json:"body,omitempty"`
}

// A Trace is what the audit keeps of a call, also of one that failed.
type Trace struct {
	Module, Method, Path string // Path without the values in it
	Class                catalog.Class
	Status               int
	BytesIn, BytesOut    int64
	Retries              int
	Error                coworker.Code // of a page that ended an answer
}

// Execute does a call. Every refusal is a *coworker.Fault; another error is our
// own failure.
func (e *Engine) Execute(ctx context.Context, who coworker.Caller, call Call) (*Answer, Trace, error) {
	began := e.now()
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	x := &execution{Engine: e, who: who, call: call}
	defer x.leave()
	answer, err := x.do(ctx)
	if err != nil {
		if _, fault := coworker.AsFault(err); !fault && ctx.Err() != nil {
			err = x.late()
		}
		return nil, x.trace, err
	}
	answer.Took = e.now().Sub(began).Milliseconds()
	answer.Retries = x.trace.Retries
	return answer, x.trace, nil
}

// late is the fault of a call that ran out of its time.
func (x *execution) late() *coworker.Fault {
	if x.class != catalog.Read {
		return &coworker.Fault{Code: coworker.UpstreamError, Hint: "the service took longer than 50 seconds" + lookFirst}
	}
	return &coworker.Fault{Code: coworker.UpstreamError, Retry: true, Hint: "the service took longer than 50 seconds; ask for less at a time"}
}

// An execution is one call under way.
type execution struct {
	*Engine
	who    coworker.Caller
	call   Call
	target catalog.Call
	class  catalog.Class
	module *catalog.Module
	trace  Trace
	tried  int
	began  time.Time
	at     *place // nil: the first page
	holds  *share // with a place of Engine.large; nil: none
}

func (x *execution) do(ctx context.Context) (*Answer, error) {
	service, err := x.resolve()
	if err != nil {
		return nil, err
	}
	x.class = service.Classify(x.target)
	x.trace = Trace{Module: x.target.Module, Method: x.target.Method, Path: template(service, x.target), Class: x.class}
	if err := x.who.MayExecute(service.ID, coworker.Class(x.class)); err != nil {
		return nil, err
	}
	if err := x.single(); err != nil {
		return nil, err
	}
	if err := x.confirmed(ctx, service); err != nil {
		return nil, err
	}
	connection, err := x.book.Connection(ctx, x.who, service.ID, x.call.Connection)
	if err != nil {
		return nil, err
	}
	p, err := prepare(service, connection)
	if err != nil {
		return nil, err
	}
	bound := binding(p, x.target)
	if x.call.Page != "" {
		if x.at, err = x.openCursor(x.call.Page, bound); err != nil {
			return nil, err
		}
	}
	d, err := x.draft(p)
	if err != nil {
		return nil, err
	}
	if x.call.DryRun {
		return x.preview(p, d)
	}
	return x.pages(ctx, p, d, bound)
}

// draft composes the request for the page that the call has come to.
func (x *execution) draft(p *prepared) (*draft, error) {
	d, err := compose(p.service, x.module, p, x.target)
	if err != nil {
		return nil, err
	}
	if err := x.idempotent(p.service, d); err != nil {
		return nil, err
	}
	if x.at != nil {
		err = x.turn(p, d, x.at)
	}
	return d, err
}

// resolve checks the arguments and finds what is called.
func (x *execution) resolve() (*catalog.Service, error) {
	c := &x.call
	service, ok := x.catalog.Service(c.Service)
	if !ok {
		return nil, x.unknown(c.Service)
	}
	var problems []coworker.Problem
	problem := func(field, rule string) {
		problems = append(problems, coworker.Problem{Field: field, Problem: rule})
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = BytesDefault
	}
	if c.MaxPages == 0 {
		c.MaxPages = 1
	}
	if c.MaxBytes < BytesMin || c.MaxBytes > BytesMax {
		problem("max_bytes", "must be from 1,024 to 262,144")
	}
	if c.MaxPages < 1 || c.MaxPages > PagesMax {
		problem("max_pages", "must be from 1 to 10")
	}
	if len(c.IdempotencyKey) > keyMax || strings.ContainsFunc(c.IdempotencyKey, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		problem("idempotency_key", "must be at most 255 printable ASCII characters without spaces")
	}
	if c.Select != "" {
		if _, wrong := parseJQ(c.Select); wrong != "" {
			problem("select", wrong)
		}
	}
	if c.Module == "" && len(service.Modules) > 0 {
		c.Module = service.Modules[0].ID
	}
	if len(problems) > 0 {
		return nil, coworker.InvalidArguments(problems...)
	}
	x.target = catalog.Call{Module: c.Module, Method: c.Method, Path: c.Path, Query: c.Query, Body: c.Body}
	if !service.Remote(x.target) {
		x.target.Method = strings.ToUpper(c.Method)
	}
	if err := service.Admits(x.target); err != nil {
		field, rule, _ := strings.Cut(err.Error(), ": ")
		return nil, coworker.InvalidArguments(coworker.Problem{Field: field, Problem: rule})
	}
	x.module, _ = service.Module(x.target.Module)
	return service, nil
}

func (x *execution) unknown(id string) error {
	near := x.catalog.Nearest(id, 3)
	hint := "list_services names every service"
	if len(near) > 0 {
		hint = "nearest: " + strings.Join(near, ", ")
	}
	return &coworker.Fault{Code: coworker.UnknownService, Hint: hint + ". Registered: " + strings.Join(x.catalog.IDs(), ", ")}
}

// turn moves a draft to another page, which must be of the same module and of
// no wider class than the call.
func (x *execution) turn(p *prepared, d *draft, at *place) error {
	root := d.url // the address of a remote method is its own
	if at.URL != "" && !p.service.Remote(x.target) {
		var err error
		if root, err = p.base(x.module); err != nil {
			return err
		}
	}
	if err := at.apply(d); err != nil {
		return err
	}
	if at.URL != "" && !x.within(p.service, root, d.url) {
		return foreignPage()
	}
	return nil
}

// template is a path with its values taken out, for the audit: parts that are
// not spelled in the module's allow-list become "*".
func template(service *catalog.Service, call catalog.Call) string {
	if service.Remote(call) {
		return ""
	}
	parts := strings.Split(call.Path, "/")
	for i, part := range parts {
		if strings.ContainsAny(part, "0123456789%@=") || len(part) > 40 {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, "/")
}
