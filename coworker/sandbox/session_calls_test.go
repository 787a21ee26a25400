//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"innerloop/coworker/sandbox"
)

func TestACallerWhoLeavesEndsTheCallAndItsSession(t *testing.T) {
	t.Parallel()
	eachDriver(t, aCallerWhoLeavesEndsTheCallAndItsSession)
}

func aCallerWhoLeavesEndsTheCallAndItsSession(t *testing.T, driver func(*sandbox.Options)) {
	t.Helper()
	s := open(t, driver)
	_, _ = in(t, s, "a", "x = 1")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	job := sandbox.Job{User: "u", Code: knock + "import time\ntime.sleep(60)", Session: &sandbox.Session{Name: "a"}}
	began := heard(&job)
	go func() {
		_, err := s.Run(ctx, job)
		done <- err
	}()
	<-began
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	r, _ := in(t, s, "a", "'x' in globals()")
	wantState(t, r, "False", sandbox.Lost, sandbox.LostCancelled)
}

// TestASessionLivesFromItsFirstCallOn: a second call that comes during the first
// one finds what it began with.
func TestASessionLivesFromItsFirstCallOn(t *testing.T) {
	t.Parallel()
	eachDriver(t, aSessionLivesFromItsFirstCallOn)
}

func aSessionLivesFromItsFirstCallOn(t *testing.T, driver func(*sandbox.Options)) {
	t.Helper()
	s := open(t, driver)
	marks := []sandbox.Mark{{Name: "services", Value: "one"}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	job := sandbox.Job{User: "u", Code: knock + "import time\ntime.sleep(60)", Session: &sandbox.Session{Name: "a", Marks: marks}}
	began := heard(&job)
	go func() {
		_, err := s.Run(ctx, job)
		done <- err
	}()
	<-began
	if live, ok := s.Session("u", "a"); !ok || live.Mark("services") != "one" {
		t.Errorf("%+v %v", live, ok)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if live, ok := s.Session("u", "a"); ok {
		t.Errorf("it has ended: %+v", live)
	}
}

// A promised context has a deadline that does not come: what ends before it was
// ended for it.
type promised struct {
	context.Context
	end time.Time
}

func (p promised) Deadline() (time.Time, bool) { return p.end, true }

// TestTheTimeOfACallIsKept: a run is ended in time to tell what came out, and
// one that would have none left is refused instead of begun.
func TestTheTimeOfACallIsKept(t *testing.T) {
	t.Parallel()
	eachDriver(t, theTimeOfACallIsKept)
}

func theTimeOfACallIsKept(t *testing.T, driver func(*sandbox.Options)) {
	t.Helper()
	s := open(t, driver, func(o *sandbox.Options) { o.PerUser = 1 })
	within := func(all time.Duration, job sandbox.Job) *sandbox.Stop {
		t.Helper()
		var stop *sandbox.Stop
		if _, err := s.Run(promised{t.Context(), time.Now().Add(all)}, job); !errors.As(err, &stop) {
			t.Errorf("%v", err)
			return &sandbox.Stop{}
		}
		return stop
	}
	const code = "print('before', flush=True)" + knock + "import time\ntime.sleep(60)"
	const left = 2 * time.Second // of a call's time for its code
	for _, ses := range []*sandbox.Session{nil, {Name: "a"}} {
		job := sandbox.Job{User: "u", Code: code, Timeout: 20 * time.Second, Session: ses}
		began := heard(&job)
		stop := within(sandbox.AnswerTime+left, job)
		if stop.Reason != sandbox.TimedOut || stop.Limit != "wall" || stop.Allowed <= 0 || stop.Allowed > left.Milliseconds() || stop.Partial == nil {
			t.Errorf("%+v %+v", stop, stop.Partial)
		} else if <-began && stop.Partial.Stdout.Text != "before\n" { // a busy machine may not have come to it
			t.Errorf("%+v", stop.Partial)
		}
	}
	r, _ := in(t, s, "a", "pass")
	wantState(t, r, "", sandbox.Lost, sandbox.LostTimeout)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	job := sandbox.Job{User: "u", Code: code, Timeout: time.Minute, Session: &sandbox.Session{Name: "a"}}
	began := heard(&job)
	go func() {
		_, err := s.Run(ctx, job)
		done <- err
	}()
	<-began
	var all sync.WaitGroup
	for _, ses := range []*sandbox.Session{nil, {Name: "a"}, {Name: "b"}} { // for a slot, the turn, and a slot again
		all.Go(func() {
			if stop := within(sandbox.AnswerTime, sandbox.Job{User: "u", Code: "1", Session: ses}); stop.Reason != sandbox.Busy {
				t.Errorf("%+v", stop)
			}
		})
	}
	all.Wait()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestASessionAtWorkIsCutForAReason and for none other.
func TestASessionAtWorkIsCutForAReason(t *testing.T) {
	t.Parallel()
	eachDriver(t, aSessionAtWorkIsCutForAReason)
}

func aSessionAtWorkIsCutForAReason(t *testing.T, driver func(*sandbox.Options)) {
	t.Helper()
	s := open(t, driver)
	_, _ = in(t, s, "a", "x = 1")
	done := make(chan *sandbox.Result)
	job := sandbox.Job{User: "u", Code: "print('before', flush=True)" + knock + "import time\ntime.sleep(60)", Session: &sandbox.Session{Name: "a"}}
	began := heard(&job)
	go func() {
		r, err := s.Run(t.Context(), job)
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	<-began
	s.EndSessions(func(sandbox.Live) string { return "" })
	if live, ok := s.Session("u", "a"); !ok {
		t.Errorf("cut for no reason: %+v", live)
	}
	s.EndSessions(func(sandbox.Live) string { return "key revoked" })
	r := <-done
	if r == nil || r.State.Word != sandbox.Lost || r.State.Reason != "key revoked" || r.Stdout.Text != "before\n" || r.ExitCode != 137 {
		t.Errorf("%+v", r)
	}
	r, _ = in(t, s, "a", "'x' in globals()")
	wantState(t, r, "False", sandbox.Lost, "key revoked")
}

func TestCallsOfASessionComeOneByOne(t *testing.T) {
	t.Parallel()
	eachDriver(t, callsOfASessionComeOneByOne)
}

func callsOfASessionComeOneByOne(t *testing.T, driver func(*sandbox.Options)) {
	t.Helper()
	s := open(t, driver)
	_, _ = in(t, s, "a", "n = 0")
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			job := sandbox.Job{User: "u", Code: fmt.Sprintf("m = n\nimport time\ntime.sleep(0.01)\nprint(%d)\nn = m + 1", i), Session: &sandbox.Session{Name: "a"}}
			r, err := s.Run(t.Context(), job)
			if err != nil || r.Stdout.Text != fmt.Sprintf("%d\n", i) {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
	all.Wait()
	r, _ := in(t, s, "a", "n")
	wantState(t, r, "5", sandbox.Kept, "")
	// One at work and four that wait are all there may be.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	refused := make(chan error, 6)
	for range 6 {
		all.Go(func() {
			_, err := s.Run(ctx, sandbox.Job{User: "u", Code: "import time\ntime.sleep(60)", Session: &sandbox.Session{Name: "a"}})
			refused <- err
		})
	}
	var stop *sandbox.Stop
	if err := <-refused; !errors.As(err, &stop) || stop.Reason != sandbox.Busy {
		t.Errorf("the sixth: %v", err)
	}
	cancel()
	all.Wait()
	for range 5 {
		if err := <-refused; !errors.Is(err, context.Canceled) {
			t.Errorf("one that was given up: %v", err)
		}
	}
}
