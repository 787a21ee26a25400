package repl

import (
	"context"
	"fmt"
	"strings"
	"time"

	"innerloop/coworker"
)

// Packages are what analysts reach for, by the names they are imported as, for
// Options.Try of the sandbox.
const Packages = "numpy pandas scipy sklearn matplotlib requests httpx openpyxl lxml bs4 yaml PIL"

// Chores ends sessions that are due or whose key is not what it was, and removes
// homes whose user is gone. Homes that belong to nobody known by form are left
// alone.
func (r *REPL) Chores(ctx context.Context) error {
	if r.o.Sandbox == nil {
		return nil
	}
	r.EndSessions(ctx)
	users, err := r.o.Sandbox.Users()
	if err != nil {
		return fmt.Errorf("list homes: %w", err)
	}
	for _, user := range users {
		if !strings.HasPrefix(user, "user_") {
			continue
		}
		_, err := r.o.Coworker.User(ctx, coworker.Operator(), coworker.UserID(user))
		f, refused := coworker.AsFault(err)
		if !refused || f.Code != coworker.NotFound {
			continue
		}
		if err := r.o.Sandbox.RemoveHome(user); err != nil {
			return fmt.Errorf("remove the home of a user who is gone: %w", err)
		}
		r.o.Logger.InfoContext(ctx, "removed the home of a user who is gone")
	}
	return nil
}

// Longest is how long a run may take.
func (f Facts) Longest() time.Duration { return f.Limits.WallMax }
