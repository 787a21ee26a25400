package handlers

import (
	"bytes"
	"errors"
	"net"
	"testing"
)

// noted is a connection that keeps what is written to it, and fails when it is
// full.
type noted struct {
	net.Conn
	writes [][]byte
	room   int
}

func (n *noted) Write(b []byte) (int, error) {
	took := min(len(b), n.room)
	n.room -= took
	n.writes = append(n.writes, bytes.Clone(b[:took]))
	if took < len(b) {
		return took, errors.New("full")
	}
	return took, nil
}

func TestTheFirstPieceWaitsForTheSecond(t *testing.T) {
	t.Parallel()
	to := &noted{room: 100}
	c := &lingerConn{Conn: to, from: &lingering{}}
	write := func(text string, want int, fails bool) {
		t.Helper()
		n, err := c.Write([]byte(text))
		if n != want || (err != nil) != fails {
			t.Errorf("%q: %d, %v; want %d", text, n, err, want)
		}
	}
	write("small", 5, false)
	if len(to.writes) != 1 {
		t.Fatalf("a small answer waits: %q", to.writes)
	}
	c.joined.awaited = true
	piece := []byte("first ")
	if n, err := c.Write(piece); n != 6 || err != nil || len(to.writes) != 1 {
		t.Fatalf("%d, %v, %q", n, err, to.writes)
	}
	copy(piece, "spoilt")
	write("second", 6, false)
	write(" third", 6, false)
	if got := string(bytes.Join(to.writes, nil)); got != "smallfirst second third" {
		t.Errorf("written: %q", got)
	}
	// What was kept counts as written once; a failure tells what came of the rest.
	to.room = 8
	c.joined.awaited = true
	write("first ", 6, false)
	write("second", 2, true)
	to.room = 3
	c.joined.awaited = true
	write("first ", 6, false)
	write("second", 0, true)
}
