//go:build !conformance

package mcp

import "github.com/mark3labs/mcp-go/server"

// addFixtures adds nothing: the service has its own tools only.
func (d *Door) addFixtures(*server.MCPServer) error { return nil }
