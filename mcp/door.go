package mcp

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/connect"
	"innerloop/coworker/memory"
	"innerloop/coworker/repl"
	"innerloop/coworker/skills"
	"innerloop/internal/discovery"
	"innerloop/journal"
)

// cacheMillis is how long a list or a document may be kept by a client.
const cacheMillis = 300_000

// Options are what a Door is made of. Journal, Origins and ServerName are
// required.
type Options struct {
	Journal *journal.Journal
	// Coworker and Catalog make the half of the door that needs a key; nil
	// means that there is none.
	Coworker *coworker.Coworker
	Catalog  *catalog.Catalog
	// Engine and Keeper make calls to services and keep their credentials; nil
	// means that no service can be called.
	Engine        *connect.Engine
	Keeper        *connect.Keeper
	Memory        *memory.Memory // files of users; nil means that there are none
	Skills        *skills.Shelf  // of organisations; nil means that they have none
	REPL          *repl.REPL     // runs code; nil means that none is run
	Origins       discovery.Origins
	ServerName    string
	Version       string
	Logger        *slog.Logger  // nil discards
	ToolTimeout   time.Duration // of one tool call; 0 means 55 seconds
	StreamTimeout time.Duration // of one whose progress is told; 0 means 10 minutes
}

// A Door answers MCP requests. It keeps nothing between them and is safe for
// concurrent use.
type Door struct {
	streamable    *server.StreamableHTTPServer // for everybody
	keyed         *server.StreamableHTTPServer // for callers with a key; never holds anything of one organisation
	coworker      *coworker.Coworker
	contents      map[string]mcp.TextResourceContents // by uri
	listed        []mcp.Resource
	tools         map[string]bool
	keyedTools    []string        // listed for those who may call them
	lasting       map[string]bool // those that may run for minutes
	documents     map[string]bool // uris that can be read
	skills        shelf           // everybody's
	own           *skills.Shelf   // of organisations; asked anew for each request
	prompts       map[string]prompt
	logger        *slog.Logger
	timeout       time.Duration
	streamTimeout time.Duration
	self          mcp.Implementation
}

// New makes a Door.
func New(o Options) (*Door, error) {
	if o.Journal == nil || o.ServerName == "" {
		return nil, errors.New("mcp: journal and server name are required")
	}
	readable, err := resources(o.Origins)
	if err != nil {
		return nil, err
	}
	everybodys, err := discovery.Skills(o.Origins)
	if err != nil {
		return nil, err
	}
	d := &Door{
		logger: o.Logger, timeout: o.ToolTimeout, streamTimeout: o.StreamTimeout, tools: map[string]bool{}, lasting: map[string]bool{}, documents: map[string]bool{}, contents: map[string]mcp.TextResourceContents{}, prompts: map[string]prompt{},
		self: mcp.Implementation{Name: o.ServerName, Version: o.Version},
	}
	if d.logger == nil {
		d.logger = slog.New(slog.DiscardHandler)
	}
	if d.timeout <= 0 {
		d.timeout = toolTimeoutDefault
	}
	if d.streamTimeout <= 0 {
		d.streamTimeout = streamTimeoutDefault
	}
	if d.skills, err = shelve(everybodys); err != nil {
		return nil, err
	}
	for _, r := range readable {
		d.listed, d.contents[r.listed.URI] = append(d.listed, r.listed), r.contents
		d.documents[r.listed.URI] = true
	}
	// As mcp-go lists them, so that a key changes nothing about it.
	slices.SortFunc(d.listed, func(a, b mcp.Resource) int { return strings.Compare(a.Name, b.Name) })
	tools := journalTools(o.Journal, o.Origins)
	if o.Coworker == nil || o.Catalog == nil {
		d.streamable, err = d.half(o, instructions, mcp.CacheScopePublic, tools)
		return d, err
	}
	d.coworker, d.own = o.Coworker, o.Skills
	all := append(tools, coworkerTools(o.Catalog, o.Engine, o.Keeper, o.Memory, o.Skills, o.REPL)...)
	for _, t := range all {
		if t.keyed != nil && !t.later {
			d.keyedTools = append(d.keyedTools, t.name)
		}
	}
	if d.streamable, err = d.half(o, instructions+moreWithKey(o.Origins), mcp.CacheScopePublic, all); err != nil {
		return nil, err
	}
	d.keyed, err = d.half(o, instructions+" "+keyedInstructions, mcp.CacheScopePrivate, all)
	return d, err
}

// half makes a server object with what both halves of the door have.
func (d *Door) half(o Options, says string, scope mcp.CacheScope, tools []tool) (*server.StreamableHTTPServer, error) {
	core := server.NewMCPServer(o.ServerName, o.Version,
		server.WithInstructions(says),
		server.WithToolCapabilities(false),
		server.WithResourceCapabilities(false, false),
		server.WithPromptCapabilities(false),
		server.WithCompletions(),
		server.WithPromptCompletionProvider(completer{d.prompts}),
		server.WithExtensions(map[string]any{skillsExtension: struct{}{}}),
		server.WithCacheHints(cacheMillis, scope),
		server.WithToolFilter(visible(tools)),
		server.WithToolFilter(inOrder(tools)),
	)
	for _, t := range tools {
		if err := d.add(core, t); err != nil {
			return nil, err
		}
	}
	for _, r := range d.listed {
		core.AddResource(r, d.readResource)
	}
	for _, p := range journalPrompts {
		d.offer(core, p, o.Origins)
	}
	if scope == mcp.CacheScopePublic {
		if err := d.addFixtures(core); err != nil {
			return nil, err
		}
	}
	return server.NewStreamableHTTPServer(core,
		server.WithStateLess(true),
		server.WithStreamableHTTPProtocolVersions(promised[:]...),
		server.WithStreamableHTTPLogger(d.logger),
	), nil
}

