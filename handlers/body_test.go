package handlers

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"innerloop/internal/limit"
)

// The bound of a path holds to the byte, however a body is framed; one that
// says that it is larger is refused before any of it was sent.
func TestBodiesToTheByte(t *testing.T) {
	t.Parallel()
	h := openHall(t, limit.Defaults(), nil)
	const most = 1 << 20
	chunks := func(sizes ...int) string {
		var b strings.Builder
		b.WriteString("POST /mcp HTTP/1.1\r\nHost: g.example\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
		for _, n := range sizes {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", n, strings.Repeat("x", n))
		}
		return b.String()
	}
	for name, row := range map[string]struct {
		sent   string
		status int
		length int
	}{
		"nothing":             {announced("/mcp", 0), 200, 0},
		"one":                 {announced("/mcp", 1) + "x", 200, 1},
		"just ahead":          {announced("/mcp", readAhead) + strings.Repeat("x", readAhead), 200, readAhead},
		"one more than ahead": {announced("/mcp", readAhead+1) + strings.Repeat("x", readAhead+1), 200, readAhead + 1},
		"all":                 {announced("/mcp", most) + strings.Repeat("x", most), 200, most},
		"announced too much":  {announced("/mcp", most+1), 413, 0},
		"chunks, none":        {chunks() + "0\r\n\r\n", 200, 0},
		"chunks, a few":       {chunks(1, 10_000, 3) + "0\r\n\r\n", 200, 10_004},
		"chunks, all":         {chunks(most-5, 5) + "0\r\n\r\n", 200, most},
		"chunks, too much":    {chunks(most-5, 6), 413, 0},
		"chunks, no number":   {chunks(5) + "zz\r\n", 400, 0},
		"chunks, no end":      {chunks(5) + "5\r\nhelloXX", 400, 0},
		"a field afterwards":  {chunks(5) + "0\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n", 400, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := h.dial(honest)
			go func() { _, _ = io.WriteString(c, row.sent) }()
			r, body := h.answer(c)
			if r.StatusCode != row.status || row.status == 200 && body != fmt.Sprintf(`{"bytes":%d}`, row.length) || r.Close != (row.status != 200) {
				t.Errorf("%d %v %s", r.StatusCode, r.Header, body)
			}
		})
	}
}

// Attack: a message is cut off where it still reads as a whole one.
// Expectation: it is refused, never obeyed. fasthttp alone would obey it.
func TestCutBodiesAreNotObeyed(t *testing.T) {
	t.Parallel()
	h := openHall(t, limit.Defaults(), nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			h.come <- c
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for name, sent := range map[string]string{
		"between chunks":   head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
		"inside a chunk":   head + "Transfer-Encoding: chunked\r\n\r\n20\r\n{}",
		"before the chunk": head + "Transfer-Encoding: chunked\r\n\r\n",
		"after the last":   head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n",
		"inside a body":    head + "Content-Length: 10000\r\n\r\n" + strings.Repeat(" ", 9999),
		"inside a small":   head + "Content-Length: 3\r\n\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			h.write(c, sent)
			if err := c.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if r, body := h.answer(c); r.StatusCode != http.StatusBadRequest || !r.Close {
				t.Errorf("%d %s", r.StatusCode, body)
			}
		})
	}
}
