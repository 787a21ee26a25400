//go:build amd64 || arm64

package cell

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

const (
	prSetPdeathsig  = 1
	prSetNoNewPrivs = 38
	prCapBSetDrop   = 24
	highestCap      = 63

	seccompSetModeFilter = 1
	setMask              = 2 // SIG_SETMASK

	rlimitCPU    = 0
	rlimitFSize  = 1
	rlimitCore   = 4
	rlimitNProc  = 6
	rlimitNoFile = 7
	rlimitAS     = 9

	// The program's.
	programControl = 4
	programAnswer  = 5
)

// sockFprog is struct sock_fprog of linux/filter.h.
type sockFprog struct {
	length uint16
	filter *byte
}

// A birth is all that the program's process needs before it becomes the
// program: made before the fork, since nothing can be made after it.
type birth struct {
	name      *byte
	argv, env []*byte
	maps      []idMap
	early     []resourceLimit // before the filter
	late      []resourceLimit // after it: this process could not live under them
	filter    sockFprog
	nice      int
	apart     bool // become the user of the home first
	says      int  // where a failed step is told; closed when the program takes over
	all, was  uint64
}

type idMap struct{ file, text []byte } // file ends in a zero byte

type resourceLimit struct {
	resource uintptr
	value    syscall.Rlimit
}

func newBirth(l *Limit, says int) (*birth, error) {
	if len(l.Argv) == 0 || len(l.Filter) == 0 || len(l.Filter)%8 != 0 {
		return nil, step("read the limits", syscall.EINVAL)
	}
	// The kernel counts from 20 downwards. A server that was started with a
	// lower priority than ours cannot raise it again.
	now, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return nil, step("read the priority", err)
	}
	b := &birth{says: says, apart: l.Apart, nice: max(l.Nice, 20-now), all: ^uint64(0)}
	if b.name, err = syscall.BytePtrFromString(l.Argv[0]); err != nil {
		return nil, step("name the program", err)
	}
	if b.argv, err = syscall.SlicePtrFromStrings(l.Argv); err != nil {
		return nil, step("name the arguments", err)
	}
	if b.env, err = syscall.SlicePtrFromStrings(l.Env); err != nil {
		return nil, step("name the environment", err)
	}
	// The program is an ordinary user whom this process stands over.
	uid, gid := os.Getuid(), os.Getgid()
	if b.apart {
		uid, gid = 0, 0
	}
	b.maps = []idMap{
		{[]byte("/proc/self/uid_map\x00"), []byte("1000 " + strconv.Itoa(uid) + " 1")},
		{[]byte("/proc/self/gid_map\x00"), []byte("1000 " + strconv.Itoa(gid) + " 1")},
	}
	// gVisor's kernel has no such file, and asks for none.
	if _, err := os.Stat("/proc/self/setgroups"); err == nil {
		b.maps = append([]idMap{{[]byte("/proc/self/setgroups\x00"), []byte("deny")}}, b.maps...)
	}
	b.early = []resourceLimit{
		{rlimitCPU, syscall.Rlimit{Cur: l.CPUSeconds, Max: l.CPUSeconds + 1}}, // first a signal that can be told from a kill
		{rlimitFSize, syscall.Rlimit{Cur: l.FileBytes, Max: l.FileBytes}},
		{rlimitNoFile, syscall.Rlimit{Cur: l.Files, Max: l.Files}},
		{rlimitCore, syscall.Rlimit{}},
	}
	b.late = []resourceLimit{
		{rlimitNProc, syscall.Rlimit{Cur: l.Processes, Max: l.Processes}},
		{rlimitAS, syscall.Rlimit{Cur: l.AddressBytes, Max: l.AddressBytes}},
	}
	b.filter = sockFprog{length: uint16(len(l.Filter) / 8), filter: &l.Filter[0]}
	return b, nil
}

// fork makes a copy of this process in a user namespace of its own, which puts
// the limits on and becomes the program. Starting the server's binary once more
// for that would cost 4 ms of a start. The copy has one thread and whatever the
// runtime's locks were in at that moment, so it may neither allocate nor grow
// its stack nor meet a signal: it makes raw system calls only, and every signal
// is blocked until the program takes over.
//
//go:norace
//go:nosplit
func (b *birth) fork() (int, syscall.Errno) {
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&b.all)), uintptr(unsafe.Pointer(&b.was)), 8, 0, 0)
	flags := syscall.CLONE_NEWUSER | uintptr(syscall.SIGCHLD)
	if b.apart {
		flags = uintptr(syscall.SIGCHLD)
	}
	pid, _, e := syscall.RawSyscall6(syscall.SYS_CLONE, flags, 0, 0, 0, 0, 0)
	if e == 0 && pid == 0 {
		b.takeOver()
	}
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&b.was)), 0, 8, 0, 0)
	runtime.KeepAlive(b)
	return int(pid), e
}

