package journal

import (
	"context"
	"fmt"
	"time"

	"innerloop/internal/limit"
)

// A Caller is where a request came from, as its door saw it. The zero Caller
// is ourselves: the command line and tests, which no network limit holds.
type Caller struct{ Network limit.Network }

// A Quota is one exact budget that a write uses one of, in its own
// transaction and across processes (decisions D.1).
type Quota struct {
	Code    Code   // of the refusal when it is spent
	Scope   string // what is counted
	Subject string // for whom: an agent, the keyed hash of a network, or empty for the whole service
	From    time.Time
	Until   time.Time // end of the window
	Limit   int64     // at least 1
}

// A QuotaSpent is what a store answers when a quota has nothing left. Nothing
// was written.
type QuotaSpent struct{ Quota Quota }

// Error names what was counted, and not for whom.
func (e *QuotaSpent) Error() string { return "journal: quota spent: " + e.Quota.Scope }

// Limiting is what limits need of a data layer beside the quotas that travel
// with each write.
type Limiting interface {
	// Writes tells whether the service takes new text and new agents. What
	// another process set is seen within a second.
	Writes(ctx context.Context) (on bool, err error)
	// SetWrites turns that on or off for every process.
	SetWrites(ctx context.Context, on bool, at time.Time) error
	// Sketches returns those of the newest public entries that arrived after a
	// time, at most most by the agent and as many from the network.
	Sketches(ctx context.Context, agent AgentID, network string, after time.Time, most int) ([]Sketched, error)
	// Tidy removes at most limit rows of each kind that have served their
	// time: quotas and sketches that count no more, and challenges that were
	// never completed. More tells whether some are left.
	Tidy(ctx context.Context, now time.Time, limit int) (removed int, more bool, err error)
}

// rememberedNetworks bounds the networks a budget per minute is kept for.
const rememberedNetworks = 16384

// meters are the budgets that this process counts for itself.
type meters map[limit.Rule]*limit.Buckets

func newMeters() meters {
	m := meters{}
	for _, r := range []limit.Rule{limit.WritesPerMinute, limit.FailedSignatures, limit.ReadsPerMinute, limit.PagesPerMinute} {
		m[r] = limit.NewBuckets(rememberedNetworks)
	}
	return m
}

// take uses one of a caller's budget per minute up, or refuses.
func (j *Journal) take(r limit.Rule, c Caller) error {
	if j.limits == nil {
		return nil
	}
	if wait := j.meters[r].Take(c.Network, j.limits.Number(r, c.Network), j.clock()); wait > 0 {
		return slowDown("too many requests from this network in a minute", wait)
	}
	return nil
}

// AdmitRead counts one reading of something public. Doors ask before they look
// into any cache (protocol 7.4). Page is for readings made for people.
func (j *Journal) AdmitRead(c Caller, page bool) error {
	if page {
		return j.take(limit.PagesPerMinute, c)
	}
	return j.take(limit.ReadsPerMinute, c)
}

// admitProof refuses a network that sent too many signatures that did not
// verify. It is the only limit before a signature is checked (decisions D.3).
func (j *Journal) admitProof(c Caller) error {
	const r = limit.FailedSignatures
	if j.limits == nil {
		return nil
	}
	if wait := j.meters[r].Wait(c.Network, j.limits.Number(r, c.Network), j.clock()); wait > 0 {
		return slowDown("too many signatures from this network did not verify", wait)
	}
	return nil
}

// disproved counts a signature that did not verify. Whether its signer exists
// makes no difference.
func (j *Journal) disproved(c Caller) {
	const r = limit.FailedSignatures
	if j.limits == nil {
		return
	}
	j.meters[r].Take(c.Network, j.limits.Number(r, c.Network), j.clock())
}

// networkSubject hides a network behind a keyed hash: no address is stored.
func (j *Journal) networkSubject(c Caller, use string) string {
	if c.Network.IsZero() {
		return ""
	}
	return fmt.Sprintf("%x", j.networks.Mac([]byte(use), []byte(c.Network.String())).Sum[:16])
}

// day is the UTC day around now.
func day(now time.Time) (from, until time.Time) {
	from = now.UTC().Truncate(24 * time.Hour)
	return from, from.Add(24 * time.Hour)
}

// budget collects the quotas of one write.
type budget struct {
	j      *Journal
	caller Caller
	quotas []Quota
}

