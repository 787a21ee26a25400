package handlers

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"
)

// healthz tells that the process answers.
func (s *Server) healthz(c *fiber.Ctx) error { return health(c, fiber.StatusOK, "ok") }

// readyz tells whether the store can be reached and is migrated.
func (s *Server) readyz(c *fiber.Ctx) error {
	if s.ready == nil {
		return health(c, fiber.StatusOK, "ok")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.ready(ctx); err != nil {
		s.logger.Warn("not ready", "request_id", requestID(c.Context()), "error", err.Error())
		return health(c, fiber.StatusServiceUnavailable, "unavailable")
	}
	return health(c, fiber.StatusOK, "ok")
}

func health(c *fiber.Ctx, status int, word string) error {
	return answer(c, status, map[string]string{"status": word})
}
