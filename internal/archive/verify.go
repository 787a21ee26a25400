package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"innerloop/seal"
)

// lineMax bounds a line in bytes: the largest entry stays far below it.
const lineMax = 2 << 20

// slack is how far two processes' clocks and the length of a request may put
// an entry and the life of its key apart.
const slack = 2 * time.Minute

// A Place is where a record stands in the file.
type Place struct {
	Line   int   // from 1
	Offset int64 // of its first byte
	Length int   // in bytes, without the line feed
}

// Verify reads a whole file and hands each record that holds to take, in
// order: an agent after its own line, its keys when the whole chain holds,
// entries and tombstones after them. It stops at the first line that does not
// hold, with a *Refused, or at the first error of take. What take was handed
// is worth nothing before Verify returned without an error.
func Verify(r io.Reader, take func(at Place, r Record) error) (Counts, error) {
	c := &checker{take: take, digest: sha256.New(), seen: map[[16]byte]bool{}}
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			break
		}
		c.at.Line++
		c.at.Length = len(line)
		if errors.Is(err, errLine) {
			return c.counts, c.refuse(nil, Form)
		}
		if err != nil {
			return c.counts, fmt.Errorf("read archive: %w", err)
		}
		if err := c.line(line); err != nil {
			return c.counts, err
		}
		c.at.Offset += int64(len(line)) + 1
	}
	if !c.ended {
		c.at.Line++
		return c.counts, c.refuse(nil, Truncated)
	}
	return c.counts, nil
}

var errLine = errors.New("archive: not a line")

// readLine returns a line without its line feed. A last line that lacks one,
// or a longer line than any record has, is errLine.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF), errors.Is(err, bufio.ErrBufferFull) && len(line) > lineMax:
			return nil, errLine
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// checker follows a file from line to line.
type checker struct {
	take   func(Place, Record) error
	digest hash.Hash
	counts Counts
	at     Place
	ended  bool
	// seen holds what may stand in a file once: ids and signed requests,
	// shortened so that millions fit.
	seen map[[16]byte]bool

	agent *Agent         // whose lines these are
	keys  []placedKey    // of agent, not yet handed on while open
	open  bool           // more keys may come
	chain map[string]Key // keys of agent by id
}

type placedKey struct {
	Key
	at Place
}

func (c *checker) refuse(r Record, rule Rule) error {
	id := ""
	if r != nil {
		id = r.id()
	}
	return &Refused{Line: c.at.Line, ID: safeID(id), Rule: rule}
}

// once is false for what was seen before.
func (c *checker) once(kind, what string) bool {
	sum := sha256.Sum256([]byte(kind + "\x00" + what))
	key := [16]byte(sum[:16])
	if c.seen[key] {
		return false
	}
	c.seen[key] = true
	return true
}

func (c *checker) line(line []byte) error {
	if c.ended {
		return c.refuse(nil, AfterEnd)
	}
	if bytes.HasPrefix(line, begin(typeEnd)) {
		return c.end(line)
	}
	r, err := Parse(line)
	var refused *Refused
	if errors.As(err, &refused) {
		refused.Line = c.at.Line
		return refused
	}
	c.digest.Write(line)
	c.digest.Write([]byte{'\n'})
	c.counts.add(r)
	if _, isKey := r.(Key); !isKey {
		if err := c.closeKeys(); err != nil {
			return err
		}
	}
	switch r := r.(type) {
	case Agent:
		return c.newAgent(r)
	case Key:
		return c.newKey(r)
	case Entry:
		if rule := c.entry(r); rule != "" {
			return c.refuse(r, rule)
		}
	case Tombstone:
		if rule := c.tombstone(r); rule != "" {
			return c.refuse(r, rule)
		}
	}
	return c.take(c.at, r)
}

// end compares the last line with what came before it.
func (c *checker) end(line []byte) error {
	if err := c.closeKeys(); err != nil {
		return err
	}
	c.ended = true
	want := c.counts.end(c.digest)
	switch digest := len(`,"sha256":"`) + 64 + 2; {
	case bytes.Equal(line, want):
		return nil
	case len(line) == len(want) && bytes.Equal(line[:len(line)-digest], want[:len(want)-digest]):
		return c.refuse(nil, WrongDigest)
	}
	return c.refuse(nil, WrongCounts)
}

