package simulator

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// A Service is what a simulated service is made of.
type Service struct {
	ID      string
	Good    Credential        // what a person enters
	Stale   Credential        // what the service no longer takes
	Auth    Auth              // proves who calls
	Headers map[string]string // every request must carry
	Refusal map[Trouble]Reply // how the service refuses: a row for each trouble
	Routes  []Route
	Carries []string // names of parameters and of fields that every request has

	// Watch, when set, sees every request with what is said to it, also what
	// is refused. It may be called at the same time.
	Watch func(Exchange)
}

// An Exchange is a request and what was said to it.
type Exchange struct {
	Request *http.Request // its path begins with the service's host
	Body    []byte
	Reply   Reply
}

// A Credential is a connection as it is entered.
type Credential struct {
	Auth   string // "" for the file's first
	Fields map[string]string
	Params map[string]string
}

// A Route is one call that the service knows.
type Route struct {
	Call   string   // «METHOD HOST/PATH», where a part of the path may be *
	Type   string   // media type of the body; empty when there is none
	Open   bool     // needs no credential
	Takes  []string // names of the address and of the body's root that it knows; none is looked at when nil
	Busy   int      // how many requests come too soon before one is answered
	Answer func(*Request) Reply
}

// A Trouble is why a service refuses.
type Trouble string

// Every trouble that a simulated service tells of.
const (
	NoCredential Trouble = "wrong credential"
	NoPath       Trouble = "no such path"
	NoMethod     Trouble = "wrong method"
	NoType       Trouble = "wrong type of body"
	NoHeader     Trouble = "missing header"
	BadValue     Trouble = "bad value"
	Missing      Trouble = "no such thing"
	TooMany      Trouble = "too many requests"
)

// Troubles lists them all.
func Troubles() []Trouble {
	return []Trouble{NoCredential, NoPath, NoMethod, NoType, NoHeader, BadValue, Missing, TooMany}
}

// A Reply is an answer: a text as it stands, anything else as JSON.
type Reply struct {
	Status int
	Header map[string]string
	Body   any
}

// A Request is one request with its body read.
type Request struct {
	*http.Request
	Place string         // host and path, without a credential that stood in it
	Root  string         // address of the server
	Raw   []byte         // the body as it came
	Body  map[string]any // of a JSON object or a form
	Parts []string       // what stood for each * of the route
	with  *Service
}

// Refuse answers with the service's own refusal.
func (r *Request) Refuse(t Trouble) Reply {
	reply := r.with.Refusal[t]
	reply.Header = withHeader(reply.Header, troubleHeader, string(t))
	return reply
}

// troubleHeader carries a refusal's reason from a route to the server, which
// counts it and takes it out.
const troubleHeader = "Simulator-Trouble"

// A Server is a simulated service that listens.
type Server struct {
	URL     string
	service *Service
	http    *httptest.Server

	mu      sync.Mutex
	asked   map[string]int
	soon    map[string]int // requests that were to be answered
	refused map[Trouble]int
}

// Start serves a service until Close.
func Start(s Service) *Server {
	server := &Server{service: &s, asked: map[string]int{}, soon: map[string]int{}, refused: map[Trouble]int{}}
	server.http = httptest.NewServer(http.HandlerFunc(server.serve))
	server.URL = server.http.URL
	return server
}

// Close ends the server.
func (s *Server) Close() { s.http.Close() }

// Count tells how many requests with a good credential came for a route,
// whatever was said to them.
func (s *Server) Count(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[call]
}

// Total is how many requests came at all.
func (s *Server) Total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := s.refused[NoCredential]
	for _, n := range s.asked {
		total += n
	}
	return total
}

// Refused tells how many requests were refused for a trouble.
func (s *Server) Refused(t Trouble) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused[t]
}

func (s *Server) serve(w http.ResponseWriter, plain *http.Request) {
	raw, err := io.ReadAll(io.LimitReader(plain.Body, 1<<20))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r := &Request{Request: plain, Place: strings.TrimPrefix(plain.URL.Path, "/"), Root: s.URL, Raw: raw, with: s.service}
	call, reply := s.judge(r)
	s.mu.Lock()
	trouble := Trouble(reply.Header[troubleHeader])
	if trouble != NoCredential {
		s.asked[call]++
	}
	if trouble != "" {
		s.refused[trouble]++
	}
	s.mu.Unlock()
	if s.service.Watch != nil {
		s.service.Watch(Exchange{plain, raw, reply})
	}
	reply.write(w, plain)
}

// judge finds the route of a request, and what the service says to it.
func (s *Server) judge(r *Request) (call string, reply Reply) {
	known := s.service.Auth(r)
	at := slices.IndexFunc(s.service.Routes, func(route Route) bool { return route.fits(r, true) })
	call = r.Method + " " + r.Place
	if at >= 0 {
		call = s.service.Routes[at].Call
	}
	if !known && (at < 0 || !s.service.Routes[at].Open) {
		return call, r.Refuse(NoCredential)
	}
	if at < 0 {
		if slices.ContainsFunc(s.service.Routes, func(route Route) bool { return route.fits(r, false) }) {
			return call, r.Refuse(NoMethod)
		}
		return call, r.Refuse(NoPath)
	}
	route := s.service.Routes[at]
	for name, value := range s.service.Headers {
		if got := r.Header.Get(name); got == "" || value != "" && got != value {
			return call, r.Refuse(NoHeader)
		}
	}
	if trouble := r.read(route.Type); trouble != "" {
		return call, r.Refuse(trouble)
	}
	if route.Takes != nil && !r.onlyHas(slices.Concat(route.Takes, s.service.Carries)) {
		return call, r.Refuse(BadValue)
	}
	if s.hurried(route) {
		return call, r.Refuse(TooMany)
	}
	return call, route.Answer(r)
}

// onlyHas tells whether every name that a request gives a value to is known.
func (r *Request) onlyHas(names []string) bool {
	for name := range r.URL.Query() {
		if !slices.Contains(names, name) {
			return false
		}
	}
	for name := range r.Body {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// hurried tells whether a request comes too soon.
func (s *Server) hurried(route Route) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.soon[route.Call]++
	return s.soon[route.Call] <= route.Busy
}

// fits tells whether a route is a request's, with or without the method.
func (route Route) fits(r *Request, method bool) bool {
	verb, place, _ := strings.Cut(route.Call, " ")
	if method && verb != r.Method {
		return false
	}
	want, got := strings.Split(strings.TrimPrefix(place, "/"), "/"), strings.Split(r.Place, "/")
	if len(want) != len(got) {
		return false
	}
	var parts []string
	for i := range want {
		if want[i] == "*" && got[i] != "" {
			parts = append(parts, got[i])
		} else if want[i] != got[i] {
			return false
		}
	}
	r.Parts = parts
	return true
}

// read decodes the body as the one type that the route takes.
func (r *Request) read(want string) Trouble {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != want && (want != "" || len(r.Raw) > 0) {
		return NoType
	}
	switch want {
	case "application/json":
		decoder := json.NewDecoder(bytes.NewReader(r.Raw))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil || decoder.More() {
			return BadValue
		}
		r.Body, _ = value.(map[string]any)
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(r.Raw))
		if err != nil {
			return BadValue
		}
		r.Body = map[string]any{}
		for name := range form {
			r.Body[name] = form.Get(name)
		}
	}
	return ""
}
