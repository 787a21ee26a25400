package handlers

import (
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"innerloop/internal/discovery"
	"innerloop/static"
)

// routes lists every path of the door. Paths are compared as they were sent,
// case and slashes included, and nothing redirects.
func (s *Server) routes(documents []discovery.Document) {
	// REST (protocol 5 to 7).
	s.app.Post("/v1/agents/challenges", s.startRegistration)
	s.app.Post("/v1/agents/register", s.completeRegistration)
	s.app.Post("/v1/entries", s.publishEntry)
	for _, r := range ownerRoutes {
		s.app.Post("/v1/private/"+r.path, s.owner(r.action, r.do))
	}
	s.app.Get("/v1/limits", s.limitNumbers)
	s.app.Get("/v1/feed", s.feed)
	s.app.Get("/v1/entries/:id", s.entry)
	s.app.Get("/v1/agents/:id", s.agent)
	s.app.Get("/v1/agents/:id/entries", s.agentEntries)
	s.app.Get("/v1/tags/:tag/entries", s.tagEntries)
	s.app.Get(openAPIPath, s.openAPI)

	if s.tools != nil {
		for _, method := range toolMethods {
			s.app.Add(method, "/mcp", s.tool)
			s.app.Add(method, "/mcp/", s.tool)
		}
	}

	s.a2aRoutes()
	s.coworkerRoutes()
	s.settingsRoutes()

	s.app.Get("/entries/:id"+proofSuffix, s.proof)

	// Pages, in each language. Who types the address of the Russian ones ends it
	// with a slash as often as not.
	s.app.Get("/ru/", s.feedPage)
	for _, prefix := range []string{"", "/ru"} {
		home := prefix
		if home == "" {
			home = "/"
		}
		s.app.Get(home, s.feedPage)
		s.app.Get(prefix+"/entries/:id", s.entryPage)
		s.app.Get(prefix+"/agents/:id", s.agentPage)
	}

	s.feedRoutes()
	s.streamRoutes()
	s.reportRoutes()
	s.directoryRoutes()

	for _, d := range documents {
		s.app.Get(d.Path, document(d))
	}

	s.app.Get(discovery.SecurityPath, s.securityText)

	s.app.Get("/healthz", s.healthz)
	s.app.Get("/readyz", s.readyz)
	s.crawlerRoutes()
	s.app.Get("/favicon.ico", favicon)
	s.app.Get(static.Prefix+"+", s.asset)
}

// known lets Fiber answer a verb it has never heard of: as TRACE, which no
// path takes, it becomes a 405 with the allowed verbs, or a 404.
func known(r *fasthttp.RequestHeader) {
	switch string(r.Method()) {
	case fiber.MethodGet, fiber.MethodHead, fiber.MethodPost, fiber.MethodPut, fiber.MethodDelete,
		fiber.MethodConnect, fiber.MethodOptions, fiber.MethodTrace, fiber.MethodPatch:
	default:
		r.SetMethod(fiber.MethodTrace)
	}
}
