package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Limits bound one run. Sizes are bytes.
type Limits struct {
	Wall       time.Duration // of a job that names no timeout
	WallMax    time.Duration // the longest a job may ask for
	CPU        time.Duration // of one process
	Memory     int64         // of one process, and of all together
	Processes  int64         // and threads
	OpenFiles  int64
	FileSize   int64
	Tmp        int64 // of /tmp
	TmpFiles   int64
	Home       int64 // of the user's home
	HomeFiles  int64
	Output     int64 // of each stream, as returned
	OutputKept int64 // of each stream, as kept in a file of the home
	OutputMax  int64 // of each stream; more ends the run
	Value      int64 // of the last expression's text
}

// DefaultLimits are what a run gets unless told otherwise.
func DefaultLimits() Limits {
	return Limits{
		Wall: 30 * time.Second, WallMax: 120 * time.Second, CPU: 20 * time.Second,
		Memory: 512 << 20, Processes: 32, OpenFiles: 256, FileSize: 16 << 20,
		Tmp: 64 << 20, TmpFiles: 4096, Home: 256 << 20, HomeFiles: 20_000,
		Output: 64 << 10, OutputKept: 1 << 20, OutputMax: 8 << 20, Value: 16 << 10,
	}
}

// Options are what a Sandbox is made of. Dir and Logger are required.
type Options struct {
	// Dir holds the homes and what belongs to runs. It is made with mode 0711,
	// so that the users of runs can pass through it.
	Dir string
	// Python is the interpreter, below /usr; "" means /usr/bin/python3.
	Python string
	// Packages is a folder that is added to the interpreter's path, readable by
	// everybody; "" means none.
	Packages string
	// Homes is the folder below homes where the homes of this service are, of
	// the same form as a user; "" means homes itself. Services that do not know
	// each other's users can share Dir, each with homes of its own.
	Homes string
	// Try are modules of Python that New tries to import; Status.Packages tells
	// what came of it.
	Try []string
	// Driver is what holds the runs; "" means Native. One that the machine does
	// not give is never replaced by another.
	Driver Driver
	Limits Limits // zero: DefaultLimits
	// FirstUID is where the user ids of homes begin when the server is root;
	// 0 means 700,000,000.
	FirstUID int
	Slots    int // runs at a time; 0 means 4
	PerUser  int // of one user; 0 means 2
	Queue    int // jobs that may wait; 0 means 16
	// Sessions is how many may live in all, SessionsPerUser how many of a user;
	// 0 means 8 and 2, and below 0 that there are none. One ends when it was
	// idle for SessionIdle (0: 10 minutes) or is as old as SessionAge (0: an
	// hour).
	Sessions, SessionsPerUser int
	SessionIdle, SessionAge   time.Duration
	Now                       func() time.Time // tells how old sessions are; nil: time.Now
	Logger                    *slog.Logger
}

// A Driver is what keeps runs apart from the machine.
type Driver string

// The drivers.
const (
	Native Driver = "native" // namespaces of our own
	Bwrap  Driver = "bwrap"  // bubblewrap's, with our limits and filter inside
	Runsc  Driver = "runsc"  // gVisor in namespaces of our own; offers no sessions
)

// A Sandbox runs jobs. It is safe for concurrent use.
type Sandbox struct {
	dir      string
	python   string
	driver   Driver
	tool     string   // program of a driver that is not our own
	program  *process // the folder where this program lies for gVisor
	packages string
	own      string // the folder of homes, below dir
	limits   Limits
	firstUID int
	filter   []byte
	// filterFull is for a home over its limit.
	filterFull []byte
	log        *slog.Logger
	slots      *slots
	groups     groups
	spawner    *spawner
	status     Status

	homes   sync.Mutex // while a home is being made
	closing sync.Once

	now                          func() time.Time
	sessions                     sessions
	sessionsMax, sessionsPerUser int
	sessionIdle, sessionAge      time.Duration
}

// Status says what the sandbox found when it started.
type Status struct {
	Available bool   `json:"available"`
	Driver    string `json:"driver"` // a Driver, or "" when there is none
	Memory    string `json:"memory"` // how memory of a whole run is bounded: "cgroup v2", "cgroup v1" or "watchdog"
	Python    string `json:"python"` // version of the interpreter
	// Packages are name and version of what of Options.Try can be imported.
	Packages []string `json:"packages,omitempty"`
	// Failed names the step that stood in the way, and Cause why.
	Failed string `json:"failed,omitempty"`
	Cause  string `json:"cause,omitempty"`
}

