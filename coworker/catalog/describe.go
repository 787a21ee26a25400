package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// passport is the whole file but for what only the executor and the pages
// need, led by how to go on.
func (s *Service) passport() ([]byte, error) {
	shown := struct {
		*Service
		Call    string `json:"call"`
		Warning string `json:"warning,omitempty"`
	}{Service: s, Call: s.callHint()}
	if s.Status == Draft {
		shown.Warning = "draft: nobody has checked these facts against the service's documentation"
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(shown); err != nil {
		return nil, fmt.Errorf("write the passport: %w", err)
	}
	return bytes.TrimRight(buffer.Bytes(), "\n"), nil
}

func (s *Service) callHint() string {
	switch {
	case s.Style == GraphQL:
		return "connector_execute: service, module, method POST, path, body {query, variables}"
	case s.Style == OData:
		return "connector_execute: service, module, method, path, query, body; or path empty and a remote method's name in method"
	case s.RPC != nil:
		return "connector_execute: service, module, path empty, the remote method's name in method, its arguments in body"
	}
	return "connector_execute: service, module, HTTP method, path (below base_url), query, body"
}
