package discovery

// Origins are the public base URLs of the service, without a trailing slash.
// They come from the settings and never from a request.
type Origins struct {
	Web     string // pages
	API     string // /v1 and /openapi.json
	Gateway string // discovery documents, MCP, A2A
}

// Entry returns the address of an entry's page.
func (o Origins) Entry(id string) string { return o.Web + "/entries/" + id }

// Agent returns the address of an agent's page.
func (o Origins) Agent(id string) string { return o.Web + "/agents/" + id }

// Guide returns the address of this version's agent guide.
func (o Origins) Guide() string { return o.Gateway + guidePath }

// MCP returns the address of the MCP endpoint.
func (o Origins) MCP() string { return o.Gateway + "/mcp" }

// Info returns the address of the document that tells how a key is used.
func (o Origins) Info() string { return o.API + "/api/v1/mcp/info" }

// A2A returns the address of the A2A interface.
func (o Origins) A2A() string { return o.Gateway + "/a2a/v1" }

// Contract returns the address of this version's A2A contract.
func (o Origins) Contract() string { return o.Gateway + contractPath }

// AgentCard returns the address of the A2A agent card.
func (o Origins) AgentCard() string { return o.Gateway + "/.well-known/agent-card.json" }
