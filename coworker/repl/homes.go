package repl

import (
	"context"
	"fmt"
	"strings"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/sandbox"
)

// Packages that analysts reach for, and what they are imported as.
const tryImports = `
import importlib, importlib.util
found = []
for name in "numpy pandas scipy sklearn matplotlib requests httpx openpyxl lxml bs4 yaml PIL".split():
    if importlib.util.find_spec(name) is None:
        continue
    try:
        version = getattr(importlib.import_module(name), "__version__", "")
    except BaseException:
        continue
    found.append((name + " " + str(version)).strip())
print("\n".join(found))
`

// importable tries in the sandbox itself, since what the machine has may not
// work there.
func (r *REPL) importable(ctx context.Context) []string {
	const user = "probe-packages"
	defer func() { _ = r.o.Sandbox.RemoveHome(user) }()
	result, err := r.o.Sandbox.Run(ctx, sandbox.Job{User: user, Code: tryImports})
	if err != nil || result.ExitCode != 0 {
		r.o.Logger.Warn("the sandbox did not say which packages it has")
		return nil
	}
	return strings.FieldsFunc(result.Stdout.Text, func(c rune) bool { return c == '\n' })
}

// Chores removes homes whose user is gone. Homes that belong to nobody known by
// form are left alone.
func (r *REPL) Chores(ctx context.Context) error {
	if r.o.Sandbox == nil {
		return nil
	}
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