func (d *Door) add(core *server.MCPServer, t tool) error {
	defined, err := t.definition()
	if err != nil {
		return err
	}
	handle := d.handler(t)
	if t.keyed != nil {
		handle = d.keyedHandler(t)
	}
	core.AddTool(defined, handle)
	d.tools[t.name], d.lasting[t.name] = true, t.lasting()
	return nil
}

// KeyedTools names the tools that only a key can list, in their order.
func (d *Door) KeyedTools() []string { return d.keyedTools }

// inOrder lists tools as protocol 8.5 does; mcp-go sorts them by name.
func inOrder(tools []tool) server.ToolFilterFunc {
	place := make(map[string]int, len(tools))
	for i, t := range tools {
		place[t.name] = i
	}
	return func(_ context.Context, listed []mcp.Tool) []mcp.Tool {
		slices.SortFunc(listed, func(a, b mcp.Tool) int { return place[a.Name] - place[b.Name] })
		return listed
	}
}

// Serve answers one HTTP request of caller. The door before it has checked
// host, origin and body size; header and body are only read. It bounds what it
// does by itself, and ends it when ctx does. The payload is JSON, empty for a
// status of 202, and a complete text/event-stream for subscriptions/listen. A
// stream comes in place of a payload, for calls whose progress is told: each
// piece is to be sent at once, it is walked once, and to leave it early cancels
// the call. header and body are read until it has ended.
func (d *Door) Serve(ctx context.Context, caller journal.Caller, method string, header http.Header, body []byte) (status int, answer http.Header, payload []byte, stream iter.Seq[[]byte]) {
	return d.serve(ctx, call{caller: caller}, method, header, body)
}

func (d *Door) serve(ctx context.Context, c call, method string, header http.Header, body []byte) (status int, answer http.Header, payload []byte, stream iter.Seq[[]byte]) {
	if method != http.MethodPost {
		status, answer, payload = refusal{
			status: http.StatusMethodNotAllowed, code: mcp.INVALID_REQUEST,
			message: "This endpoint takes POST only; it opens no stream and keeps no session.",
		}.answer()
		answer.Set("Allow", http.MethodPost)
		return status, answer, payload, nil
	}
	r, refused := d.read(header, body)
	if refused != nil {
		return whole(refused.answer())
	}
	if r.notification {
		// Nothing here waits for a notification: there is no session, and a
		// cancellation must not reach a stranger's call that happens to have
		// the same id.
		return http.StatusAccepted, answerHeader(), nil, nil
	}
	c.listing = r.method == string(mcp.MethodToolsList)
	switch method := mcp.MCPMethod(r.method); {
	case method == mcp.MethodSubscriptionsListen:
		return whole(d.subscribe(r))
	case method == methodSkillsList:
		return whole(d.listSkills(ctx, c, r))
	case method == methodSkillsGet:
		return whole(d.getSkill(ctx, c, r))
	case method == mcp.MethodResourcesList && c.key != nil:
		return whole(d.listResources(ctx, c, r))
	case method == mcp.MethodResourcesRead && (c.key != nil || !d.documents[r.uri()]):
		return whole(d.getResource(ctx, c, r))
	}
	if r.token != nil && streams(header) && d.lasts(r) {
		return d.told(ctx, c, r, header, body)
	}
	c.limit, c.report = d.timeout, func(string) {}
	return whole(d.forward(ctx, c, r, header, body))
}

func whole(status int, answer http.Header, payload []byte) (int, http.Header, []byte, iter.Seq[[]byte]) {
	return status, answer, payload, nil
}

// forward lets mcp-go answer a request that was read strictly.
func (d *Door) forward(ctx context.Context, c call, r request, header http.Header, body []byte) (status int, answer http.Header, payload []byte) {
	defer func() {
		if p := recover(); p != nil {
			d.panicked(ctx, p)
			status, answer, payload = r.internal().answer()
		}
	}()
	// mcp-go writes nothing at all once its context has ended. Each tool call
	// hears of the end by itself, so that there is always an answer.
	c.waiting = ctx
	w := &buffered{header: http.Header{}}
	half := d.streamable
	if c.key != nil {
		half = d.keyed
	}
	half.Handle(w, &server.HTTPRequest{
		Method: http.MethodPost, Header: forwarded(header), Body: body, Context: c.within(context.WithoutCancel(ctx)),
	})
	if refused := r.rewrite(w); refused != nil {
		return refused.answer()
	}
	return w.status, answerHeader(), w.body
}

// panicked logs where something fell over. The value of a panic may hold text
// of the request, so only its type is told.
func (d *Door) panicked(ctx context.Context, cause any, more ...any) {
	d.logger.ErrorContext(ctx, "panic", append(more, "type", fmt.Sprintf("%T", cause), "stack", string(debug.Stack()))...)
}

// forwarded keeps the headers that mean something to mcp-go. A session id is
// not among them: there are no sessions to find or to fill.
func forwarded(header http.Header) http.Header {
	kept := http.Header{"Content-Type": {"application/json"}}
	for _, name := range [...]string{mcp.HeaderProtocolVersion, mcp.HeaderMethod, mcp.HeaderName} {
		if value := header.Get(name); value != "" {
			kept.Set(name, value)
		}
	}
	return kept
}

// buffered collects an answer; CanStream tells mcp-go to answer in one piece.
type buffered struct {
	header http.Header
	status int
	body   []byte
}

func (w *buffered) Header() http.Header { return w.header }

func (w *buffered) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *buffered) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	w.body = append(w.body, p...)
	return len(p), nil
}

func (w *buffered) Flush() {}

func (w *buffered) CanStream() bool { return false }
