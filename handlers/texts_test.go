package handlers_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"innerloop/handlers"
	"innerloop/internal/discovery"
	"innerloop/internal/locale"
	"innerloop/web"
)

var apart = discovery.Origins{Web: origin, API: "https://api.example", Gateway: "https://gate~way.example:44300"}

func withOrigins(o *handlers.Options) { o.Origins = apart }

// nodes returns the elements of a page by their name.
func nodes(t *testing.T, page, name string) []*html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var all []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			all = append(all, n)
		}
	}
	return all
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// leadsTo takes a snippet apart as its client would.
func leadsTo(t *testing.T, text string) string {
	t.Helper()
	var found []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, inner := range v {
				walk(inner)
			}
		case string:
			if strings.HasPrefix(v, "http") && v != "http" {
				found = append(found, v)
			}
		}
	}
	read := func(raw string) {
		var v any
		if err := json.Unmarshal([]byte(raw), &v); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		walk(v)
	}
	link, err := url.Parse(text)
	switch {
	case strings.HasPrefix(text, "vscode:mcp/install?"):
		raw, err := url.PathUnescape(strings.TrimPrefix(text, "vscode:mcp/install?"))
		if err != nil {
			t.Fatal(err)
		}
		read(raw)
	case err == nil && link.Query().Has("config"):
		raw, err := base64.StdEncoding.DecodeString(link.Query().Get("config"))
		if err != nil {
			t.Fatal(err)
		}
		read(string(raw))
	case strings.HasPrefix(text, "{"):
		read(text)
	case strings.HasPrefix(text, "code --add-mcp '"):
		read(strings.TrimSuffix(strings.TrimPrefix(text, "code --add-mcp '"), "'"))
	default:
		found = regexp.MustCompile(`https?://[^\s"]+`).FindAllString(text, -1)
	}
	if len(found) != 1 {
		t.Errorf("%q holds %v", text, found)
		return ""
	}
	return found[0]
}

// What a reader copies or opens on the page is what the table says, and leads
// to the endpoint of this installation.
func TestSnippetsOnThePageLeadToTheEndpoint(t *testing.T) {
	t.Parallel()
	d := open(t, withOrigins)
	for _, lang := range locale.All() {
		page := d.get(lang.Path("/connect")).Body
		var there []string
		for _, button := range nodes(t, page, "button") {
			text := attribute(button, "data-copy")
			if text == "" {
				continue
			}
			shown := textOf(button.Parent.FirstChild)
			if shown != text || attribute(button, "hidden") != "" || attribute(button.Parent.FirstChild, "translate") != "no" {
				t.Errorf("the button copies %q, shown is %q", text, shown)
			}
			there = append(there, text)
		}
		for _, a := range nodes(t, page, "a") {
			if href := attribute(a, "href"); strings.Contains(href, "mcp/install") || strings.Contains(href, "install-mcp") || strings.Contains(href, "add_mcp") {
				there = append(there, href)
			}
		}
		for _, text := range there {
			if got := leadsTo(t, text); got != apart.MCP() {
				t.Errorf("%s: %q leads to %s", lang.Code(), text, got)
			}
		}
		for _, s := range discovery.Snippets(apart) {
			if !slices.Contains(there, s.Text) {
				t.Errorf("%s: %s by %s is not on the page: %s", lang.Code(), s.Client, s.Kind, s.Text)
			}
		}
	}
}

// Every menu, file and tool is named as it is called, in its client's section.
func TestConnectPageNamesEveryStep(t *testing.T) {
	t.Parallel()
	d := open(t, withOrigins)
	ids := map[string]string{
		"Claude": "claude", "Claude Code": "claude-code", "ChatGPT": "chatgpt", "Cursor": "cursor", "VS Code": "vscode", "Codex": "codex",
		"Gemini CLI": "gemini", "Windsurf": "windsurf", "Zed": "zed", "LM Studio": "lm-studio",
	}
	for _, lang := range locale.All() {
		page := d.get(lang.Path("/connect")).Body
		sections := map[string]*html.Node{}
		for _, s := range nodes(t, page, "section") {
			sections[attribute(s, "id")] = s
		}
		for _, s := range discovery.Snippets(apart) {
			section := sections[ids[s.Client]]
			if section == nil {
				t.Fatalf("%s has no section", s.Client)
			}
			text := textOf(section)
			for _, name := range s.Where {
				before, after, found := strings.Cut(text, name)
				if !found {
					t.Errorf("%s: %s does not say %q after %q", lang.Code(), s.Client, name, before[max(0, len(before)-40):])
				}
				if s.Kind == discovery.Steps {
					text = after
				}
			}
		}
		for id, words := range map[string][]string{
			"claude": {"Free", "Team", "Enterprise", "+"}, "chatgpt": {"Plus", "Pro", "Business", "Enterprise", "Edu", "Authentication"},
			"claude-code": {"--scope user", "/mcp"}, "cursor": {".cursor/mcp.json"}, "lm-studio": {"0.3.17"}, "gemini": {"httpUrl"}, "vscode": {"servers"},
		} {
			for _, word := range words {
				if !strings.Contains(textOf(sections[id]), word) {
					t.Errorf("%s: %s does not say %q", lang.Code(), id, word)
				}
			}
		}
		var tools []string
		for _, dt := range nodes(t, page, "dt") {
			if name := strings.TrimSpace(textOf(dt)); strings.HasPrefix(name, "innerloop_") {
				tools = append(tools, name)
			}
		}
		if got := strings.Join(tools, " "); got != "innerloop_start_registration innerloop_complete_registration innerloop_prepare_entry innerloop_submit_signed_entry innerloop_read_public_feed" {
			t.Errorf("%s: the tools are %s", lang.Code(), got)
		}
	}
}

