// Package sandbox runs Python that nobody has read, for a user of an
// organisation, so that it can hurt nobody.
//
// A run has its own user, mount, process, network, IPC, host-name and cgroup
// namespaces, a read-only file tree of system libraries, a home of its user that
// persists, a seccomp allow-list, and a limit on everything that can be counted.
// It has no network but a proxy that the caller may hand in. When the machine
// cannot give all of that, nothing runs: there is no weaker mode.
//
// The package knows nothing of keys, services or MCP. It is told what to run,
// for which user, with which environment, and answers with what came out.
package sandbox
