package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "s3:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("wants two folders, got %d arguments", len(args))
	}
	metadata, err := filepath.Abs(args[1])
	if err != nil {
		return err
	}
	side, err := meta.NewSideCar(metadata)
	if err != nil {
		return fmt.Errorf("open the folder of metadata: %w", err)
	}
	store, err := posix.New(args[0], side, posix.PosixOpts{SideCarDir: metadata})
	if err != nil {
		return fmt.Errorf("open the folder of objects: %w", err)
	}
	// The server takes no listener, so it gets a socket of its own and the port
	// that the kernel chose leads there.
	socket := filepath.Join(metadata, "s3.sock")
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer front.Close()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- embedgw.RunVersityGW(ctx, store, &embedgw.Config{
			RootUserAccess: os.Getenv("ROOT_ACCESS_KEY"), RootUserSecret: os.Getenv("ROOT_SECRET_KEY"),
			Region: "eu-central-1", Ports: []string{socket},
			MaxConnections: 256, MaxRequests: 128, MultipartMaxParts: 100, KeepAlive: true, Quiet: true,
		})
	}()
	if err := ready(socket, ended); err != nil {
		return err
	}
	go forward(front, socket)
	fmt.Fprintf(out, "listening on http://%s\n", front.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	return <-ended
}

// ready returns once the socket takes connections.
func ready(socket string, ended <-chan error) error {
	for range 1000 {
		if c, err := net.Dial("unix", socket); err == nil {
			return c.Close()
		}
		select {
		case err := <-ended:
			return fmt.Errorf("the server ended before it listened: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("the server does not listen")
}

// forward joins each connection of the listener to one of the socket.
func forward(front net.Listener, socket string) {
	for {
		from, err := front.Accept()
		if err != nil {
			return
		}
		go func() {
			defer from.Close()
			to, err := net.Dial("unix", socket)
			if err != nil {
				return
			}
			defer to.Close()
			go func() {
				_, _ = io.Copy(to, from)
				_ = to.(*net.UnixConn).CloseWrite()
			}()
			_, _ = io.Copy(from, to)
		}()
	}
}
