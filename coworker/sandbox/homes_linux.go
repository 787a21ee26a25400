//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// home opens a user's home, made if need be, and tells the user id that owns
// it. As root each home has an id of its own that belongs to nobody else on the
// machine; the folder's owner is the record of it. As an ordinary user all
// homes are the server's.
func (s *Sandbox) home(user string) (*os.Root, int, error) {
	s.homes.Lock()
	defer s.homes.Unlock()
	all := filepath.Join(s.dir, homesDir)
	// Processes that share the folder must not give one id twice.
	lock, err := lockFile(filepath.Join(all, ".lock"), unix.LOCK_EX)
	if err != nil {
		return nil, 0, fmt.Errorf("make a home: %w", err)
	}
	defer func() { _ = lock.Close() }()
	name := filepath.Join(s.dir, s.own, user)
	info, err := os.Lstat(name)
	if before := filepath.Join(all, user); errors.Is(err, fs.ErrNotExist) && name != before {
		// Made when all homes of a folder lay together. The name of a user is
		// drawn at random, so it is the same one.
		if err = os.Rename(before, name); err == nil {
			info, err = os.Lstat(name)
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		info, err = s.makeHome(all, name)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("make a home: %w", err)
	}
	if !info.IsDir() {
		return nil, 0, errors.New("make a home: its place is taken by a file")
	}
	// A run may have shut its own home.
	if info.Mode().Perm()&0o700 != 0o700 {
		if err := os.Chmod(name, 0o700); err != nil {
			return nil, 0, fmt.Errorf("open a home: %w", err)
		}
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, 0, fmt.Errorf("open a home: %w", err)
	}
	return root, owner(info), nil
}

func (s *Sandbox) makeHome(all, name string) (fs.FileInfo, error) {
	uid := os.Geteuid()
	if uid == 0 {
		next, err := s.nextUID(all)
		if err != nil {
			return nil, err
		}
		uid = next
	}
	// Made aside and moved into place, so that a home always has its owner.
	aside := name + ".new"
	if err := os.RemoveAll(aside); err != nil {
		return nil, err
	}
	if err := os.Mkdir(aside, 0o700); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(aside, uid, uid); err != nil {
			return nil, err
		}
	}
	if err := os.Rename(aside, name); err != nil {
		return nil, err
	}
	return os.Lstat(name)
}

// nextUID is above every id that owns a home, whichever service made it.
func (s *Sandbox) nextUID(all string) (int, error) {
	highest := s.firstUID - 1
	count := func(dir string, below func(name string) error) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil || !e.IsDir() {
				continue
			}
			if id := owner(info); id >= s.firstUID {
				highest = max(highest, id)
			} else if err := below(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
		return nil
	}
	err := count(all, func(of string) error {
		return count(of, func(string) error { return nil })
	})
	return highest + 1, err
}

func owner(info fs.FileInfo) int {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid)
	}
	return -1
}

func lockFile(name string, how int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// put writes an input into a home, as its user would have.
func put(home *os.Root, uid int, f File) error {
	for dir := path.Dir(f.Path); dir != "."; dir = path.Dir(dir) {
		if _, err := home.Lstat(dir); err == nil {
			break
		}
		if err := home.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := own(home, uid, dir); err != nil {
			return err
		}
	}
	// Written aside and moved: whatever is at the place, a link or a pipe that
	// nobody reads, is replaced and never opened. Another run of the same user
	// may be at work here.
	aside := incoming + newID()
	to, err := home.OpenFile(aside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = to.Write(f.Body)
	err = errors.Join(err, to.Close())
	if err == nil {
		err = own(home, uid, aside)
	}
	if err == nil {
		err = home.Rename(aside, f.Path)
	}
	if err != nil {
		return errors.Join(err, home.Remove(aside))
	}
	return nil
}

const (
	incoming    = ".incoming-"
	incomingOld = time.Minute
)

// sweepIncoming removes inputs that a server did not live to move into place.
// One that lives moves them in a moment.
func (s *Sandbox) sweepIncoming(home *os.Root) {
	folder, err := home.Open(".")
	if err != nil {
		return
	}
	defer func() { _ = folder.Close() }()
	names, _ := folder.Readdirnames(int(s.limits.HomeFiles) + 1)
	for _, name := range names {
		if !strings.HasPrefix(name, incoming) || len(name) != len(incoming)+len(newID()) {
			continue
		}
		if info, err := home.Lstat(name); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > incomingOld {
			_ = home.Remove(name)
		}
	}
}

func own(home *os.Root, uid int, name string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return home.Lchown(name, uid, uid)
}

// A census is what a home holds: how much, how many, and which.
type census struct {
	bytes, files int64
	of           map[string]fileMark // nil unless asked for
}

type fileMark struct {
	size  int64
	at    time.Time
	inode uint64
}

// depthMax is how deep folders of a home may lie in each other: the cost of
// counting grows with the square.
const depthMax = 64

// take counts a home. It stops past limit files, since a user may have made any
// number, and counts too deep a folder as too many.
func take(home *os.Root, limit int64, marks bool) (census, error) {
	var c census
	if marks {
		c.of = map[string]fileMark{}
	}
	stop := errors.New("enough")
	opened := map[string]bool{}
	var look fs.WalkDirFunc
	look = func(name string, d fs.DirEntry, err error) error {
		// A folder that nobody may enter would hide what is in it.
		if errors.Is(err, fs.ErrPermission) && d != nil && d.IsDir() && !opened[name] && home.Chmod(name, 0o700) == nil {
			opened[name] = true
			c.files-- // it comes once more
			return fs.WalkDir(home.FS(), name, look)
		}
		if err != nil || name == "." {
			return nil //nolint:nilerr // a folder that vanished or cannot be read is no fault of the count
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		if c.files++; c.files > limit {
			return stop
		}
		if strings.Count(name, "/") >= depthMax {
			c.files = limit + 1
			return stop
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		c.bytes += stat.Blocks * 512 / max(1, int64(stat.Nlink))
		if marks && info.Mode().IsRegular() {
			c.of[name] = fileMark{info.Size(), info.ModTime(), stat.Ino}
		}
		return nil
	}
	err := fs.WalkDir(home.FS(), ".", look)
	if errors.Is(err, stop) {
		err = nil
	}
	return c, err
}

const changesMax = 100

// changes compares two counts, by path.
func changes(before, after census) (list []Change, cut bool) {
	for name, mark := range after.of {
		if before.of[name] != mark {
			list = append(list, Change{Path: name, Size: mark.size})
		}
	}
	for name := range before.of {
		if _, ok := after.of[name]; !ok {
			list = append(list, Change{Path: name, Removed: true})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Path < list[j].Path })
	if len(list) > changesMax {
		return list[:changesMax], true
	}
	return list, false
}
