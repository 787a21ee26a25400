//go:build linux && (amd64 || arm64)

package repl_test

import (
	"slices"
	"testing"

	"innerloop/coworker"
	"innerloop/coworker/connect"
	"innerloop/coworker/repl"
)

// lent prints which variables of the service a run has.
const lent = "import os\nsorted(n for n in os.environ if n.startswith('WILDBERRIES'))"

const (
	lentAll  = "['WILDBERRIES_API_KEY', 'WILDBERRIES_BASE_URL']"
	lentNone = "[]"
)

// TestWhatAnOrganizationLends runs the same code under every rule of an
// organisation, with and without naming the service.
func TestWhatAnOrganizationLends(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil).connected()
	full := w.with(coworker.NewKey{})
	narrow := w.with(coworker.NewKey{Class: coworker.ClassWrite})
	elsewhere := w.with(coworker.NewKey{Connectors: []string{"ozon"}})
	named := []string{"wildberries"}
	for name, row := range map[string]struct {
		rules    connect.Settings
		who      coworker.Caller
		services []string
		want     string
	}{
		"named":                                {connect.Settings{}, full, named, lentAll},
		"unnamed":                              {connect.Settings{}, full, nil, lentNone},
		"named, broker only":                   {connect.Settings{BrokerOnly: true}, full, named, lentNone},
		"unnamed, all":                         {connect.Settings{AllWhenUnnamed: true}, full, nil, lentAll},
		"unnamed, all, broker only":            {connect.Settings{AllWhenUnnamed: true, BrokerOnly: true}, full, nil, lentNone},
		"named by a narrow key":                {connect.Settings{}, narrow, named, lentNone},
		"unnamed, all, by a narrow key":        {connect.Settings{AllWhenUnnamed: true}, narrow, nil, lentNone},
		"unnamed, all, by a key for elsewhere": {connect.Settings{AllWhenUnnamed: true}, elsewhere, nil, lentNone},
	} {
		w.rules(row.rules)
		if a := w.ran(row.who, repl.Request{Services: row.services, Code: lent}); *a.Result != row.want {
			t.Errorf("%s: %s", name, *a.Result)
		}
	}
	w.refused(elsewhere, repl.Request{Services: named, Code: lent}, coworker.PermissionDenied)

	// Where nothing is lent the broker still calls, and the proxy does not.
	w.rules(connect.Settings{BrokerOnly: true})
	a := w.ran(full, repl.Request{Services: named, Code: "import coworker\ncoworker.call('wildberries', 'GET', '/ping', module='common')['data']['TS']"})
	if *a.Result != "'now'" || !slices.Equal(w.asked, []string{"GET /ping " + planted}) {
		t.Errorf("%+v %q", a, w.asked)
	}
}

// rules makes an organisation's rules exactly these.
func (w *world) rules(s connect.Settings) {
	w.t.Helper()
	change := connect.SettingsChange{MustConfirm: &s.MustConfirm, BrokerOnly: &s.BrokerOnly, AllWhenUnnamed: &s.AllWhenUnnamed}
	if _, err := w.keeper.ChangeSettings(w.t.Context(), coworker.Operator(), w.acme.Organization.ID, change); err != nil {
		w.t.Fatal(err)
	}
}
