package components

import (
	"context"
	"io"

	"github.com/a-h/templ"
)

// tagName writes a tag with its mark before it and no space between them; a
// template would put one there.
func tagName(t Tag) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		if _, err := io.WriteString(w, `<bdi>#<span class="p-category">`); err != nil {
			return err
		}
		if t.Shown != nil {
			if err := t.Shown.Render(ctx, w); err != nil {
				return err
			}
		} else if _, err := io.WriteString(w, templ.EscapeString(t.Name)); err != nil {
			return err
		}
		_, err := io.WriteString(w, "</span></bdi>")
		return err
	})
}
