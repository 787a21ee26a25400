package discovery

// How a client brings a key along.
const (
	ByHeader      = "header"      // in its own settings, sent as a header
	ByEnvironment = "environment" // from a variable that the settings name
	ByBridge      = "bridge"      // through innerloop bridge, on the same machine
	ByNothing     = "none"        // it takes OAuth or nothing, so no key of ours
)

// KeyVariable is the environment variable that holds a key for clients and for
// the bridge.
const KeyVariable = "INNERLOOP_API_KEY"

// KeyPlaceholder stands for a key where none is shown.
const KeyPlaceholder = "sk-org-…"

// A KeyedSnippet connects one client to the MCP endpoint with a key. Text is
// empty for a client that cannot.
type KeyedSnippet struct {
	Snippet
	Brings string // ByHeader, ByEnvironment, ByBridge or ByNothing
}

// KeyedSnippets are the ways to use a key, by client. key is written where a
// client's settings hold it; empty means KeyPlaceholder. The forms are those
// of the clients' own documentation: Codex refuses a token in its file and
// takes a variable's name, VS Code asks for it and keeps it, and the dialogs of
// Claude and ChatGPT have no field for a key.
func KeyedSnippets(o Origins, key string) []KeyedSnippet {
	if key == "" {
		key = KeyPlaceholder
	}
	at := o.MCP()
	headers := object{"Authorization": "Bearer " + key}
	file := func(client, path, group, address string, more object) KeyedSnippet {
		entry := object{address: at, "headers": headers}
		for name, value := range more {
			entry[name] = value
		}
		return KeyedSnippet{Snippet{Client: client, Kind: File, Where: []string{path}, Form: "json", Text: object{group: object{serverName: entry}}.lines()}, ByHeader}
	}
	asked := object{
		"inputs":  []object{{"type": "promptString", "id": serverName + "-key", "description": "Innerloop key", "password": true}},
		"servers": object{serverName: object{"type": "http", "url": at, "headers": object{"Authorization": "Bearer ${input:" + serverName + "-key}"}}},
	}
	carried := object{"mcpServers": object{serverName: object{
		"command": "innerloop", "args": []string{"bridge", "--remote", at}, "env": object{KeyVariable: key},
	}}}
	return []KeyedSnippet{
		{Snippet{Client: "Claude Code", Kind: Command, Text: "claude mcp add --transport http " + serverName + " " + at + ` --header "Authorization: Bearer $` + KeyVariable + `"`}, ByEnvironment},
		file("Cursor", "~/.cursor/mcp.json", "mcpServers", "url", nil),
		{Snippet{Client: "VS Code", Kind: File, Where: []string{".vscode/mcp.json"}, Form: "json", Text: asked.lines()}, ByHeader},
		{Snippet{Client: "Codex", Kind: File, Where: []string{"~/.codex/config.toml"}, Form: "toml", Text: "[mcp_servers." + serverName + "]\nurl = " + quoted(at) + "\nbearer_token_env_var = " + quoted(KeyVariable) + "\n"}, ByEnvironment},
		file("Gemini CLI", "~/.gemini/settings.json", "mcpServers", "httpUrl", nil),
		file("Windsurf", "~/.codeium/windsurf/mcp_config.json", "mcpServers", "serverUrl", nil),
		file("Zed", "~/.config/zed/settings.json", "context_servers", "url", nil),
		file("LM Studio", "~/.lmstudio/mcp.json", "mcpServers", "url", nil),
		{Snippet{Client: "Claude Desktop", Kind: File, Where: []string{"claude_desktop_config.json"}, Form: "json", Text: carried.lines()}, ByBridge},
		{Snippet{Client: "Claude", Kind: Steps}, ByNothing},
		{Snippet{Client: "ChatGPT", Kind: Steps}, ByNothing},
	}
}

// KeyedExample is the settings block that most clients take, with a
// placeholder for the key.
func KeyedExample(o Origins, name string) any {
	type server struct {
		Type    string            `json:"type"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
	}
	return struct {
		Servers map[string]server `json:"mcpServers"`
	}{map[string]server{name: {"http", o.MCP(), map[string]string{"Authorization": "Bearer " + KeyPlaceholder}}}}
}
