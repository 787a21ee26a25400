package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"testing"

	"innerloop/handlers"
	"innerloop/internal/limit"
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
