package proof_test

import (
	"bytes"
	"strings"

	"innerloop/seal"
)

// spoil writes the good documents and one for each lie.
func (m *maker) spoil(first, last, lines, page []byte) {
	m.add("proof-first-key.json", first)
	m.add("proof.json", last)
	m.changed("proof-written-otherwise.json", last, func(map[string]any) {})
	m.add("export.jsonl", lines)
	m.add("export-page.json", page)
	m.add("empty.jsonl", nil)
	m.add("not-json.jsonl", append(bytes.Clone(lines), "{\n"...))

	swap := func(name, from, to string) func(map[string]any) {
		return func(doc map[string]any) { doc[name] = strings.Replace(doc[name].(string), from, to, 1) }
	}
	m.changed("changed-byte.json", last, swap("canonical_entry", "back", "bacK"))
	m.changed("changed-envelope.json", last, swap("canonical_envelope", "2026", "2027"))
	m.changed("changed-signature.json", last, func(doc map[string]any) {
		doc["signature"] = strings.Repeat("A", 86) + "=="
	})
	m.changed("other-agent.json", last, func(doc map[string]any) { doc["agent_id"] = "agent_" + strings.Repeat("0", 32) })
	m.changed("other-key-id.json", last, func(doc map[string]any) { doc["key_id"] = "key_" + strings.Repeat("0", 64) })
	m.changed("not-a-key.json", last, func(doc map[string]any) { doc["public_key"] = strings.Repeat("A", 60) })
	m.changed("backdated.json", last, func(doc map[string]any) { doc["created_at"] = "2026-12-01T00:00:00.000Z" })
	m.changed("no-signature.json", last, func(doc map[string]any) { delete(doc, "signature") })

	// A foreign key signs the same words with its own id in the envelope.
	m.changed("foreign-key.json", last, func(doc map[string]any) {
		key, err := seal.GenerateKey(bytes.NewReader(bytes.Repeat([]byte{9}, 32)))
		must(m.t, err)
		public, err := key.Public()
		must(m.t, err)
		own := doc["key_id"].(string)
		envelope := strings.Replace(doc["canonical_envelope"].(string), own, public.ID(), 1)
		doc["canonical_envelope"], doc["signature"] = envelope, key.Sign([]byte(envelope)).String()
		doc["public_key"], doc["key_id"] = public.String(), public.ID()
	})

	chain := func(change func(links []any) []any) func(map[string]any) {
		return func(doc map[string]any) { doc["key_chain"] = change(doc["key_chain"].([]any)) }
	}
	m.changed("missing-link.json", last, chain(func(l []any) []any { return append(l[:1:1], l[2:]...) }))
	m.changed("missing-first-link.json", last, chain(func(l []any) []any { return l[1:] }))
	m.changed("missing-last-link.json", last, chain(func(l []any) []any { return l[:len(l)-1] }))
	m.changed("missing-chain.json", last, func(doc map[string]any) { delete(doc, "key_chain") })
	inLink := func(i int, change func(link map[string]any)) func(map[string]any) {
		return chain(func(l []any) []any { change(l[i].(map[string]any)); return l })
	}
	inProof := func(i int, name, from, to string) func(map[string]any) {
		return inLink(i, func(l map[string]any) { swap(name, from, to)(l["proof"].(map[string]any)) })
	}
	m.changed("link-without-proof.json", last, inLink(1, func(l map[string]any) { l["proof"] = nil }))
	m.changed("link-of-another-kind.json", last, inLink(1, func(l map[string]any) { l["kind"] = "added" }))
	m.changed("link-changed-payload.json", last, inProof(2, "canonical_payload", "new_public_key", "old_public_key"))
	m.changed("link-changed-envelope.json", last, inProof(2, "canonical_envelope", "nonce\":\"", "nonce\":\"x"))
	m.changed("link-other-id.json", last, inLink(2, func(l map[string]any) { l["key_id"] = "key_" + strings.Repeat("0", 64) }))
	m.changed("link-without-commitment.json", last, inLink(3, func(l map[string]any) { delete(l["proof"].(map[string]any), "commitment") }))
	m.changed("link-shows-another-key.json", last, inLink(3, func(l map[string]any) { l["public_key"] = strings.Repeat("A", 60) }))

	line := func(i int) []byte { return append(bytes.Split(lines, []byte("\n"))[i], '\n') }
	m.changed("export-shown-title.jsonl", line(0), func(doc map[string]any) { doc["title"] = "Another" })
	m.changed("export-shown-tags.jsonl", line(0), func(doc map[string]any) { doc["tags"] = []string{"été", "light"} })
	m.changed("export-other-author.jsonl", line(0), func(doc map[string]any) { doc["author_id"] = "agent_" + strings.Repeat("0", 32) })
	m.changed("export-without-proof.jsonl", line(0), func(doc map[string]any) { delete(doc, "proof") })
	m.add("export-entry-twice.jsonl", append(line(0), line(0)...))
	m.changed("export-loud-tombstone.jsonl", line(2), func(doc map[string]any) { doc["title"] = "Still here" })
	m.add("export-not-an-entry.jsonl", []byte("{\"entry\":1}\n"))
}
