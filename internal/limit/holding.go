package limit

import "sync"

// A Holding counts what callers hold at the same moment, such as connections
// or bytes, in all and for each network. It remembers a network for as long as
// it holds something. Make one with NewHolding; it is safe for concurrent use.
type Holding struct {
	mu   sync.Mutex
	most int
	all  int
	each map[Network]int
}

// NewHolding returns a Holding of at most this much in all; 0 means no limit.
func NewHolding(most int) *Holding {
	return &Holding{most: most, each: map[Network]int{}}
}

// A Refusal tells which bound was met.
type Refusal uint8

// The answers of Take.
const (
	Granted     Refusal = iota
	NetworkFull         // the network holds all that it may
	AllFull             // all together do
)

// Take lets a network hold amount more, when it then holds at most share (0
// means no limit) and all together at most the most. The unknown network is
// only counted with all. What was granted must be given back.
func (h *Holding) Take(n Network, amount, share int) Refusal {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case share > 0 && !n.IsZero() && h.each[n]+amount > share:
		return NetworkFull
	case h.most > 0 && h.all+amount > h.most:
		return AllFull
	}
	h.all += amount
	if !n.IsZero() {
		h.each[n] += amount
	}
	return Granted
}

// Give takes back what Take granted.
func (h *Holding) Give(n Network, amount int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all -= amount
	if n.IsZero() {
		return
	}
	if h.each[n] -= amount; h.each[n] <= 0 {
		delete(h.each, n)
	}
}

// Held tells how much is held in all, and by how many networks.
func (h *Holding) Held() (amount, networks int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all, len(h.each)
}
