package handlers

import (
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"innerloop/coworker"
	"innerloop/coworker/connect"
	"innerloop/coworker/memory"
	"innerloop/coworker/skills"
	"innerloop/internal/discovery"
	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/web"
)

// A ToolDoor answers MCP requests of a caller. header is the request's, body its bytes;
// the answer's payload is sent as it is. In place of a payload it may give a
// stream, whose pieces are sent one by one, each at once; the stream is left
// early when the caller is gone. It must be safe for concurrent use, bound the
// time of an answer by itself and end it when ctx is done.
type ToolDoor interface {
	Serve(ctx context.Context, caller journal.Caller, method string, header http.Header, body []byte) (status int, answer http.Header, payload []byte, stream iter.Seq[[]byte])
}

// A KeyedDoor is a ToolDoor that also answers callers whose key was checked.
type KeyedDoor interface {
	ToolDoor
	// KeyedTools names the tools that only a key can list, in their order.
	KeyedTools() []string
	ServeKeyed(ctx context.Context, who coworker.Caller, caller journal.Caller, method string, header http.Header, body []byte) (status int, answer http.Header, payload []byte, stream iter.Seq[[]byte])
}

// Options are what a Server is made of. Journal, Logger, Now, Random and
// Origins are required.
type Options struct {
	Journal *journal.Journal
	Tools   ToolDoor // nil: no tool door, its paths are unknown
	// Coworker is asked for every key; nil means that nobody has one. Tools
	// must be a KeyedDoor beside it. ServerName is what its info tells.
	Coworker *coworker.Coworker
	// Keeper and Engine manage and try connections; nil means that there are
	// none.
	Keeper         *connect.Keeper
	Engine         *connect.Engine
	Memory         *memory.Memory // files of its users; nil: their paths are unknown
	Skills         *skills.Shelf  // of organisations; nil: there are no pages of them
	ServerName     string
	Origins        discovery.Origins
	AllowedOrigins []string // beside our own, for calls from browsers
	Documents      []discovery.Document
	// SecurityContact is the address in security.txt; "" means the mailbox
	// security of the web origin's host.
	SecurityContact string
	// Training lets crawlers come that gather texts to train models with.
	Training bool
	// Limits are the numbers in force, told at /v1/limits, and the classes of
	// networks; nil when none hold.
	Limits *limit.Settings
	// TrustedProxies may say where a request came from; others are not heard.
	TrustedProxies limit.Proxies
	// Ready tells whether the store can be reached; nil means always.
	Ready func(context.Context) error
	// Sandbox is what runs code, as /healthz tells it; nil means that nothing
	// does and nothing is told.
	Sandbox *SandboxHealth
	// Hub hears of new entries once TellHub runs, and is named in feeds.
	Hub    Hub
	Logger *slog.Logger
	Now    func() time.Time
	Random io.Reader // safe for concurrent use
	// Build names the program's build; pages and answers kept by a browser
	// are fetched again when it changes.
	Build string
	// CacheBytes bounds the readings kept in memory; 0 means 32 MiB.
	CacheBytes int
	// MaxConnections bounds the open connections; 0 means 16,384. More wait
	// to be accepted.
	MaxConnections int
	// StreamPatience is how long a reader of /events may take nothing of what
	// is written to it; 0 means 10 s.
	StreamPatience time.Duration
	// Reported, when set, hears of each new report. It must return at once and
	// be safe for concurrent use.
	Reported func(journal.ReportNotice)
}

// How long a connection may take (slow readers and writers are cut) and how
// large a request's head may be.
const (
	readTimeout  = 20 * time.Second // a whole request
	writeTimeout = 30 * time.Second // a whole answer, or a piece of one that comes in pieces
	idleTimeout  = 75 * time.Second // between requests
	headMax      = 16 << 10         // bytes of request line and headers
	workTimeout  = 12 * time.Second // the journal's part of a request; the client waits 15 s (protocol 0.2)
)

// A Server is the HTTP door.
type Server struct {
	journal  *journal.Journal
	tools    ToolDoor
	coworker *coworker.Coworker
	memory   *memory.Memory
	keeper   *connect.Keeper
	shelf    *skills.Shelf
	engine   *connect.Engine
	info     validated // the body of /api/v1/mcp/info
	origins  discovery.Origins
	site     web.Site
	hub      Hub
	contact  string // of security.txt
	training bool   // crawlers that train may come
	guard    guard
	limits   *limit.Settings
	proxies  limit.Proxies
	told     validated // the body of /v1/limits
	document validated // the body of /openapi.json
	ready    func(context.Context) error
	sandbox  *SandboxHealth
	logger   *slog.Logger
	now      func() time.Time
	random   io.Reader
	ids      *requestIDs
	build    string
	cache    *cache
	assets   assets
	changed  changes
	streams  streams
	patience time.Duration // of a stream's write
	reported func(journal.ReportNotice)
	maxOpen  int
	// What callers hold: their connections, and bodies that are arriving.
	connections, arriving *limit.Holding
	app                   *fiber.App

	mu       sync.Mutex
	listener net.Listener
	stopped  bool
}

