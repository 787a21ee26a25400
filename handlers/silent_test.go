package handlers

import (
	"net"
	"testing"
	"time"
)

// A deadlined connection has one byte to say and keeps the deadlines it is given.
type deadlined struct {
	net.Conn
	given []time.Duration
}

func (d *deadlined) Read(b []byte) (int, error) { return copy(b, "G"), nil }

func (d *deadlined) SetReadDeadline(t time.Time) error {
	d.given = append(d.given, time.Until(t).Round(time.Second))
	return nil
}

// A connection that says its first word after the listener has closed has the
// time of any request for the others.
func TestAConnectionThatSpeaksAtTheEndIsHeard(t *testing.T) {
	t.Parallel()
	l := &lingering{closed: make(chan struct{}), silent: map[*lingerConn]struct{}{}}
	inner := &deadlined{}
	c := &lingerConn{Conn: inner, from: l}
	l.silent[c] = struct{}{}
	early := &deadlined{}
	if _, err := (&lingerConn{Conn: early, from: l}).Read(make([]byte, 1)); err != nil || len(early.given) > 0 {
		t.Fatalf("while the listener is open: %v, %v", early.given, err)
	}
	close(l.closed)
	for range 3 {
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if len(inner.given) != 2 || inner.given[0] > silentTime || inner.given[1] != readTimeout {
		t.Errorf("it was given %v", inner.given)
	}
	if len(l.silent) != 0 {
		t.Error("it is taken for silent still")
	}
}
