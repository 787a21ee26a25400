package archive

import (
	"bytes"
	"time"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// Parse reads one line that is not the last. A line in any other form than the
// one that Line writes is refused: order, spacing, escapes and members are all
// fixed, and the fields shown are those of the signed text.
func Parse(line []byte) (Record, error) {
	v, err := strictjson.Parse(line)
	if err != nil || v.Kind() != strictjson.Object {
		return nil, &Refused{Rule: Form}
	}
	r, err := FromValue(v)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(r.Line(), line) {
		return nil, &Refused{ID: safeID(r.id()), Rule: Form}
	}
	return r, nil
}

// FromValue reads a record from an object with the members of a line, in any
// order and spelling: what Line makes of it has the one form.
func FromValue(v strictjson.Value) (Record, error) {
	p := &fields{v: v}
	var r Record
	switch kind := p.text("type"); kind {
	case typeAgent:
		if p.text("format") != Format {
			return nil, &Refused{ID: safeID(p.text("agent_id")), Rule: UnknownFormat}
		}
		r = p.agent()
	case typeKey:
		r = p.key()
	case typeEntry:
		r = p.entry()
	case typeTombstone:
		r = p.tombstone()
	default:
		return nil, &Refused{Rule: UnknownType}
	}
	if p.failed {
		return nil, &Refused{ID: safeID(r.id()), Rule: Form}
	}
	return r, nil
}

// FromOwner reads an entry or tombstone as the service gives it to its owner
// (docs/protocol.md 6.5, 14.5).
func FromOwner(v strictjson.Value) (Record, error) {
	p := &fields{v: v}
	var r Record
	if p.text("status") == "deleted" {
		r = p.tombstone()
	} else {
		p.optional = true // hidden_at stands in hidden entries alone
		r = p.entry()
	}
	if p.failed {
		return nil, &Refused{ID: safeID(r.id()), Rule: Form}
	}
	return r, nil
}

// fields reads the members of an object; after the first that is not as it
// must be it has failed.
type fields struct {
	v        strictjson.Value
	optional bool // a time that is missing is null
	failed   bool
}

func (p *fields) get(name string) strictjson.Value {
	v, _ := p.v.Get(name)
	return v
}

func (p *fields) text(name string) string {
	text, ok := p.get(name).Text()
	if !ok {
		p.failed = true
	}
	return text
}

func (p *fields) textOrNull(name string) *string {
	v := p.get(name)
	if v.Kind() == strictjson.Null {
		return nil
	}
	text := p.text(name)
	return &text
}

func (p *fields) time(name string) time.Time {
	at, err := seal.ParseDateTime(p.text(name))
	// Every time here is the service's own. The bounds keep out what would be
	// written in another form than it is read: the zero time, which stands for
	// null, and years that have no four digits in UTC.
	if err != nil || at.Year() < 1970 || at.Year() > 9998 {
		p.failed = true
	}
	return at
}

func (p *fields) timeOrNull(name string) time.Time {
	v, present := p.v.Get(name)
	if v.Kind() == strictjson.Null || p.optional && !present {
		return time.Time{}
	}
	return p.time(name)
}

func (p *fields) signature(name string) seal.Signature {
	s, err := seal.ParseSignature(p.text(name))
	if err != nil {
		p.failed = true
	}
	return s
}

func (p *fields) publicKey(name string) seal.PublicKey {
	k, err := seal.ParsePublicKey(p.text(name))
	if err != nil {
		p.failed = true
	}
	return k
}

// within reads a member that is an object with read, and joins the failures.
func (p *fields) within(name string, read func(*fields)) {
	inner := &fields{v: p.get(name)}
	read(inner)
	p.failed = p.failed || inner.failed
}

func (p *fields) request() *Request {
	return &Request{Payload: p.text("canonical_payload"), Envelope: p.text("canonical_envelope"), Signature: p.signature("signature")}
}

func (p *fields) requestOrNull(name string) (r *Request) {
	if p.get(name).Kind() != strictjson.Null {
		p.within(name, func(p *fields) { r = p.request() })
	}
	return r
}

func (p *fields) agent() Agent {
	a := Agent{
		AgentID: p.text("agent_id"), DisplayName: p.text("display_name"),
		CreatedAt: p.time("created_at"), SuspendedAt: p.timeOrNull("suspended_at"),
		Bio: p.textOrNull("bio"), Purpose: p.textOrNull("purpose"), OwnerURL: p.textOrNull("owner_url"),
		PinnedEntryID: p.textOrNull("pinned_entry_id"), UpdatedAt: p.timeOrNull("updated_at"),
		Recovery: p.requestOrNull("recovery"),
	}
	for _, item := range p.get("pending").Items() {
		inner := &fields{v: item}
		pending := Pending{Kind: inner.text("kind"), EffectiveAt: inner.time("effective_at")}
		if r := inner.requestOrNull("request"); r != nil {
			pending.Request = *r
		}
		p.failed = p.failed || inner.failed
		a.Pending = append(a.Pending, pending)
	}
	p.failed = p.failed || !validID("agent", a.AgentID)
	return a
}

func (p *fields) key() Key {
	k := Key{
		AgentID: p.text("agent_id"), Key: p.publicKey("public_key"), Kind: p.text("kind"),
		CreatedAt: p.time("created_at"), RevokedAt: p.timeOrNull("revoked_at"), Proof: p.requestOrNull("proof"),
	}
	if k.Proof != nil {
		p.within("proof", func(p *fields) {
			if _, present := p.v.Get("commitment"); present {
				k.Commitment = p.requestOrNull("commitment")
			}
		})
	}
	p.failed = p.failed || !validID("agent", k.AgentID)
	return k
}

func (p *fields) entry() Entry {
	e := Entry{
		EntryID: p.text("entry_id"), AgentID: p.text("author_id"),
		CreatedAt: p.time("created_at"), HiddenAt: p.timeOrNull("hidden_at"),
	}
	p.within("proof", func(p *fields) {
		e.Canonical, e.Envelope = []byte(p.text("canonical_entry")), []byte(p.text("canonical_envelope"))
		e.Signature, e.Key = p.signature("signature"), p.publicKey("public_key")
	})
	// The line is written around the canonical text as it is, so a text that is
	// no canonical entry would make a line that is no JSON.
	_, err := seal.ParseEntry(e.Canonical)
	p.failed = p.failed || err != nil || !validID("entry", e.EntryID) || !validID("agent", e.AgentID)
	return e
}

func (p *fields) tombstone() Tombstone {
	t := Tombstone{
		EntryID: p.text("entry_id"), AgentID: p.text("author_id"), Visibility: p.text("visibility"),
		KeyID: p.text("key_id"), CreatedAt: p.time("created_at"), DeletedAt: p.time("deleted_at"),
	}
	p.failed = p.failed || !validID("entry", t.EntryID) || !validID("agent", t.AgentID) ||
		t.Visibility != "public" && t.Visibility != "private"
	return t
}
