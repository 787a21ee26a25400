//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/net/netutil"
	"golang.org/x/sys/unix"
)

// socketName is the way out in the folder of a run.
const socketName = "proxy.sock"

// wayMax is how many connections a way out has at a time; more wait. The bound
// belongs to the listener that is closed at the end: whoever serves one behind a
// bound of its own would wait there for a connection to end.
const wayMax = 32

// A way is the listener of a run's way out, and who serves it.
type way struct {
	listener net.Listener
	taken    *taken
	ended    chan struct{}
}

// A taken listener knows the sockets of its connections. The kernel lists them
// with those of the run, in whose hands they are not.
type taken struct {
	*net.UnixListener
	mu     sync.Mutex
	inodes map[uint64]bool
}

// Accept waits for a connection and remembers its socket.
func (t *taken) Accept() (net.Conn, error) {
	c, err := t.AcceptUnix()
	if err != nil {
		return nil, err
	}
	inode, err := inodeOf(c)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inodes[inode] = true
	return &takenConn{UnixConn: c, leave: func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.inodes, inode)
	}}, nil
}

// has tells whether the server has a socket open.
func (t *taken) has(inode uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.inodes[inode]
}

type takenConn struct {
	*net.UnixConn
	once  sync.Once
	leave func()
}

// Close forgets the socket once it is closed.
func (c *takenConn) Close() error {
	err := c.UnixConn.Close()
	c.once.Do(c.leave)
	return err
}

func inodeOf(c syscall.Conn) (inode uint64, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var stat unix.Stat_t
	if failed := raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &stat) }); failed != nil {
		return 0, failed
	}
	return stat.Ino, err
}

// listen makes the socket of a run, for its user alone, and lets serve have it.
func (p *process) listen(uid int, serve func(net.Listener)) error {
	dir, err := os.Open(p.dir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	// The name of a socket has at most 108 bytes; the folder's may be longer.
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: "/proc/self/fd/" + strconv.Itoa(int(dir.Fd())) + "/" + socketName})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false) // it goes with the folder
	name := filepath.Join(p.dir, socketName)
	err = os.Chmod(name, 0o600)
	if err == nil && os.Geteuid() == 0 {
		err = os.Lchown(name, uid, uid)
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	own := &taken{UnixListener: l, inodes: map[uint64]bool{}}
	bounded := netutil.LimitListener(own, wayMax)
	p.way = &way{bounded, own, make(chan struct{})}
	go func() {
		defer close(p.way.ended)
		serve(bounded)
	}()
	return nil
}

func (w *way) close() {
	_ = w.listener.Close()
	<-w.ended
}
