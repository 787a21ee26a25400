package journal

import (
	"errors"
	"fmt"
	"io"
	"time"

	"innerloop/internal/keyring"
	"innerloop/internal/limit"
	"innerloop/seal"
)

// Options are what a Journal is made of. Store, Now, Random and Keys are
// required.
type Options struct {
	Store  Store
	Now    func() time.Time
	Random io.Reader // safe for concurrent use, as crypto/rand.Reader is
	Keys   *keyring.Ring
	// Language names the language of a text as a BCP 47 code, or "und". Nil
	// leaves every entry "und".
	Language func(text string) string
	// Limits are what one caller may use up. Nil limits nothing; the switch
	// for writes holds all the same.
	Limits *limit.Settings
}

// A Journal applies the rules. It is safe for concurrent use.
type Journal struct {
	store     Store
	now       func() time.Time
	random    io.Reader
	language  func(string) string
	receipts  keyring.Key
	cursors   keyring.Key
	networks  keyring.Key
	limits    *limit.Settings
	meters    meters
	sketcher  *limit.Sketcher
	messages  keyring.Key // hashes the content of messages
	replies   keyring.Key // encrypts their replies
	stems     *Stems
	turns     *turns
	followers *followers
	decoy     seal.PublicKey
}

// decoyKey is the base point of the curve. A signature by an unknown signer is
// checked against it and the result thrown away, so that unknown agents cost
// the same work as known ones (protocol 6.3).
const decoyKey = "MCowBQYDK2VwAyEAWGZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmZmY="

// New makes a Journal.
func New(o Options) (*Journal, error) {
	if o.Store == nil || o.Now == nil || o.Random == nil || o.Keys == nil {
		return nil, errors.New("journal: store, clock, randomness and keys are required")
	}
	receipts, err := o.Keys.For("receipt")
	if err != nil {
		return nil, err
	}
	cursors, err := o.Keys.For("cursor")
	if err != nil {
		return nil, err
	}
	messages, err := o.Keys.For("a2a digest")
	if err != nil {
		return nil, err
	}
	replies, err := o.Keys.For("a2a reply")
	if err != nil {
		return nil, err
	}
	networks, err := o.Keys.For("network")
	if err != nil {
		return nil, err
	}
	shingles, err := o.Keys.For("shingles")
	if err != nil {
		return nil, err
	}
	sketcher, err := limit.NewSketcher([16]byte(shingles.Mac().Sum))
	if err != nil {
		return nil, err
	}
	decoy, err := seal.TrustedPublicKey(decoyKey)
	if err != nil {
		return nil, fmt.Errorf("read the decoy key: %w", err)
	}
	language := o.Language
	if language == nil {
		language = func(string) string { return "und" }
	}
	return &Journal{
		store: o.Store, now: o.Now, random: o.Random, language: language,
		receipts: receipts, cursors: cursors, messages: messages, replies: replies, decoy: decoy,
		networks: networks, limits: o.Limits, meters: newMeters(), sketcher: sketcher,
		turns: &turns{busy: map[Digest]chan struct{}{}}, followers: newFollowers(), stems: &Stems{},
	}, nil
}

// clock returns the time with the precision that is stored and shown.
func (j *Journal) clock() time.Time { return j.now().UTC().Truncate(time.Millisecond) }
