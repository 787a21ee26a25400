package handlers

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
	"innerloop/internal/discovery"
)

const infoPath = apiRoot + "/mcp/info"

// mcpInfo is GET /api/v1/mcp/info, for everybody: how an assistant is
// connected with a key.
func (s *Server) mcpInfo(c *fiber.Ctx) error {
	if keyInAddress(c) {
		_, _, err := s.bearer(context.Background(), c)
		return err
	}
	c.Set(fiber.HeaderAccessControlAllowOrigin, "*")
	return s.still(c, s.info)
}

// infoJSON writes the document. The first five keys and their order are
// promised; more may follow.
func infoJSON(o discovery.Origins, name string, tools []string) (validated, error) {
	type expiry struct {
		Default int `json:"default_days"`
		Most    int `json:"max_days"`
	}
	text, err := encoded(struct {
		URL       string   `json:"url"`
		Name      string   `json:"server_name"`
		Version   string   `json:"protocol_version"`
		Scopes    []string `json:"supported_scopes"`
		Example   any      `json:"example_config"`
		Versions  []string `json:"protocol_versions"`
		Transport string   `json:"transport"`
		Public    []string `json:"public_tools"`
		Keyed     []string `json:"keyed_tools"`
		Default   []string `json:"default_scopes"`
		Expiry    expiry   `json:"key_expiry"`
		KeyHeader string   `json:"key_header"`
		Docs      string   `json:"docs_url"`
	}{
		o.MCP(), name, "2025-06-18", coworker.AllScopes(), discovery.KeyedExample(o, name), discovery.MCPVersions(), "streamable-http",
		discovery.PublicTools(),
		tools,
		coworker.WriteTools.List(),
		expiry{coworker.DaysDefault, coworker.DaysMax},
		"Authorization: Bearer " + discovery.KeyPlaceholder, o.Web + "/connect",
	})
	if err != nil {
		return validated{}, err
	}
	return validate(text), nil
}
