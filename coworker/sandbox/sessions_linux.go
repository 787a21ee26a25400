//go:build amd64 || arm64

package sandbox

import (
	"context"
	"slices"
	"sync"
	"time"
)

// sessions are those that live.
type sessions struct {
	mu   sync.Mutex
	live map[string]*session // by user and name

	watched bool // by keepRest
}

func sessionKey(user, name string) string { return user + "\n" + name }

// inSession does a checked job in the session it names.
func (s *Sandbox) inSession(ctx context.Context, job Job) (*Result, error) {
	ses, state, err := s.enter(ctx, job)
	if err != nil {
		return nil, err
	}
	defer ses.leave()
	release, err := s.slot(ctx, job.User)
	if err != nil {
		ses.discard()
		return nil, err
	}
	defer release()
	return ses.perform(ctx, job, state)
}

// enter finds the session of a job, or makes room for a new one. The turn of
// the session is the caller's then.
func (s *Sandbox) enter(ctx context.Context, job Job) (*session, State, error) {
	wait, cancel := patience(ctx)
	defer cancel()
	for {
		s.sessions.mu.Lock()
		ses := s.sessions.live[sessionKey(job.User, job.Session.Name)]
		if ses == nil {
			ses, displaced, err := s.place(job)
			s.sessions.mu.Unlock()
			if displaced != nil {
				displaced.end(LostDisplaced)
				displaced.leave()
			}
			if err != nil {
				return nil, State{}, err
			}
			return ses, s.remembered(job.User, job.Session.Name), nil
		}
		if ses.waiting >= sessionsWait {
			s.sessions.mu.Unlock()
			return nil, State{}, &Stop{Reason: Busy, Hint: "too many calls wait for this session; try again in a few seconds"}
		}
		ses.waiting++
		s.sessions.mu.Unlock()
		var err error
		if !ses.try() {
			select {
			case ses.turn <- struct{}{}:
			case <-wait.Done():
				err = impatient(ctx, wait.Err())
			}
		}
		s.sessions.mu.Lock()
		ses.waiting--
		s.sessions.mu.Unlock()
		if err != nil {
			return nil, State{}, err
		}
		if !ses.over {
			reason := ses.outdated(job.Session)
			if reason == "" {
				return ses, State{Word: Kept}, nil
			}
			ses.end(reason)
		}
		ses.leave()
	}
}

// place makes a session whose process is still to be started, and names the one
// that has to go for it: the longest idle of the same user, or of all. The lock
// is held.
func (s *Sandbox) place(job Job) (made, displaced *session, err error) {
	var own, all []*session
	for _, ses := range s.sessions.live {
		all = append(all, ses)
		if ses.user == job.User {
			own = append(own, ses)
		}
	}
	among := []*session(nil)
	switch {
	case len(own) >= s.sessionsPerUser:
		among = own
	case len(all) >= s.sessionsMax:
		among = all
	}
	if among != nil {
		// Times of use are the turn's; an idle one's turn is taken to read it.
		for _, ses := range among {
			if !ses.try() {
				continue
			}
			if displaced == nil || ses.used.Before(displaced.used) {
				ses, displaced = displaced, ses
			}
			if ses != nil {
				ses.leave()
			}
		}
		if displaced == nil {
			return nil, nil, &Stop{Reason: Busy, Hint: "every session that may live is at work; try again in a few seconds"}
		}
		if p := displaced.running.Load(); p != nil {
			s.remember(displaced.user, displaced.name, memento{Run: p.id, Reason: LostDisplaced})
		}
		delete(s.sessions.live, sessionKey(displaced.user, displaced.name))
	}
	made = &session{s: s, user: job.User, name: job.Session.Name, label: job.Label, marks: slices.Clone(job.Session.Marks), turn: make(chan struct{}, 1)}
	made.turn <- struct{}{}
	s.sessions.live[sessionKey(made.user, made.name)] = made
	if !s.sessions.watched {
		s.sessions.watched = true
		go s.keepRest()
	}
	return made, displaced, nil
}

func (s *Sandbox) listSessions() []*session {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	list := make([]*session, 0, len(s.sessions.live))
	for _, ses := range s.sessions.live {
		list = append(list, ses)
	}
	return list
}

// Session tells what a session began with that would be kept now. One that is at
// work, for the first time or again, is.
func (s *Sandbox) Session(user, name string) (Live, bool) {
	s.sessions.mu.Lock()
	defer s.sessions.mu.Unlock()
	ses := s.sessions.live[sessionKey(user, name)]
	if ses == nil || len(ses.turn) == 0 && s.now().After(time.Unix(0, ses.ends.Load())) {
		return Live{}, false
	}
	return ses.live(), true
}

// EndSessions ends the sessions that are due, and those for which judge gives a
// reason. One that is at work is not due; for a reason its call is cut.
func (s *Sandbox) EndSessions(judge func(Live) string) {
	for _, ses := range s.listSessions() {
		if !ses.try() {
			if reason := judge(ses.live()); reason != "" {
				ses.doom.Store(&reason)
				ses.kill()
			}
			continue
		}
		if !ses.over {
			reason := ses.outdated(nil)
			if reason == "" {
				reason = judge(ses.live())
			}
			if reason != "" {
				ses.end(reason)
			}
		}
		ses.leave()
	}
	s.forget()
}

// endWait is how long the end of a session waits for a call in it, which is
// cut; one that still waits for a slot then ends with its server.
const endWait = 5 * time.Second

// endAll ends every session of a user, or of all; one at work is cut.
func (s *Sandbox) endAll(user, reason string) {
	for _, ses := range s.listSessions() {
		if user != "" && ses.user != user {
			continue
		}
		ses.doom.Store(&reason)
		ses.kill()
		select {
		case ses.turn <- struct{}{}:
		case <-time.After(endWait):
			continue
		}
		if !ses.over {
			ses.end(reason)
		}
		ses.leave()
	}
}
