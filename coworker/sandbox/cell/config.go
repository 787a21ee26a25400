package cell

// Names under which the program is started again, as its only argument: to be
// the first process; to become bubblewrap; and by bubblewrap or gVisor, by its
// path inside.
const (
	NameInit  = "innerloop-cell-init"
	NameStage = "innerloop-cell-stage"
	NameInner = "/innerloop-cell"
	NameGuest = "/innerloop-guest"
)

// The descriptors of the first process, beside the three standard ones.
const (
	FDConfig  = 3 // read to its end: a Config as JSON
	FDStatus  = 4 // write: one Status as JSON
	FDLife    = 5 // read: ends when the server does, and the cell with it
	FDControl = 6 // read: for the program, as its descriptor 4
	FDAnswer  = 7 // write: for the program, as its descriptor 5
)

// What the server may say on FDLife, a byte each.
const (
	LifeStop     = 's' // nothing in the cell goes on
	LifeContinue = 'c' // everything does again
)

// A Config tells the first process what to build and what to start.
type Config struct {
	// Mounts are made in order, under a new root that is empty at first.
	Mounts []Mount
	// Forward, if set, is the path inside of a unix socket that connections to
	// 127.0.0.1:3128 are carried to.
	Forward  string
	Hostname string
	Dir      string // working directory of the program
	Limit    Limit
	Bubble   *Bubble // set for bubblewrap
	Gvisor   *Gvisor // set for gVisor
}

// A Gvisor says how gVisor is started, in the file tree of the cell.
type Gvisor struct {
	Path  string   // of runsc
	Flags []string // before its command
}

// A Bubble says how bubblewrap is started.
type Bubble struct {
	Path string
	UID  int // as root: who it runs as
}

// A Kind of mount.
type Kind string

// The kinds. Sources are relative to the working directory the cell was started
// in, or absolute.
const (
	Bind     Kind = "bind"     // Source at Target, with everything below it
	Tmpfs    Kind = "tmpfs"    // Data are its options
	Proc     Kind = "proc"     // of the new process namespace; Data are its options
	Link     Kind = "link"     // a symbolic link to Data
	Text     Kind = "text"     // a file that holds Data
	Optional Kind = "optional" // Bind, if Source exists
	Seal     Kind = "seal"     // Target, which an earlier mount brought, becomes read-only, if it exists
)

// A Mount is one thing in the file tree of the cell.
type Mount struct {
	Kind     Kind
	Source   string
	Target   string
	Data     string
	ReadOnly bool
}

// A Limit is what the program's process puts on before it becomes the program.
type Limit struct {
	Argv []string
	Env  []string
	// Filter is a seccomp program, 8 bytes an instruction in native order.
	Filter []byte

	CPUSeconds   uint64
	FileBytes    uint64 // one file
	Files        uint64 // open at a time
	Processes    uint64 // and threads
	AddressBytes uint64 // of one process
	Nice         int

	// Apart says that the first process is another user than the home's, which
	// is 0 where it stands.
	Apart bool
}

// A Status is what the first process reports.
type Status struct {
	// Failed names the step that did not succeed, and Cause why; both empty
	// when the program was started.
	Failed, Cause string
	Exited        bool // the program ended by itself
	Code          int  // its exit code
	Signal        int  // or the signal that ended it
	CPUMillis     int64
	MaxRSSBytes   int64 // of the largest process
}
