package limit

import (
	"errors"
	"net/netip"
	"strings"
)

// Widths of the networks that callers count under (decisions D.2): what one
// household, office or server commonly holds.
const (
	IPv4Bits = 24
	IPv6Bits = 56
)

// A Network is whom a caller counts as: a stretch of addresses, apart for each
// class the operator named. It is comparable. The zero Network is unknown, and
// nothing is counted under it.
type Network struct {
	prefix netip.Prefix
	class  string
}

// NetworkOf returns the network of an address that is in no class. IPv4 in
// IPv6 counts as IPv4.
func NetworkOf(address netip.Addr) Network { return networkIn(address, "") }

func networkIn(address netip.Addr, class string) Network {
	address = plain(address)
	bits := IPv6Bits
	if address.Is4() {
		bits = IPv4Bits
	}
	prefix, err := address.Prefix(bits)
	if err != nil {
		return Network{} // the zero address
	}
	return Network{prefix: prefix, class: class}
}

func plain(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }

// IsZero tells whether the network is unknown.
func (n Network) IsZero() bool { return !n.prefix.IsValid() }

// Class is the operator's name for a group of networks, or empty.
func (n Network) Class() string { return n.class }

// String is the network in CIDR form, its class before it if it has one;
// empty when unknown. ParseNetwork reads it back.
func (n Network) String() string {
	switch {
	case n.IsZero():
		return ""
	case n.class == "":
		return n.prefix.String()
	}
	return n.class + " " + n.prefix.String()
}

// ParseNetwork reads what String wrote.
func ParseNetwork(text string) (Network, error) {
	if text == "" {
		return Network{}, nil
	}
	class, cidr, classed := strings.Cut(text, " ")
	if !classed {
		class, cidr = "", text
	}
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil || classed && !className(class) {
		return Network{}, errors.New("limit: not a network")
	}
	return Network{prefix: prefix.Masked(), class: class}, nil
}

// className holds for 1 to 32 small letters, digits and dashes.
func className(text string) bool {
	odd := func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }
	return text != "" && len(text) <= 32 && strings.IndexFunc(text, odd) < 0
}

// ParsePrefixes reads networks separated by commas: CIDR, or one address.
func ParsePrefixes(text string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			address, err := netip.ParseAddr(part)
			if err != nil || address.Zone() != "" {
				return nil, errors.New("limit: not a network in CIDR form")
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		if a := prefix.Addr(); a.Is4In6() {
			if prefix.Bits() < 96 {
				return nil, errors.New("limit: an IPv4 network in IPv6 form is too wide")
			}
			prefix = netip.PrefixFrom(a.Unmap(), prefix.Bits()-96)
		}
		list = append(list, prefix.Masked())
	}
	return list, nil
}

func contains(prefixes []netip.Prefix, address netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(address) {
			return true
		}
	}
	return false
}
