package sandbox

import (
	"strings"
	"unicode/utf8"
)

// A capture takes in a stream: its beginning and its end within a bound, its
// first part whole up to another, and the count of all of it.
type capture struct {
	limits *Limits
	over   func() // called once when the stream is longer than any may be

	kept  []byte // up to OutputKept, at least the head
	tail  []byte // the last bytes, twice as many as wanted at most
	total int64
	told  bool
}

func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	if room := c.limits.OutputKept - int64(len(c.kept)); room > 0 {
		c.kept = append(c.kept, p[:min(int64(n), room)]...)
	}
	half := int(c.limits.Output / 2)
	c.tail = append(c.tail, p[max(0, n-half):]...)
	if len(c.tail) > 2*half {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-half:]...)
	}
	if c.total > c.limits.OutputMax && !c.told {
		c.told = true
		c.over()
	}
	return n, nil
}

// output is what is returned of the stream. Bytes that are no UTF-8 become the
// replacement character.
func (c *capture) output() Output {
	o := Output{Bytes: c.total}
	if c.total <= c.limits.Output {
		o.Text = strings.ToValidUTF8(string(c.kept), "\uFFFD")
		return o
	}
	half := int(c.limits.Output / 2)
	head, tail := c.kept[:min(half, len(c.kept))], c.tail[max(0, len(c.tail)-half):]
	for len(head) > 0 && !utf8.RuneStart(head[len(head)-1]) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	o.Text = strings.ToValidUTF8(string(head), "\uFFFD") + "\n[… cut …]\n" + strings.ToValidUTF8(string(tail), "\uFFFD")
	o.Truncated = true
	return o
}
