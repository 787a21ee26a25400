package handlers

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
)

// SandboxHealth is what runs code here. Why there is nothing is for the log.
type SandboxHealth struct {
	Available bool   `json:"available"`
	Driver    string `json:"driver,omitempty"`
	Memory    string `json:"memory_bound_by,omitempty"` // what bounds the memory of a run
}

// healthz tells that the process answers, and what runs code in it. A process
// without a sandbox is healthy: everything else works.
func (s *Server) healthz(c *fiber.Ctx) error {
	if s.sandbox == nil {
		return health(c)
	}
	return answer(c, fiber.StatusOK, struct {
		Status  string         `json:"status"`
		Sandbox *SandboxHealth `json:"sandbox"`
	}{"ok", s.sandbox})
}

// readyz tells whether the store can be reached and is migrated.
func (s *Server) readyz(c *fiber.Ctx) error {
	if s.ready == nil {
		return health(c)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.ready(ctx); err != nil {
		s.logger.Warn("not ready", "request_id", requestID(c.Context()), "error", err.Error())
		return journal.Refuse(journal.ServiceUnavailable, "the store cannot be reached, or its tables are older than this program")
	}
	return health(c)
}

func health(c *fiber.Ctx) error {
	return answer(c, fiber.StatusOK, map[string]string{"status": "ok"})
}
