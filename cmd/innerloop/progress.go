package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// progress is a line that says how far a long command is: on a terminal one
// line that changes, elsewhere a line now and then.
type progress struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	shown    time.Time
	open     bool // a line waits for its end
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, shown: time.Now()}
	if file, ok := w.(*os.File); ok {
		info, err := file.Stat()
		p.terminal = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return p
}

func (p *progress) show(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pause := 5 * time.Second
	if p.terminal {
		pause = 200 * time.Millisecond
	}
	if time.Since(p.shown) < pause {
		return
	}
	p.shown = time.Now()
	if p.terminal {
		p.open = true
		fmt.Fprintf(p.w, "\r\x1b[K%s", text)
		return
	}
	fmt.Fprintln(p.w, text)
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.open = false
	}
}
