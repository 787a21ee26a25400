package connect

// Fit is tested alone, since each service has a shape of its own.
var Fit = fit

// Occupy takes every place of jq programs, as so many calls would.
func (e *Engine) Occupy() (release func()) {
	for range cap(e.selecting) {
		e.selecting <- struct{}{}
	}
	return func() {
		for range cap(e.selecting) {
			<-e.selecting
		}
	}
}
