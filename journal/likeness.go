package journal

import (
	"context"
	"fmt"
	"time"

	"innerloop/internal/limit"
)

// A Sketch is kept of each public entry for some days, so that nearly the same
// text is known again (decisions D.7). Private text leaves none.
type Sketch struct {
	Network string // keyed hash; empty when unknown
	Values  limit.Sketch
	Until   time.Time // from when on it counts no more
}

// Sketched is the sketch of an earlier entry.
type Sketched struct {
	At     time.Time
	Values limit.Sketch
}

// sketchCandidates bounds the earlier texts an entry is compared with: so many
// of its agent and so many of its network, the newest.
const sketchCandidates = 200

// novel returns the sketch to keep of a public entry, or refuses one that says
// nearly what the same agent or network published before. The wait it names
// ends when the earlier text counts no more.
func (j *Journal) novel(ctx context.Context, s Submission, now time.Time) (*Sketch, error) {
	days, percent := j.limits.Number(limit.SimilarDays, s.Caller.Network), j.limits.Number(limit.SimilarPercent, s.Caller.Network)
	if s.Entry.Visibility != Public || days == 0 || percent == 0 {
		return nil, nil
	}
	life := time.Duration(days) * 24 * time.Hour
	sketch := &Sketch{
		Network: j.networkSubject(s.Caller, "sketches"),
		Values:  j.sketcher.Sketch(s.Entry.Title + "\n" + s.Entry.Body),
		Until:   now.Add(life),
	}
	earlier, err := j.store.Sketches(ctx, AgentID(s.Envelope.ActorID), sketch.Network, now.Add(-life), sketchCandidates)
	if err != nil {
		return nil, fmt.Errorf("read sketches: %w", err)
	}
	var wait time.Duration
	for _, e := range earlier {
		if limit.Likeness(sketch.Values, e.Values)*100 >= float64(percent) {
			wait = max(wait, e.At.Add(life).Sub(now), time.Second)
		}
	}
	if wait > 0 {
		return nil, slowDown("nearly the same text was published by this agent or from this network in the last days; say something new", wait)
	}
	return sketch, nil
}