// A Job is one thing to run.
type Job struct {
	User    string // names the home: 1 to 64 of a-z, 0-9, "_" and "-"
	Code    string // Python; the value of a last expression is returned
	Env     []string
	Timeout time.Duration // 0: Limits.Wall
	Mounts  []Folder      // read-only
	Trees   []Tree        // read-only, made for this run alone
	Files   []File        // put into the home before the start
	// Serve gets the listener of a unix socket that is this run's alone, where
	// connections to http://127.0.0.1:3128 arrive, 32 at a time. It must return when the
	// listener is closed, which happens at the end of the run; Run waits for
	// it. nil leaves the run without a way out.
	Serve func(net.Listener)
	// Modules can be imported: each Path is a file name such as name.py.
	Modules []File
	Label   string // shown by Running, of at most 200 bytes
	// Session, if set, names the process that does the job. What it can see and
	// its environment are then those it began with; Serve is this job's alone.
	Session *Session

	lasting *lasting
	full    bool // the home is over its limit
}

// A Folder is shown in the run, read-only. Source is below Dir.
type Folder struct{ Source, Target string }

// A Tree is a folder of copies that is shown in the run, read-only, and gone
// with it. Fill adds its files; their paths are relative and in normal form.
type Tree struct {
	Target string
	Fill   func(add func(path string, body []byte) error) error
}

// A File is an input for a job. Path is relative to the home.
type File struct {
	Path string
	Body []byte
}

// A Result is what a run left.
type Result struct {
	Stdout, Stderr Output
	Value          string // text of the last expression; "" when it was None or there was none
	ValueCut       bool
	ExitCode       int // 128 and the signal's number for a program that was ended by one
	Changed        []Change
	ChangedCut     bool // more than 100 files changed
	Took           time.Duration
	CPU            time.Duration
	PeakMemory     int64 // bytes, of the largest process
	State          State
}

// An Output is what a stream carried: its beginning and its end when it was
// longer than allowed.
type Output struct {
	Text      string
	Bytes     int64  // in all
	Truncated bool   // Text lacks some
	File      string // where in the home the first megabyte is; "" when Text is whole
}

// A Change is a file of the home that is new or other than before, or gone.
type Change struct {
	Path    string
	Size    int64
	Removed bool
}

// Reason says why a run was not done, or not to its end.
type Reason string

// The reasons.
const (
	Unavailable Reason = "unavailable" // the machine gives no sandbox
	Busy        Reason = "busy"        // no slot became free
	Invalid     Reason = "invalid"     // the job cannot be run as asked
	TimedOut    Reason = "timeout"     // of the wall clock
	OverLimit   Reason = "limit"       // Stop.Limit names which
)

// A Stop is the error of a run that did not come to its own end. Partial holds
// what came out before, if the program was started.
type Stop struct {
	Reason  Reason
	Limit   string // "cpu", "memory", "output", "disk", "files"
	Allowed int64  // bytes, files or milliseconds
	Hint    string // safe to be shown: no path of this machine
	Partial *Result

	cause error // of Unavailable, for the operator
}

func (s *Stop) Error() string { return fmt.Sprintf("sandbox: %s %s: %s", s.Reason, s.Limit, s.Hint) }

// New makes a Sandbox, removes what an earlier one left, and tries it once. A
// machine that gives no sandbox is not an error: Status says so, and every Run.
func New(ctx context.Context, o Options) (*Sandbox, error) {
	if o.Dir == "" || o.Logger == nil {
		return nil, errors.New("sandbox: a folder and a logger are required")
	}
	if o.Homes != "" && !validUser(o.Homes) {
		return nil, errors.New("sandbox: the folder of homes must be 1 to 64 of a-z, 0-9, _ and -")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the sandbox folder: %w", err)
	}
	s := &Sandbox{
		dir: dir, python: o.Python, packages: o.Packages, own: filepath.Join(homesDir, o.Homes), limits: o.Limits, firstUID: o.FirstUID, log: o.Logger,
		slots: newSlots(or(o.Slots, 4), or(o.PerUser, 2), or(o.Queue, 16)),
		now:   o.Now, sessionsMax: o.Sessions, sessionsPerUser: or(o.SessionsPerUser, 2),
		sessionIdle: or(o.SessionIdle, 10*time.Minute), sessionAge: or(o.SessionAge, time.Hour),
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.sessionsMax == 0 {
		s.sessionsMax = 8
	}
	s.sessions.live = map[string]*session{}
	if s.driver = o.Driver; s.driver == "" {
		s.driver = Native
	}
	if s.python == "" {
		s.python = "/usr/bin/python3"
	}
	if s.limits == (Limits{}) {
		s.limits = DefaultLimits()
	}
	if s.firstUID == 0 {
		s.firstUID = 700_000_000
	}
	for _, d := range []string{"", homesDir, s.own, runsDir} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o711); err != nil {
			return nil, fmt.Errorf("make the sandbox folder: %w", err)
		}
		if err := os.Chmod(filepath.Join(dir, d), 0o711); err != nil {
			return nil, fmt.Errorf("make the sandbox folder: %w", err)
		}
	}
	s.prepare(ctx, o.Try)
	return s, nil
}

