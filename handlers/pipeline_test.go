package handlers_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"innerloop/journal/journaltest"
)

// Answers of every size follow each other on one connection, each whole and in
// its turn, also when all requests came at once (RFC 9112 section 9.3.2).
func TestAnswersFollowEachOther(t *testing.T) {
	t.Parallel()
	d := open(t)
	ada := d.Agent("Ada")
	long := d.MustPublish(ada.Signs("Long", journaltest.Body(strings.Repeat("Words of a long entry. ", 800)+"End."))).EntryID
	page := "/entries/" + string(long)
	paths := []struct{ method, path string }{
		{"GET", page},
		{"HEAD", page},
		{"GET", "/healthz"},
		{"GET", page},
		{"GET", "/nothing"},
		{"GET", "/v1/entries/" + string(long)},
		{"HEAD", page},
		{"GET", "/"},
		{"GET", page},
	}
	want := map[string]string{}
	large := 0
	for _, p := range paths {
		if p.method == "GET" && want[p.path] == "" {
			want[p.path] = d.get(p.path).Body
			if len(want[p.path]) > 2*4096 {
				large++
			}
		}
	}
	if large < 2 {
		t.Fatalf("%d large answers", large)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(d.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for range 5 {
		for _, p := range paths {
			all.WriteString(p.method + " " + p.path + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		}
	}
	go func() { _, _ = io.WriteString(conn, all.String()) }()
	r := bufio.NewReader(conn)
	for range 5 {
		for _, p := range paths {
			answer, err := http.ReadResponse(r, &http.Request{Method: p.method})
			if err != nil {
				t.Fatalf("%s %s: %v", p.method, p.path, err)
			}
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatalf("%s %s: %v", p.method, p.path, err)
			}
			got := string(body)
			if p.path == "/nothing" { // names its request
				if answer.StatusCode != 404 || !strings.HasSuffix(got, "</html>") {
					t.Errorf("%s: %d, %d bytes", p.path, answer.StatusCode, len(got))
				}
				continue
			}
			if p.method == "GET" && got != want[p.path] || p.method == "HEAD" && got != "" {
				t.Errorf("%s %s: %d bytes for %d", p.method, p.path, len(got), len(want[p.path]))
			}
		}
	}
}
