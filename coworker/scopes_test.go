package coworker_test

import (
	"encoding/json"
	"slices"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/coworkertest"
)

func TestScopesImplyAsDecided(t *testing.T) {
	t.Parallel()
	all := []coworker.Scopes{coworker.ReadTools, coworker.WriteTools, coworker.ReadData, coworker.Admin, coworker.Chat}
	for _, row := range []struct {
		word  string
		holds []coworker.Scopes
	}{
		{"read:tools", []coworker.Scopes{coworker.ReadTools}},
		{"write:tools", []coworker.Scopes{coworker.ReadTools, coworker.WriteTools}},
		{"read:data", []coworker.Scopes{coworker.ReadTools, coworker.ReadData}},
		{"admin", all},
		{"chat", []coworker.Scopes{coworker.Chat}},
	} {
		s, ok := coworker.ParseScopes([]string{row.word})
		if !ok || s.String() != row.word {
			t.Fatalf("%s reads as %s", row.word, s)
		}
		for _, one := range all {
			if got, want := s.Holds(one), slices.Contains(row.holds, one); got != want {
				t.Errorf("%s holds %s: %t, want %t", row.word, one, got, want)
			}
		}
	}
	for _, words := range [][]string{nil, {"read:tools", "everything"}, {"READ:TOOLS"}, {""}} {
		if _, ok := coworker.ParseScopes(words); ok {
			t.Errorf("%q are taken for scopes", words)
		}
	}
	both, _ := coworker.ParseScopes([]string{"chat", "read:tools", "chat"})
	if text, err := json.Marshal(both); err != nil || string(text) != `["read:tools","chat"]` {
		t.Errorf("%s, %v", text, err)
	}
}

// The table «scope per tool».
func TestWhichScopesCallWhichTool(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		words []string
		may   []string
	}{
		{[]string{"read:tools"}, []string{"list_services", "describe_service"}},
		{[]string{"write:tools"}, []string{"list_services", "describe_service", "connector_execute", "repl_execute"}},
		{[]string{"read:data"}, []string{"list_services", "describe_service", "connector_execute", "read_memory"}},
		{[]string{"admin"}, coworker.Tools()},
		{[]string{"chat"}, nil},
		{[]string{"read:data", "write:tools"}, coworker.Tools()},
	} {
		s, _ := coworker.ParseScopes(row.words)
		who := coworker.Caller{Scopes: s, Class: coworker.ClassIrreversible}
		for _, tool := range coworker.Tools() {
			err := who.MayCall(tool)
			if slices.Contains(row.may, tool) {
				if err != nil {
					t.Errorf("%s may not call %s: %v", s, tool, err)
				}
				continue
			}
			f := coworkertest.WantCode(t, err, coworker.PermissionDenied)
			if d, ok := f.Details.(coworker.Denied); !ok || len(d.Required) == 0 || !slices.Equal(d.Have, row.words) {
				t.Errorf("%s, %s: %+v", s, tool, f.Details)
			}
		}
	}
	if len(coworker.Tools()) != 5 || (coworker.Caller{Scopes: coworker.Admin}).MayCall("other") == nil {
		t.Error("there are five tools")
	}
}

func TestWhatAKeyMayExecute(t *testing.T) {
	t.Parallel()
	key := func(s coworker.Scopes, class coworker.Class, connectors ...string) coworker.Caller {
		return coworker.Caller{Scopes: s, Class: class, Connectors: connectors}
	}
	for _, row := range []struct {
		name  string
		who   coworker.Caller
		class coworker.Class
		may   bool
	}{
		{"a reader reads", key(coworker.ReadData, coworker.ClassIrreversible), coworker.ClassRead, true},
		{"a reader does not write", key(coworker.ReadData, coworker.ClassIrreversible), coworker.ClassWrite, false},
		{"a writer does all", key(coworker.WriteTools, coworker.ClassIrreversible), coworker.ClassIrreversible, true},
		{"a writer of class write stops there", key(coworker.WriteTools, coworker.ClassWrite), coworker.ClassIrreversible, false},
		{"a class that covers", key(coworker.WriteTools, coworker.ClassWrite), coworker.ClassWrite, true},
		{"a connector on the list", key(coworker.WriteTools, coworker.ClassIrreversible, "ozon", "github"), coworker.ClassRead, true},
		{"a connector off the list", key(coworker.WriteTools, coworker.ClassIrreversible, "ozon"), coworker.ClassRead, false},
		{"an empty list", coworker.Caller{Scopes: coworker.Admin, Class: coworker.ClassIrreversible, Connectors: []string{}}, coworker.ClassRead, false},
		{"a catalog reader executes nothing", key(coworker.ReadTools, coworker.ClassIrreversible), coworker.ClassRead, false},
		{"an unknown class", key(coworker.WriteTools, coworker.ClassIrreversible), "huge", false},
	} {
		err := row.who.MayExecute("github", row.class)
		if (err == nil) != row.may {
			t.Errorf("%s: %v", row.name, err)
		}
		if err != nil {
			coworkertest.WantCode(t, err, coworker.PermissionDenied)
		}
	}
}
