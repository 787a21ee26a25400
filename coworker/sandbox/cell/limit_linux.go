//go:build amd64 || arm64

package cell

import (
	"runtime"
	"syscall"
	"unsafe"
)

const (
	prSetNoNewPrivs = 38
	prCapBSetDrop   = 24
	prCapAmbient    = 47
	ambientClearAll = 4
	capSetPCap      = 8
	highestCap      = 63

	seccompSetModeFilter = 1

	rlimitCPU    = 0
	rlimitFSize  = 1
	rlimitCore   = 4
	rlimitNProc  = 6
	rlimitNoFile = 7
	rlimitAS     = 9
)

// sockFprog is struct sock_fprog of linux/filter.h.
type sockFprog struct {
	length uint16
	filter *byte
}

// fdWord tells the first process what went wrong. It is closed when the program
// takes over.
const fdWord = 6

// second gives up what it can, and becomes the program.
func second() int {
	runtime.LockOSThread()
	syscall.CloseOnExec(fdWord)
	var l Limit
	if err := readConfig(&l); err != nil {
		return complain(err)
	}
	if len(l.Argv) == 0 || len(l.Filter) == 0 || len(l.Filter)%8 != 0 {
		return complain(step("read the limits", syscall.EINVAL))
	}
	for _, r := range []struct {
		name       string
		resource   int
		soft, hard uint64
	}{
		{"CPU", rlimitCPU, l.CPUSeconds, l.CPUSeconds + 1}, // first a signal that can be told from a kill
		{"file size", rlimitFSize, l.FileBytes, l.FileBytes},
		{"open files", rlimitNoFile, l.Files, l.Files},
		{"core files", rlimitCore, 0, 0},
	} {
		if err := syscall.Setrlimit(r.resource, &syscall.Rlimit{Cur: r.soft, Max: r.hard}); err != nil {
			return complain(step("limit "+r.name, err))
		}
	}
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, l.Nice); err != nil {
		return complain(step("lower the priority", err))
	}
	syscall.Umask(0o022)
	for c := range uintptr(highestCap + 1) {
		// Beyond the last capability the kernel says EINVAL.
		if _, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prCapBSetDrop, c, 0); e != 0 && e != syscall.EINVAL {
			return complain(step("drop capabilities", e))
		}
	}
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapAmbient, ambientClearAll, 0, 0, 0, 0); e != 0 {
		return complain(step("drop capabilities", e))
	}
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); e != 0 {
		return complain(step("give up new privileges", e))
	}
	return become(&l)
}

// become ends in the program. Once the limits on memory and processes are on,
// the Go runtime may abort at its next allocation, so everything is prepared
// before and only raw system calls follow.
func become(l *Limit) int {
	name, err := syscall.BytePtrFromString(l.Argv[0])
	if err != nil {
		return complain(step("name the program", err))
	}
	argv, err := syscall.SlicePtrFromStrings(l.Argv)
	if err != nil {
		return complain(step("name the arguments", err))
	}
	env, err := syscall.SlicePtrFromStrings(l.Env)
	if err != nil {
		return complain(step("name the environment", err))
	}
	processes := syscall.Rlimit{Cur: l.Processes, Max: l.Processes}
	address := syscall.Rlimit{Cur: l.AddressBytes, Max: l.AddressBytes}
	last := []byte("limit memory and processes, or start the program")
	program := sockFprog{length: uint16(len(l.Filter) / 8), filter: &l.Filter[0]}
	if _, _, e := syscall.RawSyscall(sysSeccomp, seccompSetModeFilter, 0, uintptr(unsafe.Pointer(&program))); e != 0 {
		return complain(step("filter system calls", e))
	}
	_, _, e := syscall.RawSyscall6(sysPrlimit64, 0, rlimitNProc, uintptr(unsafe.Pointer(&processes)), 0, 0, 0)
	if e == 0 {
		_, _, e = syscall.RawSyscall6(sysPrlimit64, 0, rlimitAS, uintptr(unsafe.Pointer(&address)), 0, 0, 0)
	}
	if e == 0 {
		syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(name)),
			uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])))
	}
	syscall.RawSyscall(syscall.SYS_WRITE, fdWord, uintptr(unsafe.Pointer(&last[0])), uintptr(len(last)))
	syscall.RawSyscall(syscall.SYS_EXIT_GROUP, failure, 0, 0)
	return failure
}

func complain(err error) int {
	_, _ = syscall.Write(fdWord, []byte(err.Error()))
	return failure
}
