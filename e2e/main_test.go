package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	"innerloop/e2e/program"
	"innerloop/models/pgtest"
)

// binary is the program, built once for all stories.
var binary string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "innerloop-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary, err = program.Build(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// serve starts the program for one story and stops it after; a story whose
// program ends badly fails.
func serve(t *testing.T, o program.Options) *program.Server {
	t.Helper()
	s, err := program.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the program said:\n%s", s.Log())
		}
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// embedded is a program on a fresh embedded store.
func embedded(t *testing.T) program.Options {
	t.Helper()
	return program.Options{Binary: binary, DataDir: t.TempDir()}
}

// engines are the two stores that every promise holds on.
func engines() map[string]func(*testing.T) program.Options {
	return map[string]func(*testing.T) program.Options{
		"sqlite": embedded,
		"postgres": func(t *testing.T) program.Options {
			address := pgtest.Database(t)
			o := embedded(t)
			o.DatabaseURL = address
			return o
		},
	}
}
