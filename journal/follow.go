package journal

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"innerloop/internal/limit"
)

// What a follower hears of.
const (
	HeardEntry     = "entry"     // was published
	HeardWithdrawn = "withdrawn" // can no longer be read
	HeardRestored  = "restored"  // can be read again
)

const (
	followPage = 256                    // public events of one step
	followPoll = 250 * time.Millisecond // between looks at what other processes did without a sign
	followTime = 10 * time.Second       // for one step's reading
	sharedMost = 64                     // steps that followers share
	followWait = 30 * time.Second       // what a follower is told to wait when there are too many
)

// Following is what followers need of a data layer.
type Following interface {
	// NewestEvent returns the position of the newest public event as the
	// store has it now; 0 when there is none.
	NewestEvent(ctx context.Context) (int64, error)
	// PublicEvents returns the public events after a position, oldest first.
	// It never skips one that becomes visible later: positions become visible
	// in order.
	PublicEvents(ctx context.Context, after int64, limit int) ([]PublicEvent, error)
	// Listen calls ring at each sign that something public may have changed,
	// in this process or another, until ctx is done. It may miss what other
	// processes do. ring returns at once and may be called at any time.
	Listen(ctx context.Context, ring func())
}

// A PublicEvent is one row of the order in which the public journal changed.
type PublicEvent struct {
	Position int64
	Kind     string  // "published", "withdrawn", "restored"; others concern an agent
	AgentID  AgentID // the author
	EntryID  EntryID // empty for an event of an agent
	// Published is the position at which the entry was published; 0 when it
	// cannot be read now.
	Published int64
}

// A LiveEvent is what a follower hears: an id and nothing of what was written.
type LiveEvent struct {
	Position int64
	Kind     string // HeardEntry, HeardWithdrawn or HeardRestored
	EntryID  EntryID
}

// Heard is one step of a follower.
type Heard struct {
	Events   []LiveEvent
	Position int64 // from which to go on, past all that was not worth telling
	More     bool  // there may be more to read at once
	// Wait is how long to stay away before more is read: whoever catches up
	// spends the network's budget of readings, a step a reading.
	Wait time.Duration
}

// followers is what the followers of one process share.
type followers struct {
	bell bell

	mu        sync.Mutex
	total     int
	byNetwork map[limit.Network]int
	stop      context.CancelFunc // ends the watch; nil when nobody follows
	watching  chan struct{}      // closed when the watch has ended

	reading singleflight.Group
	version int64                   // for which the shared steps are true
	shared  map[int64][]PublicEvent // by the position they come after
}

func newFollowers() *followers { return &followers{byNetwork: map[limit.Network]int{}} }

// A Follower reads public events from its own place, at its own pace. It is
// for one goroutine, which must Close it.
type Follower struct {
	j      *Journal
	caller Caller
	after  int64
	begun  int64 // the place it came with
	joined int64 // what was withdrawn before is not told
}

// NewestEvent returns the position of the newest public event.
func (j *Journal) NewestEvent(ctx context.Context) (int64, error) {
	position, err := j.store.NewestEvent(ctx)
	if err != nil {
		return 0, fmt.Errorf("read newest public event: %w", err)
	}
	return position, nil
}

// PublicEvents returns up to limit public events after a position, oldest
// first.
func (j *Journal) PublicEvents(ctx context.Context, after int64, limit int) ([]PublicEvent, error) {
	events, err := j.store.PublicEvents(ctx, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read public events: %w", err)
	}
	return events, nil
}

// Follow joins the readers of public events: after a position, or from now on
// when after is nil. A position that lies ahead counts as now.
func (j *Journal) Follow(ctx context.Context, c Caller, after *int64) (*Follower, error) {
	if err := j.enter(c.Network); err != nil {
		return nil, err
	}
	now, err := j.store.NewestEvent(ctx)
	if err != nil {
		j.leave(c.Network)
		return nil, fmt.Errorf("read newest public event: %w", err)
	}
	f := &Follower{j: j, caller: c, after: now, joined: now}
	if after != nil {
		f.after = max(min(*after, now), 0)
	}
	f.begun = f.after
	return f, nil
}

// Position is where the follower stands.
func (f *Follower) Position() int64 { return f.after }

// Bell returns a channel that is closed when there may be something new. Take
// it before Next.
func (f *Follower) Bell() <-chan struct{} { return f.j.followers.bell.next() }

