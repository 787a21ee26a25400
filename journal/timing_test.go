package journal_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

// BenchmarkStranger times refusals of a stranger's signed request for a
// private agent and for none, taking turns, so that a busy machine slows both.
// It reports both medians, and how far apart they are in standard errors of
// the mean difference. Run it with -benchtime=2000x for the figures in
// docs/decisions.
func BenchmarkStranger(b *testing.B) {
	for _, action := range []string{seal.ActionProfileSet, seal.ActionEntryList, seal.ActionRecoveryUse} {
		b.Run(action, func(b *testing.B) {
			j := journaltest.Open(b)
			quiet := j.Agent("Quiet")
			for range 20 {
				j.MustPublish(quiet.Signs("secret", journaltest.Private))
			}
			stranger, theirs := journaltest.Key(b, "stranger")
			_, other := journaltest.Key(b, "other")
			payload := journaltest.Bio("x")
			switch action {
			case seal.ActionEntryList:
				payload = journaltest.ListAll(5, nil)
			case seal.ActionRecoveryUse:
				payload = map[string]any{
					"recovery_public_key": theirs.String(), "new_public_key": other.String(),
					"new_key_signature": seal.Signature{}.String(),
				}
			}
			times := map[journal.AgentID][]float64{}
			actors := []journal.AgentID{quiet.ID, "agent_00000000000000000000000000000000"}
			for n := range b.N + 50 { // the first ones warm up
				for i := range actors {
					actor := actors[(i+n)%2]
					request := quiet.Asks(action, payload, journaltest.AskWith(func(e *seal.Envelope) { e.ActorID = string(actor) }), journaltest.AskSignedBy(stranger, theirs))
					begun := time.Now()
					_, err := answerOf(b.Context(), j.Journal, request)
					took := time.Since(begun)
					journaltest.WantFault(b, err, journal.InvalidSigningKey)
					if n >= 50 {
						times[actor] = append(times[actor], float64(took.Nanoseconds()))
					}
				}
			}
			private, unknown := times[actors[0]], times[actors[1]]
			var mean, square float64
			for i := range private {
				d := private[i] - unknown[i]
				mean, square = mean+d/float64(b.N), square+d*d/float64(b.N)
			}
			slices.Sort(private)
			slices.Sort(unknown)
			b.ReportMetric(private[len(private)/2]/1000, "µs-private")
			b.ReportMetric(unknown[len(unknown)/2]/1000, "µs-unknown")
			if deviation := math.Sqrt(square - mean*mean); deviation > 0 {
				b.ReportMetric(mean/(deviation/math.Sqrt(float64(b.N))), "errors-apart")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
