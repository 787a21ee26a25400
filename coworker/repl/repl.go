package repl

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/connect"
	"innerloop/coworker/memory"
	"innerloop/coworker/sandbox"
	"innerloop/coworker/skills"
)

// A Road sends requests and opens connections to a service, under the rules of
// one connection.
type Road interface {
	Do(r *http.Request) (*http.Response, error)
	Dial(ctx context.Context, host, port string) (net.Conn, error)
}

// Rules are an organisation's word on what code may have.
type Rules interface {
	Settings(ctx context.Context, who coworker.Caller) (connect.Settings, error)
	Marks(ctx context.Context, who coworker.Caller) (map[string]catalog.Mark, error)
}

// Options are what a REPL is made of. Coworker and Logger are required.
type Options struct {
	Sandbox  *sandbox.Sandbox // nil: the operator switched it off
	Coworker *coworker.Coworker
	// Engine, Rules and Roads make services reachable; without them code runs
	// alone.
	Engine *connect.Engine
	Rules  Rules
	Roads  func(networks []netip.Prefix, own string) Road
	Skills *skills.Shelf  // nil: there are none
	Memory *memory.Memory // nil: there is none
	Now    func() time.Time
	Logger *slog.Logger
}

// A REPL runs code. It is safe for concurrent use.
type REPL struct {
	o     Options
	facts Facts
}

// Facts are what an assistant should know before it writes code.
type Facts struct {
	Status   sandbox.Status
	Limits   sandbox.Limits
	Sessions sandbox.SessionLimits
	Packages []string // name and version of those that can be imported
}

// New makes a REPL.
func New(o Options) (*REPL, error) {
	if o.Coworker == nil || o.Logger == nil {
		return nil, errors.New("repl: coworker and logger are required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &REPL{o: o}
	if o.Sandbox == nil {
		r.facts.Status.Failed = "the operator switched it off"
		return r, nil
	}
	r.facts.Status, r.facts.Limits, r.facts.Sessions = o.Sandbox.Status(), o.Sandbox.Limits(), o.Sandbox.SessionLimits()
	r.facts.Packages = r.facts.Status.Packages
	return r, nil
}

// Facts tells what was found at the start.
func (r *REPL) Facts() Facts { return r.facts }

// Bounds of a request.
const (
	ServicesMax = 10
	SkillsMax   = 10
	FilesMax    = 20
	FilesBytes  = 256 << 10 // of all together
)

// A Request is what repl_execute takes.
type Request struct {
	Code     string
	Services []string
	Skills   []string
	Timeout  time.Duration // 0: the usual one
	Files    []sandbox.File
	Return   []string // paths in the home whose files are to be attached
	Session  string   // whose variables are kept; "": a process of its own
	Reset    bool     // of the session
}

// Run runs code for a caller. Every refusal is a *coworker.Fault; one of a run
// that was ended carries what came out before. hosts are those the code
// reached by itself, also of a run that failed.
func (r *REPL) Run(ctx context.Context, who coworker.Caller, q Request) (answer *Answer, hosts []string, err error) {
	if !r.facts.Status.Available {
		return nil, nil, r.unavailable(r.facts.Status.Failed)
	}
	q = r.continued(who, q)
	job := sandbox.Job{
		User: string(who.User), Label: string(who.Organization) + " " + string(who.Key), Code: q.Code, Timeout: q.Timeout, Files: q.Files,
	}
	shown, err := r.lay(ctx, who, q, &job)
	if err != nil {
		return nil, nil, err
	}
	redact := func(text string) string { return text }
	if r.o.Engine != nil {
		w, secrets, err := r.way(ctx, who, q.Services, &job)
		if err != nil {
			return nil, nil, err
		}
		redact = connect.Redactor(secrets)
		defer func() { hosts = w.reached() }()
		defer w.close()
	} else if len(q.Services) > 0 {
		return nil, nil, &coworker.Fault{Code: coworker.NotConnected, Hint: "this service connects to none"}
	}
	tie(who, q, &job)
	result, err := r.o.Sandbox.Run(ctx, job)
	if err != nil {
		return nil, nil, r.fault(err, redact)
	}
	answer = answerOf(result, redact)
	answer.MemoryLeft = shown.left
	r.attach(who, q.Return, result, answer, redact)
	return answer, nil, nil
}

// way decides what the code may use, and makes the way out of the run.
func (r *REPL) way(ctx context.Context, who coworker.Caller, services []string, job *sandbox.Job) (*way, []string, error) {
	settings, err := r.o.Rules.Settings(ctx, who)
	if err != nil {
		return nil, nil, fmt.Errorf("read the rules of an organization: %w", err)
	}
	named := services
	if len(services) == 0 && settings.AllWhenUnnamed && !settings.BrokerOnly {
		if services, err = r.connected(ctx, who); err != nil {
			return nil, nil, err
		}
	}
	w := newWay(ctx, r, who, named)
	var secrets []string
	for _, id := range services {
		passage, err := r.o.Engine.Passage(ctx, who, id, settings.BrokerOnly)
		if err != nil {
			if _, refused := coworker.AsFault(err); refused && len(named) == 0 {
				continue // nobody asked for this one
			}
			w.close()
			return nil, nil, err
		}
		job.Env = append(job.Env, passage.Env...)
		secrets = append(secrets, passage.Secrets...)
		for _, road := range passage.Roads {
			w.roads[road.Name()] = r.o.Roads(road.Networks, road.Own)
		}
	}
	job.Serve, job.Modules = w.serve, []sandbox.File{{Path: "coworker.py", Body: module}}
	return w, secrets, nil
}

func (r *REPL) connected(ctx context.Context, who coworker.Caller) ([]string, error) {
	marks, err := r.o.Rules.Marks(ctx, who)
	if err != nil {
		return nil, fmt.Errorf("list connections: %w", err)
	}
	var ids []string
	for id, mark := range marks {
		if mark == catalog.Connected && who.MayUse(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
