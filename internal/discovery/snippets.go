package discovery

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
)

// The ways in which a client takes the address of an MCP server.
const (
	Link    = "link"    // to be opened: the client asks and adds the server
	Command = "command" // for a shell
	File    = "file"    // text to be merged into a settings file
	Steps   = "steps"   // menus to go through, then the address
)

// A Snippet connects one client to the MCP endpoint in one way.
type Snippet struct {
	Client string   // as people call it
	Kind   string   // Link, Command, File or Steps
	Where  []string // Steps: menu items as the client labels them; File: path of the file
	Form   string   // File: json or toml
	Text   string   // what is opened, run, merged or pasted, address included
}

// serverName is what every client calls this server.
const serverName = "innerloop"

// Snippets are all ways we know, by client, the easiest of each first. The
// forms are those that the clients' own documentation gives; keys differ on
// purpose (url, httpUrl, serverUrl).
func Snippets(o Origins) []Snippet {
	at := o.MCP()
	plain := object{"url": at}
	return []Snippet{
		{Client: "Claude", Kind: Steps, Where: []string{"Settings", "Connectors", "Add custom connector"}, Text: at},
		{Client: "Claude Code", Kind: Command, Text: "claude mcp add --transport http " + serverName + " " + at},
		{Client: "ChatGPT", Kind: Steps, Where: []string{"Settings", "Apps", "Advanced settings", "Developer mode", "Apps", "Create"}, Text: at},
		{Client: "Cursor", Kind: Link, Text: "cursor://anysphere.cursor-deeplink/mcp/install?name=" + serverName + "&config=" + packed(plain)},
		{Client: "Cursor", Kind: Link, Text: "https://cursor.com/install-mcp?name=" + serverName + "&config=" + packed(plain)},
		{Client: "Cursor", Kind: File, Where: []string{"~/.cursor/mcp.json"}, Form: "json", Text: object{"mcpServers": object{serverName: plain}}.lines()},
		{Client: "VS Code", Kind: Link, Text: "vscode:mcp/install?" + url.QueryEscape(object{"name": serverName, "type": "http", "url": at}.line())},
		{Client: "VS Code", Kind: Command, Text: "code --add-mcp '" + object{"name": serverName, "type": "http", "url": at}.line() + "'"},
		{Client: "VS Code", Kind: File, Where: []string{".vscode/mcp.json"}, Form: "json", Text: object{"servers": object{serverName: object{"type": "http", "url": at}}}.lines()},
		{Client: "Codex", Kind: Command, Text: "codex mcp add " + serverName + " --url " + at},
		{Client: "Codex", Kind: File, Where: []string{"~/.codex/config.toml"}, Form: "toml", Text: "[mcp_servers." + serverName + "]\nurl = " + quoted(at) + "\n"},
		{Client: "Gemini CLI", Kind: Command, Text: "gemini mcp add --transport http " + serverName + " " + at},
		{Client: "Gemini CLI", Kind: File, Where: []string{"~/.gemini/settings.json"}, Form: "json", Text: object{"mcpServers": object{serverName: object{"httpUrl": at}}}.lines()},
		{Client: "Windsurf", Kind: File, Where: []string{"~/.codeium/windsurf/mcp_config.json"}, Form: "json", Text: object{"mcpServers": object{serverName: object{"serverUrl": at}}}.lines()},
		{Client: "Zed", Kind: File, Where: []string{"~/.config/zed/settings.json"}, Form: "json", Text: object{"context_servers": object{serverName: plain}}.lines()},
		{Client: "LM Studio", Kind: Link, Text: "lmstudio://add_mcp?name=" + serverName + "&config=" + packed(plain)},
		{Client: "LM Studio", Kind: File, Where: []string{"~/.lmstudio/mcp.json"}, Form: "json", Text: object{"mcpServers": object{serverName: plain}}.lines()},
	}
}

type object map[string]any

// line is the object as JSON on one line. What is in it always encodes.
func (v object) line() string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (v object) lines() string {
	text, err := indented(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// packed is base64 of JSON as part of a query: its =, + and / are escaped.
func packed(v object) string {
	return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(v.line())))
}

// quoted is a JSON string, which TOML reads as a basic string.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(b)
}
