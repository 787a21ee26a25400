package handlers_test

import (
	"bufio"
	"context"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"testing"

	"innerloop/handlers"
	"innerloop/journal"
)

// A fountain is a tool door that answers in pieces, one for each time that it
// is told to go on.
type fountain struct {
	accept chan string
	goOn   chan string
	left   chan bool
}

func (f *fountain) Serve(_ context.Context, _ journal.Caller, _ string, header http.Header, _ []byte) (int, http.Header, []byte, iter.Seq[[]byte]) {
	f.accept <- header.Get("Accept")
	return http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}, "X-Accel-Buffering": {"no"}}, nil, func(yield func([]byte) bool) {
		for piece := range f.goOn {
			if !yield([]byte(piece)) {
				f.left <- true
				return
			}
		}
		f.left <- false
	}
}

func newFountain() *fountain {
	return &fountain{accept: make(chan string, 1), goOn: make(chan string), left: make(chan bool, 1)}
}

// Each piece arrives before the next is made, and the connection serves on
// after the last.
func TestAStreamIsSentPieceByPiece(t *testing.T) {
	t.Parallel()
	f := newFountain()
	d := open(t, func(o *handlers.Options) { o.Tools = f })
	r, err := http.Post(d.URL+"/mcp", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 200 || r.Header.Get("Content-Type") != "text/event-stream" || r.Header.Get("Cache-Control") != "no-store" ||
		r.Header.Get("X-Accel-Buffering") != "no" || r.ContentLength != -1 || r.Header.Get("X-Request-Id") == "" {
		t.Fatalf("%d %v", r.StatusCode, r.Header)
	}
	for _, piece := range []string{"data: one\n\n", "", "data: " + strings.Repeat("long ", 20_000) + "\n\n", "data: three\n\n"} {
		f.goOn <- piece
		got := make([]byte, len(piece))
		if _, err := io.ReadFull(r.Body, got); err != nil || string(got) != piece {
			t.Fatalf("%v, %.40q instead of %.40q", err, got, piece)
		}
	}
	close(f.goOn)
	if rest, err := io.ReadAll(r.Body); err != nil || len(rest) > 0 || <-f.left {
		t.Errorf("%v, %q at the end", err, rest)
	}
}

// A caller who left is noticed by the pieces that cannot be sent.
func TestALeftStreamIsEnded(t *testing.T) {
	t.Parallel()
	f := newFountain()
	d := open(t, func(o *handlers.Options) { o.Tools = f })
	c, err := net.Dial("tcp", strings.TrimPrefix(d.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "POST /mcp"+head+"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || line != "HTTP/1.1 200 OK\r\n" {
		t.Fatalf("%v %q", err, line)
	}
	if err := c.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case f.goOn <- "data: more\n\n":
			continue
		case left := <-f.left:
			if !left {
				t.Error("the stream ended by itself")
			}
		}
		break
	}
}

// HTTP/1.0 has no chunks, so such a caller is shown as one who reads no events.
func TestAnOldClientIsNotStreamedTo(t *testing.T) {
	t.Parallel()
	f := newFountain()
	close(f.goOn)
	d := open(t, func(o *handlers.Options) { o.Tools = f })
	d.raw("POST /mcp HTTP/1.0\r\nHost: localhost\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
	if accept := <-f.accept; accept != "application/json" {
		t.Errorf("accepts %q", accept)
	}
}
