//go:build amd64 || arm64

package sandbox

import (
	"cell"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A session is a process that lives from job to job. Whoever has its turn may
// use it; between turns everything in its cell is stopped.
type session struct {
	s                 *Sandbox
	user, name, label string
	marks             []Mark
	turn              chan struct{}          // holds one token while somebody has the turn
	waiting           int                    // for the turn; under the lock of all sessions
	ends              atomic.Int64           // nanoseconds of the epoch
	rests             atomic.Int64           // since when, in the same; 0 while it is at work
	doom              atomic.Pointer[string] // why it is being ended by somebody who had not the turn

	// Of whoever has the turn.
	over           bool // there is no process any more
	began, used    time.Time
	channel        *channel
	board          *board
	running        atomic.Pointer[process]
	warned         int64             // the rest in which something ran, in the form of rests
	ran            map[string]string // how long each thread had then, by its folder
	waited         sync.Once
	status         []byte
	deaths, before int64 // processes that the kernel ended for memory
}

func (ses *session) try() bool {
	select {
	case ses.turn <- struct{}{}:
		return true
	default:
		return false
	}
}

func (ses *session) leave() { <-ses.turn }

func (ses *session) live() Live {
	return Live{User: ses.user, Name: ses.name, Label: ses.label, Marks: ses.marks}
}

// outdated says why a session cannot be kept for a wish, or without one.
func (ses *session) outdated(wish *Session) string {
	p := ses.running.Load()
	switch {
	case p == nil:
		return LostExited
	case wish != nil && wish.Reset:
		return LostReset
	case ses.s.now().UnixNano() > ses.ends.Load():
		return LostExpired
	case p.dead():
		return LostExited
	case ses.channel.unread():
		return LostBroken
	case wish == nil:
		return ""
	}
	for _, m := range wish.Marks {
		if ses.live().Mark(m.Name) != m.Value {
			return m.Name + " changed"
		}
	}
	return ""
}

// open starts the process.
func (ses *session) open(uid int, job Job) error {
	ses.board = &board{}
	var theirs pipes
	defer theirs.close()
	l := &lasting{session: ses.name}
	var ours pipes
	stdout, stderr := ours.from(&theirs), ours.from(&theirs)
	if ours.err != nil {
		ours.close()
		return fmt.Errorf("make pipes: %w", ours.err)
	}
	l.stdout, l.stderr = theirs.files[0], theirs.files[1]
	job.lasting, job.Serve = l, ses.board.serve
	p, err := ses.s.start(uid, job)
	if err != nil {
		ours.close()
		return err
	}
	ses.channel = newChannel(l.control, p.answer, stdout, stderr)
	ses.began = ses.s.now()
	ses.running.Store(p)
	ses.s.remember(ses.user, ses.name, memento{Run: p.id})
	return nil
}

// kill ends the process, whoever has the turn.
func (ses *session) kill() {
	if p := ses.running.Load(); p != nil {
		_ = p.cmd.Process.Kill()
	}
}

// wait collects the ended process and reads what its first process said.
func (ses *session) wait(p *process) {
	ses.waited.Do(func() {
		_ = p.cmd.Wait()
		ses.status = <-p.ended
	})
}

// end ends the session for a reason. The turn is the caller's.
func (ses *session) end(reason string) {
	ses.over = true
	if doom := ses.doom.Load(); doom != nil {
		reason = *doom
	}
	s, p := ses.s, ses.running.Load()
	s.sessions.mu.Lock()
	if key := sessionKey(ses.user, ses.name); s.sessions.live[key] == ses {
		if p != nil {
			s.remember(ses.user, ses.name, memento{Run: p.id, Reason: reason})
		}
		delete(s.sessions.live, key)
	}
	s.sessions.mu.Unlock()
	if p == nil {
		return
	}
	ses.kill()
	ses.wait(p)
	ses.channel.close()
	p.tidy()
}

// discard gives up a session that never began.
func (ses *session) discard() {
	if ses.running.Load() == nil {
		ses.end("")
	}
}

// perform does a job; state is what it finds. The turn and a slot are the
// caller's.
func (ses *session) perform(ctx context.Context, job Job, state State) (*Result, error) {
	s := ses.s
	home, uid, err := s.home(job.User)
	if err != nil {
		ses.discard()
		return nil, err
	}
	defer func() { _ = home.Close() }()
	before, err := s.lay(home, uid, job)
	if err != nil {
		ses.discard()
		return nil, err
	}
	if ses.running.Load() == nil {
		all := before
		all.bytes += s.rested(job.User, home, 0)
		job.full = s.fullHome(all) != nil
		if err := ses.open(uid, job); err != nil {
			ses.discard()
			return nil, err
		}
	}
	p := ses.running.Load()
	_ = p.noteSession(ses.name, job, time.Time{}) // only Runs would miss it
	if job.Serve != nil {
		tap, served := ses.board.open(p.way.listener.Addr()), make(chan struct{})
		go func() {
			defer close(served)
			job.Serve(tap)
		}()
		defer func() {
			tap.close()
			<-served
		}()
	}
	c := ses.call(p)
	c.before = before
	c.before.bytes += c.nameless(home)
	result, reason, err := ses.exchange(ctx, p, c, home, job)
	if stop := s.fullHome(before); stop != nil && p.full && reason == "" {
		reason = stop.Limit + " limit" // a process that can write nothing is not kept
	}
	if reason != "" {
		ses.end(reason)
		state = State{Word: Lost, Reason: reason}
	} else {
		ses.used = s.now()
		state.Ends = ses.used.Add(s.sessionIdle)
		if oldest := ses.began.Add(s.sessionAge); oldest.Before(state.Ends) {
			state.Ends = oldest
		}
		ses.ends.Store(state.Ends.UnixNano())
		_ = p.noteSession(ses.name, job, time.Now())
	}
	if result != nil {
		result.State = state
		s.settle(home, uid, before, c, result)
	}
	return result, err
}

// call is the part of a process that is one job's alone.
func (ses *session) call(p *process) *process {
	l := &ses.s.limits
	c := &process{
		s: ses.s, user: ses.user, way: p.way, full: p.full, cmd: p.cmd, group: p.group, started: time.Now(),
		stopped: make(chan struct{}), reasons: make(chan Stop, 8), watching: make(chan struct{}),
	}
	c.stdout = &capture{limits: l, over: func() { c.stop(ses.s.tooMuch()) }}
	c.stderr = &capture{limits: l, over: func() { c.stop(ses.s.tooMuch()) }}
	return c
}

// exchange has the process run the code, and tells why the session has ended if
// it has.
func (ses *session) exchange(ctx context.Context, p, c *process, home *os.Root, job Job) (*Result, string, error) {
	l := &ses.s.limits
	meter := newMeter(c)
	c.spent = func() *Stop { return meter.over(l.CPU) }
	ses.before, ses.deaths = ses.deaths, 0
	ses.rests.Store(0)
	_, _ = p.life.Write([]byte{cell.LifeContinue}) // or it has ended, which shows
	c.watch(ctx, home, within(ctx, job.Timeout))
	said := ses.channel.ask(job.Code, l.Value, c)
	if said.kind == saidAnswer {
		meter.read()
		_, _ = p.life.Write([]byte{cell.LifeStop})
		ses.rests.Store(time.Now().UnixNano())
	} else {
		if said.kind == saidNonsense {
			ses.kill()
		}
		ses.channel.drain(c)
		ses.wait(p)
	}
	close(c.stopped)
	<-c.watching
	ses.deaths = p.group.deaths()
	result := &Result{
		Stdout: c.stdout.output(), Stderr: c.stderr.output(), ExitCode: said.code, Took: time.Since(c.started),
		CPU: meter.used(), PeakMemory: meter.peak,
	}
	if int64(len(said.value)) > l.Value {
		said.value, result.ValueCut = said.value[:l.Value], true
	}
	result.Value = strings.ToValidUTF8(string(said.value), "")
	select {
	case why := <-c.reasons:
		if err := ctx.Err(); err != nil && why.Reason == "" {
			if errors.Is(err, context.DeadlineExceeded) {
				return nil, LostTimeout, err
			}
			return nil, LostCancelled, err
		}
		why.Partial = result
		if why.Reason == TimedOut {
			return result, LostTimeout, &why
		}
		return result, why.Limit + " limit", &why
	default:
	}
	switch said.kind {
	case saidAnswer:
		return result, "", nil
	case saidNonsense:
		result.ExitCode = 128 + int(syscall.SIGKILL)
		return result, LostBroken, nil
	}
	return ses.ended(result)
}

// ended tells why the process ended by itself.
func (ses *session) ended(result *Result) (*Result, string, error) {
	var status cell.Status
	known := json.Unmarshal(ses.status, &status) == nil
	if known && status.Failed != "" {
		return nil, LostExited, ses.s.failed(status.Failed, errors.New(status.Cause))
	}
	if result.ExitCode = status.Code; status.Signal != 0 {
		result.ExitCode = 128 + status.Signal
	}
	l := &ses.s.limits
	if doom := ses.doom.Load(); doom != nil && !known {
		result.ExitCode = 128 + int(syscall.SIGKILL)
		return result, *doom, nil
	}
	switch killed := !known || status.Signal == int(syscall.SIGKILL); {
	case status.Signal == int(syscall.SIGXCPU):
		why := meterStop(l.CPU)
		why.Partial = result
		return result, why.Limit + " limit", why
	case killed && ses.deaths > ses.before:
		return result, "memory limit", &Stop{Reason: OverLimit, Limit: "memory", Allowed: l.Memory, Hint: "the session used more memory than it may", Partial: result}
	case !known:
		return nil, LostExited, errors.New("a session ended without a word")
	}
	return result, LostExited, nil
}

// noteSession writes down whether the session is idle, and since when.
func (p *process) noteSession(name string, job Job, idle time.Time) error {
	r := Running{ID: p.id, User: job.User, Label: job.Label[:min(len(job.Label), 200)], Server: os.Getpid(), Started: p.started.UTC().Truncate(time.Millisecond), Timeout: job.Timeout.Milliseconds(), Session: name}
	if !idle.IsZero() {
		at := idle.UTC().Truncate(time.Millisecond)
		r.Idle, r.Timeout = &at, 0
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	aside := filepath.Join(p.dir, noteName+".new")
	if err := os.WriteFile(aside, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(aside, filepath.Join(p.dir, noteName))
}
