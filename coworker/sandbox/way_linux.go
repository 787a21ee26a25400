//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/net/netutil"
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
	ended    chan struct{}
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
	bounded := netutil.LimitListener(l, wayMax)
	p.way = &way{bounded, make(chan struct{})}
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
