package web

import (
	"fmt"
	"strings"

	"innerloop/components"
	"innerloop/internal/locale"

	"github.com/a-h/templ"
)

// linkTo is the address of a button in a client's own scheme. It comes from
// our table and never from a text.
func linkTo(address string) templ.SafeURL { return templ.SafeURL(address) }

// labelled takes "Cursor | Open in Cursor" apart.
func labelled(argument string) (client, label string) {
	client, label, _ = strings.Cut(argument, " | ")
	return client, label
}

func clientOf(argument string) string {
	client, _ := labelled(argument)
	return client
}

func labelOf(argument string) string {
	_, label := labelled(argument)
	return label
}

// copyText is the button beside a text that a client takes.
func copyText(lang locale.Lang, client, text string) templ.Component {
	m := lang.ArticleMessages()
	label, of := m.Copy, fmt.Sprintf(m.Of, client)
	if client == "" {
		label, of = m.CopyAddress, ""
	}
	return components.CopyButton(label, of, lang.Messages().Copied, text)
}
