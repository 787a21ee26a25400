package simulator

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// paging is a list and how it is asked for.
type paging struct {
	Rows  []any
	In    string // query or body
	Name  string // of what moves from page to page; dotted in a body
	Size  string // name of the size of a page; empty when nobody can choose
	Max   int    // the largest size, and the usual one
	Start int    // number of the first row or page
	Whole bool   // addresses count pages, not rows
	Gap   int    // cursor: before this row comes a page without rows; 0 for none

	// Mark and Find turn a row's number into a cursor and back, where it is not
	// the service's own secret.
	Mark func(next int) any
	Find func(cursor string) (next int, ok bool)
}

// rows makes a numbered list, from 1.
func rows(count int, row func(n int) map[string]any) []any {
	list := make([]any, count)
	for i := range list {
		list[i] = row(i + 1)
	}
	return list
}

// text is a value of the body, under a dotted name.
func (r *Request) text(name string) string {
	var value any = r.Body
	for part := range strings.SplitSeq(name, ".") {
		object, _ := value.(map[string]any)
		value = object[part]
	}
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

func (p paging) value(r *Request, name string) string {
	if p.In == "body" {
		return r.text(name)
	}
	return r.URL.Query().Get(name)
}

// size is how many rows a page is to hold.
func (p paging) size(r *Request) (int, bool) {
	text := p.value(r, p.Size)
	if p.Size == "" || text == "" {
		return p.Max, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n > 0 && n <= p.Max
}

func (p paging) cut(from, size int) []any {
	from = min(from, len(p.Rows))
	return p.Rows[from:min(from+size, len(p.Rows))]
}

// marks and marked are a cursor that only the service can make.
func marks(next int) any { return fmt.Sprintf("mark-%d-%d", next, next*7919) }

func marked(cursor string) (next int, ok bool) {
	var check int
	n, err := fmt.Sscanf(cursor, "mark-%d-%d", &next, &check)
	return next, err == nil && n == 2 && check == next*7919
}

// byCursor answers with a cursor as long as there are rows. show gets nil at
// the end.
func (p paging) byCursor(show func(page []any, next any) any) func(*Request) Reply {
	if p.Mark == nil {
		p.Mark, p.Find = marks, marked
	}
	return func(r *Request) Reply {
		size, ok := p.size(r)
		if !ok {
			return r.Refuse(BadValue)
		}
		from, cursor := 0, p.value(r, p.Name)
		after, beyond := strings.CutSuffix(cursor, "+")
		if cursor != "" {
			if from, ok = p.Find(after); !ok {
				return r.Refuse(BadValue)
			}
		}
		if p.Gap > 0 && from == p.Gap && !beyond {
			return says(200, show([]any{}, cursor+"+"))
		}
		if p.Gap > 0 && from < p.Gap {
			size = min(size, p.Gap-from)
		}
		page := p.cut(from, size)
		if from+len(page) >= len(p.Rows) {
			return says(200, show(page, nil))
		}
		return says(200, show(page, p.Mark(from+len(page))))
	}
}

// byNumber answers by the number of the first row.
func (p paging) byNumber(show func(page []any, total int) any) func(*Request) Reply {
	return func(r *Request) Reply {
		size, ok := p.size(r)
		from := p.Start
		if text := p.value(r, p.Name); text != "" {
			n, err := strconv.Atoi(text)
			from, ok = n, ok && err == nil && n >= p.Start
		}
		if !ok {
			return r.Refuse(BadValue)
		}
		return says(200, show(p.cut(from-p.Start, size), len(p.Rows)))
	}
}

// byPage answers by the number of the page.
func (p paging) byPage(show func(page []any, total int) any) func(*Request) Reply {
	return func(r *Request) Reply {
		size, ok := p.size(r)
		number := p.Start
		if text := p.value(r, p.Name); text != "" {
			n, err := strconv.Atoi(text)
			number, ok = n, ok && err == nil && n >= p.Start
		}
		if !ok {
			return r.Refuse(BadValue)
		}
		return says(200, show(p.cut((number-p.Start)*size, size), len(p.Rows)))
	}
}

// byMore answers by the number of the page, and says whether one follows.
func (p paging) byMore(show func(page []any, more bool) any) func(*Request) Reply {
	return func(r *Request) Reply {
		return p.byPage(func(page []any, total int) any {
			last, _ := strconv.Atoi(p.value(r, p.Name))
			size, _ := p.size(r)
			return show(page, (max(last, p.Start)-p.Start+1)*size < total)
		})(r)
	}
}

// byAddress answers with the whole address of the next page; show gets "" at
// the end.
func (p paging) byAddress(show func(page []any, next string, total int) Reply) func(*Request) Reply {
	return func(r *Request) Reply {
		size, ok := p.size(r)
		number, step := p.Start, 1
		if p.Whole {
			step = size
		}
		if text := p.value(r, p.Name); text != "" {
			n, err := strconv.Atoi(text)
			number, ok = n, ok && err == nil && n >= p.Start
		}
		if !ok {
			return r.Refuse(BadValue)
		}
		from := (number - p.Start) * step
		page, next := p.cut(from, size), ""
		if from+len(page) < len(p.Rows) {
			query := r.URL.Query()
			query.Set(p.Name, strconv.Itoa(number+len(page)/step))
			next = r.Root + r.URL.EscapedPath() + "?" + query.Encode()
		}
		return show(page, next, len(p.Rows))
	}
}

// numbered finds a row by a number that counts from base.
func numbered(base int) func(cursor string) (int, bool) {
	return func(cursor string) (int, bool) {
		n, err := strconv.Atoi(cursor)
		return n - base, err == nil && n >= base
	}
}

// number is a code that the service writes as one.
func number(code string) json.Number { return json.Number(code) }
