package limit

import (
	"net/netip"
	"strings"
)

// hopsMax bounds how many proxies are followed.
const hopsMax = 32

// Proxies are the networks whose word about where a request came from is
// believed. The zero value believes nobody.
type Proxies []netip.Prefix

// Client returns the address a request came from: remote, unless that is a
// trusted proxy. Then the X-Forwarded-For headers, in the order received, are
// read from right to left: each trusted address vouches for the one on its
// left, and the first that is not trusted is the client. What stands further
// left anyone may have written, and it counts for nothing (decisions D.5). An
// unreadable item ends the walk at the proxy that passed it on.
func (p Proxies) Client(remote netip.Addr, forwarded []string) netip.Addr {
	at := plain(remote)
	hops := 0
	for i := len(forwarded) - 1; i >= 0; i-- {
		rest := forwarded[i]
		for more := true; more; hops++ {
			if hops == hopsMax || !contains(p, at) {
				return at
			}
			var item string
			comma := strings.LastIndexByte(rest, ',')
			item, more = rest[comma+1:], comma >= 0
			if more {
				rest = rest[:comma]
			}
			next, ok := hop(strings.TrimSpace(item))
			if !ok {
				return at
			}
			at = next
		}
	}
	return at
}

// Trusts tells whether an address is one of theirs.
func (p Proxies) Trusts(address netip.Addr) bool { return contains(p, plain(address)) }

// hop reads an address as proxies write it: bare, in brackets, or with a port.
func hop(text string) (netip.Addr, bool) {
	if with, err := netip.ParseAddrPort(text); err == nil {
		return plain(with.Addr()), true
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		text = strings.TrimSuffix(inner, "]")
	}
	address, err := netip.ParseAddr(text)
	return plain(address), err == nil
}
