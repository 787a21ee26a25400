package repl

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"innerloop/coworker"
)

// Bounds of what a run may do through its way out.
const (
	bytesOut   = 16 << 20 // to services, in all
	bytesIn    = 64 << 20 // from them
	headerMax  = 32 << 10
	headerTime = 10 * time.Second
)

// A way is the way out of one run: a proxy to the addresses that were opened
// for it, and the broker.
type way struct {
	repl   *REPL
	ctx    context.Context // ends with the run
	cancel context.CancelFunc
	who    coworker.Caller
	named  []string // services the broker is for; empty: all of the key's
	roads  map[string]Road
	server *http.Server
	budget budget

	out, in atomic.Int64 // bytes

	mu     sync.Mutex
	hosts  []string
	tunnel sync.WaitGroup
}

func newWay(ctx context.Context, r *REPL, who coworker.Caller, named []string) *way {
	w := &way{repl: r, who: who, named: named, roads: map[string]Road{}}
	w.ctx, w.cancel = context.WithCancel(ctx)
	w.server = &http.Server{
		Handler: w, ReadHeaderTimeout: headerTime, MaxHeaderBytes: headerMax, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return w.ctx },
		ErrorLog:    slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // it would hold the code's own words
	}
	return w
}

func (w *way) serve(l net.Listener) {
	_ = w.server.Serve(l) // ends when l is closed
}

// close ends everything that is under way.
func (w *way) close() {
	w.cancel()
	_ = w.server.Close()
	w.tunnel.Wait()
}

// reached lists the hosts that were called, in order of their names.
func (w *way) reached() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.hosts)
	return w.hosts
}

func (w *way) remember(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.hosts, host) {
		w.hosts = append(w.hosts, host)
	}
}

// ServeHTTP tells the three things apart that a run may ask for.
func (w *way) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		w.connect(out, r)
	case r.URL.Host != "":
		w.forward(out, r)
	case r.URL.Path == "/coworker/call" && r.Method == http.MethodPost:
		w.broker(out, r)
	default:
		http.Error(out, "innerloop: there is nothing here", http.StatusNotFound)
	}
}

const notOpen = "innerloop: this host is not open to the run; name its service in services, or use coworker.call"

// road finds an address among those that are open.
func (w *way) road(scheme, host, port string) (Road, bool) {
	road, ok := w.roads[scheme+"://"+net.JoinHostPort(strings.ToLower(host), port)]
	return road, ok
}

// refuse tells why an address was not reached: we refused it, or it is not
// there.
func refuse(out http.ResponseWriter, err error) {
	var ours interface{ Refused() bool }
	if errors.As(err, &ours) && ours.Refused() {
		http.Error(out, "innerloop: this address may not be called", http.StatusForbidden)
		return
	}
	http.Error(out, "innerloop: the host cannot be reached", http.StatusBadGateway)
}

// hopByHop are the headers that end at a proxy (RFC 9110, 7.6.1).
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// forward sends a request that names its whole address.
func (w *way) forward(out http.ResponseWriter, r *http.Request) {
	port := r.URL.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[r.URL.Scheme]
	}
	road, ok := w.road(r.URL.Scheme, r.URL.Hostname(), port)
	if !ok {
		http.Error(out, notOpen, http.StatusForbidden)
		return
	}
	w.remember(strings.ToLower(r.URL.Host))
	for _, names := range r.Header.Values("Connection") {
		for name := range strings.SplitSeq(names, ",") {
			r.Header.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		r.Header.Del(name)
	}
	r.RequestURI, r.Host = "", r.URL.Host
	if r.ContentLength != 0 {
		r.Body = io.NopCloser(&counted{from: r.Body, sum: &w.out, most: bytesOut})
	} else {
		r.Body = nil
	}
	answer, err := road.Do(r)
	if err != nil {
		refuse(out, err)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	for _, name := range hopByHop {
		answer.Header.Del(name)
	}
	for name, values := range answer.Header {
		out.Header()[name] = values
	}
	out.WriteHeader(answer.StatusCode)
	if _, err := io.Copy(out, &counted{from: answer.Body, sum: &w.in, most: bytesIn}); err != nil {
		panic(http.ErrAbortHandler) // a cut answer must not look whole
	}
}

// errSpent ends what goes over the bytes of a run.
var errSpent = errors.New("repl: the run has moved as much as it may")

// counted counts what is read, and ends when the run's sum is spent.
type counted struct {
	from io.Reader
	sum  *atomic.Int64
	most int64
}

func (c *counted) Read(p []byte) (int, error) {
	if c.sum.Load() >= c.most {
		return 0, errSpent
	}
	n, err := c.from.Read(p)
	if c.sum.Add(int64(n)) > c.most {
		return 0, errSpent
	}
	return n, err
}