// Next reads on, without waiting for anything new. An entry that cannot be
// read at this moment is not told, whatever became of it since.
func (f *Follower) Next(ctx context.Context) (Heard, error) {
	events, err := f.j.step(ctx, f.after)
	if err != nil {
		return Heard{}, err
	}
	h := Heard{Position: f.after, More: len(events) == followPage}
	for _, e := range events {
		h.Position = e.Position
		told := LiveEvent{Position: e.Position, EntryID: e.EntryID}
		switch {
		case e.EntryID == "":
			continue
		case e.Kind == "published" && e.Published > 0:
			told.Kind = HeardEntry
		case e.Kind == "restored" && e.Published > 0 && !f.replayed(e):
			told.Kind = HeardRestored
		case e.Kind == "withdrawn" && e.Position > f.joined:
			told.Kind = HeardWithdrawn
		default:
			continue
		}
		h.Events = append(h.Events, told)
	}
	f.after = h.Position
	if h.More {
		if fault, spent := AsFault(f.j.AdmitRead(f.caller, false)); spent {
			h.Wait = fault.RetryAfter
		}
	}
	return h, nil
}

// replayed tells whether this follower walked over the publication of a
// restored entry after it was restored: it was told of it there.
func (f *Follower) replayed(e PublicEvent) bool {
	return e.Published > f.begun && e.Position <= f.joined
}

// Close leaves. The last to leave waits for the watch to end.
func (f *Follower) Close() { f.j.leave(f.caller.Network) }

// enter counts a follower in, or refuses it; the first one starts the watch.
func (j *Journal) enter(n limit.Network) error {
	l := j.followers
	l.mu.Lock()
	defer l.mu.Unlock()
	if most := j.limits.Number(limit.LiveReaders, n); most > 0 && l.total >= most {
		return &Fault{Code: ServiceUnavailable, Hint: "as many live readers are connected as the service takes; come again after the wait", RetryAfter: followWait}
	}
	if most := j.limits.Number(limit.LiveReadersPerNetwork, n); !n.IsZero() && most > 0 && l.byNetwork[n] >= most {
		return slowDown("too many live readers from this network are connected", followWait)
	}
	l.total++
	l.byNetwork[n]++
	if l.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		l.stop, l.watching = stop, make(chan struct{})
		go j.watch(ctx, l.watching)
	}
	return nil
}

func (j *Journal) leave(n limit.Network) {
	l := j.followers
	l.mu.Lock()
	l.total--
	if l.byNetwork[n]--; l.byNetwork[n] == 0 {
		delete(l.byNetwork, n)
	}
	var ended chan struct{}
	if l.total == 0 {
		l.stop()
		l.stop, ended = nil, l.watching
	}
	l.mu.Unlock()
	if ended != nil {
		<-ended
	}
}

// watch rings the bell when the public version has moved. One question a sign
// or a poll serves all followers.
func (j *Journal) watch(ctx context.Context, ended chan<- struct{}) {
	defer close(ended)
	signs := make(chan struct{}, 1)
	var listening sync.WaitGroup
	listening.Go(func() {
		j.store.Listen(ctx, func() {
			select {
			case signs <- struct{}{}:
			default: // one is waiting and will do
			}
		})
	})
	defer listening.Wait()
	poll := time.NewTicker(followPoll)
	defer poll.Stop()
	seen := int64(-1)
	for {
		// A failure is the followers' to tell, who read the same store.
		if v, err := j.store.PublicVersion(ctx); err == nil && v != seen {
			seen = v
			j.followers.bell.ring()
		}
		select {
		case <-ctx.Done():
			return
		case <-signs:
		case <-poll.C:
		}
	}
}

// step returns the events after a position. Followers at the same place read
// them once for each version of the journal: whatever makes an entry
// unreadable moves the version.
func (j *Journal) step(ctx context.Context, after int64) ([]PublicEvent, error) {
	version, err := j.Version(ctx)
	if err != nil {
		return nil, err
	}
	l := j.followers
	l.mu.Lock()
	events, ok := l.shared[after]
	ok = ok && l.version == version
	l.mu.Unlock()
	if ok {
		return events, nil
	}
	key := strconv.FormatInt(version, 10) + " " + strconv.FormatInt(after, 10)
	read, err, _ := l.reading.Do(key, func() (any, error) {
		// It is read for others too, so it does not end with one of them.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), followTime)
		defer cancel()
		events, err := j.store.PublicEvents(ctx, after, followPage)
		if err != nil {
			return nil, fmt.Errorf("read public events: %w", err)
		}
		l.keep(version, after, events)
		return events, nil
	})
	if err != nil {
		return nil, err
	}
	return read.([]PublicEvent), nil
}

func (l *followers) keep(version, after int64, events []PublicEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if version < l.version {
		return
	}
	if version > l.version || l.shared == nil {
		l.version, l.shared = version, map[int64][]PublicEvent{}
	}
	if len(l.shared) < sharedMost {
		l.shared[after] = events
	}
}