// takeOver does not return.
//
//go:norace
//go:nosplit
func (b *birth) takeOver() {
	failed := b.prepare()
	if failed == 0 {
		syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(b.name)),
			uintptr(unsafe.Pointer(&b.argv[0])), uintptr(unsafe.Pointer(&b.env[0])))
		failed = stepStart
	}
	syscall.RawSyscall(syscall.SYS_WRITE, uintptr(b.says), uintptr(unsafe.Pointer(&failed)), 1)
	for {
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, failure, 0, 0)
	}
}

// The steps of a birth, as they are told when one fails.
const (
	stepSession byte = iota + 1
	stepMaps
	stepDescriptors
	stepLimits
	stepPriority
	stepCapabilities
	stepPrivileges
	stepFilter
	stepLast
	stepStart
)

var births = [...]string{
	stepSession: "leave the session", stepMaps: "map the user", stepDescriptors: "hand over the descriptors",
	stepLimits: "limit processor time, files and cores", stepPriority: "lower the priority", stepCapabilities: "drop capabilities",
	stepPrivileges: "give up new privileges", stepFilter: "filter system calls", stepLast: "limit memory and processes",
	stepStart: "start the program",
}

// prepare gives up what can be given up, in the order in which it can, and
// tells the first step that failed.
//
//go:norace
//go:nosplit
func (b *birth) prepare() byte {
	if _, _, e := syscall.RawSyscall(syscall.SYS_SETSID, 0, 0, 0); e != 0 {
		return stepSession
	}
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prSetPdeathsig, uintptr(syscall.SIGKILL), 0); e != 0 {
		return stepSession
	}
	if b.apart && !leave() {
		return stepMaps
	}
	// What cannot be looked into may not name its user either. There is nobody to
	// look yet, and the program starts with memory of its own.
	if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 1, 0); e != 0 {
		return stepMaps
	}
	for i := range b.maps {
		if !b.maps[i].write() {
			return stepMaps
		}
	}
	if _, _, e := syscall.RawSyscall(syscall.SYS_DUP3, FDControl, programControl, 0); e != 0 {
		return stepDescriptors
	}
	if _, _, e := syscall.RawSyscall(syscall.SYS_DUP3, FDAnswer, programAnswer, 0); e != 0 {
		return stepDescriptors
	}
	if !limit(b.early) {
		return stepLimits
	}
	if _, _, e := syscall.RawSyscall(syscall.SYS_SETPRIORITY, syscall.PRIO_PROCESS, 0, uintptr(b.nice)); e != 0 {
		return stepPriority
	}
	syscall.RawSyscall(syscall.SYS_UMASK, 0o022, 0, 0)
	for c := range uintptr(highestCap + 1) {
		// Beyond the last capability the kernel says EINVAL.
		if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prCapBSetDrop, c, 0); e != 0 && e != syscall.EINVAL {
			return stepCapabilities
		}
	}
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); e != 0 {
		return stepPrivileges
	}
	if _, _, e := syscall.RawSyscall(sysSeccomp, seccompSetModeFilter, 0, uintptr(unsafe.Pointer(&b.filter))); e != 0 {
		return stepFilter
	}
	if !limit(b.late) {
		return stepLast
	}
	// A new program keeps what is blocked.
	syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&b.was)), 0, 8, 0, 0)
	return 0
}

// leave becomes the user of the home, in a namespace of its own.
//
//go:norace
//go:nosplit
func leave() bool {
	if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESGID, 0, 0, 0); e != 0 {
		return false
	}
	if _, _, e := syscall.RawSyscall(syscall.SYS_SETRESUID, 0, 0, 0); e != 0 {
		return false
	}
	_, _, e := syscall.RawSyscall(syscall.SYS_UNSHARE, syscall.CLONE_NEWUSER, 0, 0)
	return e == 0
}

//go:norace
//go:nosplit
func (m *idMap) write() bool {
	here := -100 // AT_FDCWD
	fd, _, e := syscall.RawSyscall6(syscall.SYS_OPENAT, uintptr(here), uintptr(unsafe.Pointer(&m.file[0])), syscall.O_WRONLY|syscall.O_CLOEXEC, 0, 0, 0)
	if e != 0 {
		return false
	}
	_, _, e = syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(unsafe.Pointer(&m.text[0])), uintptr(len(m.text)))
	syscall.RawSyscall(syscall.SYS_CLOSE, fd, 0, 0)
	return e == 0
}

//go:norace
//go:nosplit
func limit(limits []resourceLimit) bool {
	for i := range limits {
		if _, _, e := syscall.RawSyscall6(sysPrlimit64, 0, limits[i].resource, uintptr(unsafe.Pointer(&limits[i].value)), 0, 0, 0); e != 0 {
			return false
		}
	}
	return true
}
