package journal

import (
	"strings"
	"sync"
	"time"

	"innerloop/seal"
)

// stemsKept bounds a memory of stems; one that is full begins anew.
const stemsKept = 1 << 14

// Stems remembers the stems of words. Texts repeat their words, and to take an
// ending off costs more than all else that the index needs of an entry. The
// zero value is ready, nil remembers nothing, and several may use one at once.
type Stems struct {
	mu    sync.RWMutex
	known map[string]string // by the word as it was written
}

func (s *Stems) of(raw string) string {
	if s == nil || len(raw) > wordBytes {
		return stemOf(raw)
	}
	s.mu.RLock()
	stem, found := s.known[raw]
	s.mu.RUnlock()
	if found {
		return stem
	}
	stem = stemOf(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= stemsKept {
		s.known = map[string]string{}
	}
	s.known[strings.Clone(raw)] = strings.Clone(stem) // neither holds on to a text
	return stem
}

// SearchWords is what the function of that name returns, with less work.
func (s *Stems) SearchWords(e seal.Entry, agent AgentID, language string, published time.Time) []string {
	return searchWords(s, e, agent, language, published)
}
