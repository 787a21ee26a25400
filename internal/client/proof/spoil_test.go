package proof_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"innerloop/internal/archive"
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
	m.add("not-json.json", []byte("{\n"))

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

	m.spoilPage(page)
	m.spoilExport(lines)
}

func (m *maker) spoilPage(page []byte) {
	entry := func(i int, change func(e map[string]any)) func(map[string]any) {
		return func(doc map[string]any) { change(doc["entries"].([]any)[i].(map[string]any)) }
	}
	m.changed("page-shown-title.json", page, entry(0, func(e map[string]any) { e["title"] = "Another" }))
	m.changed("page-shown-tags.json", page, entry(0, func(e map[string]any) { e["tags"] = []string{"été", "light"} }))
	m.changed("page-other-author.json", page, entry(0, func(e map[string]any) { e["author_id"] = "agent_" + strings.Repeat("0", 32) }))
	m.changed("page-without-proof.json", page, entry(0, func(e map[string]any) { delete(e, "proof") }))
	m.changed("page-loud-tombstone.json", page, entry(2, func(e map[string]any) { e["title"] = "Still here" }))
	m.changed("page-entry-twice.json", page, func(doc map[string]any) {
		list := doc["entries"].([]any)
		doc["entries"] = append(list[:1:1], list...)
	})
	m.add("neither.json", []byte("{\"entry\":1}\n"))
}

// spoilExport changes lines: the agent, four keys, entries and a tombstone,
// and the digest, which is made anew where something else is to be found.
func (m *maker) spoilExport(text []byte) {
	lines := slices.Collect(strings.Lines(string(text)))
	closed := func(name string, lines []string) {
		var c archive.Counts
		body := strings.Join(lines, "")
		for _, l := range lines {
			for kind, n := range map[string]*int64{"agent": &c.Agents, "key": &c.Keys, "entry": &c.Entries, "tombstone": &c.Tombstones} {
				if strings.HasPrefix(l, `{"type":"`+kind+`"`) {
					*n++
				}
			}
		}
		m.add(name, fmt.Appendf([]byte(body), "{\"type\":\"end\",\"agents\":%d,\"keys\":%d,\"entries\":%d,\"tombstones\":%d,\"sha256\":\"%x\"}\n",
			c.Agents, c.Keys, c.Entries, c.Tombstones, sha256.Sum256([]byte(body))))
	}
	body := lines[:len(lines)-1]
	with := func(i int, line string) []string {
		changed := slices.Clone(body)
		changed[i] = line
		return changed
	}
	replaced := func(i int, from, to string) []string { return with(i, strings.Replace(body[i], from, to, -1)) }
	first := slices.IndexFunc(body, func(l string) bool { return strings.HasPrefix(l, `{"type":"entry"`) })

	m.add("export-cut.jsonl", []byte(strings.Join(body, "")))
	m.add("export-changed-digest.jsonl", []byte(strings.Join(replaced(0, "Ada", "Eve"), "")+lines[len(lines)-1]))
	m.add("export-fewer-lines.jsonl", []byte(strings.Join(body[:len(body)-1], "")+lines[len(lines)-1]))
	m.add("export-goes-on.jsonl", append(bytes.Clone(text), body[0]...))
	closed("export-changed-byte.jsonl", replaced(first, "back", "bacK"))
	closed("export-shown-title.jsonl", with(first, strings.Replace(body[first], `"title":"I am back"`, `"title":"I am gone"`, 1)))
	closed("export-spaced.jsonl", with(first, strings.Replace(body[first], `,"entry_id"`, `, "entry_id"`, 1)))
	closed("export-missing-link.jsonl", slices.Delete(slices.Clone(body), 2, 3))
	closed("export-missing-last-key.jsonl", slices.Delete(slices.Clone(body), 4, 5))
	closed("export-missing-keys.jsonl", slices.Delete(slices.Clone(body), 1, 5))
	closed("export-missing-agent.jsonl", body[1:])
	closed("export-key-below-entries.jsonl", append(slices.Clone(body), body[1]))
	closed("export-entry-twice.jsonl", append(slices.Clone(body), body[first]))
	closed("export-key-without-proof.jsonl", with(2, body[2][:strings.Index(body[2], `"proof":`)]+"\"proof\":null}\n"))
	closed("export-key-of-another-kind.jsonl", replaced(2, `"kind":"rotated"`, `"kind":"added"`))
	closed("export-key-lives-on.jsonl", with(1, regexp.MustCompile(`"revoked_at":"[^"]*"`).ReplaceAllString(body[1], `"revoked_at":null`)))
	closed("export-backdated.jsonl", with(first, strings.Replace(body[first], `"created_at":"2026-`, `"created_at":"2025-`, 1)))
	closed("export-unknown-type.jsonl", append(slices.Clone(body), "{\"type\":\"note\"}\n"))
}
