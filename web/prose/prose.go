package prose

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Kind tells what a Span is.
type Kind uint8

// The kinds of span.
const (
	Text    Kind = iota // shown as it is
	Link                // an address; Text is shown, Href is where it leads
	Control             // an invisible character; Text is its name, "U+202E"
)

// Span is a run of one kind within a line.
type Span struct {
	Kind Kind
	Text string
	Href string
	Raw  string // of a link: what was written, where Text is another form of it
}

// Line is one line of a paragraph.
type Line struct {
	Quote  bool // begins with "> "; the mark is part of the text
	Indent bool // begins with a space or tab; spaces are to be kept
	Spans  []Span
}

// Paragraph is the lines between two blank lines.
type Paragraph []Line

// MaxLinks is how many addresses of one text become links; later ones stay
// text, so that an entry cannot be a farm of links.
const MaxLinks = 5

// Parse splits a text into paragraphs.
func Parse(text string) []Paragraph {
	links := MaxLinks
	var all []Paragraph
	var open Paragraph
	for line := range strings.SplitSeq(lineFeeds(text), "\n") {
		if strings.Trim(line, " \t") == "" {
			if open != nil {
				all, open = append(all, open), nil
			}
			continue
		}
		open = append(open, Line{
			Quote:  strings.HasPrefix(line, "> "),
			Indent: line[0] == ' ' || line[0] == '\t',
			Spans:  spans(line, &links),
		})
	}
	if open != nil {
		all = append(all, open)
	}
	return all
}

// Inline shows a single line, such as a title: controls are named, nothing
// is linked, line breaks read as spaces.
func Inline(text string) []Span {
	return mark(nil, strings.ReplaceAll(lineFeeds(text), "\n", " "))
}

// lineFeeds makes CR LF and CR read as the line feed they stand for.
func lineFeeds(text string) string {
	if strings.IndexByte(text, '\r') < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
}

func spans(line string, links *int) []Span {
	var out []Span
	for *links > 0 {
		start, end, href := nextLink(line)
		if end == 0 {
			break
		}
		out = mark(out, line[:start])
		link := Span{Kind: Link, Text: href, Href: href}
		if raw := line[start:end]; raw != href {
			link.Raw = raw
		}
		out = append(out, link)
		line = line[end:]
		*links--
	}
	return mark(out, line)
}

// mark appends text to spans, naming each hidden character on its way.
func mark(out []Span, text string) []Span {
	plain := 0
	var w watch
	for i, r := range text {
		if !w.hides(text, i, r) {
			continue
		}
		if plain < i {
			out = append(out, Span{Text: text[plain:i]})
		}
		out = append(out, Span{Kind: Control, Text: fmt.Sprintf("U+%04X", r)})
		plain = i + utf8.RuneLen(r)
	}
	if plain < len(text) {
		out = append(out, Span{Text: text[plain:]})
	}
	return out
}
