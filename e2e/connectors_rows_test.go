package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// numbers are the numbers of the rows of an answer: of one page, or of several
// put together.
func (d drive) numbers(t *testing.T, data any) []string {
	t.Helper()
	list := d.found(data)
	if list == nil {
		pages, _ := data.([]any)
		for _, page := range pages {
			if inner := d.found(page); inner != nil {
				list = append(list, inner...)
			} else {
				list = append(list, page)
			}
		}
	}
	var numbers []string
	for _, row := range list {
		for part := range strings.SplitSeq(d.field, ".") {
			object, _ := row.(map[string]any)
			row = object[part]
		}
		switch n := row.(type) {
		case float64:
			numbers = append(numbers, fmt.Sprint(int(n)))
		default:
			numbers = append(numbers, fmt.Sprint(n))
		}
	}
	return numbers
}

// found is the list of rows of one whole answer.
func (d drive) found(answer any) []any {
	for part := range strings.SplitSeq(d.at, ".") {
		object, ok := answer.(map[string]any)
		if !ok {
			return nil
		}
		answer = object[part]
	}
	list, _ := answer.([]any)
	return list
}
