//go:build amd64 || arm64

package sandbox

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A channel is how the server and a session's interpreter speak: code goes in
// over one pipe, answers come over another, and output over two more. Whatever
// comes is untrusted: the interpreter and the code are one process. An answer
// repeats the ticket of its question, a random number, so that nothing written
// before a question was asked can pass for its answer.
//
//	question: ticket (16 bytes), most bytes of a value (4), length (4), code
//	answer:   ticket (16 bytes), exit code (1), length (4), value
type channel struct {
	control                *os.File
	answer, stdout, stderr *stream
	asking                 sync.WaitGroup
}

const ticketSize, answerHead = 16, 16 + 1 + 4

// A stream is our end of a pipe, read without waiting.
type stream struct {
	file *os.File
	fd   int
	end  bool // nobody writes to it any more
}

func newStream(f *os.File) *stream {
	s := &stream{file: f, fd: int(f.Fd())}
	s.end = unix.SetNonblock(s.fd, true) != nil
	return s
}

// read reads what is there; nothing is 0.
func (s *stream) read(into []byte) int {
	for {
		n, err := unix.Read(s.fd, into)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return 0
		case err != nil || n == 0:
			s.end = true
			return 0
		}
		return n
	}
}

// pending is how many bytes can be read now.
func (s *stream) pending() int {
	n, err := unix.IoctlGetInt(s.fd, unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return n
}

func newChannel(control, answer, stdout, stderr *os.File) *channel {
	return &channel{control: control, answer: newStream(answer), stdout: newStream(stdout), stderr: newStream(stderr)}
}

// unread tells whether something was said that nobody asked for.
func (ch *channel) unread() bool { return ch.answer.end || ch.answer.pending() > 0 }

// close closes our ends, but for the answer's, which is the process's to close.
func (ch *channel) close() {
	_ = ch.control.Close()
	ch.asking.Wait()
	_, _ = ch.stdout.file.Close(), ch.stderr.file.Close()
}

// What came over a channel.
const (
	saidNothing  = iota // the process is gone, or closed its end
	saidAnswer          // in the form above
	saidNonsense        // in another
)

type said struct {
	kind  int
	code  int
	value []byte
}

// ask has the interpreter run code, and takes in its output until it answers.
func (ch *channel) ask(code string, most int64, c *process) said {
	var ticket [ticketSize]byte
	_, _ = rand.Read(ticket[:]) // never fails
	question := append([]byte{}, ticket[:]...)
	question = binary.BigEndian.AppendUint32(question, uint32(most+1))
	question = binary.BigEndian.AppendUint32(question, uint32(len(code)))
	question = append(question, code...)
	ch.asking.Go(func() { _, _ = ch.control.Write(question) }) // a process that ends reads no more
	var answer []byte
	need := answerHead
	for {
		ch.poll(c, true)
		part := make([]byte, need-len(answer))
		n := ch.answer.read(part)
		if answer = append(answer, part[:n]...); ch.answer.end {
			return said{kind: saidNothing}
		}
		if len(answer) < need {
			continue
		}
		length := int64(binary.BigEndian.Uint32(answer[ticketSize+1:]))
		if subtle.ConstantTimeCompare(answer[:ticketSize], ticket[:]) != 1 || length > most+1 {
			return said{kind: saidNonsense}
		}
		if need = answerHead + int(length); len(answer) < need {
			continue
		}
		// What was printed before the answer is in the pipes by now.
		ch.stdout.copy(c.stdout, ch.stdout.pending())
		ch.stderr.copy(c.stderr, ch.stderr.pending())
		return said{kind: saidAnswer, code: int(answer[ticketSize]), value: answer[answerHead:]}
	}
}

// copy reads at most n bytes.
func (s *stream) copy(to *capture, n int) {
	buffer := make([]byte, min(n, 64<<10))
	for n > 0 && !s.end {
		got := s.read(buffer[:min(n, len(buffer))])
		if got == 0 {
			return
		}
		_, _ = to.Write(buffer[:got]) // a capture takes everything
		n -= got
	}
}

// poll waits for something to read and takes in what was printed.
func (ch *channel) poll(c *process, answer bool) {
	var fds []unix.PollFd
	for _, s := range []*stream{ch.stdout, ch.stderr, ch.answer} {
		if !s.end && (answer || s != ch.answer) {
			fds = append(fds, unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN})
		}
	}
	if len(fds) == 0 {
		return
	}
	_, _ = unix.Poll(fds, -1) // interrupted, it is called again
	ch.stdout.copy(c.stdout, 64<<10)
	ch.stderr.copy(c.stderr, 64<<10)
}

// drain takes in what is printed until nobody can print any more.
func (ch *channel) drain(c *process) {
	for !ch.stdout.end || !ch.stderr.end {
		ch.poll(c, false)
	}
}
