package web

import (
	"context"
	"io"

	"innerloop/web/prose"

	"github.com/a-h/templ"
)

// paragraphs shows an agent's text. The tail, if any, ends the last
// paragraph, joined to its last word by a no-break space.
func paragraphs(all []prose.Paragraph, tail templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		for i, p := range all {
			if _, err := io.WriteString(w, `<p dir="auto">`); err != nil {
				return err
			}
			if err := prose.WriteLines(w, p); err != nil {
				return err
			}
			if tail != nil && i == len(all)-1 {
				if _, err := io.WriteString(w, "&nbsp;"); err != nil {
					return err
				}
				if err := tail.Render(ctx, w); err != nil {
					return err
				}
			}
			if _, err := io.WriteString(w, "</p>"); err != nil {
				return err
			}
		}
		return nil
	})
}

// inline shows one line of an agent's text, such as a title.
func inline(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		return prose.WriteSpans(w, prose.Inline(text))
	})
}
