package memory

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"innerloop/coworker"
	"innerloop/internal/keyring"
)

// A Page is a part of a list, by rising path.
type Page struct {
	Files []File
	Next  string // cursor of the next page, empty on the last
}

// A Listing is what a list is asked for.
type Listing struct {
	Prefix string
	Name   string // a part of the path, case not counting; "" for all
	Cursor string
	Limit  int // 0: the usual number
}

// List lists the files of the caller's user.
func (m *Memory) List(ctx context.Context, who coworker.Caller, l Listing) (Page, error) {
	if err := who.MayHold(coworker.ReadData); err != nil {
		return Page{}, err
	}
	size, err := coworker.PageSize(l.Limit)
	if err != nil {
		return Page{}, err
	}
	var problems []coworker.Problem
	if p := checkPrefix(l.Prefix); p != nil {
		problems = append(problems, *p)
	}
	if utf8.RuneCountInString(l.Name) > nameMax || !plain(l.Name) {
		problems = append(problems, coworker.Problem{Field: "name", Problem: "must be a part of a path, of at most 100 characters"})
	}
	if len(problems) > 0 {
		return Page{}, coworker.InvalidArguments(problems...)
	}
	q := Query{Prefix: l.Prefix, Folded: Folded(l.Name), Limit: size + 1}
	if l.Cursor != "" {
		if q.After, err = m.openCursor(who, l); err != nil {
			return Page{}, err
		}
	}
	files, err := m.store.Files(ctx, owner(who), q)
	if err != nil {
		return Page{}, err
	}
	page := Page{Files: files}
	if len(files) > size {
		page.Files, page.Next = files[:size], m.cursor(who, l, files[size-1].Path)
	}
	return page, nil
}

// A cursor is the last path of a page, bound by a keyed hash to whose list it
// continues and what narrowed it.
func (m *Memory) cursor(who coworker.Caller, l Listing, after string) string {
	mac := m.cursors.Mac(bound(who, l, after)...)
	return base64.RawURLEncoding.EncodeToString([]byte(after)) + "." + mac.KeyID + "." + hex.EncodeToString(mac.Sum[:16])
}

func bound(who coworker.Caller, l Listing, after string) [][]byte {
	return [][]byte{[]byte(who.Organization), []byte(who.User), []byte(l.Prefix), []byte(l.Name), []byte(after)}
}

func (m *Memory) openCursor(who coworker.Caller, l Listing) (string, error) {
	parts := strings.Split(l.Cursor, ".")
	if len(parts) != 3 {
		return "", coworker.BadCursor()
	}
	after, err1 := base64.RawURLEncoding.DecodeString(parts[0])
	sum, err2 := hex.DecodeString(parts[2])
	if err1 != nil || err2 != nil || len(sum) != 16 || !m.cursors.EqualPrefix(keyring.Mac{KeyID: parts[1], Sum: sum}, bound(who, l, string(after))...) {
		return "", coworker.BadCursor()
	}
	return string(after), nil
}

// How many files are looked at for a path that is missing, and how much of
// their names is compared.
const (
	nearMost     = 500
	nearCompared = 64
	nearTold     = 5
)

// nearest are paths that may have been meant: of the same folder, or of the
// same name in another one.
func (m *Memory) nearest(ctx context.Context, who coworker.Caller, missing string) ([]string, error) {
	folder, name := path.Split(missing)
	files, err := m.store.Files(ctx, owner(who), Query{Prefix: folder, Limit: nearMost})
	if err != nil {
		return nil, err
	}
	elsewhere, err := m.store.Files(ctx, owner(who), Query{Folded: Folded(name), Limit: nearMost})
	if err != nil {
		return nil, err
	}
	type candidate struct {
		path  string
		edits int
	}
	var all []candidate
	want := shortened(Folded(name))
	for _, f := range append(files, elsewhere...) {
		edits := editsBetween(want, shortened(Folded(path.Base(f.Path))))
		if edits <= max(2, len(want)/2) {
			all = append(all, candidate{f.Path, edits})
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.edits, b.edits), cmp.Compare(a.path, b.path))
	})
	near := []string{}
	for _, one := range slices.Compact(all) {
		if len(near) == nearTold {
			break
		}
		near = append(near, one.path)
	}
	return near, nil
}

func shortened(name string) []rune {
	runes := []rune(name)
	return runes[:min(len(runes), nearCompared)]
}

// editsBetween is the Levenshtein distance.
func editsBetween(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		diagonal := row[0]
		row[0] = i + 1
		for j := range b {
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
