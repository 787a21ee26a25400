package limit

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Settings are the limits in force. It is read by many and changed by none.
// Whoever is handed a nil *Settings limits nothing.
type Settings struct {
	Numbers [ruleCount]int // by Rule; 0 means none
	Classes []Class        // the first that holds an address counts
}

// A Class is a group of networks with numbers of their own, such as those of
// a hosted assistant, whose many users share few addresses. Each network in it
// still counts by itself.
type Class struct {
	Name     string
	Networks []netip.Prefix
	Numbers  map[Rule]int // only of rules that count networks
}

// ClassesDefault names the hosted assistant whose outgoing networks are
// published and stable (platform.claude.com/docs/en/api/ip-addresses).
const ClassesDefault = "anthropic=160.79.104.0/21,153.61.208.0/20 registrations_per_network_day=500 open_challenges_per_network=500 " +
	"writes_per_network_minute=600 failed_signatures_per_network_minute=300 reads_per_network_minute=6000"

// Defaults returns the limits of a service that sets none itself.
func Defaults() *Settings {
	classes, err := ParseClasses(ClassesDefault)
	if err != nil {
		panic(err) // a constant, under test
	}
	s := &Settings{Classes: classes}
	for _, d := range Rules() {
		s.Numbers[d.Rule] = d.Default
	}
	return s
}

// Network returns whom an address counts as.
func (s *Settings) Network(address netip.Addr) Network {
	address = plain(address)
	if s != nil {
		for _, c := range s.Classes {
			if contains(c.Networks, address) {
				return networkIn(address, c.Name)
			}
		}
	}
	return networkIn(address, "")
}

// Number returns what a rule allows a network; 0 means no limit.
func (s *Settings) Number(r Rule, n Network) int {
	if s == nil {
		return 0
	}
	if n.class != "" {
		for _, c := range s.Classes {
			if c.Name == n.class {
				if own, ok := c.Numbers[r]; ok {
					return own
				}
				break
			}
		}
	}
	return s.Numbers[r]
}

// ParseClasses reads classes separated by semicolons, or the word none. Each is a name, an equals
// sign, networks joined by commas, and after a space each number of its own:
//
//	helper=203.0.113.0/24,2001:db8::/32 registrations_per_network_day=500 reads_per_network_minute=6000
func ParseClasses(text string) ([]Class, error) {
	var classes []Class
	if strings.TrimSpace(text) == "none" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ";") {
		words := strings.Fields(part)
		if len(words) == 0 {
			continue
		}
		c, err := parseClass(words)
		if err != nil {
			return nil, err
		}
		for _, other := range classes {
			if other.Name == c.Name {
				return nil, errors.New("limit: two classes have one name")
			}
		}
		classes = append(classes, c)
	}
	return classes, nil
}

func parseClass(words []string) (Class, error) {
	name, networks, ok := strings.Cut(words[0], "=")
	if !ok || !className(name) {
		return Class{}, errors.New("limit: a class begins with its name, an equals sign and networks")
	}
	prefixes, err := ParsePrefixes(networks)
	if err != nil {
		return Class{}, err
	}
	if len(prefixes) == 0 || len(words) == 1 {
		return Class{}, errors.New("limit: a class needs networks and numbers of its own")
	}
	c := Class{Name: name, Networks: prefixes, Numbers: map[Rule]int{}}
	for _, word := range words[1:] {
		name, number, _ := strings.Cut(word, "=")
		rule, ok := classed(name)
		if !ok {
			return Class{}, errors.New("limit: a class sets only limits that count a network")
		}
		n, err := ParseNumber(rule, number)
		if err != nil {
			return Class{}, err
		}
		c.Numbers[rule] = n
	}
	return c, nil
}

func classed(name string) (Rule, bool) {
	for _, d := range Rules() {
		if d.Name == name && d.Classed {
			return d.Rule, true
		}
	}
	return 0, false
}

// ParseNumber reads the number of a rule: 0 to the largest it may be.
func ParseNumber(r Rule, text string) (int, error) {
	most := Rules()[r].Max
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n > uint64(most) {
		return 0, fmt.Errorf("limit: not a whole number from 0 to %d", most)
	}
	return int(n), nil
}
