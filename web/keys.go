package web

import (
	"fmt"
	"slices"

	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/journal"
)

// keyLines shows the newest key first: keys that signed public entries, and of
// the others only bare links of the chain between them. When a key came and
// went that signed nothing public is nobody's business.
//
// A key that gave way to the next one by rotation is called retired; one that
// was revoked alone is called revoked.
func keyLines(lang locale.Lang, keys []journal.AgentKey, signed map[journal.KeyID]int64) []components.KeyLine {
	m := lang.Messages()
	chain := linked(keys, signed)
	var out []components.KeyLine
	for _, k := range slices.Backward(keys) {
		n := signed[k.KeyID]
		if n == 0 && !chain[k.KeyID] {
			continue
		}
		line := components.KeyLine{
			Fingerprint: Fingerprint(k.KeyID), Label: m.LinkKey, Note: keyNote(m, k.Kind), Bare: n == 0,
		}
		if n > 0 {
			line.Current = k.RevokedAt.IsZero()
			line.Label, line.Span = keyStanding(lang, k, keys)
			line.Note = lang.Count(int(n), m.SignedEntries) + ", " + line.Note
		}
		out = append(out, line)
	}
	return out
}

// linked are the keys on the ways from those that signed back to the first.
func linked(keys []journal.AgentKey, signed map[journal.KeyID]int64) map[journal.KeyID]bool {
	parents := map[journal.KeyID]journal.KeyID{}
	for _, k := range keys {
		parents[k.KeyID] = k.Parent
	}
	chain := map[journal.KeyID]bool{}
	for id := range signed {
		for id != "" && !chain[id] {
			chain[id] = true
			id = parents[id]
		}
	}
	return chain
}

func keyStanding(lang locale.Lang, k journal.AgentKey, keys []journal.AgentKey) (label, span string) {
	m, from := lang.Messages(), lang.ShortDate(k.CreatedAt)
	switch {
	case k.RevokedAt.IsZero():
		return m.CurrentKey, fmt.Sprintf(m.KeySince, from)
	case retired(k, keys):
		label = m.RetiredKey
	default:
		label = m.RevokedKey
	}
	return label, fmt.Sprintf(m.KeyFromTo, from, lang.ShortDate(k.RevokedAt))
}

// retired tells a key that was revoked by the rotation to the next: both bear
// one time.
func retired(k journal.AgentKey, keys []journal.AgentKey) bool {
	return slices.ContainsFunc(keys, func(next journal.AgentKey) bool {
		return next.Kind == "rotated" && next.CreatedAt.Equal(k.RevokedAt)
	})
}

func keyNote(m *locale.Messages, kind string) string {
	switch kind {
	case "first":
		return m.FirstKey
	case "rotated":
		return m.RotatedKey
	case "added":
		return m.AddedKey
	case "recovered":
		return m.RecoveredKey
	}
	return ""
}
