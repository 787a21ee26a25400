package e2e

import (
	"os"
	"testing"
)

// The story of an organisation's first day, in a real browser without script:
// its admin signs in with the key from the command line, makes a key in the
// page, and the settings shown for it, pasted into an MCP client, list and
// describe services; the calls stand in the audit log; after the key is
// revoked the client hears 401. Then every settings page, in both languages,
// themes and widths: no finding of axe, valid HTML, a keyboard order that is
// the reading order, nothing that the content policy refuses, no sideways
// scroll at 320 pixels.
func TestSettingsInABrowser(t *testing.T) {
	t.Parallel()
	o := embedded(t)
	server := serve(t, o)
	org := found(t, o)
	node(t, "settings.mjs", map[string]any{"url": server.URL, "key": org.Key, "screenshots": os.Getenv("INNERLOOP_SCREENSHOT")})
}