const (
	homesDir = "homes"
	runsDir  = "runs"
)

// Status tells what was found at the start.
func (s *Sandbox) Status() Status { return s.status }

func or[N int | time.Duration](n, fallback N) N {
	if n > 0 {
		return n
	}
	return fallback
}

// Close ends all sessions and what is kept for starting runs. No run may be
// under way or follow.
func (s *Sandbox) Close() {
	s.endAll("", LostRestarted)
	s.closing.Do(func() {
		if s.spawner != nil {
			s.spawner.close()
		}
		if s.program != nil {
			s.program.tidy()
		}
	})
}

// Run does a job and waits for it. It returns a *Stop when there is no result,
// or only a part of one; a Python exception is a result. When ctx ends, so does
// the run, and ctx's error is returned. A deadline of ctx is kept before it
// comes: a job waits no longer than leaves it time, and is ended in time to tell
// what came out.
func (s *Sandbox) Run(ctx context.Context, job Job) (*Result, error) {
	if err := s.check(&job); err != nil {
		return nil, err
	}
	if !s.status.Available {
		return nil, &Stop{Reason: Unavailable, Hint: s.status.Failed}
	}
	if job.Session != nil {
		return s.inSession(ctx, job)
	}
	release, err := s.slot(ctx, job.User)
	if err != nil {
		return nil, err
	}
	defer release()
	result, err := s.run(ctx, job)
	if result != nil {
		result.State = State{Word: Fresh}
	}
	return result, err
}

// Home opens a user's home for the server to read. Nothing in it is trusted: a
// link in it must not lead out, and does not through an os.Root. io/fs.ErrNotExist
// when the user has none yet.
func (s *Sandbox) Home(user string) (*os.Root, error) {
	if !validUser(user) {
		return nil, invalid("user", "must be 1 to 64 of a-z, 0-9, _ and -")
	}
	return os.OpenRoot(filepath.Join(s.dir, s.own, user))
}

// RemoveHome removes a user's home and ends the user's sessions. The user must
// have nothing running.
func (s *Sandbox) RemoveHome(user string) error {
	if !validUser(user) {
		return invalid("user", "must be 1 to 64 of a-z, 0-9, _ and -")
	}
	s.endAll(user, LostUser)
	return errors.Join(removeHome(filepath.Join(s.dir, s.own, user)), os.RemoveAll(filepath.Join(s.dir, sessionsDir, user)))
}

func (s *Sandbox) check(job *Job) error {
	switch {
	case !validUser(job.User):
		return invalid("user", "must be 1 to 64 of a-z, 0-9, _ and -")
	case job.Code == "":
		return invalid("code", "must not be empty")
	case len(job.Code) > codeMax:
		return invalid("code", fmt.Sprintf("must be at most %d bytes", codeMax))
	case job.Timeout < 0 || job.Timeout > s.limits.WallMax:
		return invalid("timeout_seconds", fmt.Sprintf("must be from 1 to %d", int(s.limits.WallMax/time.Second)))
	}
	if ses := job.Session; ses != nil {
		if s.sessionsMax < 0 {
			return invalid("session", "is not offered here: every call is a new process")
		}
		if !validSession(ses.Name) {
			return invalid("session", "must be 1 to 64 of letters, digits, _, - and .")
		}
	}
	if job.Timeout == 0 {
		job.Timeout = s.limits.Wall
	}
	for _, f := range job.Files {
		if !filepath.IsLocal(f.Path) || filepath.Clean(f.Path) != f.Path || f.Path == "." {
			return invalid("files", "each path must be relative, in normal form, and stay in the home")
		}
	}
	return nil
}

const codeMax = 256 << 10

func invalid(field, rule string) *Stop { return &Stop{Reason: Invalid, Limit: field, Hint: rule} }

func validUser(user string) bool {
	if len(user) < 1 || len(user) > 64 {
		return false
	}
	for _, r := range user {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return false
		}
	}
	return true
}

var _ io.Writer = (*capture)(nil)
