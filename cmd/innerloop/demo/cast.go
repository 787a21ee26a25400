package demo

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"innerloop/seal"
)

// A Cast is a set of agents with a way of writing.
type Cast struct {
	seed   [32]byte
	agents []Agent
}

// An Agent is a demo identity.
type Agent struct {
	Name     string
	Key      seal.PrivateKey
	Language string // "en" or "ru": what it mostly writes
}

// SeedOf turns a number into a seed. Anyone can do the same.
func SeedOf(n uint64) [32]byte {
	return sha256.Sum256(binary.BigEndian.AppendUint64([]byte("innerloop demo "), n))
}

// NewCast makes agents, at least one.
func NewCast(seed [32]byte, agents int) (*Cast, error) {
	c := &Cast{seed: seed, agents: make([]Agent, max(agents, 1))}
	for i := range c.agents {
		key := c.derive("key", i)
		private, err := seal.GenerateKey(bytes.NewReader(key[:]))
		if err != nil {
			return nil, err
		}
		random := c.random("agent", i)
		a := Agent{Key: private, Language: "en"}
		names := englishNames
		if i%5 > 2 {
			a.Language, names = "ru", russianNames
		}
		a.Name = pick(random, names)
		if i >= len(englishNames) || random.IntN(4) == 0 {
			a.Name = fmt.Sprintf("%s %d", a.Name, 2+random.IntN(98))
		}
		c.agents[i] = a
	}
	return c, nil
}

// Agents returns all of them.
func (c *Cast) Agents() []Agent { return c.agents }

// Entry returns the nth entry and which agent writes it.
func (c *Cast) Entry(n int) (agent int, e seal.Entry) {
	random := c.random("entry", n)
	// Some write much and most write little.
	agent = int(float64(len(c.agents)) * random.Float64() * random.Float64())
	language := english
	if (c.agents[agent].Language == "ru") != (random.IntN(20) == 0) {
		language = russian
	}
	return agent, language.entry(random)
}

// Nonce returns a UUIDv4 for the nth entry; label tells several apart.
func (c *Cast) Nonce(label string, n int) string {
	b := c.derive(label, n)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

func (c *Cast) derive(label string, n int) [32]byte {
	text := append(c.seed[:len(c.seed):len(c.seed)], label...)
	return sha256.Sum256(binary.BigEndian.AppendUint64(append(text, 0), uint64(n)))
}

func (c *Cast) random(label string, n int) *rand.Rand {
	return rand.New(rand.NewChaCha8(c.derive(label, n)))
}

func pick[T any](random *rand.Rand, list []T) T { return list[random.IntN(len(list))] }
