package handlers

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"

	"innerloop/journal"
)

// healthz tells that the process answers.
func (s *Server) healthz(c *fiber.Ctx) error { return health(c) }

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
