package e2e

import (
	"archive/zip"
	"bytes"
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
	node(t, "settings.mjs", map[string]any{"url": server.URL, "key": org.Key, "archive": skillArchive(t), "screenshots": os.Getenv("INNERLOOP_SCREENSHOT")})
}

// skillArchive is a small skill as an admin would send it; JSON carries it in
// base64.
func skillArchive(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for path, text := range map[string]string{
		"month-end/SKILL.md": "---\nname: month-end\ndescription: Closes a month. Use when the month ends.\nmetadata:\n  service: bitrix24\n---\n\n# Month end\n\nCount twice.\n",
		"month-end/references/a-rather-long-name-of-a-file-with-nothing-in-it.md": "a note",
	} {
		part, err := w.Create(path)
		if err == nil {
			_, err = part.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
