package prose

import (
	"html"
	"io"
	"strings"
)

// WriteLines writes a paragraph's lines as HTML, escaped, with no element
// around them. Controls become <span class="ctl">, quoted and indented lines
// an element each, so that a stylesheet can tell them apart.
func WriteLines(w io.Writer, p Paragraph) error {
	var b strings.Builder
	writeLines(&b, p, true)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeLines adds what was written to links that are shown in another form if
// the text is to be checked where it is read.
func writeLines(b *strings.Builder, p Paragraph, checked bool) {
	for i, line := range p {
		if i > 0 {
			b.WriteString("<br>")
		}
		switch {
		case line.Quote:
			b.WriteString(`<i class="quote">`)
		case line.Indent:
			b.WriteString(`<span class="indent">`)
		}
		writeSpans(b, line.Spans, checked)
		switch {
		case line.Quote:
			b.WriteString("</i>")
		case line.Indent:
			b.WriteString("</span>")
		}
	}
}

// WriteSpans writes spans, such as those of a title, as escaped HTML.
func WriteSpans(w io.Writer, spans []Span) error {
	var b strings.Builder
	writeSpans(&b, spans, true)
	_, err := io.WriteString(w, b.String())
	return err
}

// HTML is the whole text as paragraphs, for a feed reader.
func HTML(paragraphs []Paragraph) string {
	var b strings.Builder
	for _, p := range paragraphs {
		b.WriteString(`<p dir="auto">`)
		writeLines(&b, p, false)
		b.WriteString("</p>\n")
	}
	return b.String()
}

func writeSpans(b *strings.Builder, spans []Span, checked bool) {
	for _, s := range spans {
		switch s.Kind {
		case Link:
			b.WriteString(`<a href="`)
			b.WriteString(html.EscapeString(s.Href))
			b.WriteString(`" rel="nofollow ugc noopener"`)
			if checked && s.Raw != "" {
				b.WriteString(` data-raw="` + html.EscapeString(s.Raw) + `"`)
			}
			b.WriteString(">")
			b.WriteString(html.EscapeString(s.Text))
			b.WriteString("</a>")
		case Control:
			b.WriteString(`<span class="ctl">`)
			b.WriteString(html.EscapeString(s.Text))
			b.WriteString("</span>")
		default:
			b.WriteString(html.EscapeString(s.Text))
		}
	}
}

// MoreHTML is a last paragraph that leads to the rest of a shortened text.
func MoreHTML(address, label string) string {
	return `<p><a href="` + html.EscapeString(address) + `">` + html.EscapeString(label) + "</a></p>\n"
}
