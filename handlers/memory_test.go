package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/memory"
)

// file sends a request about a file and reads the contract of a refusal.
func (o *office) file(key, method, path, body string, headers ...string) (reply, contract) {
	o.t.Helper()
	r := o.do(method, "/api/v1/memory"+path, body, append([]string{"Authorization", "Bearer " + key}, headers...)...)
	if r.Status < 400 || r.Body == "" {
		return r, contract{}
	}
	return r, readContract(o.t, r.Body)
}

func TestFilesOverREST(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	_, key := o.scoped("write:tools", "read:data")
	r, _ := o.file(key, "PUT", "/notes.txt", "one", "Content-Type", "text/html")
	tag := r.Header.Get("ETag")
	if r.Status != http.StatusCreated || !strings.Contains(r.Body, `"path":"notes.txt","size":3,"sha256":"7692c3ad`) || tag == "" {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if r, _ = o.file(key, "GET", "/notes.txt", ""); r.Status != 200 || r.Body != "one" || r.Header.Get("ETag") != tag || r.Header.Get("Content-Type") != "application/octet-stream" ||
		r.Header.Get("Content-Disposition") != "attachment" || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %s %v", r.Status, r.Body, r.Header)
	}
	if r, _ = o.file(key, "HEAD", "/notes.txt", ""); r.Status != 200 || r.Body != "" || r.Header.Get("Content-Length") != "3" {
		t.Errorf("HEAD: %d %v", r.Status, r.Header)
	}
	if r, _ = o.file(key, "GET", "/notes.txt", "", "If-None-Match", "W/"+tag); r.Status != http.StatusNotModified || r.Body != "" {
		t.Errorf("held already: %d", r.Status)
	}
	if r, _ = o.file(key, "PUT", "/notes.txt", "two", "If-Match", tag); r.Status != 200 {
		t.Errorf("replaced: %d %s", r.Status, r.Body)
	}
	for name, row := range map[string][]string{
		"a tag of before":   {"PUT", "If-Match", tag},
		"a weak tag":        {"PUT", "If-Match", "W/" + r.Header.Get("ETag")},
		"there already":     {"PUT", "If-None-Match", "*"},
		"deletes of before": {"DELETE", "If-Match", tag},
	} {
		if r, c := o.file(key, row[0], "/notes.txt", "three", row[1:]...); r.Status != http.StatusPreconditionFailed || c.Code != "INVALID_ARG" {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	if r, _ = o.file(key, "PUT", "/a/deep/%D1%86%D0%B5%D0%BD%D1%8B%20%231.bin", "\x00\xff"); r.Status != http.StatusCreated || !strings.Contains(r.Body, `"a/deep/цены #1.bin"`) {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r, _ = o.file(key, "GET", "/a%2Fdeep/%D1%86%D0%B5%D0%BD%D1%8B%20%231.bin", ""); r.Status != 200 || r.Body != "\x00\xff" {
		t.Errorf("%d %q", r.Status, r.Body)
	}
	list := func(query string) (paths []string, next *string) {
		t.Helper()
		r, _ := o.file(key, "GET", query, "")
		var page struct {
			Items []memory.Record `json:"items"`
			Next  *string         `json:"next_cursor"`
		}
		if err := json.Unmarshal([]byte(r.Body), &page); err != nil || r.Status != 200 {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		for _, f := range page.Items {
			paths = append(paths, f.Path)
		}
		return paths, page.Next
	}
	first, next := list("?limit=1")
	if next == nil {
		t.Fatal("no second page")
	}
	second, end := list("?limit=1&cursor=" + *next)
	if got := append(first, second...); !slices.Equal(got, []string{"a/deep/цены #1.bin", "notes.txt"}) || end != nil {
		t.Errorf("%q %v", got, end)
	}
	if got, _ := list("?prefix=a/&name=%D0%A6%D0%95%D0%9D"); len(got) != 1 {
		t.Errorf("%q", got)
	}
	if r, _ = o.file(key, "DELETE", "/notes.txt", ""); r.Status != 200 || r.Body != `{"path":"notes.txt","deleted":true}` {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if r, c := o.file(key, "GET", "/notes.txt", ""); r.Status != 404 || c.Code != "NOT_FOUND" || string(c.Details) != `{"path":"notes.txt","nearest":[]}` {
		t.Errorf("%d %s", r.Status, r.Body)
	}
}

func TestFilesNeedTheirScopesAndTheirUser(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	_, both := o.scoped("write:tools", "read:data")
	_, reads := o.scoped("read:data")
	_, writes := o.scoped("write:tools")
	_, tools := o.scoped("read:tools")
	o.file(both, "PUT", "/a", "secret words")
	for name, row := range map[string]struct{ key, method, path string }{
		"reads without read:data":      {writes, "GET", "/a"},
		"lists without read:data":      {writes, "GET", ""},
		"writes without write:tools":   {reads, "PUT", "/a"},
		"deletes without write:tools":  {reads, "DELETE", "/a"},
		"reads with read:tools alone":  {tools, "GET", "/a"},
		"writes with read:tools alone": {tools, "PUT", "/a"},
	} {
		if r, c := o.file(row.key, row.method, row.path, ""); r.Status != 403 || c.Code != "AUTH_PERMISSION_DENIED" {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	// An admin who is another user of the same organisation.
	user, err := o.AddUser(t.Context(), coworker.Operator(), o.org.Organization.ID, "Bob")
	if err != nil {
		t.Fatal(err)
	}
	_, secret := o.Key(o.org, coworker.NewKey{User: user.ID, Scopes: coworker.Admin})
	for _, key := range []string{secret.Reveal(), o.Found("Other").Secret.Reveal()} {
		for _, method := range []string{"GET", "DELETE"} {
			if r, c := o.file(key, method, "/a", ""); r.Status != 404 || c.Code != "NOT_FOUND" || strings.Contains(r.Body, "secret") {
				t.Errorf("%s: %d %s", method, r.Status, r.Body)
			}
		}
		if r, _ := o.file(key, "GET", "", ""); r.Body != `{"items":[],"next_cursor":null}` {
			t.Errorf("%s", r.Body)
		}
	}
	if r := o.get("/api/v1/memory/a"); r.Status != 401 {
		t.Errorf("without a key: %d", r.Status)
	}
}

func TestHostileFilesOverREST(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	_, key := o.scoped("write:tools", "read:data")
	for _, path := range []string{
		"/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/a/../b", "/a/%2e%2e/b", "/a%2f..%2fb", "//a", "/a//b", "/a/", "/.", "/%2e", "/%00", "/a%0ab", "/a%5cb", "/%ff", "/%E2%80%AEa",
		"/" + strings.Repeat("a", 256), "/" + strings.Repeat("a/", 300) + "b", "/e%CC%81",
	} {
		r, c := o.file(key, "PUT", path, "x")
		if r.Status != 400 || c.Code != "INVALID_ARG" || strings.Contains(r.Body, "passwd") {
			t.Errorf("%s: %d %s", path, r.Status, r.Body)
		}
	}
	for _, query := range []string{"?prefix=/etc", "?prefix=../", "?limit=0", "?limit=501", "?cursor=x", "?path=a", "?prefix=a&prefix=b", "?name=%00"} {
		if r, c := o.file(key, "GET", query, ""); r.Status != 400 || c.Code != "INVALID_ARG" {
			t.Errorf("%s: %d %s", query, r.Status, r.Body)
		}
	}
	if r, c := o.file(key, "PUT", "/a", "x", "Content-Encoding", "gzip"); r.Status != 415 || c.Code != "INVALID_ARG" {
		t.Errorf("a coding: %d %s", r.Status, r.Body)
	}
	// Announced and not sent: the refusal comes before the body, and a client
	// that goes on writing may miss it.
	r := o.raw("PUT /api/v1/memory/a HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + key +
		"\r\nContent-Length: " + strconv.Itoa(memory.FileMax+1) + "\r\n\r\n")
	if r.Status != 413 || readContract(t, r.Body).Code != "INVALID_ARG" {
		t.Errorf("too large: %d %s", r.Status, r.Body)
	}
	if r, _ := o.file(key, "PUT", "/a", strings.Repeat("x", memory.FileMax)); r.Status != 201 {
		t.Errorf("the largest: %d %s", r.Status, r.Body)
	}
	if r, _ := o.file(key, "GET", "?prefix=", ""); strings.Count(r.Body, `"path"`) != 1 {
		t.Errorf("stored: %s", r.Body)
	}
}

// Many writers at once: each is answered, one content is left, whole.
func TestFilesWrittenAtOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	_, key := o.scoped("write:tools", "read:data")
	var wait sync.WaitGroup
	var mu sync.Mutex
	made := map[int]int{}
	for i := range 16 {
		wait.Go(func() {
			r, _ := o.file(key, "PUT", "/a", strings.Repeat(fmt.Sprint(i%10), 50_000))
			mu.Lock()
			made[r.Status]++
			mu.Unlock()
		})
	}
	wait.Wait()
	r, _ := o.file(key, "GET", "/a", "")
	if made[201] != 1 || made[200] != 15 || len(r.Body) != 50_000 || strings.Trim(r.Body, r.Body[:1]) != "" {
		t.Errorf("%v, %d bytes", made, len(r.Body))
	}
}
