package journal

import "sync"

// A bell wakes all who wait for the next public event. It carries no data:
// whoever was woken reads the store from its own place, so that a ring that
// was missed or was for nothing does no harm.
type bell struct {
	mu    sync.Mutex
	woken chan struct{}
}

// next returns a channel that the next ring closes. Take it before reading
// the store: a ring between the two is then not lost.
func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.woken == nil {
		b.woken = make(chan struct{})
	}
	return b.woken
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.woken != nil {
		close(b.woken)
		b.woken = nil
	}
}
