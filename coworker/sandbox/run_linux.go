//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"cell"
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

//go:embed driver.py
var driver string

//go:embed session.py
var sessionDriver string

// sessionCPU is how many times the processor time of a job each process of a
// session may use in its life. That of a job is watched.
const sessionCPU = 30

// run does a checked job in a slot.
func (s *Sandbox) run(ctx context.Context, job Job) (*Result, error) {
	home, uid, err := s.home(job.User)
	if err != nil {
		return nil, err
	}
	defer func() { _ = home.Close() }()
	before, err := s.lay(home, uid, job)
	if err != nil {
		return nil, err
	}
	before.bytes += s.rested(job.User, home, 0)
	job.full = s.fullHome(before) != nil
	p, err := s.start(uid, job)
	if err != nil {
		return nil, err
	}
	p.before = before
	p.watch(ctx, home, within(ctx, job.Timeout))
	result, err := p.finish(ctx)
	s.settle(home, uid, before, p, result)
	return result, err
}

// lay counts a home and puts the inputs of a job into it, if there is room.
func (s *Sandbox) lay(home *os.Root, uid int, job Job) (census, error) {
	s.sweepIncoming(home)
	before, err := take(home, 2*s.limits.HomeFiles, true)
	if err != nil {
		return census{}, fmt.Errorf("count a home: %w", err)
	}
	if len(job.Files) == 0 {
		return before, nil
	}
	if stop := s.fullHome(before.with(job.Files)); stop != nil {
		return census{}, stop
	}
	for _, f := range job.Files {
		if err := put(home, uid, f); err != nil {
			return census{}, invalid("files", "could not be put into the home")
		}
	}
	if before, err = take(home, 2*s.limits.HomeFiles, true); err != nil {
		return census{}, fmt.Errorf("count a home: %w", err)
	}
	return before, nil
}

// settle keeps long outputs of a job and tells what it changed.
func (s *Sandbox) settle(home *os.Root, uid int, before census, p *process, result *Result) {
	if result == nil {
		return
	}
	s.keep(home, uid, "stdout", p.stdout, &result.Stdout)
	s.keep(home, uid, "stderr", p.stderr, &result.Stderr)
	if after, err := take(home, s.limits.HomeFiles, true); err == nil {
		result.Changed, result.ChangedCut = changes(before, after)
	}
}

// keep writes the first part of a stream that was cut into the home, where the
// next run can read it, unless the home has no room.
func (s *Sandbox) keep(home *os.Root, uid int, name string, c *capture, o *Output) {
	if !o.Truncated {
		return
	}
	f := File{Path: "outputs/" + name + ".txt", Body: c.kept}
	now, err := take(home, s.limits.HomeFiles, false)
	if err != nil || s.fullHome(now.with([]File{f})) != nil {
		return
	}
	if err := put(home, uid, f); err == nil {
		o.File = f.Path
	}
}

// A process is a run under way.
type process struct {
	s       *Sandbox
	cmd     *exec.Cmd
	id      string
	dir     string // of the run
	lock    *os.File
	way     *way
	group   group
	started time.Time

	status, answer  *os.File
	stdout, stderr  *capture
	life            *os.File // closing it ends the run
	stopped         chan struct{}
	reasons         chan Stop // the first is why it was ended
	watching        chan struct{}
	seen            []int // its processes when they were last looked at; whoever watches has it
	answered, ended chan []byte
	spent           func() *Stop    // more to look at while it runs, or nil
	full            bool            // it began in a home over its limit
	before          census          // of the home
	hidden          map[string]bool // threads that did not let themselves be seen
	lost            map[string]bool // sockets that were in nobody's hands
	user            string
}

// lasting is what the start of a session's process needs and gives beside that
// of a run.
type lasting struct {
	session        string
	stdout, stderr *os.File // inside
	control        *os.File // ours
}