func (c *checker) newAgent(a Agent) error {
	if !c.once("id", a.AgentID) {
		return c.refuse(a, DuplicateID)
	}
	c.agent, c.keys, c.open, c.chain = &a, nil, true, map[string]Key{}
	return c.take(c.at, a)
}

func (c *checker) newKey(k Key) error {
	switch {
	case c.agent == nil || c.agent.AgentID != k.AgentID:
		return c.refuse(k, UnknownAgent)
	case !c.open:
		return c.refuse(k, OutOfPlace)
	case !c.once("id", k.Key.ID()):
		return c.refuse(k, DuplicateID)
	}
	c.chain[k.Key.ID()] = k
	c.keys = append(c.keys, placedKey{k, c.at})
	return nil
}

// closeKeys checks the history of an agent's keys as a whole, once all of its
// lines are there, and hands the keys on.
func (c *checker) closeKeys() error {
	if c.agent == nil || !c.open {
		return nil
	}
	c.open = false
	here := c.at
	defer func() { c.at = here }()
	if len(c.keys) == 0 {
		return c.refuse(*c.agent, MissingLink)
	}
	h := history{agent: *c.agent, keys: c.chain}
	for _, k := range c.keys {
		c.at = k.at
		if rule := h.check(k.Key); rule != "" {
			return c.refuse(k.Key, rule)
		}
	}
	if rule := h.agentRule(); rule != "" {
		return c.refuse(*c.agent, rule)
	}
	for _, k := range c.keys {
		if err := c.take(k.at, k.Key); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) entry(e Entry) Rule {
	switch {
	case c.agent == nil || c.agent.AgentID != e.AgentID:
		return UnknownAgent
	case !c.once("id", e.EntryID):
		return DuplicateID
	}
	entry, err := seal.ParseEntry(e.Canonical)
	if err != nil {
		return Form
	}
	envelope, err := seal.ParseEnvelope(e.Envelope)
	if err != nil {
		return Form
	}
	key, known := c.chain[e.Key.ID()]
	switch {
	case !known:
		return ForeignKey
	case envelope.ActorID != e.AgentID:
		return ForeignAgent
	case envelope.Action != seal.ActionEntryCreate:
		return WrongAction
	}
	if rule := proven(key.Key, e.Canonical, envelope, e.Signature); rule != "" {
		return rule
	}
	window, err := envelope.Window()
	switch {
	case err != nil, !window.Contains(e.CreatedAt), !key.lives(e.CreatedAt), !e.HiddenAt.IsZero() && e.HiddenAt.Before(e.CreatedAt):
		return Dates
	case !e.HiddenAt.IsZero() && entry.Visibility != "public":
		return NotPublic
	case !c.once("nonce", e.AgentID+" "+envelope.Nonce):
		return DuplicateUse
	}
	return ""
}

func (c *checker) tombstone(t Tombstone) Rule {
	key, known := Key{}, false
	if c.agent != nil {
		key, known = c.chain[t.KeyID]
	}
	switch {
	case c.agent == nil || c.agent.AgentID != t.AgentID:
		return UnknownAgent
	case !c.once("id", t.EntryID):
		return DuplicateID
	case !known:
		return ForeignKey
	case t.DeletedAt.Before(t.CreatedAt), !key.lives(t.CreatedAt):
		return Dates
	}
	return ""
}

// lives tells whether the key could sign at a time.
func (k Key) lives(at time.Time) bool {
	return !at.Add(slack).Before(k.CreatedAt) && (k.RevokedAt.IsZero() || !at.After(k.RevokedAt.Add(slack)))
}

// proven is the rule that a signed text breaks, empty when it holds.
func proven(key seal.PublicKey, payload []byte, envelope seal.Envelope, signature seal.Signature) Rule {
	_, err := seal.Prove(key, payload, envelope, signature)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, seal.ErrPayloadHash):
		return PayloadHash
	case errors.Is(err, seal.ErrSigningKey):
		return ForeignKey
	}
	return Signature
}
