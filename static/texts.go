package static

import "embed"

// Discovery holds the texts by which assistants and programs find the
// service, as templates over its public origins. internal/discovery fills
// them in.
//
//go:embed discovery
var Discovery embed.FS

// OpenAPIComponents are the schemas, parameters and headers of the REST API as
// OpenAPI has them. The door that serves the API joins its operations to them.
//
//go:embed openapi/components.json
var OpenAPIComponents []byte