// New makes a Server.
func New(o Options) (*Server, error) {
	if o.Journal == nil || o.Logger == nil || o.Now == nil || o.Random == nil || o.Origins == (discovery.Origins{}) {
		return nil, errors.New("handlers: journal, origins, logger, clock and randomness are required")
	}
	guard, err := newGuard(o.Origins, o.AllowedOrigins)
	if err != nil {
		return nil, err
	}
	s := &Server{
		journal: o.Journal, tools: o.Tools, origins: o.Origins, site: web.Site{BaseURL: o.Origins.Web}, hub: o.Hub,
		contact: o.SecurityContact, training: o.Training, guard: guard, limits: o.Limits, proxies: o.TrustedProxies, told: limitsJSON(o.Limits), ready: o.Ready, sandbox: o.Sandbox, logger: o.Logger, now: o.Now, random: o.Random, build: o.Build,
		cache: newCache(or(o.CacheBytes, 32<<20)), maxOpen: or(o.MaxConnections, 16384),
		assets: assets{files: map[string]*rendering{}}, streams: newStreams(), patience: or(o.StreamPatience, streamPatience), reported: o.Reported,
		connections: limit.NewHolding(0), arriving: limit.NewHolding(arrivingMax),
	}
	if s.ids, err = newRequestIDs(o.Random); err != nil {
		return nil, err
	}
	if s.document, err = openAPIJSON(o.Origins); err != nil {
		return nil, err
	}
	s.memory, s.shelf = o.Memory, o.Skills
	if s.coworker = o.Coworker; s.coworker != nil {
		s.keeper, s.engine = o.Keeper, o.Engine
		if (s.keeper == nil) != (s.engine == nil) {
			return nil, errors.New("handlers: a keeper of connections and an engine go together")
		}
		keyed := []string{}
		if door, ok := o.Tools.(KeyedDoor); ok {
			keyed = door.KeyedTools()
		} else if o.Tools != nil {
			return nil, errors.New("handlers: the tool door takes no keys")
		}
		if s.info, err = infoJSON(o.Origins, o.ServerName, keyed); err != nil {
			return nil, err
		}
	}
	s.app = fiber.New(fiber.Config{
		AppName:                      "",
		BodyLimit:                    largestBody(),
		CaseSensitive:                true,
		StrictRouting:                true,
		Concurrency:                  s.maxOpen + 1024, // never reached: its answer would be plain text
		DisableDefaultContentType:    true,
		DisablePreParseMultipartForm: true,
		DisableStartupMessage:        true,
		ErrorHandler:                 s.failed,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		ReadBufferSize:               headMax,
		WriteBufferSize:              writeBuffer,
		StreamRequestBody:            true, // read by take, which allocates nothing for what was only announced
	})
	texts, err := s.articles()
	if err != nil {
		return nil, err
	}
	s.routes(o.Documents)
	s.textRoutes(texts)
	server := s.app.Server()
	server.Handler = s.around(server.Handler)
	server.HeaderReceived = announce
	server.CloseOnShutdown = true
	server.KeepHijackedConns = true // a stream goes on without fasthttp's buffers
	return s, nil
}

func or[N int | time.Duration](n, fallback N) N {
	if n > 0 {
		return n
	}
	return fallback
}

// Serve answers on the listener until Shutdown, and closes it. A server serves
// once, on one listener.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	stopped := s.stopped
	s.listener = l
	s.mu.Unlock()
	if stopped {
		return l.Close()
	}
	return s.app.Listener(s.lingering(l))
}

// Shutdown stops accepting, ends the streams, lets running requests finish
// until ctx is done, and returns.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	l := s.listener
	s.mu.Unlock()
	err := errors.Join(s.streams.end(ctx), s.app.ShutdownWithContext(ctx))
	if l != nil {
		// fasthttp closes the listeners it knows; a Serve that is only just
		// beginning has not told it yet, and ends at a closed one.
		_ = l.Close()
	}
	return err
}

// around is the outermost handler: what holds for every request whatever
// answers it. Fiber's own middleware would come too late for a verb that
// Fiber does not know.
func (s *Server) around(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) {
		s.stamp(ctx)
		defer func() {
			if cause := recover(); cause != nil {
				s.panicked(ctx, cause)
			}
		}()
		steady(&ctx.Request)
		known(&ctx.Request.Header)
		f, ok := framed(ctx)
		if !ok {
			s.misframed(ctx)
			return
		}
		body := s.take(ctx, f)
		defer body.release()
		if body.refused != nil {
			s.refuse(ctx, *body.refused)
			s.leave(ctx)
			return
		}
		if f.codings > 0 && trailed(&ctx.Request.Header) {
			s.misframed(ctx)
			return
		}
		if s.guard.stops(ctx) {
			s.refuse(ctx, refusal{status: fiber.StatusForbidden, code: journal.InvalidRequest, hint: "this host or origin may not call here"})
			return
		}
		if s.guard.preflight(ctx) {
			return
		}
		next(ctx)
		join(ctx)
	}
}

// work is the context of one request towards the journal. A fasthttp context
// is reused once the handler returns, so it never goes further in.
func work() (context.Context, context.CancelFunc) {
	w := new(working)
	return w, w.cancel
}

// A working context makes its timer once something asks for it, and its time
// begins then: most readings are answered from memory.
type working struct {
	once sync.Once
	made context.Context
	end  context.CancelFunc
}

func (w *working) whole() context.Context {
	w.once.Do(func() { w.made, w.end = context.WithTimeout(context.Background(), workTimeout) })
	return w.made
}

func (w *working) cancel() {
	w.once.Do(func() {
		w.made, w.end = unasked, func() {}
	})
	w.end()
}

// unasked is what a context is that nobody asked while it could be used.
var unasked = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

func (w *working) Deadline() (time.Time, bool) { return w.whole().Deadline() }
func (w *working) Done() <-chan struct{}       { return w.whole().Done() }
func (w *working) Err() error                  { return w.whole().Err() }
func (w *working) Value(key any) any           { return w.whole().Value(key) }
