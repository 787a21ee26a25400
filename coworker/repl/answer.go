package repl

import (
	"context"
	"errors"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/sandbox"
)

// An Answer is what came of a run, as it is written.
type Answer struct {
	Stdout     string  `json:"stdout"`
	Stderr     string  `json:"stderr"`
	Result     *string `json:"result"` // repr of a last expression; null when there was none, or it was None
	ExitCode   int     `json:"exit_code"`
	Files      []File  `json:"files"` // of the home, that are new, other than before, or gone
	FilesCut   bool    `json:"files_truncated,omitempty"`
	Truncated  bool    `json:"truncated"` // of stdout, stderr or result
	StdoutFile string  `json:"stdout_file,omitempty"`
	StderrFile string  `json:"stderr_file,omitempty"`
	State      string  `json:"state"`                     // of the variables of earlier calls: "fresh" (there are none), "kept" or "lost"
	Reason     string  `json:"state_reason,omitempty"`    // why they were lost
	Ends       string  `json:"session_ends_at,omitempty"` // unless it is used; absent when there is no session any more
	Took       int64   `json:"took_ms"`
	CPU        int64   `json:"cpu_ms"`
	PeakMemory int64   `json:"peak_memory_bytes"`
	LimitsHit  []Limit `json:"limits_hit"`
	// NotReturned are files that were asked for and are not there, no plain
	// files, or too large.
	NotReturned []string     `json:"files_not_returned,omitempty"`
	MemoryLeft  int          `json:"memory_files_left_out,omitempty"` // files of the memory that go over what is shown
	Attached    []Attachment `json:"-"`
}

// An Attachment is a file of the home that goes with an answer. Image is its
// media type if it is a picture; Text tells that Body is UTF-8.
type Attachment struct {
	Path  string
	Body  []byte
	Image string
	Text  bool
}

// A File is a change in the home. Path is relative to it.
type File struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	Removed bool   `json:"removed,omitempty"`
}

// A Limit that was hit: its name, and what it allows in bytes, files or
// milliseconds.
type Limit struct {
	Name    string `json:"limit"`
	Allowed int64  `json:"allowed"`
}

func answerOf(r *sandbox.Result, redact func(string) string) *Answer {
	a := &Answer{
		Stdout: redact(r.Stdout.Text), Stderr: redact(r.Stderr.Text), ExitCode: r.ExitCode, Files: []File{}, FilesCut: r.ChangedCut,
		Truncated: r.Stdout.Truncated || r.Stderr.Truncated || r.ValueCut, StdoutFile: r.Stdout.File, StderrFile: r.Stderr.File,
		State: r.State.Word, Reason: r.State.Reason, Took: r.Took.Milliseconds(), CPU: r.CPU.Milliseconds(), PeakMemory: r.PeakMemory, LimitsHit: []Limit{},
	}
	if a.State == "" { // of a run that was ended
		a.State = sandbox.Fresh
	}
	if !r.State.Ends.IsZero() {
		a.Ends = r.State.Ends.UTC().Format("2006-01-02T15:04:05.000Z")
	}
	if r.Value != "" {
		value := redact(r.Value)
		a.Result = &value
	}
	for _, c := range r.Changed {
		a.Files = append(a.Files, File{redact(c.Path), c.Size, c.Removed})
	}
	return a
}

// stopped are the details of a run that was ended.
type stopped struct {
	Driver  string `json:"driver"`
	Limit   string `json:"limit"`
	Allowed int64  `json:"allowed"`
	Used    int64  `json:"used,omitempty"`
	*Answer
}

// busyWait is what a caller is told to wait when every slot is taken.
const busyWait = 5 * time.Second

func (r *REPL) fault(err error, redact func(string) string) error {
	var stop *sandbox.Stop
	if !errors.As(err, &stop) {
		if errors.Is(err, context.DeadlineExceeded) { // it had begun: one that waits is refused before
			return &coworker.Fault{Code: coworker.SandboxTimeout, Hint: "the time of the call was up before the run could be ended"}
		}
		return err
	}
	switch stop.Reason {
	case sandbox.Unavailable:
		return r.unavailable(stop.Hint)
	case sandbox.Busy:
		return coworker.Paced(busyWait, 0, "sandbox")
	case sandbox.Invalid:
		return coworker.InvalidArguments(coworker.Problem{Field: stop.Limit, Problem: stop.Hint})
	}
	f := &coworker.Fault{Code: coworker.SandboxLimit, Hint: stop.Hint + "; details hold what came out before"}
	if stop.Reason == sandbox.TimedOut {
		f.Code = coworker.SandboxTimeout
	}
	d := stopped{Driver: r.facts.Status.Driver, Limit: stop.Limit, Allowed: stop.Allowed}
	if stop.Partial != nil {
		d.Answer = answerOf(stop.Partial, redact)
		if d.State == sandbox.Lost {
			f.Hint += "; the session has ended, and its variables are gone"
		}
		d.LimitsHit = []Limit{{stop.Limit, stop.Allowed}}
		switch stop.Limit {
		case "wall":
			d.Used = d.Took
		case "cpu":
			d.Used = d.CPU
		case "memory":
			d.Used = d.PeakMemory
		case "output":
			d.Used = max(stop.Partial.Stdout.Bytes, stop.Partial.Stderr.Bytes)
		}
	}
	f.Details = d
	return f
}

// unavailable says that nothing was run, and which step stood in the way.
func (r *REPL) unavailable(step string) error {
	return &coworker.Fault{Code: coworker.SandboxUnavailable, Hint: "nothing was run; what stood in the way: " + step, Details: struct {
		Driver *string `json:"driver"`
		Failed string  `json:"failed"`
	}{nil, step}}
}
