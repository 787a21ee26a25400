package main

import (
	"strings"
	"testing"
)

func TestRulesOfAnOrganizationByTheCommandLine(t *testing.T) {
	t.Parallel()
	for name, make := range places(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := surroundings{environ: make(t).environ}
			execute(t, s, "migrate")
			org, _ := decode(t, execute(t, s, "org", "create", "Acme", "--json").out)["organization_id"].(string)
			for _, row := range []struct {
				flags                []string
				confirm, broker, all bool
			}{
				{[]string{"--broker-only", "on"}, false, true, false},
				{[]string{"--must-confirm", "on", "--all-when-unnamed", "on"}, true, true, true},
				{[]string{"--broker-only", "off", "--must-confirm", "on"}, true, false, true},
			} {
				facts := decode(t, execute(t, s, append([]string{"org", "set", "--org", org, "--json"}, row.flags...)...).out)
				if keysOf(facts) != "all_when_unnamed broker_only must_confirm organization_id" || facts["must_confirm"] != row.confirm || facts["broker_only"] != row.broker || facts["all_when_unnamed"] != row.all {
					t.Errorf("%q: %v", row.flags, facts)
				}
			}
			for _, row := range []struct {
				want string
				args []string
			}{
				{"needs --org", []string{"org", "set", "--broker-only", "on"}},
				{"needs --must-confirm, --broker-only or --all-when-unnamed", []string{"org", "set", "--org", org}},
				{"--broker-only must be on or off", []string{"org", "set", "--org", org, "--must-confirm", "off", "--broker-only", "yes"}},
				{"--broker-only must be on or off", []string{"org", "set", "--org", org, "--broker-only", ""}},
				{"There is no such organization", []string{"org", "set", "--org", "org_" + strings.Repeat("0", 32), "--broker-only", "on"}},
			} {
				if told := attempt(t, s, row.args...); told.code == 0 || !strings.Contains(told.err, row.want) {
					t.Errorf("%q: %d %s", row.args, told.code, told.err)
				}
			}
			// What was refused changed nothing.
			if facts := decode(t, execute(t, s, "org", "set", "--org", org, "--broker-only", "off", "--json").out); facts["must_confirm"] != true {
				t.Errorf("%v", facts)
			}
		})
	}
}
