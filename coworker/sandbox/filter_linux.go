//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// What a filter returns (linux/seccomp.h).
const (
	actionKill  = 0x80000000
	actionAllow = 0x7fff0000
	actionErrno = 0x00050000
)

// Offsets in struct seccomp_data.
const (
	dataNumber = 0
	dataArch   = 4
	dataArg0   = 16 // low half; both architectures are little-endian
	dataArg1   = 24
)

// withheld are calls that the container profile allows and we do not: what
// looks into other processes, names files past their folder, changes how the
// kernel sees the process, or has a signal of the caller's choice sent later: a
// process that is stopped between calls could so be continued.
var withheld = []string{
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "process_mrelease",
	"name_to_handle_at", "open_by_handle_at", "personality", "userfaultfd", "mknod", "mknodat",
	"clone", "clone3", "socket", "socketcall", "seccomp", "modify_ldt",
	"timer_create", "mq_notify",
}

// namespaces are the CLONE_NEW… bits of clone(2).
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | 0x80 // CLONE_NEWTIME

// newFilter assembles the allow-list: the system calls that container engines
// allow to a process without capabilities, less those above, with rules of our
// own. clone3 does not exist, since a filter cannot read what it is given (the C
// library then uses clone); clone makes no namespaces, and a child's end is told
// by SIGCHLD or not at all; sockets are local or of the internet; no signal is
// chosen for a descriptor or for a parent's end; priorities, processors and
// limits are the caller's own to change, since the first process of the cell is
// the same user to the kernel. A call of another architecture ends the process.
func newFilter(full, bounded bool) ([]byte, error) {
	profile, err := seccomp.GetDefaultProfile(&specs.Spec{Process: &specs.Process{Capabilities: &specs.LinuxCapabilities{}}})
	if err != nil {
		return nil, fmt.Errorf("read the system call profile: %w", err)
	}
	machine, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("know the system calls: %w", err)
	}
	var allowed []uint32
	for _, rule := range profile.Syscalls {
		if rule.Action != specs.ActAllow || len(rule.Args) > 0 {
			continue
		}
		for _, name := range rule.Names {
			if number, ok := machine.SyscallNames[name]; ok && !slices.Contains(withheld, name) && (bounded || !slices.Contains(unseen, name)) {
				allowed = append(allowed, uint32(number))
			}
		}
	}
	slices.Sort(allowed)
	allowed = slices.Compact(allowed)
	if len(allowed) < 100 {
		return nil, fmt.Errorf("read the system call profile: only %d calls are known here", len(allowed))
	}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: dataArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(machine.ID), SkipTrue: 1},
		bpf.RetConstant{Val: actionKill},
		bpf.LoadAbsolute{Off: dataNumber, Size: 4},
		// On amd64 the x32 ABI bears the same architecture and a bit of its own.
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 0x40000000, SkipTrue: 1},
		bpf.RetConstant{Val: actionKill},
	}
	if full {
		program = append(program, makesNothing(machine.SyscallNames)...)
	}
	program = append(program, special(machine.SyscallNames)...)
	for _, number := range allowed {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: 1},
			bpf.RetConstant{Val: actionAllow})
	}
	program = append(program, bpf.RetConstant{Val: actionErrno | uint32(unix.EPERM)})
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("assemble the system call filter: %w", err)
	}
	out := make([]byte, 0, 8*len(raw))
	for _, i := range raw {
		out = binary.NativeEndian.AppendUint16(out, i.Op)
		out = append(out, i.Jt, i.Jf)
		out = binary.NativeEndian.AppendUint32(out, i.K)
	}
	return out, nil
}

// special are the calls that are told apart by what they are given.
func special(numbers map[string]int) []bpf.Instruction {
	var out []bpf.Instruction
	is := func(name string, then ...bpf.Instruction) {
		number, ok := numbers[name]
		if !ok {
			return
		}
		out = append(out, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(number), SkipTrue: uint8(len(then))})
		out = append(out, then...)
	}
	allow, refuse := bpf.RetConstant{Val: actionAllow}, bpf.RetConstant{Val: actionErrno | uint32(unix.EPERM)}
	is("clone3", bpf.RetConstant{Val: actionErrno | uint32(unix.ENOSYS)})
	is("clone",
		bpf.LoadAbsolute{Off: dataArg0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: namespaces, SkipTrue: 4},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xff}, // CSIGNAL
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(unix.SIGCHLD), SkipTrue: 1},
		allow, refuse)
	is("socket",
		bpf.LoadAbsolute{Off: dataArg0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 3},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_INET6, SkipTrue: 1},
		bpf.RetConstant{Val: actionErrno | uint32(unix.EAFNOSUPPORT)}, allow)
	is("fcntl",
		bpf.LoadAbsolute{Off: dataArg1, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.F_SETSIG, SkipTrue: 1},
		allow, refuse)
	is("prctl",
		bpf.LoadAbsolute{Off: dataArg0, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PR_SET_PDEATHSIG, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PR_SET_DUMPABLE, SkipTrue: 1}, // its descriptors are looked at
		allow, refuse)
	is("fallocate",
		bpf.LoadAbsolute{Off: dataArg1, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.FALLOC_FL_KEEP_SIZE, SkipTrue: 1}, // past the longest file
		allow, bpf.RetConstant{Val: actionErrno | uint32(unix.EOPNOTSUPP)})
	for _, name := range []string{"sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr", "prlimit64"} {
		is(name,
			bpf.LoadAbsolute{Off: dataArg0, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 1},
			allow, refuse)
	}
	for _, row := range []struct {
		name    string
		process uint32
	}{{"setpriority", unix.PRIO_PROCESS}, {"ioprio_set", 1}} { // IOPRIO_WHO_PROCESS
		is(row.name,
			bpf.LoadAbsolute{Off: dataArg0, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: row.process, SkipTrue: 3},
			bpf.LoadAbsolute{Off: dataArg1, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: 0, SkipTrue: 1},
			allow, refuse)
	}
	return out
}
