package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"innerloop/e2e/published"
	"innerloop/e2e/simulator"
)

func gitHubDocument(t *testing.T) *published.Document {
	t.Helper()
	document, err := published.Read("node/node_modules/@octokit/openapi/generated/api.github.com.json", "")
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// A judge holds every exchange of the simulated GitHub against the document
// that GitHub publishes.
type judge struct {
	document *published.Document
	mu       sync.Mutex
	problems []string
	seen     map[string]int // «METHOD STATUS» of exchanges, and "by number"
}

func newJudge(document *published.Document) *judge {
	return &judge{document: document, seen: map[string]int{}}
}

var byNumber = regexp.MustCompile(`^/repositories/[0-9]+/`)

// documented is a request as the document has it: without the simulator's host
// in its path, and a repository that is named by its number, as addresses of
// further pages do, under its name.
func documented(r *http.Request) (meant *http.Request, numbered bool) {
	meant = r.Clone(r.Context())
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/api.github.com")
	numbered = byNumber.MatchString(path)
	path = byNumber.ReplaceAllString(path, "/repos/acme/shop/")
	meant.URL = &url.URL{Path: path, RawQuery: r.URL.RawQuery}
	if plain, err := url.PathUnescape(path); err == nil && plain != path {
		meant.URL.Path, meant.URL.RawPath = plain, path
	}
	return meant, numbered
}

// take is a simulator's Watch.
func (j *judge) take(x simulator.Exchange) {
	r, numbered := documented(x.Request)
	body, header := []byte(nil), http.Header{}
	for name, value := range x.Reply.Header {
		header.Set(name, value)
	}
	var err error
	if x.Reply.Body != nil {
		body, err = json.Marshal(x.Reply.Body)
		header.Set("Content-Type", "application/json; charset=utf-8")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen[fmt.Sprint(r.Method, " ", x.Reply.Status)]++
	if numbered {
		j.seen["by number"]++
	}
	for what, err := range map[string]error{
		"an answer":  err,
		"a request":  j.document.Request(r.Context(), r, x.Body),
		"its answer": j.document.Canned(r.Context(), r, x.Reply.Status, header, body),
	} {
		if err != nil {
			j.problems = append(j.problems, what+": "+err.Error())
		}
	}
}

// holds ends a story: nothing deviated, and what was to be seen was.
func (j *judge) holds(t *testing.T, want map[string]int) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, problem := range j.problems {
		t.Error(problem)
	}
	for what, n := range want {
		if j.seen[what] < n {
			t.Errorf("%s: %d, want %d: %v", what, j.seen[what], n, j.seen)
		}
	}
}

// gitHubCalls is a good request for each route of the simulated GitHub, and
// what further requests make it refuse.
var gitHubCalls = []struct{ method, path, body string }{
	{"GET", "/user", ""},
	{"GET", "/user/repos?per_page=2", ""},
	{"GET", "/user/repos?per_page=2&page=3", ""},
	{"GET", "/repos/acme/shop/issues?per_page=2&state=open", ""},
	{"GET", "/repositories/1300192/issues?per_page=2&page=2", ""},
	{"GET", "/search/issues?q=is:open", ""}, // too soon
	{"GET", "/search/issues?q=is:open", ""},
	{"GET", "/search/labels?repository_id=1&q=bug&per_page=2", ""},
	{"GET", "/search/code?q=innerloop", ""},
	{"POST", "/repos/acme/shop/labels", `{"name":"urgent","color":"ff0000"}`},
	{"POST", "/repos/acme/shop/labels", `{"name":"bug"}`}, // it is there
	{"POST", "/repos/acme/shop/issues", `{"title":"Broken link"}`},
	{"PUT", "/repos/acme/shop/pulls/1/merge", `{"merge_method":"squash"}`},
}

// askGitHub sends a request as the engine does.
func askGitHub(t *testing.T, address, token, method, path, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address+"/api.github.com"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	for name, value := range simulator.GitHub().Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("User-Agent", "innerloop")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode
}

// Every route of the simulated GitHub answers in the form that GitHub's
// document gives the answer, and refuses so too.
func TestTheSimulatedGitHubIsLikeItsDocument(t *testing.T) {
	t.Parallel()
	j, service := newJudge(gitHubDocument(t)), simulator.GitHub()
	service.Watch = j.take
	s := simulator.Start(service)
	defer s.Close()
	for _, call := range gitHubCalls {
		askGitHub(t, s.URL, service.Good.Fields["token"], call.method, call.path, call.body)
	}
	askGitHub(t, s.URL, service.Stale.Fields["token"], "GET", "/user/repos", "")
	for _, route := range service.Routes {
		if s.Count(route.Call) == 0 {
			t.Errorf("nothing asks for %s", route.Call)
		}
	}
	j.holds(t, map[string]int{"GET 200": 7, "GET 401": 1, "GET 403": 2, "POST 201": 2, "POST 422": 1, "PUT 200": 1, "by number": 1})
	for _, row := range []struct {
		trouble      simulator.Trouble
		method, path string
	}{
		{simulator.NoCredential, "GET", "/user"},
		{simulator.BadValue, "POST", "/repos/1/1/issues"},
		{simulator.Missing, "POST", "/repos/1/1/issues"},
		{simulator.TooMany, "POST", "/repos/1/1/issues"},
	} {
		reply := service.Refusal[row.trouble]
		body, err := json.Marshal(reply.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.document.Answer(t.Context(), httptest.NewRequest(row.method, row.path, nil), reply.Status, body); err != nil {
			t.Errorf("%s: %v", row.trouble, err)
		}
	}
}

// Attack: the simulated GitHub says what GitHub would not (a name is missing, is
// of another type, is made up; another status), or is asked for what GitHub does
// not know. Expectation: the judge tells each.
func TestTheJudgeOfGitHubNotices(t *testing.T) {
	t.Parallel()
	document := gitHubDocument(t)
	for name, c := range map[string]struct {
		call, path, body string // the route, and the request
		spoil            func(simulator.Reply) simulator.Reply
		want             string
	}{
		"nothing": {"GET user", "/user", "", nil, ""},
		"a name is missing": {"GET user", "/user", "", spoilt(func(o map[string]any) {
			delete(o, "login")
		}), "login"},
		"another type": {"GET user/repos", "/user/repos", "", spoilt(func(o map[string]any) { o["id"] = "1" }), "id"},
		"a made-up name deep within": {"GET repos/*/*/issues", "/repos/a/b/issues", "", spoilt(func(o map[string]any) {
			o["user"].(map[string]any)["nickname"] = "r"
		}), "user.nickname is not known"},
		"on a page by number": {"GET repositories/*/issues", "/repositories/7/issues", "", spoilt(func(o map[string]any) { delete(o, "state") }), "state"},
		"a made thing without its number": {"POST repos/*/*/issues", "/repos/a/b/issues", `{"title":"a"}`, spoilt(func(o map[string]any) {
			delete(o, "number")
		}), "number"},
		"another status": {"GET user/repos", "/user/repos", "", func(r simulator.Reply) simulator.Reply {
			r.Status = 206
			return r
		}, "status"},
		"a query":              {"GET user/repos", "/user/repos?size=2", "", nil, "query size is not known"},
		"a value":              {"GET user/repos", "/user/repos?sort=size", "", nil, "sort"},
		"a query on a page":    {"GET repositories/*/issues", "/repositories/7/issues?last=1", "", nil, "query last is not known"},
		"a body without title": {"POST repos/*/*/issues", "/repos/a/b/issues", `{"body":"a"}`, nil, "title"},
		"a name in a body":     {"POST repos/*/*/issues", "/repos/a/b/issues", `{"title":"a","headline":"b"}`, nil, "body.headline is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			j, service := newJudge(document), simulator.GitHub()
			service.Watch = j.take
			method, place, _ := strings.Cut(c.call, " ")
			there := false
			for i, route := range service.Routes {
				if route.Call != method+" api.github.com/"+place {
					continue
				}
				there = true
				if c.spoil != nil {
					service.Routes[i].Answer = func(r *simulator.Request) simulator.Reply { return c.spoil(route.Answer(r)) }
				}
			}
			if !there {
				t.Fatalf("no route %s", c.call)
			}
			s := simulator.Start(service)
			defer s.Close()
			askGitHub(t, s.URL, service.Good.Fields["token"], method, c.path, c.body)
			if said := strings.Join(j.problems, "\n"); (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
				t.Errorf("%q, want %q", said, c.want)
			}
		})
	}
}

// spoilt changes a copy of an answer's object, or of the first of its list.
func spoilt(change func(map[string]any)) func(simulator.Reply) simulator.Reply {
	return func(r simulator.Reply) simulator.Reply {
		raw, err := json.Marshal(r.Body)
		if err != nil {
			panic(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		var body any
		if err := decoder.Decode(&body); err != nil {
			panic(err)
		}
		object, ok := body.(map[string]any)
		if !ok {
			object = body.([]any)[0].(map[string]any)
		}
		change(object)
		r.Body = body
		return r
	}
}
