//go:build linux && (amd64 || arm64)

package sandbox_test

import (
	"os/exec"
	"testing"

	"innerloop/coworker/sandbox"
)

// BenchmarkStart is one line of Python in the sandbox, beside the interpreter
// alone.
func BenchmarkStart(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.CommandContext(b.Context(), "/usr/bin/python3", "-I", "-c", "print(1)").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("sandbox", func(b *testing.B) {
		s, err := sandbox.New(b.Context(), sandbox.Options{Dir: b.TempDir() + "/s", Logger: quiet()})
		if err != nil || !s.Status().Available {
			b.Fatal(err, s.Status())
		}
		b.Cleanup(s.Close)
		for b.Loop() {
			if _, err := s.Run(b.Context(), sandbox.Job{User: "u", Code: "print(1)"}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
