package repl

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"innerloop/coworker"
	"innerloop/coworker/sandbox"
)

// What a session is tied to: its process may have kept all it ever had, so one
// that should have less, or other things, is a new process.
const (
	tiedKey         = "key"
	tiedScopes      = "scopes" // with the class and the list of services
	tiedServices    = "services"
	tiedCredentials = "credentials"
	tiedSkills      = "skills"
)

// continued fills in what a call leaves out that its session has: services and
// skills are named once.
func (r *REPL) continued(who coworker.Caller, q Request) Request {
	if q.Session == "" || q.Reset {
		return q
	}
	live, ok := r.o.Sandbox.Session(string(who.User), q.Session)
	if !ok || live.Mark(tiedKey) != string(who.Key) {
		return q
	}
	if len(q.Services) == 0 {
		q.Services = strings.Fields(live.Mark(tiedServices))
	}
	if len(q.Skills) == 0 {
		q.Skills = strings.Fields(live.Mark(tiedSkills))
	}
	return q
}

// tie names the session of a job whose environment is known.
func tie(who coworker.Caller, q Request, job *sandbox.Job) {
	if q.Session == "" {
		return
	}
	job.Session = &sandbox.Session{Name: q.Session, Reset: q.Reset, Marks: []sandbox.Mark{
		{Name: tiedKey, Value: string(who.Key)},
		{Name: tiedScopes, Value: rights(who.Scopes, who.Class, who.Connectors)},
		{Name: tiedServices, Value: sorted(q.Services)},
		{Name: tiedCredentials, Value: digest(job.Env)},
		{Name: tiedSkills, Value: sorted(q.Skills)},
	}}
}

func rights(scopes coworker.Scopes, class coworker.Class, connectors []string) string {
	return fmt.Sprintf("%d %s %t %s", scopes, class, connectors == nil, sorted(connectors))
}

func sorted(ids []string) string { return strings.Join(slices.Sorted(slices.Values(ids)), " ") }

// digest stands for values that a session must not be the reason to keep.
func digest(lines []string) string {
	sum := sha256.New()
	for _, line := range slices.Sorted(slices.Values(lines)) {
		_, _ = fmt.Fprintf(sum, "%d %s", len(line), line)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// EndSessions ends those that are due or may not live on, as Chores does. It is
// quick, and meant to be called every few seconds.
func (r *REPL) EndSessions(ctx context.Context) {
	if r.o.Sandbox == nil {
		return
	}
	r.o.Sandbox.EndSessions(func(live sandbox.Live) string { return r.judge(ctx, live) })
}

// judge says why a session may not live on though nobody uses it: its key is
// not what it was. Between calls it is stopped and can do nothing meanwhile.
func (r *REPL) judge(ctx context.Context, live sandbox.Live) string {
	if live.Mark(tiedKey) == "" {
		return ""
	}
	key, err := r.o.Coworker.Key(ctx, coworker.Operator(), coworker.KeyID(live.Mark(tiedKey)))
	if _, gone := coworker.AsFault(err); gone {
		return "key revoked"
	}
	if err != nil {
		return "" // asked again the next time
	}
	if status := key.Status(r.o.Now()); status != "active" {
		return "key " + status
	}
	if rights(key.Scopes, key.Class, key.Connectors) != live.Mark(tiedScopes) {
		return tiedScopes + " changed"
	}
	return ""
}
