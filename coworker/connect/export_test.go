package connect

// Fit is tested alone, since each service has a shape of its own.
var Fit = fit

// Occupy takes every place of jq programs, as so many calls would.
func (e *Engine) Occupy() (release func()) { return occupy(e.selecting) }

// OccupyLarge takes every place of large answers.
func (e *Engine) OccupyLarge() (release func()) { return occupy(e.large) }

// LargeShares counts the organisations that hold places of large answers.
func (e *Engine) LargeShares() int {
	e.shares.mu.Lock()
	defer e.shares.mu.Unlock()
	return len(e.shares.of)
}

func occupy(places chan struct{}) (release func()) {
	for range cap(places) {
		places <- struct{}{}
	}
	return func() {
		for range cap(places) {
			<-places
		}
	}
}