// start makes the cell and the program in it.
func (s *Sandbox) start(uid int, job Job) (_ *process, err error) {
	p := &process{
		s: s, user: job.User, full: job.full, stopped: make(chan struct{}), reasons: make(chan Stop, 8), watching: make(chan struct{}),
		answered: make(chan []byte, 1), ended: make(chan []byte, 1),
	}
	defer func() {
		if err != nil {
			p.tidy()
		}
	}()
	if err := p.claim(); err != nil {
		return nil, fmt.Errorf("make a run: %w", err)
	}
	if err := p.note(job); err != nil {
		return nil, fmt.Errorf("make a run: %w", err)
	}
	for i, tree := range job.Trees {
		if err := p.grow(i, tree); err != nil {
			return nil, fmt.Errorf("make a tree of a run: %w", err)
		}
	}
	if job.Serve != nil {
		if err := p.listen(uid, job.Serve); err != nil {
			return nil, fmt.Errorf("make the way out of a run: %w", err)
		}
	}
	if p.group, err = s.groups.claim(p.id, s.most(), s.tasks()); err != nil {
		return nil, err
	}
	p.stdout = &capture{limits: &s.limits, over: func() { p.stop(s.tooMuch()) }}
	p.stderr = &capture{limits: &s.limits, over: func() { p.stop(s.tooMuch()) }}

	var inside, ours pipes
	defer func() { inside.close() }()
	config := ours.to(&inside)
	p.status = ours.from(&inside)
	p.life = ours.to(&inside)
	control := ours.to(&inside)
	p.answer = ours.from(&inside)
	if ours.err != nil {
		ours.close()
		return nil, fmt.Errorf("make pipes: %w", ours.err)
	}
	defer func() { _, _ = config.Close(), control.Close() }()

	p.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{cell.NameInit}, Env: []string{},
		Stdout: p.stdout, Stderr: p.stderr, ExtraFiles: inside.files, WaitDelay: time.Second,
		SysProcAttr: attributes(uid),
	}
	if s.driver == Bwrap {
		p.cmd.Args, p.cmd.SysProcAttr = []string{cell.NameStage}, staged()
	}
	if job.lasting != nil {
		p.cmd.Stdout, p.cmd.Stderr = job.lasting.stdout, job.lasting.stderr
	}
	p.started = time.Now()
	if err := s.spawner.start(p.cmd); err != nil {
		p.status, p.answer = nil, nil
		ours.close()
		return nil, s.failed("make namespaces", err)
	}
	inside.close()
	// From here on the process exists and must be ended and waited for.
	if err := p.group.add(p.cmd.Process.Pid); err != nil {
		p.abandon()
		return nil, err
	}
	go func() { p.ended <- readAll(p.status, 64<<10) }()
	if err := json.NewEncoder(config).Encode(s.config(p.id, uid, job)); err != nil {
		p.abandon()
		return nil, fmt.Errorf("configure a run: %w", err)
	}
	if job.lasting != nil {
		job.lasting.control = dup(control)
		return p, nil
	}
	go func() { p.answered <- readAll(p.answer, s.limits.Value+1) }()
	go func(code string, to *os.File) {
		_, _ = io.WriteString(to, code) // a program that ends early reads no more
		_ = to.Close()
	}(job.Code, dup(control))
	return p, nil
}

func attributes(uid int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
			unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings:                []syscall.SysProcIDMap{{ContainerID: 0, HostID: uid, Size: 1}},
		GidMappings:                []syscall.SysProcIDMap{{ContainerID: 0, HostID: gid(uid), Size: 1}},
		GidMappingsEnableSetgroups: false,
		Credential:                 &syscall.Credential{Uid: 0, Gid: 0, NoSetGroups: true},
		Pdeathsig:                  syscall.SIGKILL,
		Setsid:                     true,
	}
}

func gid(uid int) int {
	if os.Geteuid() == 0 {
		return uid
	}
	return os.Getegid()
}

