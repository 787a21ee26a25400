package discovery

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestServerCard(t *testing.T) {
	t.Parallel()
	documents := made(t)
	var card serverCardBody
	if err := json.Unmarshal(documents["/mcp/server-card"].Body, &card); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(card.Name) || card.Name != "example.web/innerloop" {
		t.Errorf("the name is %s", card.Name)
	}
	if n := len([]rune(card.Description)); n == 0 || n > 100 {
		t.Errorf("the description has %d characters", n)
	}
	if card.Schema == "" || card.Version != Version || card.Title == "" || card.WebsiteURL != origins.Web {
		t.Errorf("the card is %+v", card)
	}
	if len(card.Remotes) != 1 || card.Remotes[0].Type != "streamable-http" || card.Remotes[0].URL != origins.MCP() || len(card.Remotes[0].Versions) != 3 {
		t.Errorf("the remotes are %+v", card.Remotes)
	}
	var list catalogBody
	if err := json.Unmarshal(documents["/.well-known/ai-catalog.json"].Body, &list); err != nil {
		t.Fatal(err)
	}
	if list.SpecVersion != "1.0" || len(list.Entries) != 1 {
		t.Fatalf("the catalogue is %+v", list)
	}
	entry := list.Entries[0]
	target, there := documents[strings.TrimPrefix(entry.URL, origins.Gateway)]
	if entry.Identifier != "urn:air:gateway.example:mcp:innerloop" || !there || target.MediaType != entry.Type || entry.DisplayName == "" {
		t.Errorf("the catalogue names %+v", entry)
	}
}

func TestReverseNames(t *testing.T) {
	t.Parallel()
	for origin, want := range map[string]string{
		"https://innerloop.example":       "example.innerloop/innerloop",
		"https://Journal.Innerloop.Test":  "test.innerloop.journal/innerloop",
		"http://127.0.0.1:8080":           "localhost/innerloop",
		"http://[::1]:8080":               "localhost/innerloop",
		"http://localhost:8080":           "localhost/innerloop",
		"https://innerloop.example:44300": "example.innerloop/innerloop",
	} {
		if got := reverseName(origin); got != want {
			t.Errorf("%s: %s, want %s", origin, got, want)
		}
	}
}

// server.json in the repository is what an installation at this name would
// hand to the registry; operators put their own in its place.
func TestRegistryEntryIsTheFileInTheRepository(t *testing.T) {
	t.Parallel()
	const file = "../../server.json"
	host := "https://innerloop.example"
	want, err := RegistryEntry(Origins{Web: host, API: host, Gateway: host})
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("INNERLOOP_UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(file, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("server.json is\n%s\nwant\n%s", got, want)
	}
}

func TestSecurityTextExpiresWithinAYear(t *testing.T) {
	t.Parallel()
	for _, now := range []time.Time{
		time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC),
		time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC),
		time.Date(2031, 7, 1, 12, 0, 0, 0, time.FixedZone("", 3600*11)),
	} {
		fields := map[string]string{}
		for line := range strings.Lines(string(SecurityDocument(origins, "", now).Body)) {
			name, value, found := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			if !found || fields[name] != "" {
				t.Errorf("a line is %q", line)
			}
			fields[name] = value
		}
		expires, err := time.Parse(time.RFC3339, fields["Expires"])
		if err != nil || !expires.After(now.Add(90*24*time.Hour)) || !expires.Before(now.AddDate(1, 0, 0)) {
			t.Errorf("at %s it expires %s, %v", now, fields["Expires"], err)
		}
		if fields["Contact"] != "mailto:security@web.example" || fields["Canonical"] != "https://web.example/.well-known/security.txt" || fields["Preferred-Languages"] != "en, ru" {
			t.Errorf("it says %v", fields)
		}
	}
	for origin, want := range map[string]string{
		"http://127.0.0.1:8080": "mailto:security@[127.0.0.1]", "http://[::1]:80": "mailto:security@[IPv6:::1]", "http://localhost:80": "mailto:security@localhost",
	} {
		if text := string(SecurityDocument(Origins{Web: origin}, "", time.Now()).Body); !strings.Contains(text, want+"\n") {
			t.Errorf("%s: %s", origin, text)
		}
	}
	if text := string(SecurityDocument(origins, "https://web.example/contact", time.Now()).Body); !strings.HasPrefix(text, "Contact: https://web.example/contact\n") {
		t.Errorf("with a contact of its own: %s", text)
	}
}
