//go:build !linux || (!amd64 && !arm64)

package sandbox

import (
	"context"
	"errors"
)

type (
	groups   struct{}
	spawner  struct{}
	session  struct{}
	sessions struct{ live map[string]*session }
	lasting  struct{}
	process  struct{}
)

func (*spawner) close() {}

func (*process) tidy() {}

// prepare says that there is no sandbox here: it is made of Linux namespaces.
func (s *Sandbox) prepare(context.Context, []string) {
	s.status = Status{Failed: "needs Linux on amd64 or arm64", Cause: "there are no namespaces here"}
}

func (s *Sandbox) run(context.Context, Job) (*Result, error) {
	return nil, &Stop{Reason: Unavailable, Hint: s.status.Failed}
}

func (s *Sandbox) inSession(context.Context, Job) (*Result, error) {
	return nil, &Stop{Reason: Unavailable, Hint: s.status.Failed}
}

func (s *Sandbox) endAll(string, string) {}

// Session finds none: there is no sandbox.
func (s *Sandbox) Session(string, string) (Live, bool) { return Live{}, false }

// EndSessions ends none: there are none.
func (s *Sandbox) EndSessions(func(Live) string) {}

// ReadFile reads nothing: nobody has a home here.
func (s *Sandbox) ReadFile(string, string, int64) ([]byte, error) {
	return nil, errors.New("sandbox: no homes on this machine")
}

func alive(string) bool { return false }