// config describes the cell of a job.
func (s *Sandbox) config(id string, uid int, job Job) cell.Config {
	l := &s.limits
	c := cell.Config{Hostname: "sandbox", Dir: "/home/user"}
	if s.driver == Bwrap {
		c.Bubble = &cell.Bubble{Path: s.tool, UID: uid}
	}
	add := func(kind cell.Kind, source, target, data string, readOnly bool) {
		c.Mounts = append(c.Mounts, cell.Mount{Kind: kind, Source: source, Target: target, Data: data, ReadOnly: readOnly})
	}
	add(cell.Bind, "/usr", "/usr", "", true)
	for _, dir := range []string{"/bin", "/lib", "/lib64", "/sbin"} {
		info, err := os.Lstat(dir)
		if err != nil {
			continue
		}
		if to, err := os.Readlink(dir); err == nil && info.Mode()&os.ModeSymlink != 0 {
			add(cell.Link, "", dir, to, false)
		} else {
			add(cell.Bind, dir, dir, "", true)
		}
	}
	add(cell.Optional, "/etc/ld.so.cache", "/etc/ld.so.cache", "", true)
	add(cell.Optional, "/etc/alternatives", "/etc/alternatives", "", true) // names of libraries that Debian's numpy needs
	add(cell.Optional, "/etc/ssl/certs", "/etc/ssl/certs", "", true)
	add(cell.Optional, "/usr/share/ca-certificates", "/usr/share/ca-certificates", "", true)
	add(cell.Text, "", "/etc/passwd", "user:x:1000:1000::/home/user:/bin/sh\n", false)
	add(cell.Text, "", "/etc/group", "user:x:1000:\n", false)
	add(cell.Text, "", "/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n", false)
	for _, d := range []string{"null", "zero", "random", "urandom"} {
		add(cell.Bind, "/dev/"+d, "/dev/"+d, "", false)
	}
	add(cell.Link, "", "/dev/fd", "/proc/self/fd", false)
	add(cell.Proc, "", "/proc", "hidepid=2", false) // the first process is nobody's business
	// Settings of its own namespaces, which a run would be allowed to write.
	add(cell.Seal, "", "/proc/sys", "", true)
	add(cell.Seal, "", "/proc/pressure", "", true)
	add(cell.Tmpfs, "", "/tmp", fmt.Sprintf("size=%d,nr_inodes=%d,mode=1777", l.Tmp, l.TmpFiles), false)
	add(cell.Tmpfs, "", "/dev/shm", fmt.Sprintf("size=%d,nr_inodes=%d,mode=1777", l.Tmp/4, l.TmpFiles/4), false)
	add(cell.Bind, filepath.Join(s.own, job.User), "/home/user", "", false)
	if s.packages != "" {
		add(cell.Bind, s.packages, packagesInside, "", true)
	}
	for _, f := range job.Mounts {
		add(cell.Bind, f.Source, f.Target, "", true)
	}
	for i, tree := range job.Trees {
		add(cell.Bind, filepath.Join(runsDir, id, treeName(i)), tree.Target, "", true)
	}
	env := []string{
		"HOME=/home/user", "USER=user", "PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TZ=UTC",
		"TMPDIR=/tmp", "PYTHONDONTWRITEBYTECODE=1", "PYTHONUTF8=1", "PYTHONSAFEPATH=1", "PYTHONNOUSERSITE=1", "MPLBACKEND=Agg", "MPLCONFIGDIR=/tmp/mpl",
		"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1",
	}
	var path []string
	for _, f := range job.Modules {
		add(cell.Text, "", modulesInside+"/"+f.Path, string(f.Body), false)
		path = []string{modulesInside}
	}
	if s.packages != "" {
		path = append(path, packagesInside)
	}
	if len(path) > 0 {
		env = append(env, "PYTHONPATH="+strings.Join(path, ":"))
	}
	if job.Serve != nil {
		c.Forward = "/run/proxy.sock"
		add(cell.Bind, filepath.Join(runsDir, id, socketName), c.Forward, "", false)
		for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
			env = append(env, name+"=http://"+cell.ProxyAddress)
		}
	}
	c.Limit = cell.Limit{
		Argv: []string{s.python, "-s", "-S", "-c", driver}, Env: append(env, job.Env...), Filter: s.filter,
		CPUSeconds: uint64(l.CPU / time.Second), FileBytes: uint64(l.FileSize), Files: uint64(l.OpenFiles),
		Processes: uint64(l.Processes), AddressBytes: uint64(l.Memory), Nice: 5,
	}
	if job.full {
		c.Limit.Filter, c.Limit.FileBytes = s.filterFull, 0
	}
	if job.lasting != nil {
		c.Limit.Argv[len(c.Limit.Argv)-1] = sessionDriver
		c.Limit.CPUSeconds *= sessionCPU
	}
	if s.driver == Runsc {
		s.inGvisor(&c)
	}
	return c
}