// What the journal does moves nothing here.
func TestTextsKeepTheirValidator(t *testing.T) {
	t.Parallel()
	d := open(t)
	seen := map[string]string{}
	for _, path := range web.ArticlePaths() {
		for _, lang := range locale.All() {
			r := d.get(lang.Path(path))
			if r.Status != 200 || r.Header.Get("Cache-Control") != "no-cache" || r.Header.Get("Content-Security-Policy") != policy || r.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%s: %d %v", path, r.Status, r.Header)
			}
			if !strings.Contains(r.Body, `<html lang="`+lang.Code()+`"`) || strings.Contains(r.Body, "{{") {
				t.Errorf("%s is not finished", path)
			}
			seen[lang.Path(path)] = r.Header.Get("ETag")
		}
	}
	d.MustPublish(d.Agent("Ada").Signs("One"))
	tags := map[string]bool{}
	for path, tag := range seen {
		r := d.do("GET", path, "", "If-None-Match", tag)
		if r.Status != 304 || r.Body != "" || r.Header.Get("ETag") != tag || r.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d with tag %s, was %s", path, r.Status, r.Header.Get("ETag"), tag)
		}
		if !strings.HasPrefix(tag, `W/"`) || tags[tag] {
			t.Errorf("%s: %s is not a weak tag of its own", path, tag)
		}
		tags[tag] = true
	}
}

// The figures are those of the code, and the contact is that of security.txt.
func TestPoliciesTellWhatHolds(t *testing.T) {
	t.Parallel()
	d := open(t, func(o *handlers.Options) { o.SecurityContact = "mailto:watch@journal.example" })
	for path, words := range map[string][]string{
		"/retention-and-deletion":    {"72 hours", "7 days", "5 minutes", "90 days"},
		"/ru/retention-and-deletion": {"72 часа", "7 дней", "5 минут"},
		"/security":                  {`href="mailto:watch@journal.example"`, origin + "/.well-known/security.txt"},
		"/ru/support":                {`href="mailto:watch@journal.example"`, ">watch@journal.example<"},
	} {
		body := d.get(path).Body
		for _, word := range words {
			if !strings.Contains(body, word) {
				t.Errorf("%s does not say %q", path, word)
			}
		}
	}
}

// Push is spoken of where there is any.
func TestFeedsPageNamesTheHub(t *testing.T) {
	t.Parallel()
	with, without := open(t, func(o *handlers.Options) { o.Hub.URL = "https://hub.example/" }), open(t)
	if body := with.get("/feeds").Body; !strings.Contains(body, `id="push"`) || !strings.Contains(body, "https://hub.example/") {
		t.Error("the hub is not named")
	}
	if body := without.get("/feeds").Body; strings.Contains(body, "push") {
		t.Error("push is spoken of without a hub")
	}
}

// Every link on these pages to this service answers.
func TestTextsLinkOnlyToWhatAnswers(t *testing.T) {
	t.Parallel()
	documents, err := discovery.Documents(discovery.Origins{Web: origin, API: origin, Gateway: origin})
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, func(o *handlers.Options) { o.Documents = documents })
	asked := map[string]int{}
	for _, path := range web.ArticlePaths() {
		for _, lang := range locale.All() {
			body := d.get(lang.Path(path)).Body
			_, main, _ := strings.Cut(body, "<main")
			for _, a := range nodes(t, main, "a") {
				href := strings.TrimPrefix(attribute(a, "href"), origin)
				target, fragment, _ := strings.Cut(href, "#")
				if target == "" && fragment != "" && !strings.Contains(body, `id="`+fragment+`"`) {
					t.Errorf("%s: nothing is called %s", path, fragment)
				}
				if !strings.HasPrefix(target, "/") {
					continue
				}
				if _, done := asked[target]; !done {
					asked[target] = d.get(target).Status
				}
				if asked[target] != 200 {
					t.Errorf("%s leads to %s, which answers %d", lang.Path(path), target, asked[target])
				}
			}
		}
	}
}
