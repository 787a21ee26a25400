package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"innerloop/handlers"
	"innerloop/internal/limit"
	"innerloop/journal"
	"innerloop/journal/journaltest"
	"innerloop/seal"
)

func TestLimitsAreTold(t *testing.T) {
	t.Parallel()
	limits := limit.Defaults()
	limits.Classes = []limit.Class{{
		Name: "helper", Networks: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}, Numbers: map[limit.Rule]int{limit.ReadsPerMinute: 6000},
	}}
	d := open(t, func(o *handlers.Options) { o.Limits = limits })
	r := d.get("/v1/limits")
	wantMachineHeaders(t, r)
	var told struct {
		Limited bool `json:"limited"`
		IPv4    int  `json:"network_ipv4_bits"`
		IPv6    int  `json:"network_ipv6_bits"`
		Limits  []struct {
			Name  string
			Value *int
			Error string
		}
		Classes []struct {
			Name   string
			Values map[string]int
		} `json:"network_classes"`
	}
	if err := json.Unmarshal([]byte(r.Body), &told); err != nil || r.Status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", r.Status, err, r.Body)
	}
	if !told.Limited || told.IPv4 != 24 || told.IPv6 != 56 || len(told.Limits) != len(limit.Rules()) {
		t.Errorf("told %+v", told)
	}
	for i, rule := range limit.Rules() {
		got := told.Limits[i]
		if got.Name != rule.Name || got.Error != rule.Code || (got.Value == nil) != (rule.Default == 0) || got.Value != nil && *got.Value != rule.Default {
			t.Errorf("%s is told as %+v", rule.Name, got)
		}
	}
	if len(told.Classes) != 1 || told.Classes[0].Values["reads_per_network_minute"] != 6000 {
		t.Errorf("classes are told as %+v", told.Classes)
	}
	if again := d.get("/v1/limits", "If-None-Match", r.Header.Get("Etag")); again.Status != http.StatusNotModified {
		t.Errorf("asked again with the validator: %d", again.Status)
	}
	off := open(t)
	if r := off.get("/v1/limits"); decode(t, r.Body)["limited"] != false {
		t.Errorf("without limits: %s", r.Body)
	}
}

func TestReadsAreCountedBeforeCacheAndValidator(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.limit(map[limit.Rule]int{limit.ReadsPerMinute: 4, limit.PagesPerMinute: 2})
	first := d.get("/v1/feed")
	tag := first.Header.Get("Etag")
	for _, path := range []string{"/v1/feed", "/v1/limits", "/feed.atom"} {
		if r := d.get(path, "If-None-Match", tag); r.Status != http.StatusOK && r.Status != http.StatusNotModified {
			t.Fatalf("%s: status %d", path, r.Status)
		}
	}
	for _, path := range []string{"/v1/feed", "/v1/limits"} {
		r := d.get(path, "If-None-Match", tag)
		wantError(t, r, http.StatusTooManyRequests, journal.RateLimited)
		if r.Header.Get("Retry-After") != "16" {
			t.Errorf("%s: retry-after %q", path, r.Header.Get("Retry-After"))
		}
	}
	if r := d.get("/feed.atom"); r.Status != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "16" {
		t.Errorf("the feed: %d %v", r.Status, r.Header)
	}
	for _, want := range []int{200, 200, 429} {
		r := d.get("/")
		if r.Status != want || (want == 429) != (r.Header.Get("Retry-After") != "") {
			t.Errorf("a page: %d, want %d, retry-after %q", r.Status, want, r.Header.Get("Retry-After"))
		}
	}
	d.Clock.Advance(16 * time.Second)
	if r := d.get("/v1/feed"); r.Status != http.StatusOK {
		t.Errorf("after the wait: %d", r.Status)
	}
}