const (
	packagesInside = "/opt/packages"
	modulesInside  = "/opt/modules"
)

// finish waits for the end and says what became of the run.
func (p *process) finish(ctx context.Context) (*Result, error) {
	_ = p.cmd.Wait() // the status says more
	close(p.stopped)
	<-p.watching
	took := time.Since(p.started)
	value, raw := <-p.answered, <-p.ended
	memory := p.group.killed()
	p.tidy()
	var status cell.Status
	known := json.Unmarshal(raw, &status) == nil
	if known && status.Failed != "" {
		return nil, p.s.failed(status.Failed, errors.New(status.Cause))
	}
	result := &Result{
		Stdout: p.stdout.output(), Stderr: p.stderr.output(), ExitCode: status.Code, Took: took,
		CPU: time.Duration(status.CPUMillis) * time.Millisecond, PeakMemory: status.MaxRSSBytes,
	}
	if int64(len(value)) > p.s.limits.Value {
		value, result.ValueCut = value[:p.s.limits.Value], true
	}
	result.Value = strings.ToValidUTF8(string(value), "")
	if status.Signal != 0 {
		result.ExitCode = 128 + status.Signal
	}
	select {
	case why := <-p.reasons:
		if err := ctx.Err(); err != nil && why.Reason == "" {
			return nil, err
		}
		why.Partial = result
		return nil, &why
	default:
	}
	l := &p.s.limits
	switch {
	case status.Signal == int(syscall.SIGXCPU), status.Signal == int(syscall.SIGKILL) && result.CPU >= l.CPU:
		return nil, &Stop{Reason: OverLimit, Limit: "cpu", Allowed: l.CPU.Milliseconds(), Hint: "the run used more processor time than it may", Partial: result}
	case memory && (!known || status.Signal == int(syscall.SIGKILL)):
		return nil, &Stop{Reason: OverLimit, Limit: "memory", Allowed: l.Memory, Hint: "the run used more memory than it may", Partial: result}
	case !known && p.s.driver == Bwrap && !p.s.status.Available:
		return nil, p.s.failed("start bwrap", errors.New(p.stderr.output().Text))
	case !known && p.s.driver == Bwrap:
		result.ExitCode = 128 + int(syscall.SIGKILL) // inside, what waits for the program can be killed by it
		return result, nil
	case !known:
		return nil, errors.New("a run ended without a word")
	}
	return result, nil
}

func (s *Sandbox) tooMuch() Stop {
	return Stop{Reason: OverLimit, Limit: "output", Allowed: s.limits.OutputMax, Hint: "the run printed more than it may"}
}

// stop ends the run. The first reason is the one that is told.
func (p *process) stop(why Stop) {
	select {
	case p.reasons <- why:
	default:
	}
	_ = p.cmd.Process.Kill() // the kernel ends the rest with it
}

// abandon ends a run that nobody waits for.
func (p *process) abandon() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// tidy removes what belongs to the run and not to its user.
func (p *process) tidy() {
	for _, f := range []*os.File{p.life, p.status, p.answer} {
		if f != nil {
			_ = f.Close()
		}
	}
	if p.way != nil {
		p.way.close()
	}
	p.settleGroup()
	if err := p.group.remove(); err != nil {
		p.s.log.Warn("a control group of a run stays", "error", err.Error())
	}
	if p.lock != nil {
		_ = p.lock.Close()
	}
	if err := os.RemoveAll(p.dir); err != nil {
		p.s.log.Warn("the folder of a run stays", "error", err.Error())
	}
}

func (s *Sandbox) failed(step string, err error) error {
	s.log.Error("sandbox", "step", step, "error", err.Error())
	return &Stop{Reason: Unavailable, Hint: step, cause: err}
}

func newID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func readAll(f *os.File, limit int64) []byte {
	var b bytes.Buffer
	_, _ = io.Copy(&b, io.LimitReader(f, limit))
	_, _ = io.Copy(io.Discard, f)
	return b.Bytes()
}

// dup lets a goroutine own a descriptor that its maker closes.
func dup(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}
