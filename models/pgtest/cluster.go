//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"syscall"
	"time"
)

// errNoPostgres is the one sentence a newcomer without PostgreSQL reads.
var errNoPostgres = errors.New("pgtest: PostgreSQL is not installed (initdb and postgres are neither under /usr/lib/postgresql nor on PATH); install it or set " + Variable)

// keeper runs the server and ends with it. Its standard input is a pipe from
// the test binary: when that ends, in whatever way, the read returns, the
// server stops and the folder goes.
const keeper = `
postgres=$1; folder=$2
"$postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c unix_socket_permissions=0777 \
	-c synchronous_commit=off -c max_connections=200 -c shared_buffers=64MB -c max_wal_size=512MB </dev/null &
server=$!
read -r _
kill -INT $server
wait $server
cd / && rm -rf "$folder"
`

// startCluster makes a cluster in a new folder and serves it on a socket there.
func startCluster() (string, error) {
	initdb, postgres, err := programs()
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "innerloop-pg-")
	if err != nil {
		return "", fmt.Errorf("pgtest: %w", err)
	}
	as, err := account(folder)
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	data := filepath.Join(folder, "data")
	create := exec.Command(initdb, "-D", data, "-U", "innerloop", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
	create.Dir, create.SysProcAttr = folder, as
	if out, err := create.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("pgtest: initdb: %w: %s", err, out), os.RemoveAll(folder))
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	defer func() { _ = log.Close() }() // the keeper has its own copy
	read, write, err := os.Pipe()
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(folder))
	}
	defer func() { _ = read.Close() }() // the keeper has its own copy
	keep := exec.Command("/bin/sh", "-c", keeper, "innerloop-pgtest", postgres, folder)
	// A group of its own, so that an interrupt at the terminal ends the tests
	// and not the keeper before it has cleaned up.
	keep.Dir, keep.Stdin, keep.Stdout, keep.Stderr, keep.SysProcAttr = folder, read, log, log, as
	as.Setpgid = true
	if err := keep.Start(); err != nil {
		return "", errors.Join(fmt.Errorf("pgtest: %w", err), os.RemoveAll(folder))
	}
	address := (&url.URL{
		Scheme: "postgres", User: url.User("innerloop"), Path: "/postgres",
		RawQuery: url.Values{"host": {folder}}.Encode(),
	}).String()
	ended := make(chan error, 1)
	go func() {
		ended <- keep.Wait()
		// Named here so that the pipe stays open for as long as the process
		// lives: a file that nobody refers to is closed by the collector.
		_ = write.Close()
	}()
	if err := awaitServer(address, data, ended); err != nil {
		text, _ := os.ReadFile(log.Name()) // the first error counts
		return "", errors.Join(fmt.Errorf("%w: %s", err, text), write.Close())
	}
	return address, nil
}

// awaitServer asks until the server answers. It reads the clock of this
// machine: the server is a process, not part of the test.
func awaitServer(address, data string, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ownedBy(ctx, address, data)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errors.New("pgtest: the server ended at once")
		case <-ctx.Done():
			return fmt.Errorf("pgtest: the server does not answer: %w", err)
		case <-tick.C:
		}
	}
}

// programs finds the newest installed initdb and postgres.
func programs() (initdb, postgres string, err error) {
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", "", err
	}
	version := func(folder string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder))) // 0 sorts last
		return n
	}
	sort.Slice(folders, func(i, j int) bool { return version(folders[i]) > version(folders[j]) })
	for _, folder := range folders {
		initdb, postgres = filepath.Join(folder, "initdb"), filepath.Join(folder, "postgres")
		if executable(initdb) && executable(postgres) {
			return initdb, postgres, nil
		}
	}
	initdb, noInitdb := exec.LookPath("initdb")
	postgres, noPostgres := exec.LookPath("postgres")
	if noInitdb != nil || noPostgres != nil {
		return "", "", errNoPostgres
	}
	return initdb, postgres, nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// account gives the folder to an unprivileged user when we are root, as which
// PostgreSQL refuses to run.
func account(folder string) (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return &syscall.SysProcAttr{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, noUID := strconv.ParseUint(u.Uid, 10, 32)
		gid, noGID := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(noUID, noGID, os.Chown(folder, int(uid), int(gid))); err != nil {
			return nil, fmt.Errorf("pgtest: %w", err)
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, errors.New("pgtest: running as root, and there is neither a user postgres nor nobody to run the server as")
}
