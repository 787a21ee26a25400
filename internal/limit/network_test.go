package limit

import (
	"net/netip"
	"testing"
	"time"
)

func TestNetworkOfAnAddress(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ address, want string }{
		{"203.0.113.77", "203.0.113.0/24"},
		{"::ffff:203.0.113.77", "203.0.113.0/24"},
		{"2001:db8:1:2ff:3::4", "2001:db8:1:200::/56"},
		{"fe80::1%eth0", "fe80::/56"},
	} {
		n := NetworkOf(netip.MustParseAddr(row.address))
		if n.String() != row.want {
			t.Errorf("%s counts as %s, want %s", row.address, n, row.want)
		}
		if back, err := ParseNetwork(n.String()); err != nil || back != n {
			t.Errorf("%s reads back as %s, %v", n, back, err)
		}
	}
	if n := NetworkOf(netip.Addr{}); !n.IsZero() || n.String() != "" {
		t.Errorf("no address counts as %s", n)
	}
	for _, text := range []string{"nonsense", "UPPER 203.0.113.0/24", "a b 203.0.113.0/24"} {
		if _, err := ParseNetwork(text); err == nil {
			t.Errorf("%q is taken for a network", text)
		}
	}
}

func TestClientIsFoundThroughTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	trusted, err := ParsePrefixes("10.0.0.0/8, 127.0.0.1, ::ffff:192.0.2.0/120")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, remote string
		forwarded    []string
		want         string
	}{
		{"a stranger's header counts for nothing", "198.51.100.9", []string{"203.0.113.1"}, "198.51.100.9"},
		{"one proxy", "10.0.0.1", []string{"203.0.113.1"}, "203.0.113.1"},
		{"what the client wrote itself stands on the left", "10.0.0.1", []string{"8.8.8.8, 203.0.113.1"}, "203.0.113.1"},
		{"two proxies", "10.0.0.1", []string{"203.0.113.1, 10.9.9.9"}, "203.0.113.1"},
		{"several headers are one list", "10.0.0.1", []string{"8.8.8.8", "203.0.113.1, 10.9.9.9"}, "203.0.113.1"},
		{"ports and brackets", "127.0.0.1", []string{"[2001:db8::1]:443"}, "2001:db8::1"},
		{"IPv4 with a port", "127.0.0.1", []string{"203.0.113.1:5555"}, "203.0.113.1"},
		{"a mapped proxy", "::ffff:192.0.2.7", []string{"203.0.113.1"}, "203.0.113.1"},
		{"nonsense ends the walk at the proxy", "10.0.0.1", []string{"203.0.113.1, unknown"}, "10.0.0.1"},
		{"no header", "10.0.0.1", nil, "10.0.0.1"},
		{"an empty header", "10.0.0.1", []string{""}, "10.0.0.1"},
		{"everyone is trusted", "10.0.0.1", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
	} {
		got := Proxies(trusted).Client(netip.MustParseAddr(row.remote), row.forwarded)
		if got.String() != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
	if got := Proxies(nil).Client(netip.MustParseAddr("10.0.0.1"), []string{"203.0.113.1"}); got.String() != "10.0.0.1" {
		t.Errorf("without trusted proxies the client is %s", got)
	}
	for _, bad := range []string{"10.0.0.0/33", "example.org", "::ffff:0.0.0.0/64"} {
		if _, err := ParsePrefixes(bad); err == nil {
			t.Errorf("%q is taken for networks", bad)
		}
	}
}

func TestClassesHaveNumbersOfTheirOwn(t *testing.T) {
	t.Parallel()
	classes, err := ParseClasses("helper=203.0.113.0/28,2001:db8::/32 reads_per_network_minute=6000; other=198.51.100.0/24 registrations_per_network_day=0")
	if err != nil {
		t.Fatal(err)
	}
	s := Defaults()
	s.Classes = classes
	inside, outside := s.Network(netip.MustParseAddr("203.0.113.5")), s.Network(netip.MustParseAddr("203.0.113.99"))
	if inside == outside || inside.Class() != "helper" || inside.String() != "helper 203.0.113.0/24" {
		t.Errorf("the class and its neighbour count as %s and %s", inside, outside)
	}
	if back, err := ParseNetwork(inside.String()); err != nil || back != inside {
		t.Errorf("%s reads back as %s, %v", inside, back, err)
	}
	for _, row := range []struct {
		n    Network
		r    Rule
		want int
	}{
		{inside, ReadsPerMinute, 6000},
		{inside, RegistrationsPerNetwork, 10},
		{outside, ReadsPerMinute, 120},
		{s.Network(netip.MustParseAddr("198.51.100.1")), RegistrationsPerNetwork, 0},
		{Network{}, EntriesPerAgent, 50},
	} {
		if got := s.Number(row.r, row.n); got != row.want {
			t.Errorf("%s: rule %d is %d, want %d", row.n, row.r, got, row.want)
		}
	}
	if got := (*Settings)(nil).Number(ReadsPerMinute, inside); got != 0 {
		t.Errorf("no settings limit to %d", got)
	}
	if none, err := ParseClasses("none"); err != nil || len(none) != 0 {
		t.Errorf("none: %v, %v", none, err)
	}
	hosted := Defaults()
	if n := hosted.Network(netip.MustParseAddr("160.79.106.35")); n.Class() != "anthropic" || hosted.Number(ReadsPerMinute, n) != 6000 {
		t.Errorf("a hosted assistant counts as %s", n)
	}
	for _, bad := range []string{
		"x", "x=203.0.113.0/24", "=203.0.113.0/24 reads_per_network_minute=1", "X=203.0.113.0/24 reads_per_network_minute=1",
		"x= reads_per_network_minute=1", "x=203.0.113.0/24 entries_per_agent_day=1", "x=203.0.113.0/24 reads_per_network_minute=-1",
		"x=203.0.113.0/24 reads_per_network_minute=1;x=198.51.100.0/24 reads_per_network_minute=1",
	} {
		if _, err := ParseClasses(bad); err == nil {
			t.Errorf("%q is taken for classes", bad)
		}
	}
}

func TestTheTableIsInOrder(t *testing.T) {
	t.Parallel()
	rules := Rules()
	if len(rules) != int(ruleCount) {
		t.Fatalf("%d rows for %d rules", len(rules), ruleCount)
	}
	for i, d := range rules {
		if int(d.Rule) != i || d.Name == "" || d.Code == "" || d.Help == "" || d.Default > d.Max {
			t.Errorf("row %d is %+v", i, d)
		}
	}
}

var noon = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

func TestBucketsHoldAMinuteAndTellAnHonestWait(t *testing.T) {
	t.Parallel()
	b, n := NewBuckets(8), NetworkOf(netip.MustParseAddr("203.0.113.1"))
	for i := range 120 {
		if wait := b.Take(n, 120, noon); wait != 0 {
			t.Fatalf("refused after %d", i)
		}
	}
	wait := b.Take(n, 120, noon)
	if wait != time.Second || b.Wait(n, 120, noon) != wait {
		t.Errorf("told to wait %s, then %s", wait, b.Wait(n, 120, noon))
	}
	if again := b.Take(n, 120, noon.Add(wait)); again != 0 {
		t.Errorf("refused again after the wait, for %s", again)
	}
	slow, other := NewBuckets(8), NetworkOf(netip.MustParseAddr("198.51.100.1"))
	slow.Take(other, 1, noon)
	if wait = slow.Take(other, 1, noon); wait < 60*time.Second || wait > 61*time.Second || slow.Take(other, 1, noon.Add(wait)) != 0 {
		t.Errorf("one a minute: told to wait %s", wait)
	}
	if b.Take(other, 1, noon) != 0 || b.Take(Network{}, 1, noon) != 0 || b.Take(Network{}, 1, noon) != 0 || b.Take(n, 0, noon) != 0 {
		t.Error("another network, an unknown one, or no limit at all was refused")
	}
}

func TestBucketsForgetTheOneUnseenForLongest(t *testing.T) {
	t.Parallel()
	b := NewBuckets(2)
	net := func(text string) Network { return NetworkOf(netip.MustParseAddr(text)) }
	for _, a := range []string{"10.0.0.1", "10.0.1.1", "10.0.0.1", "10.0.2.1"} {
		b.Take(net(a), 2, noon)
	}
	if len(b.byKey) != 2 || b.order.Len() != 2 {
		t.Fatalf("%d networks are remembered", len(b.byKey))
	}
	if b.Take(net("10.0.0.1"), 2, noon) == 0 {
		t.Error("a network in use was forgotten")
	}
}
