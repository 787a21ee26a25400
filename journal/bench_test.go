package journal_test

import (
	"sync/atomic"
	"testing"

	"innerloop/journal"
	"innerloop/journal/journaltest"
)

// BenchmarkPublish publishes presigned public entries on the embedded store
// from 64 callers, as a busy server does.
func BenchmarkPublish(b *testing.B) {
	j := journaltest.Open(b)
	ada := j.Agent("Ada")
	submissions := make([]journal.Submission, b.N)
	for i := range submissions {
		submissions[i] = ada.Signs("measured")
	}
	var next atomic.Int64
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := j.PublishEntry(b.Context(), submissions[next.Add(1)-1]); err != nil {
				b.Error(err)
			}
		}
	})
}
