package repl

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/connect"
)

// module is what code imports as coworker.
//
//go:embed coworker.py
var module []byte

// Bounds of what code may do through the broker, in one run.
const (
	callsMax    = 100
	answersMax  = 16 << 20 // bytes
	callBodyMax = 1 << 20  // of one call
	recordTime  = 10 * time.Second
)

// A budget is spent by the calls of a run.
type budget struct {
	mu    sync.Mutex
	calls int
	bytes int
}

func (b *budget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	return b.calls <= callsMax && b.bytes < answersMax
}

func (b *budget) spend(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes += bytes
}

// A wish is one call as code asks for it. There is no confirm: code cannot
// speak for a person.
type wish struct {
	Service        string         `json:"service"`
	Module         string         `json:"module"`
	Method         string         `json:"method"`
	Path           string         `json:"path"`
	Query          map[string]any `json:"query"`
	Body           any            `json:"body"`
	Connection     string         `json:"connection"`
	Select         string         `json:"select"`
	MaxBytes       int            `json:"max_bytes"`
	Page           string         `json:"page"`
	MaxPages       int            `json:"max_pages"`
	IdempotencyKey string         `json:"idempotency_key"`
	DryRun         bool           `json:"dry_run"`
}

// broker does one call with the caller's rights.
func (w *way) broker(out http.ResponseWriter, r *http.Request) {
	answer, err := w.call(r)
	var said []byte
	if err == nil {
		said, err = json.Marshal(map[string]any{"answer": answer})
	}
	if err != nil {
		f, ok := coworker.AsFault(err)
		if !ok {
			w.repl.o.Logger.ErrorContext(r.Context(), "a call of the broker failed", "error", err)
			f = &coworker.Fault{Code: coworker.Internal}
		}
		if said, err = json.Marshal(map[string]any{"error": f.Contract()}); err != nil {
			http.Error(out, "innerloop: cannot be said", http.StatusInternalServerError)
			return
		}
	}
	w.budget.spend(len(said))
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(said) // or the run has ended
}

func (w *way) call(r *http.Request) (*connect.Answer, error) {
	if !w.budget.take() {
		return nil, &coworker.Fault{Code: coworker.SandboxLimit, Hint: "one run makes at most 100 calls and is answered at most 16 MB", Details: struct {
			Limit   string `json:"limit"`
			Allowed int    `json:"allowed"`
		}{"broker", callsMax}}
	}
	var q wish
	decoder := json.NewDecoder(http.MaxBytesReader(nil, r.Body, callBodyMax))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&q); err != nil {
		return nil, &coworker.Fault{Code: coworker.InvalidArg, Hint: "call takes service, method, path, query, body, module, connection, select, max_bytes, page, max_pages, idempotency_key and dry_run, 1 MB in all"}
	}
	who, err := w.still(r.Context())
	if err != nil {
		return nil, err
	}
	if err := w.repl.o.Coworker.Pace(who); err != nil {
		return nil, err
	}
	began := w.repl.o.Now()
	answer, trace, err := w.execute(r.Context(), who, q)
	row := coworker.Audit{
		Tool: coworker.ToolReplExecute, Module: trace.Module, Method: trace.Method, Path: trace.Path, Class: coworker.Class(trace.Class),
		Status: trace.Status, BytesIn: trace.BytesIn, BytesOut: trace.BytesOut, Retries: trace.Retries, Error: trace.Error, Took: w.repl.o.Now().Sub(began).Truncate(time.Millisecond),
	}
	if trace.Module != "" {
		row.Service = q.Service // it is one of the catalog's
	}
	if f, ok := coworker.AsFault(err); ok {
		row.Error = f.Code
	} else if err != nil {
		row.Error = coworker.Internal
	}
	// Written also when the run has ended meanwhile.
	recording, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), recordTime)
	defer cancel()
	if err := w.repl.o.Coworker.Record(recording, who, row); err != nil {
		w.repl.o.Logger.ErrorContext(recording, "a call of the broker is missing in the audit", "error", err)
	}
	return answer, err
}

func (w *way) execute(ctx context.Context, who coworker.Caller, q wish) (*connect.Answer, connect.Trace, error) {
	if len(w.named) > 0 && !slices.Contains(w.named, q.Service) {
		return nil, connect.Trace{}, &coworker.Fault{Code: coworker.PermissionDenied, Message: "The run was not given this service.", Hint: "name it in services, or leave services out"}
	}
	return w.repl.o.Engine.Execute(ctx, who, connect.Call{
		Service: q.Service, Module: q.Module, Method: q.Method, Path: q.Path, Query: q.Query, Body: q.Body, Connection: q.Connection, Select: q.Select,
		MaxBytes: q.MaxBytes, Page: q.Page, MaxPages: q.MaxPages, IdempotencyKey: q.IdempotencyKey, DryRun: q.DryRun, NoConfirm: true,
	})
}

// still is the caller as the key is now: one that was revoked or narrowed since
// the run began holds at once.
func (w *way) still(ctx context.Context) (coworker.Caller, error) {
	key, err := w.repl.o.Coworker.Key(ctx, coworker.Operator(), w.who.Key)
	if _, gone := coworker.AsFault(err); gone || err == nil && key.Status(w.repl.o.Now()) != "active" {
		return w.who, coworker.NoCaller(coworker.ReasonRevoked, "the key of this run is no longer good")
	}
	if err != nil {
		return w.who, err
	}
	who := w.who
	who.Scopes, who.Connectors, who.Class = key.Scopes, key.Connectors, key.Class
	return who, who.MayCall(coworker.ToolReplExecute)
}
