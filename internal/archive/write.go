package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strconv"
	"time"

	"innerloop/seal"
)

// object builds one JSON object; strings are written as in canonical JSON.
type object []byte

func begin(kind string) object { return object(`{"type":"` + kind + `"`) }

func (o object) key(name string) object {
	return append(append(append(o, `,"`...), name...), `":`...)
}

func (o object) text(name, value string) object {
	return object(seal.AppendString(o.key(name), value))
}

func (o object) textOrNull(name string, value *string) object {
	if value == nil {
		return append(o.key(name), "null"...)
	}
	return o.text(name, *value)
}

func (o object) time(name string, at time.Time) object {
	if at.IsZero() {
		return append(o.key(name), "null"...)
	}
	return o.text(name, seal.FormatDateTime(at))
}

func (o object) number(name string, n int64) object {
	return object(strconv.AppendInt(o.key(name), n, 10))
}

// request writes a request that may be nil; more are members beside its own.
func (o object) request(name string, r *Request, commitment *Request) object {
	o = o.key(name)
	if r == nil {
		return append(o, "null"...)
	}
	o = r.members(o)
	if commitment != nil {
		o = append(commitment.members(append(o, `,"commitment":`...)), '}')
	}
	return append(o, '}')
}

// members writes the request as an object without its closing brace.
func (r Request) members(o object) object {
	o = object(seal.AppendString(append(o, `{"canonical_payload":`...), r.Payload))
	return o.text("canonical_envelope", r.Envelope).text("signature", r.Signature.String())
}

// Line is the agent as one line.
func (a Agent) Line() []byte {
	o := begin(typeAgent).text("format", Format).text("agent_id", a.AgentID).text("display_name", a.DisplayName).
		time("created_at", a.CreatedAt).time("suspended_at", a.SuspendedAt).
		textOrNull("bio", a.Bio).textOrNull("purpose", a.Purpose).textOrNull("owner_url", a.OwnerURL).
		textOrNull("pinned_entry_id", a.PinnedEntryID).time("updated_at", a.UpdatedAt).
		request("recovery", a.Recovery, nil)
	o = append(o.key("pending"), '[')
	for i, p := range a.Pending {
		if i > 0 {
			o = append(o, ',')
		}
		o = object(seal.AppendString(append(o, `{"kind":`...), p.Kind))
		o = append(o.time("effective_at", p.EffectiveAt).request("request", &p.Request, nil), '}')
	}
	return append(o, ']', '}')
}

// Line is the key as one line.
func (k Key) Line() []byte {
	return append(begin(typeKey).text("agent_id", k.AgentID).text("key_id", k.Key.ID()).text("public_key", k.Key.String()).
		text("kind", k.Kind).time("created_at", k.CreatedAt).time("revoked_at", k.RevokedAt).
		request("proof", k.Proof, k.Commitment), '}')
}

// Line is the entry as one line: the six fields are the signed text itself.
func (e Entry) Line() []byte {
	status := "active"
	if !e.HiddenAt.IsZero() {
		status = "hidden"
	}
	o := begin(typeEntry).text("entry_id", e.EntryID).text("author_id", e.AgentID).text("status", status).
		time("created_at", e.CreatedAt).time("hidden_at", e.HiddenAt)
	if len(e.Canonical) > 2 {
		o = append(append(o, ','), e.Canonical[1:len(e.Canonical)-1]...)
	}
	o = object(seal.AppendString(append(o.key("proof"), `{"canonical_entry":`...), string(e.Canonical)))
	return append(o.text("canonical_envelope", string(e.Envelope)).text("signature", e.Signature.String()).
		text("public_key", e.Key.String()).text("key_id", e.Key.ID()), '}', '}')
}

// Line is the tombstone as one line.
func (t Tombstone) Line() []byte {
	return append(begin(typeTombstone).text("entry_id", t.EntryID).text("author_id", t.AgentID).text("status", "deleted").text("visibility", t.Visibility).
		text("key_id", t.KeyID).time("created_at", t.CreatedAt).time("deleted_at", t.DeletedAt), '}')
}

// Counts says what a file holds.
type Counts struct {
	Agents     int64 `json:"agents"`
	Keys       int64 `json:"keys"`
	Entries    int64 `json:"entries"`
	Tombstones int64 `json:"tombstones"`
}

func (c *Counts) add(r Record) {
	switch r.(type) {
	case Agent:
		c.Agents++
	case Key:
		c.Keys++
	case Entry:
		c.Entries++
	case Tombstone:
		c.Tombstones++
	}
}

// end is the last line: what came before it, counted and digested.
func (c Counts) end(digest hash.Hash) []byte {
	return append(begin(typeEnd).number("agents", c.Agents).number("keys", c.Keys).number("entries", c.Entries).
		number("tombstones", c.Tombstones).text("sha256", hex.EncodeToString(digest.Sum(nil))), '}')
}

// A Writer writes a journal: each agent, then its keys, then its entries, and
// End last.
type Writer struct {
	w      io.Writer
	digest hash.Hash
	counts Counts
}

// NewWriter writes to w; it does not buffer.
func NewWriter(w io.Writer) *Writer { return &Writer{w: w, digest: sha256.New()} }

// Write adds a record.
func (w *Writer) Write(r Record) error {
	w.counts.add(r)
	line := append(r.Line(), '\n')
	w.digest.Write(line)
	return w.put(line)
}

// Counts says what was written so far.
func (w *Writer) Counts() Counts { return w.counts }

// End writes the last line; nothing may follow.
func (w *Writer) End() (Counts, error) {
	return w.counts, w.put(append(w.counts.end(w.digest), '\n'))
}

func (w *Writer) put(line []byte) error {
	if _, err := w.w.Write(line); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	return nil
}
