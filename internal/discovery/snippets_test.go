package discovery

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every snippet is taken apart the way its client would and must lead to the
// endpoint, also for addresses whose base64 holds every special character.
func TestSnippetsLeadToTheEndpoint(t *testing.T) {
	t.Parallel()
	for _, gateway := range []string{"https://gateway.example", "http://127.0.0.1:8080", "https://a~b.example:44300", "https://x.example", "https://xy.example"} {
		o := Origins{Web: "https://web.example", API: "https://api.example", Gateway: gateway}
		var clients []string
		for _, s := range Snippets(o) {
			name, address := takenApart(t, s)
			if address != gateway+"/mcp" || name != "" && name != "innerloop" {
				t.Errorf("%s by %s leads to %q as %q: %s", s.Client, s.Kind, address, name, s.Text)
			}
			if !slices.Contains(clients, s.Client) {
				clients = append(clients, s.Client)
			}
		}
		want := []string{"Claude", "Claude Code", "ChatGPT", "Cursor", "VS Code", "Codex", "Gemini CLI", "Windsurf", "Zed", "LM Studio"}
		if !slices.Equal(clients, want) {
			t.Errorf("the clients are %v, want %v", clients, want)
		}
	}
}

func takenApart(t *testing.T, s Snippet) (name, address string) {
	t.Helper()
	switch s.Kind {
	case Steps:
		if len(s.Where) < 3 {
			t.Errorf("%s: the way is %v", s.Client, s.Where)
		}
		return "", s.Text
	case Command:
		return fromCommand(t, s.Text)
	case Link:
		return fromLink(t, s.Text)
	}
	if len(s.Where) != 1 || s.Kind != File {
		t.Fatalf("%s: %+v", s.Client, s)
	}
	if s.Form == "toml" {
		found := regexp.MustCompile(`^\[mcp_servers\.([a-z]+)\]\nurl = ("[^"\\]*")\n$`).FindStringSubmatch(s.Text)
		if found == nil {
			t.Fatalf("%s: not the table that is read: %s", s.Client, s.Text)
		}
		fromJSON(t, found[2], &address)
		return found[1], address
	}
	// The key that the client looks for, and the one it reads the address at.
	keys := map[string][2]string{
		"Cursor": {"mcpServers", "url"}, "VS Code": {"servers", "url"}, "Gemini CLI": {"mcpServers", "httpUrl"},
		"Windsurf": {"mcpServers", "serverUrl"}, "Zed": {"context_servers", "url"}, "LM Studio": {"mcpServers", "url"},
	}[s.Client]
	var settings map[string]map[string]map[string]string
	fromJSON(t, s.Text, &settings)
	servers := settings[keys[0]]
	if len(settings) != 1 || len(servers) != 1 {
		t.Errorf("%s: %s", s.Client, s.Text)
	}
	if s.Client == "VS Code" && servers["innerloop"]["type"] != "http" {
		t.Errorf("VS Code needs the type: %s", s.Text)
	}
	return "innerloop", servers["innerloop"][keys[1]]
}

func fromCommand(t *testing.T, text string) (name, address string) {
	t.Helper()
	if rest, ok := strings.CutPrefix(text, "code --add-mcp '"); ok {
		return fromNamed(t, strings.TrimSuffix(rest, "'"))
	}
	words := strings.Fields(text)
	i := slices.Index(words, "innerloop")
	if i < 0 || words[1] != "mcp" || words[2] != "add" {
		t.Fatalf("the command is %s", text)
	}
	return words[i], words[len(words)-1]
}

func fromLink(t *testing.T, text string) (name, address string) {
	t.Helper()
	if rest, ok := strings.CutPrefix(text, "vscode:mcp/install?"); ok {
		raw, err := url.PathUnescape(rest) // as decodeURIComponent: a + stays
		if err != nil {
			t.Fatal(err)
		}
		return fromNamed(t, raw)
	}
	link, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(strings.SplitN(link.RawQuery, "config=", 2)[1], "+/=") {
		t.Errorf("base64 is not escaped: %s", text)
	}
	raw, err := base64.StdEncoding.DecodeString(link.Query().Get("config"))
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]string
	fromJSON(t, string(raw), &config)
	if len(config) != 1 {
		t.Errorf("the config is %s", raw)
	}
	return link.Query().Get("name"), config["url"]
}

func fromNamed(t *testing.T, text string) (name, address string) {
	t.Helper()
	var server struct{ Name, Type, URL string }
	fromJSON(t, text, &server)
	if server.Type != "http" {
		t.Errorf("the type is %q", server.Type)
	}
	return server.Name, server.URL
}

func fromJSON(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}
