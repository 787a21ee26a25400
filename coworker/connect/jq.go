package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/itchyny/gojq"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// A jq program is written by a model and may run for ever or fill the memory,
// so it runs in a process of its own: this program again, under another name,
// which ends itself past a number of bytes and is ended past a time.
const (
	jqName    = "innerloop-jq"
	jqTime    = 3 * time.Second
	jqMemory  = 256 << 20
	jqOutput  = 4 << 20
	jqQuery   = 4 << 10
	jqResults = 10_000
)

func init() {
	if len(os.Args) == 1 && os.Args[0] == jqName {
		os.Exit(jqMain(os.Stdin, os.Stdout))
	}
}

type jqTask struct {
	Query string          `json:"query"`
	Input json.RawMessage `json:"input"`
}

type jqDone struct {
	Value   any    `json:"value"`
	Problem string `json:"problem,omitempty"`
}

// jqMain is the other process.
func jqMain(in io.Reader, out io.Writer) int {
	debug.SetMemoryLimit(jqMemory)
	limitMemory()
	go func() {
		heap := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
		for {
			metrics.Read(heap)
			if heap[0].Value.Uint64() > jqMemory {
				os.Exit(3)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	var task jqTask
	if err := json.NewDecoder(in).Decode(&task); err != nil {
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), jqTime)
	defer cancel()
	return writeJQ(out, runJQ(ctx, task))
}

func writeJQ(out io.Writer, done jqDone) int {
	if err := json.NewEncoder(out).Encode(done); err != nil {
		return 2
	}
	return 0
}

// parseJQ reads a program without running it, and tells what is wrong with it.
func parseJQ(text string) (query *gojq.Query, problem string) {
	if len(text) > jqQuery {
		return nil, fmt.Sprintf("must be at most %d bytes", jqQuery)
	}
	query, err := gojq.Parse(text)
	if err != nil {
		var where *gojq.ParseError
		if errors.As(err, &where) {
			return nil, fmt.Sprintf("is no jq program: something is wrong before byte %d", where.Offset)
		}
		return nil, "is no jq program"
	}
	return query, ""
}

func runJQ(ctx context.Context, task jqTask) jqDone {
	query, problem := parseJQ(task.Query)
	if problem != "" {
		return jqDone{Problem: problem}
	}
	// No environment, no files, no clock of ours, no input but the answer.
	code, err := gojq.Compile(query, gojq.WithEnvironLoader(func() []string { return nil }))
	if err != nil {
		return jqDone{Problem: "is no jq program: it uses a function or a variable that there is not"}
	}
	decoder := json.NewDecoder(bytes.NewReader(task.Input))
	decoder.UseNumber()
	var input any
	if err := decoder.Decode(&input); err != nil {
		return jqDone{Problem: "has nothing to select from"}
	}
	var results []any
	for iter := code.RunWithContext(ctx, input); ; {
		value, ok := iter.Next()
		if !ok {
			break
		}
		if err, failed := value.(error); failed {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				break
			}
			if ctx.Err() != nil {
				return jqDone{Problem: "took too long"}
			}
			return jqDone{Problem: "does not fit the answer (for example a name of what is no object)"}
		}
		if results = append(results, value); len(results) > jqResults {
			return jqDone{Problem: fmt.Sprintf("has more than %d results; collect them in a list or narrow it", jqResults)}
		}
	}
	if len(results) == 1 {
		return jqDone{Value: results[0]}
	}
	return jqDone{Value: results}
}

// Each of these processes may take jqMemory, so they are few at a time: two for
// a core, since half of their life is starting.
func jqParallel() int { return 2 * runtime.GOMAXPROCS(0) }

// selectData puts the caller's jq program to the answer. When that fails, or
// others' programs leave no place for it until the call must end, a read is
// refused, to be made again; what changed something was done and is answered as
// it came, with what stood in the way.
func (x *execution) selectData(ctx context.Context, data any) (selected any, whole string, err error) {
	select {
	case x.selecting <- struct{}{}:
		defer func() { <-x.selecting }()
	case <-ctx.Done():
		switch {
		case !errors.Is(ctx.Err(), context.DeadlineExceeded):
			return nil, "", ctx.Err()
		case x.class == catalog.Read:
			return nil, "", coworker.Paced(time.Second, cap(x.selecting), "selections at once on this server")
		}
		return data, "too many selections are under way", nil
	}
	selected, err = selectJQ(ctx, x.call.Select, data)
	if err == nil || x.class == catalog.Read {
		return selected, "", err
	}
	whole = "select could not be run"
	if f, ok := coworker.AsFault(err); ok {
		if problems, ok := f.Details.([]coworker.Problem); ok {
			whole = "select " + problems[0].Problem
		}
	}
	return data, whole, nil
}

// selectJQ runs a jq program over a value. What a program prints besides one
// result becomes a list.
func selectJQ(ctx context.Context, query string, value any) (any, error) {
	input, err := encodeJSON(value)
	if err != nil {
		return nil, err
	}
	task, err := encodeJSON(jqTask{query, input})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, jqTime+2*time.Second)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args, cmd.Env, cmd.Stdin, cmd.WaitDelay = []string{jqName}, []string{}, bytes.NewReader(task), time.Second
	out := &bounded{limit: jqOutput, over: cancel}
	cmd.Stdout = out
	err = cmd.Run()
	switch {
	case out.full:
		return nil, badSelect(fmt.Sprintf("selects more than %d bytes", jqOutput))
	case ctx.Err() != nil:
		return nil, badSelect("took too long")
	case err != nil:
		return nil, badSelect("needs more memory than it may")
	}
	var done jqDone
	decoder := json.NewDecoder(&out.buffer)
	decoder.UseNumber()
	if err := decoder.Decode(&done); err != nil {
		return nil, fmt.Errorf("read what was selected: %w", err)
	}
	if done.Problem != "" {
		return nil, badSelect(done.Problem)
	}
	return done.Value, nil
}

func badSelect(rule string) error {
	return coworker.InvalidArguments(coworker.Problem{Field: "select", Problem: rule})
}

// bounded keeps what is written up to a limit.
type bounded struct {
	buffer bytes.Buffer
	limit  int
	over   func()
	full   bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.buffer.Len()+len(p) > b.limit {
		b.full = true
		b.over()
		return len(p), nil
	}
	return b.buffer.Write(p)
}
