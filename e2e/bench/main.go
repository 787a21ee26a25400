// Command bench measures the built program on this machine and prints each
// figure as a line "figure NAME = VALUE"; with -out it writes them to a
// document. Every figure that matters is a ratio to a limit measured in the
// same run: the Ed25519 verification of one core, or a bare Fiber handler that
// writes the same bytes. Rates are per CPU second of the server process, which
// the load generator on the same cores does not disturb.
package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	binary := flag.String("binary", "bin/innerloop", "the built program")
	rounds := flag.Int("rounds", 3, "rounds; each figure is a median over them")
	span := flag.Duration("span", 3*time.Second, "how long each load lasts")
	out := flag.String("out", "", "document to write the figures to")
	postgres := flag.String("postgres", "", "postgres:// URL of an empty database; empty starts a private cluster")
	serve := flag.String("bare", "", "internal: serve this file from a bare Fiber handler")
	data := flag.String("data", "", "folder where a large journal is kept between runs")
	large := flag.Int("scale", 0, "make a journal of this many entries if there is none, and measure reading it, and nothing else")
	stalled := flag.Int("stall", 0, "measure this many connections that send half a request and stall, and nothing else")
	cells := flag.Bool("sandbox", false, "measure the start of code in the sandbox, and nothing else")
	connectors := flag.Bool("connector", false, "measure calls of services, and nothing else")
	flag.Parse()
	if *serve != "" {
		exit(bareServer(*serve))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *stalled > 0 {
		exit(stall(ctx, *binary, *stalled, *span))
	}
	b := bench{binary: *binary, span: *span, postgres: *postgres, data: *data, large: *large, sandbox: *cells, calls: *connectors}
	figures, err := b.run(ctx, *rounds)
	if err == nil && *out != "" {
		err = os.WriteFile(*out, []byte(document(figures, *rounds, *span)), 0o644)
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A figure is one named measurement: its value in each round.
type figure struct {
	name   string
	about  string
	values []float64
}

func (f figure) median() float64 {
	sorted := slices.Sorted(slices.Values(f.values))
	return sorted[len(sorted)/2]
}

// record collects figures in the order of first mention.
type record struct{ figures []figure }

func (r *record) add(name, about string, value float64) {
	for i := range r.figures {
		if r.figures[i].name == name {
			r.figures[i].values = append(r.figures[i].values, value)
			return
		}
	}
	r.figures = append(r.figures, figure{name: name, about: about, values: []float64{value}})
}

// verifyRate measures crypto/ed25519 verifications of a 430-byte message per
// CPU second, one goroutine.
func verifyRate(span time.Duration) (float64, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return 0, err
	}
	message := make([]byte, 430)
	signature := ed25519.Sign(private, message)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, n := threadCPU(), 0
	for start := time.Now(); time.Since(start) < span; n++ {
		if !ed25519.Verify(public, message, signature) {
			return 0, fmt.Errorf("a good signature did not verify")
		}
	}
	return float64(n) / (threadCPU() - began).Seconds(), nil
}

func document(figures []figure, rounds int, span time.Duration) string {
	var s strings.Builder
	s.WriteString("# Benchmarks\n\nWritten by `make bench`. ")
	fmt.Fprintf(&s, "Medians of %d rounds of %s per load on %d shared cores (%s, %s/%s). ", rounds, span, runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	s.WriteString("Machines differ and neighbours are noisy: compare the ratios of one run, not numbers of two.\n\n")
	s.WriteString("| figure | median | lowest | highest | what it is |\n| --- | ---: | ---: | ---: | --- |\n")
	for _, f := range figures {
		fmt.Fprintf(&s, "| `%s` | %s | %s | %s | %s |\n", f.name, number(f.median()), number(slices.Min(f.values)), number(slices.Max(f.values)), f.about)
	}
	return s.String()
}

func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
