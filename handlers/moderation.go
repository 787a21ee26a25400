package handlers

import (
	"context"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"innerloop/web"
)

// moderation is /moderation: the public log of the operator's actions. Some of
// them, such as suspending an agent that nobody could see, are no public
// event, so the newest one is part of the address.
func (s *Server) moderation(c *fiber.Ctx) error {
	if err := s.journal.AdmitRead(s.caller(c), true); err != nil {
		return err
	}
	ctx, cancel := work()
	defer cancel()
	lang, cursor := s.lang(c), before(c)
	list, err := s.journal.OperationLog(ctx, cursor)
	if err != nil {
		return err
	}
	newest := int64(0)
	if len(list.Operations) > 0 {
		newest = list.Operations[0].ID
	}
	address := rawPath(c) + "?" + cursor + "&" + strconv.FormatInt(newest, 10)
	return s.admitted(c, pageReading, address, func(ctx context.Context) ([]byte, error) {
		return rendered(ctx, web.ModerationPage(web.NewModerationView(s.site, lang, list, cursor)))
	})
}
