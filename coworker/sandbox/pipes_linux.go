//go:build amd64 || arm64

package sandbox

import "os"

// pipes collects ends of pipes, to be closed together.
type pipes struct {
	files []*os.File
	err   error
}

// to makes a pipe whose reading end goes to other.
func (p *pipes) to(other *pipes) *os.File { return p.pair(other, true) }

// from makes a pipe whose writing end goes to other.
func (p *pipes) from(other *pipes) *os.File { return p.pair(other, false) }

func (p *pipes) pair(other *pipes, otherReads bool) *os.File {
	r, w, err := os.Pipe()
	if err != nil {
		p.err = err
		return nil
	}
	if otherReads {
		r, w = w, r
	}
	p.files, other.files = append(p.files, r), append(other.files, w)
	return r
}

func (p *pipes) close() {
	for _, f := range p.files {
		_ = f.Close()
	}
}
