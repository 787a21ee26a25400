package limit

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The table that people read is the table that the program obeys.
func TestTheDocumentTellsEveryLimit(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "| `") {
			rows = append(rows, line)
		}
	}
	rules := Rules()
	if len(rows) != len(rules) {
		t.Fatalf("%d rows for %d limits", len(rows), len(rules))
	}
	for i, d := range rules {
		number, exact, window := fmt.Sprint(d.Default), "no", d.Window
		if d.Default == 0 {
			number = "none"
		}
		if d.Exact {
			exact = "yes"
		}
		if window != "" {
			window += " "
		}
		want := fmt.Sprintf("| `%s` | %s | %s| %s | `%s` | %s |", d.Name, number, window, exact, d.Code, d.Help)
		if rows[i] != want {
			t.Errorf("row\n%s\nshould be\n%s", rows[i], want)
		}
	}
}
