//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// groups bound the memory and the processes of a whole run by control groups,
// where the machine lets us. Roots is one folder for version 2, and the memory
// and pids hierarchies for version 1.
type groups struct {
	version int
	roots   []string
}

// groupSlack is what a run's own first processes may use beside the program.
const (
	groupSlackBytes = 64 << 20
	groupSlackTasks = 40
)

// findGroups tries each version with a group that is made, limited and removed.
func findGroups() groups {
	for _, g := range []groups{
		{2, []string{filepath.Join("/sys/fs/cgroup", ownGroup(), "innerloop")}},
		{1, []string{"/sys/fs/cgroup/memory/innerloop", "/sys/fs/cgroup/pids/innerloop"}},
	} {
		if g.usable() {
			return g
		}
	}
	return groups{}
}

// ownGroup is this process's group in version 2, which systemd hands over when
// a unit has Delegate=yes.
func ownGroup() string {
	raw, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(raw)) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return group
		}
	}
	return ""
}

func (g groups) usable() bool {
	for _, root := range g.roots {
		if g.version == 2 {
			// Controllers reach a group only when its parent passes them on.
			on, err := os.ReadFile(filepath.Join(filepath.Dir(root), "cgroup.subtree_control"))
			if err != nil || !strings.Contains(string(on), "memory") || !strings.Contains(string(on), "pids") {
				return false
			}
		}
		if os.MkdirAll(root, 0o755) != nil {
			return false
		}
		if g.version == 2 && os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+memory +pids"), 0) != nil {
			return false
		}
	}
	made, err := g.make("probe-"+newID(), 64<<20, 16)
	if err != nil {
		return false
	}
	return made.remove() == nil
}

func (g groups) name() string {
	if g.version == 0 {
		return "watchdog"
	}
	return fmt.Sprintf("cgroup v%d", g.version)
}

// A group holds the processes of one run.
type group struct {
	version int
	dirs    []string
	locks   []*os.File // held until it is removed, so that no sweep takes it for a leftover
}

// claim makes the group of a run. A sweep of another server may take a new one
// before it is locked, and may be about to remove what has its name: the next
// try has a name of its own.
func (g groups) claim(id string, bytes, tasks int64) (made group, err error) {
	for _, name := range []string{id, id + "-2", id + "-3"} {
		if made, err = g.make(name, bytes, tasks); err == nil {
			break
		}
	}
	return made, err
}

// make makes a group. Without control groups it is empty, and does
// nothing.
func (g groups) make(id string, bytes, tasks int64) (group, error) {
	made := group{version: g.version}
	for _, root := range g.roots {
		dir := filepath.Join(root, id)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return made, errors.Join(fmt.Errorf("make a control group: %w", err), made.remove())
		}
		made.dirs = append(made.dirs, dir)
		lock, err := lockDir(dir)
		if err != nil {
			return made, errors.Join(fmt.Errorf("keep a control group: %w", err), made.remove())
		}
		made.locks = append(made.locks, lock)
	}
	settings := map[string]int64{}
	switch g.version {
	case 1:
		settings["0/memory.limit_in_bytes"] = bytes
		settings["1/pids.max"] = tasks
	case 2:
		settings["0/memory.max"] = bytes
		settings["0/memory.swap.max"] = 0
		settings["0/pids.max"] = tasks
	}
	for name, value := range settings {
		file := filepath.Join(made.dirs[name[0]-'0'], name[2:])
		err := os.WriteFile(file, []byte(strconv.FormatInt(value, 10)), 0)
		if errors.Is(err, os.ErrNotExist) && strings.Contains(name, "swap") {
			continue // a kernel without swap accounting has no such file
		}
		if err != nil {
			return made, errors.Join(fmt.Errorf("limit a control group: %w", err), made.remove())
		}
	}
	return made, nil
}

func (g group) add(pid int) error {
	for _, dir := range g.dirs {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("put a run into its control group: %w", err)
		}
	}
	return nil
}

// killed tells whether the kernel ended a process of the group for its memory.
func (g group) killed() bool { return g.deaths() > 0 }

// deaths counts the processes of the group that the kernel ended for memory.
func (g group) deaths() int64 {
	if len(g.dirs) == 0 {
		return 0
	}
	name := "memory.oom_control"
	if g.version == 2 {
		name = "memory.events"
	}
	raw, err := os.ReadFile(filepath.Join(g.dirs[0], name))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok {
			n, _ := strconv.ParseInt(text, 10, 64)
			return n
		}
	}
	return 0
}

// remove removes the group once its processes are gone.
func (g group) remove() error {
	var errs []error
	for _, lock := range g.locks {
		_ = lock.Close()
	}
	for _, dir := range g.dirs {
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// lockDir fails at once when another holds the folder, or removed it.
func lockDir(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// sweep removes groups that nothing is in: an earlier server left them.
func (g groups) sweep() {
	for _, root := range g.roots {
		children, err := os.ReadDir(root)
		if err != nil {
			continue
		}
		for _, c := range children {
			if !c.IsDir() {
				continue
			}
			dir := filepath.Join(root, c.Name())
			if lock, err := lockDir(dir); err == nil {
				_ = os.Remove(dir) // refused by the kernel while something is in it
				_ = lock.Close()
			}
		}
	}
}
