package e2e

import (
	"database/sql"
	"path/filepath"
	"testing"
)

// The two refusals that no address leads to, under the checks of every page:
// a reader who asked too often, and a service whose store is broken. Both are
// those of the built program: the one has a budget of one page a minute, the
// other has lost a table.
func TestRefusalsInABrowser(t *testing.T) {
	t.Parallel()
	hasty := embedded(t)
	hasty.Env = append(hasty.Env, "INNERLOOP_LIMITS=default", "INNERLOOP_LIMIT_PAGES_PER_NETWORK_MINUTE=1")
	node(t, "checks.mjs", map[string]any{
		"url": serve(t, hasty).URL, "pages": []pageKind{{"too many", "/", 429}}, "journeys": []string{},
	})

	broken := embedded(t)
	server := serve(t, broken)
	db, err := sql.Open("sqlite", "file:"+filepath.Join(broken.DataDir, "innerloop.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(`ALTER TABLE timeline RENAME TO lost`); err != nil {
		t.Fatal(err)
	}
	node(t, "checks.mjs", map[string]any{
		"url": server.URL, "pages": []pageKind{{"broken", "/", 503}}, "journeys": []string{},
	})
}
