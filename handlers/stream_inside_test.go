package handlers

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"innerloop/journal"
)

// A script is a follower that hears what a test says.
type script struct {
	mu    sync.Mutex
	at    int64
	bell  chan struct{}
	steps []journal.Heard
	fails error
}

func newScript() *script { return &script{bell: make(chan struct{})} }

func (s *script) Position() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

func (s *script) Bell() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bell
}

func (s *script) Next(context.Context) (journal.Heard, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.steps) == 0 {
		return journal.Heard{Position: s.at}, s.fails
	}
	h := s.steps[0]
	s.steps, s.at = s.steps[1:], h.Position
	return h, nil
}

func (s *script) says(steps ...journal.Heard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, steps...)
	close(s.bell)
	s.bell = make(chan struct{})
}

// readUntil reads to the end of the nth block.
func readUntil(t *testing.T, r *bufio.Reader, blocks int) string {
	t.Helper()
	var text strings.Builder
	for blocks > 0 {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("after %q: %v", text.String(), err)
		}
		text.WriteString(line)
		if line == "\n" {
			blocks--
		}
	}
	return text.String()
}

func pumping(f follower, ending <-chan struct{}) (*bufio.Reader, <-chan error) {
	ours, theirs := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		defer func() { _ = ours.Close() }()
		ended <- pump(patient{ours, streamPatience}, []byte("HEAD\n"), f, ending)
	}()
	return bufio.NewReader(theirs), ended
}

func TestStreamTellsItsPlaceAndWhatComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, ending := newScript(), make(chan struct{})
		f.at = 7
		r, ended := pumping(f, ending)
		if got, want := readUntil(t, r, 1), "HEAD\nretry: 2000\nid: 7\n\n"; got != want {
			t.Errorf("begins with %q, want %q", got, want)
		}
		f.says(journal.Heard{Position: 12, Events: []journal.LiveEvent{
			{Position: 9, Kind: journal.HeardEntry, EntryID: "entry_1"}, {Position: 11, Kind: journal.HeardWithdrawn, EntryID: "entry_2"},
		}})
		want := "id: 9\nevent: entry\ndata: {\"entry_id\":\"entry_1\"}\n\nid: 11\nevent: withdrawn\ndata: {\"entry_id\":\"entry_2\"}\n\nid: 12\n\n"
		if got := readUntil(t, r, 3); got != want {
			t.Errorf("tells %q, want %q", got, want)
		}
		close(ending)
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestStreamShowsThatItLives(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, ending := newScript(), make(chan struct{})
		r, ended := pumping(f, ending)
		readUntil(t, r, 1)
		begun := time.Now()
		for n := 1; n <= 3; n++ {
			if got := readUntil(t, r, 1); got != ":\n\n" {
				t.Errorf("sign %d: %q", n, got)
			}
			if passed := time.Since(begun); passed != time.Duration(n)*streamBeat {
				t.Errorf("sign %d came after %v", n, passed)
			}
		}
		close(ending)
		<-ended
	})
}

// A reader who takes nothing is cut when its time is over; nothing of the
// stream is left behind, or the bubble would not end.
func TestStreamCutsWhoTakesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newScript()
		r, ended := pumping(f, make(chan struct{}))
		readUntil(t, r, 1)
		begun := time.Now()
		f.says(journal.Heard{Position: 1, Events: []journal.LiveEvent{{Position: 1, Kind: journal.HeardEntry, EntryID: "entry_1"}}})
		if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
		if passed := time.Since(begun); passed != streamPatience {
			t.Errorf("cut after %v, want %v", passed, streamPatience)
		}
	})
}

// Who catches up goes no faster than its network's readings allow, and ends
// while it waits.
func TestStreamWaitsWhereItMust(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, ending := newScript(), make(chan struct{})
		f.steps = []journal.Heard{{Position: 256, More: true}, {Position: 512, More: true, Wait: 5 * time.Second}, {Position: 600}}
		r, ended := pumping(f, ending)
		begun := time.Now()
		if got := readUntil(t, r, 3); got != "HEAD\nretry: 2000\nid: 0\n\nid: 256\n\nid: 512\n\n" || time.Since(begun) != 0 {
			t.Errorf("%q after %v", got, time.Since(begun))
		}
		if got := readUntil(t, r, 1); got != "id: 600\n\n" || time.Since(begun) != 5*time.Second {
			t.Errorf("%q after %v", got, time.Since(begun))
		}
		f.says(journal.Heard{Position: 856, More: true, Wait: time.Hour})
		readUntil(t, r, 1)
		close(ending)
		if err := <-ended; err != nil {
			t.Errorf("ended with %v", err)
		}
	})
}

func TestStreamEndsWithItsStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newScript()
		f.fails = errors.New("no store")
		_, ended := pumping(f, make(chan struct{}))
		if err := <-ended; !errors.Is(err, f.fails) {
			t.Errorf("ended with %v", err)
		}
	})
}
