// Package simulator plays services of the catalog on this machine, for stories
// that drive the built program: one local server a service, at an address that
// the kernel chose.
//
// Each service is composed of a kind of credential (auth.go, sigv4.go,
// exchange.go), kinds of paging (paging.go) and a table of its own refusals,
// written from what its documentation says. A simulator is strict: a wrong
// credential, an undeclared path, a method or a type of body that the service
// does not take, a missing header are refused the way that service refuses, and
// every request and refusal is counted. Routes that name what they take refuse
// every other parameter, too.
//
// The catalog's files name the services' own hosts. Overridden puts each host
// into the path behind one made-up host, so that a connection with a base URL
// of its own leads here while the simulator still sees whose host was meant; it
// also shortens paces and waits of a minute.
package simulator
