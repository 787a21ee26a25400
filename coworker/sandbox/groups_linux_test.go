//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestASweepTakesNoGroupOfARun makes groups while other servers sweep: each that
// was made stays until it is removed.
func TestASweepTakesNoGroupOfARun(t *testing.T) {
	t.Parallel()
	g := findGroups()
	for i, root := range g.roots { // of its own, since others are at work in that one
		g.roots[i] = filepath.Join(root, "sweeps-"+newID())
		if err := os.Mkdir(g.roots[i], 0o755); err != nil {
			t.Fatal(err)
		}
		lock, err := lockDir(g.roots[i])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(os.Remove(lock.Name()), lock.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	if g.version != 0 && !g.usable() {
		t.Fatal("no groups in a group")
	}
	ended := make(chan struct{})
	var sweepers sync.WaitGroup
	for range 2 {
		sweepers.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					g.sweep()
				}
			}
		})
	}
	lost := 0
	for range 100 {
		var held []group
		for range 10 {
			if made, err := g.claim(newID(), 64<<20, 16); err == nil { // else a sweep came first three times
				held = append(held, made)
			}
		}
		for _, made := range held {
			if len(made.dirs) != len(g.roots) {
				t.Errorf("made %q", made.dirs)
			}
			for _, dir := range made.dirs {
				if _, err := os.Stat(dir); err != nil {
					lost++
				}
			}
			if err := made.remove(); err != nil {
				t.Error(err)
			}
		}
	}
	close(ended)
	sweepers.Wait()
	if lost > 0 {
		t.Errorf("%d groups were taken from their runs", lost)
	}
}
