//go:build amd64 || arm64

package cell

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// restrict adds attributes to a mount (mount_setattr(2)).
func restrict(target string, attributes uint64, flags uintptr) error {
	name, err := syscall.BytePtrFromString(target)
	if err != nil {
		return err
	}
	attr := struct{ set, clear, propagation, userns uint64 }{set: attributes}
	here := -100 // AT_FDCWD
	_, _, e := syscall.Syscall6(sysMountSetattr, uintptr(here), uintptr(unsafe.Pointer(name)), flags,
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if e != 0 {
		return os.NewSyscallError("mount_setattr", e)
	}
	return nil
}

func loopbackUp() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = syscall.Close(fd) }()
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	copy(request.name[:], "lo")
	_, _, e := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request)))
	if e != 0 {
		return os.NewSyscallError("ioctl", e)
	}
	return nil
}

// ProxyAddress is where programs in the cell find the way out, if there is one.
const ProxyAddress = "127.0.0.1:3128"

// forward carries connections to a unix socket. Its work ends with the cell.
func forward(socket string) error {
	l, err := net.Listen("tcp", ProxyAddress)
	if err != nil {
		return err
	}
	go func() {
		for {
			inside, err := l.Accept()
			if err != nil {
				return
			}
			go carry(inside.(*net.TCPConn), socket)
		}
	}()
	return nil
}

func carry(inside *net.TCPConn, socket string) {
	defer inside.Close()
	outside, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return
	}
	defer outside.Close()
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(outside, inside)
		_ = outside.CloseWrite()
		close(done)
	}()
	_, _ = io.Copy(inside, outside)
	_ = inside.CloseWrite()
	<-done
}
