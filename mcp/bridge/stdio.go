package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// maxMessage bounds one line from the client.
const maxMessage = 4 << 20

// Serve reads one JSON-RPC message a line from in and answers on out, until in
// ends or ctx is done. What is under way when in ends is still answered:
// mcp-go's own loop drops it, and keeps its session in a global.
func (b *Bridge) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := make(chan line)
	go read(ctx, in, lines)
	var answers sync.Mutex // one line at a time on out
	var turn sync.Mutex    // one call at a time: they share a profile
	var underWay sync.WaitGroup
	defer underWay.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case l := <-lines:
			if l.err != nil {
				if errors.Is(l.err, io.EOF) {
					return nil
				}
				return l.err
			}
			underWay.Go(func() {
				if isCall(l.text) {
					turn.Lock()
					defer turn.Unlock()
				}
				response := b.core.HandleMessage(ctx, l.text)
				if response == nil {
					return
				}
				text, err := encode(response)
				if err != nil {
					return
				}
				answers.Lock()
				defer answers.Unlock()
				_, _ = out.Write(append(text, '\n')) // a client that is gone hears nothing
			})
		}
	}
}

type line struct {
	text json.RawMessage
	err  error
}

// read hands on the lines of in. It ends with in, or with the process: a read
// of standard input cannot be called off.
func read(ctx context.Context, in io.Reader, lines chan<- line) {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(make([]byte, 1<<16), maxMessage)
	send := func(l line) bool {
		select {
		case lines <- l:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for scanner.Scan() {
		if text := scanner.Bytes(); len(text) > 0 && !send(line{text: append(json.RawMessage(nil), text...)}) {
			return
		}
	}
	err := scanner.Err()
	if err == nil {
		err = io.EOF
	}
	send(line{err: err})
}

// isCall tells the messages that use the profile.
func isCall(message []byte) bool {
	var m struct {
		Method string `json:"method"`
	}
	return json.Unmarshal(message, &m) == nil && m.Method == "tools/call"
}