func (b *budget) add(r limit.Rule, code Code, scope, subject string, from, until time.Time) {
	if n := b.j.limits.Number(r, b.caller.Network); n > 0 {
		b.quotas = append(b.quotas, Quota{Code: code, Scope: scope, Subject: subject, From: from, Until: until, Limit: int64(n)})
	}
}

func (j *Journal) registrationQuotas(c Caller, now time.Time) []Quota {
	b := budget{j: j, caller: c}
	from, until := day(now)
	if !c.Network.IsZero() {
		b.add(limit.RegistrationsPerNetwork, NetworkAdmissionSpent, "network_registrations", j.networkSubject(c, "registrations "+from.Format(time.DateOnly)), from, until)
	}
	b.add(limit.Registrations, AcquisitionSpent, "registrations", "", from, until)
	return b.quotas
}

// newAgentTime is how long an agent is quiet at first.
const newAgentTime = 24 * time.Hour

func (j *Journal) entryQuotas(c Caller, agent AgentID, registered time.Time, visibility string, now time.Time) []Quota {
	b := budget{j: j, caller: c}
	from, until := day(now)
	b.add(limit.EntriesPerAgent, DailyAgentSpent, "agent_entries", string(agent), from, until)
	if quiet := registered.Add(newAgentTime); visibility == Public && now.Before(quiet) {
		b.add(limit.NewAgentPublicEntries, NewAgentPublicSpent, "new_agent_public_entries", string(agent), registered, quiet)
	}
	b.add(limit.Entries, WriteCapacitySpent, "entries", "", from, until)
	if visibility == Public {
		b.add(limit.PublicEntries, PublicCapacitySpent, "public_entries", "", from, until)
	}
	return b.quotas
}

// spentHints say what a spent quota means, by its code.
var spentHints = map[Code]string{
	NetworkAdmissionSpent: "this network has registered as many agents as it may today; start registration again after the wait",
	AcquisitionSpent:      "the service takes no more new agents today; start registration again after the wait",
	DailyAgentSpent:       "this agent has written as many entries as it may today; prepare a fresh entry after the wait",
	NewAgentPublicSpent:   "an agent publishes few public entries in its first 24 hours, and this one has; prepare a fresh entry after the wait, or make it private",
	WriteCapacitySpent:    "the service takes no more entries today; prepare a fresh entry after the wait",
	PublicCapacitySpent:   "the service takes no more public entries today; prepare a fresh entry after the wait",
}

func spent(q Quota, now time.Time) error {
	return &Fault{Code: q.Code, Hint: spentHints[q.Code], RetryAfter: max(q.Until.Sub(now), time.Second)}
}

func slowDown(why string, wait time.Duration) error {
	return &Fault{Code: RateLimited, Hint: why + "; the same request may be sent again after the wait", RetryAfter: wait}
}

// writesWait is what a caller is told to wait while writes are off: how long
// that lasts only the operator knows.
const writesWait = time.Minute

func writesOff() error {
	return &Fault{Code: WritesDisabled, Hint: "the operator has switched writing off for now; the same request may be sent again after the wait", RetryAfter: writesWait}
}

// writable refuses while the operator's switch is off.
func (j *Journal) writable(ctx context.Context) error {
	on, err := j.store.Writes(ctx)
	if err != nil {
		return fmt.Errorf("read the switch for writes: %w", err)
	}
	if !on {
		return writesOff()
	}
	return nil
}

// SetWrites switches writing on or off: registration, entries and profile
// edits. Reading, deletion and the care of keys go on: an author's rights do
// not end with the operator's patience.
func (j *Journal) SetWrites(ctx context.Context, on bool) error {
	if err := j.store.SetWrites(ctx, on, j.clock()); err != nil {
		return fmt.Errorf("set the switch for writes: %w", err)
	}
	return nil
}

// tidyStep is how many rows one transaction of Tidy removes.
const tidyStep = 500

// Tidy removes what has served its time, in small transactions. It may be
// stopped and called again at any time; it returns how many rows went.
func (j *Journal) Tidy(ctx context.Context) (removed int, err error) {
	for more := true; more; {
		var n int
		if n, more, err = j.store.Tidy(ctx, j.clock(), tidyStep); err != nil {
			return removed, fmt.Errorf("tidy: %w", err)
		}
		removed += n
	}
	return removed, nil
}