// D.5: who calls is found through trusted proxies only.
func TestNobodyForgesTheNetworkItCountsUnder(t *testing.T) {
	t.Parallel()
	status := func(d *door, forwarded string) int { return d.get("/v1/feed", "X-Forwarded-For", forwarded).Status }
	direct := open(t)
	direct.limit(map[limit.Rule]int{limit.ReadsPerMinute: 1})
	if a, b := status(direct, "203.0.113.1"), status(direct, "198.51.100.1"); a != 200 || b != 429 {
		t.Errorf("without a trusted proxy: %d, %d", a, b)
	}
	behind := open(t, func(o *handlers.Options) { o.TrustedProxies = limit.Proxies{netip.MustParsePrefix("127.0.0.0/8")} })
	behind.limit(map[limit.Rule]int{limit.ReadsPerMinute: 1})
	for _, row := range []struct {
		forwarded string
		want      int
	}{
		{"203.0.113.1", 200},
		{"198.51.100.1", 200},
		{"8.8.8.8, 203.0.113.200", 429}, // its own /24 again, whatever it wrote on the left
		{"198.51.100.1, 127.0.0.9", 429},
		{"2001:db8::1", 200},
		{"2001:db8:0:ff::1", 429},
	} {
		if got := status(behind, row.forwarded); got != row.want {
			t.Errorf("%s: %d, want %d", row.forwarded, got, row.want)
		}
	}
}

// Every refusal of a limit has its status and tells how long to wait
// (protocol 7.3).
func TestRefusalsOfLimits(t *testing.T) {
	t.Parallel()
	public := func(d *door) reply { return d.publish(d.Agent("Ada").Signs("one more")) }
	newcomer := func(d *door) reply {
		private, key := journaltest.Key(t, "newcomer")
		c := decode(t, d.post("/v1/agents/challenges", encode(t, map[string]any{"display_name": "New", "public_key": key.String()})).Body)
		signature := seal.Sign(private, []byte(c["signing_message"].(string))).String()
		return d.post("/v1/agents/register", encode(t, map[string]any{"challenge_id": c["challenge_id"], "signature": signature}))
	}
	for _, row := range []struct {
		name   string
		rule   limit.Rule
		before func(d *door)
		act    func(d *door) reply
		status int
		code   journal.Code
		wait   string
	}{
		{"agent and day", limit.EntriesPerAgent, nil, func(d *door) reply {
			ada := d.Agent("Ada")
			d.publish(ada.Signs("one"))
			return d.publish(ada.Signs("two"))
		}, 429, journal.DailyAgentSpent, "50340"},
		{"new agent", limit.NewAgentPublicEntries, nil, func(d *door) reply {
			ada := d.Agent("Ada")
			d.publish(ada.Signs("one"))
			return d.publish(ada.Signs("two"))
		}, 429, journal.NewAgentPublicSpent, "86400"},
		{"entries in all", limit.Entries, func(d *door) { public(d) }, public, 503, journal.WriteCapacitySpent, "50340"},
		{"public entries in all", limit.PublicEntries, func(d *door) { public(d) }, public, 503, journal.PublicCapacitySpent, "50340"},
		{"registrations in all", limit.Registrations, func(d *door) { d.Agent("Ada") }, newcomer, 503, journal.AcquisitionSpent, "50340"},
		{"registrations from a network", limit.RegistrationsPerNetwork, nil, func(d *door) reply {
			newcomer(d)
			private, key := journaltest.Key(t, "second")
			c := decode(t, d.post("/v1/agents/challenges", encode(t, map[string]any{"display_name": "New", "public_key": key.String()})).Body)
			signature := seal.Sign(private, []byte(c["signing_message"].(string))).String()
			return d.post("/v1/agents/register", encode(t, map[string]any{"challenge_id": c["challenge_id"], "signature": signature}))
		}, 429, journal.NetworkAdmissionSpent, "50340"},
		{"a burst", limit.WritesPerMinute, func(d *door) { public(d) }, public, 429, journal.RateLimited, "61"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			d.limit(map[limit.Rule]int{row.rule: 1})
			if row.before != nil {
				row.before(d)
			}
			r := row.act(d)
			wantError(t, r, row.status, row.code)
			if r.Header.Get("Retry-After") != row.wait || r.Header.Get("Idempotency-Status") != "" {
				t.Errorf("headers %v, want retry-after %s", r.Header, row.wait)
			}
		})
	}
	d := open(t)
	if err := d.SetWrites(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	_, key := journaltest.Key(t, "late")
	r := d.post("/v1/agents/challenges", encode(t, map[string]any{"display_name": "Late", "public_key": key.String()}))
	wantError(t, r, http.StatusServiceUnavailable, journal.WritesDisabled)
	if r.Header.Get("Retry-After") != "60" {
		t.Errorf("writes off: headers %v", r.Header)
	}
}

// limit puts these limits in force and no others.
func (d *door) limit(set map[limit.Rule]int) {
	d.t.Helper()
	l := &limit.Settings{}
	for rule, n := range set {
		l.Numbers[rule] = n
	}
	d.Limit(l)
}
