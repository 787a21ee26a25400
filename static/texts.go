package static

import "embed"

// Discovery holds the texts by which assistants and programs find the
// service, as templates over its public origins. internal/discovery fills
// them in.
//
//go:embed discovery
var Discovery embed.FS
