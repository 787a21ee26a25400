package catalog

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest are at most n ids that someone who wrote id may have meant, the
// likeliest first: ids that hold it or lie in it, then by edits.
func (c *Catalog) Nearest(id string, n int) []string {
	id = strings.ToLower(strings.TrimSpace(id))
	if len(id) > 64 {
		id = id[:64]
	}
	type candidate struct {
		id    string
		edits int
	}
	all := make([]candidate, 0, len(c.ids))
	for _, known := range c.ids {
		edits := editsBetween(id, known)
		if id != "" && (strings.Contains(known, id) || strings.Contains(id, known)) {
			edits = min(edits, 1)
		}
		all = append(all, candidate{known, edits})
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.edits, b.edits) })
	nearest := make([]string, 0, n)
	for _, one := range all[:min(n, len(all))] {
		nearest = append(nearest, one.id)
	}
	return nearest
}

// editsBetween is the Levenshtein distance in bytes.
func editsBetween(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
