package limit

import (
	"net/netip"
	"sync"
	"testing"
)

func TestHolding(t *testing.T) {
	t.Parallel()
	a, b := NetworkOf(netip.MustParseAddr("192.0.2.1")), NetworkOf(netip.MustParseAddr("198.51.100.1"))
	h := NewHolding(10)
	for i, step := range []struct {
		network       Network
		amount, share int
		want          Refusal
	}{
		{a, 4, 6, Granted},
		{a, 3, 6, NetworkFull},
		{a, 2, 6, Granted},
		{b, 5, 6, AllFull},
		{b, 4, 6, Granted},
		{Network{}, 1, 6, AllFull},
		{a, 1, 0, AllFull},
		{a, 0, 6, Granted},
	} {
		if got := h.Take(step.network, step.amount, step.share); got != step.want {
			t.Errorf("step %d: %d, want %d", i, got, step.want)
		}
	}
	if held, networks := h.Held(); held != 10 || networks != 2 {
		t.Errorf("%d held by %d networks", held, networks)
	}
	h.Give(a, 6)
	if h.Take(Network{}, 6, 1) != Granted || h.Take(b, 1, 6) != AllFull {
		t.Error("what was given back is not to be had, or the unknown network is not counted")
	}
	h.Give(Network{}, 6)
	h.Give(b, 4)
	if held, networks := h.Held(); held != 0 || networks != 0 {
		t.Errorf("%d held by %d networks after all was given back", held, networks)
	}
	if unbounded := NewHolding(0); unbounded.Take(a, 1<<40, 0) != Granted {
		t.Error("no limit limits")
	}
}

func TestHoldingNeverExceeds(t *testing.T) {
	t.Parallel()
	h := NewHolding(50)
	var group sync.WaitGroup
	for caller := range 8 {
		group.Go(func() {
			n := NetworkOf(netip.AddrFrom4([4]byte{192, 0, byte(caller), 1}))
			for range 500 {
				if h.Take(n, 7, 20) == Granted {
					if held, _ := h.Held(); held > 50 {
						t.Errorf("%d held", held)
					}
					h.Give(n, 7)
				}
			}
		})
	}
	group.Wait()
	if held, networks := h.Held(); held != 0 || networks != 0 {
		t.Errorf("%d held by %d networks at the end", held, networks)
	}
}
