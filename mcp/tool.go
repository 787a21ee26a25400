package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"innerloop/internal/discovery"
	"innerloop/internal/strictjson"
	"innerloop/journal"
)

// A tool is one thing an assistant can call. Its arguments are checked by
// call itself and never by mcp-go, so that the refusal can be understood.
type tool struct {
	name, title, description string
	hints                    hints
	input, output            schema
	// call gets an object, and returns a value to be written as JSON or a
	// json.RawMessage. A *journal.Fault becomes a tool error.
	call func(ctx context.Context, caller journal.Caller, arguments strictjson.Value) (any, error)
	// work stands in place of call where a call may last for minutes. It is
	// given them when the caller asked to hear of its progress; others are cut
	// before they give up. What it reports are short texts of ours; it may
	// report at any time, also when nobody hears it.
	work func(ctx context.Context, caller journal.Caller, arguments strictjson.Value, report func(message string)) (any, error)
	// keyed stands in place of call where a caller needs a key. It returns the
	// one text of the answer; a *coworker.Fault becomes a tool error of the
	// coworker's contract.
	keyed func(ctx context.Context, k *keyedCall) (any, error)
	later bool // known by its name, but nothing to list yet
	lasts bool // of keyed: may last for minutes, as with work
}

func (t tool) lasting() bool { return t.work != nil || t.lasts }

// hints are sent in full: what is left out means «destructive» and «open
// world» to a client.
type hints struct{ readOnly, destructive, idempotent, openWorld bool }

// journalTools are the tools of an anonymous caller, in the order they are
// listed and used (protocol 8.5).
func journalTools(j *journal.Journal, origins discovery.Origins) []tool {
	return []tool{
		startRegistration(j),
		completeRegistration(j),
		prepareEntry(j),
		publishEntry(j, origins),
		readFeed(j),
	}
}

func (t tool) definition() (mcp.Tool, error) {
	input, err := json.Marshal(t.input)
	if err != nil {
		return mcp.Tool{}, fmt.Errorf("write the input schema of %s: %w", t.name, err)
	}
	var output json.RawMessage // none for tools that answer with text alone
	if t.output != nil {
		if output, err = json.Marshal(t.output); err != nil {
			return mcp.Tool{}, fmt.Errorf("write the output schema of %s: %w", t.name, err)
		}
	}
	return mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description,
		RawInputSchema: input, RawOutputSchema: output,
		Annotations: mcp.ToolAnnotation{
			Title: t.title, ReadOnlyHint: &t.hints.readOnly, DestructiveHint: &t.hints.destructive,
			IdempotentHint: &t.hints.idempotent, OpenWorldHint: &t.hints.openWorld,
		},
	}, nil
}

var errPanicked = errors.New("mcp: tool panicked")

// handler is what mcp-go calls.
func (d *Door) handler(t tool) server.ToolHandlerFunc {
	return func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		raw := r.Params.RawArguments
		if len(raw) == 0 || string(raw) == "null" {
			raw = json.RawMessage("{}")
		}
		arguments, err := strictjson.Parse(raw)
		if err != nil {
			return nil, fmt.Errorf("read arguments again: %w", err) // Serve has read them before
		}
		c, err := callOf(ctx)
		if err != nil {
			return nil, err
		}
		body, err := d.bounded(ctx, t, c, arguments)
		if errors.Is(err, errPanicked) {
			return nil, err
		}
		if err != nil {
			return d.failed(ctx, t, err)
		}
		text, err := encode(body)
		if err != nil {
			return nil, fmt.Errorf("write the result of %s: %w", t.name, err)
		}
		return &mcp.CallToolResult{Content: textContent(text), RawStructuredContent: text}, nil
	}
}

// bounded runs a call until it answers, its time is up or nobody waits for it,
// also when it does not listen to its context. A write that is cut off may
// still happen, which is why every write can be repeated exactly.
func (d *Door) bounded(ctx context.Context, t tool, c call, arguments strictjson.Value) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	defer context.AfterFunc(c.waiting, cancel)()
	type outcome struct {
		body any
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				d.panicked(ctx, p, "tool", t.name)
				done <- outcome{err: errPanicked}
			}
		}()
		if t.keyed != nil {
			body, err := t.keyed(ctx, c.shown(arguments))
			done <- outcome{body, err}
			return
		}
		if t.work != nil {
			body, err := t.work(ctx, c.caller, arguments, c.report)
			done <- outcome{body, err}
			return
		}
		body, err := t.call(ctx, c.caller, arguments)
		done <- outcome{body, err}
	}()
	select {
	case o := <-done:
		if o.err == nil || ctx.Err() == nil || !errors.Is(o.err, ctx.Err()) {
			return o.body, o.err
		}
	case <-ctx.Done():
	}
	return nil, d.cut(ctx, t, c)
}

// cut is the answer to a call whose time was up.
func (d *Door) cut(ctx context.Context, t tool, c call) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return journal.Refuse(journal.ServiceUnavailable, "the call was cancelled") // and nobody hears it
	}
	d.logger.WarnContext(ctx, "tool cut", "tool", t.name, "after", c.limit)
	hint := fmt.Sprintf("the call was cut after %d seconds", int(c.limit.Seconds()))
	if t.lasting() && c.limit < d.streamTimeout {
		hint += "; with a progressToken in params._meta and text/event-stream in the Accept header it may take " +
			fmt.Sprintf("%d minutes", int(d.streamTimeout.Minutes()))
	}
	return journal.Refuse(journal.ServiceUnavailable, hint)
}

func textContent(text []byte) []mcp.Content {
	return []mcp.Content{mcp.TextContent{Type: mcp.ContentTypeText, Text: string(text)}}
}
