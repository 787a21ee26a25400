package handlers_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"innerloop/web/prose"
)

// A skeleton is what pages are made of when nobody attacks: each element with
// those around it and the names of its attributes.
type skeleton map[string]bool

func (s skeleton) add(node *html.Node) {
	eachElement(node, func(n *html.Node, path string) { s[path] = true })
}

// eachElement calls for each element with its path: names of elements from the root,
// and the element's own attributes.
func eachElement(root *html.Node, visit func(n *html.Node, path string)) {
	var down func(n *html.Node, around string)
	down = func(n *html.Node, around string) {
		switch n.Type {
		case html.ElementNode:
			var names []string
			for _, a := range n.Attr {
				names = append(names, a.Namespace+":"+a.Key)
			}
			slices.Sort(names)
			around += ">" + n.Data
			visit(n, around+" "+strings.Join(names, ","))
		case html.CommentNode:
			visit(n, around+" a comment")
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			down(child, around)
		}
	}
	down(root, "")
}

func parsePage(t *testing.T, text string) *html.Node {
	t.Helper()
	node, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// inert holds a page against the skeleton: no element, attribute or comment is
// there that is not on a page without any attack, and every address on it is
// one of ours, or a link shown as the address that it leads to.
func inert(t *testing.T, what string, page *html.Node, harmless skeleton) {
	t.Helper()
	eachElement(page, func(n *html.Node, path string) {
		if !harmless[path] {
			t.Errorf("%s: holds %s", what, path)
		}
		for _, a := range n.Attr {
			switch a.Key {
			case "href", "src", "action", "formaction", "data", "poster", "srcset", "ping", "cite", "background":
				ours := strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "//") || strings.HasPrefix(a.Val, "#") || strings.HasPrefix(a.Val, origin+"/") || a.Val == origin
				written := attributeOf(n, "rel") == "nofollow ugc noopener" && (strings.HasPrefix(a.Val, "http://") || strings.HasPrefix(a.Val, "https://")) && a.Val == writtenIn(n)
				if !ours && !written {
					t.Errorf("%s: <%s %s=%q> reading %q", what, n.Data, a.Key, a.Val, writtenIn(n))
				}
			}
		}
	})
}

func attributeOf(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// ofClass finds the first element of a class.
func ofClass(root *html.Node, name string) *html.Node {
	var found *html.Node
	eachElement(root, func(n *html.Node, _ string) {
		if found == nil && slices.Contains(strings.Fields(attributeOf(n, "class")), name) {
			found = n
		}
	})
	return found
}

func ofName(root *html.Node, name string) *html.Node {
	var found *html.Node
	eachElement(root, func(n *html.Node, _ string) {
		if found == nil && n.Data == name {
			found = n
		}
	})
	return found
}

// writtenIn is the text of an element as it was written: breaks are line feeds,
// paragraphs are parted by a blank line, and the name of a hidden character is
// that character.
func writtenIn(root *html.Node) string {
	if root == nil {
		return "(nothing)"
	}
	var b strings.Builder
	var down func(n *html.Node)
	down = func(n *html.Node) {
		switch {
		case n.Type == html.TextNode && n.Parent != nil && n.Parent.Data == "body" && strings.TrimSpace(n.Data) == "":
			// between the paragraphs of a feed
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.Data == "br":
			b.WriteByte('\n')
		case n.Data == "p" && b.Len() > 0:
			b.WriteString("\n\n")
		}
		if attributeOf(n, "class") == "ctl" {
			if code, err := strconv.ParseUint(strings.TrimPrefix(n.FirstChild.Data, "U+"), 16, 32); err == nil {
				b.WriteRune(rune(code))
			}
			return
		}
		for child := n.FirstChild; child != nil; child = child.NextSibling {
			down(child)
		}
	}
	down(root)
	return b.String()
}

// asParagraphs is what a reader of a text must see, worked out apart from the
// code under test: lines, parted by blank ones.
func asParagraphs(text string, shown map[string]string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	for from, to := range shown {
		text = strings.ReplaceAll(text, from, to)
	}
	var b strings.Builder
	blank := false
	for _, line := range strings.Split(text, "\n") {
		if strings.Trim(line, " \t") == "" {
			blank = true
			continue
		}
		switch {
		case b.Len() == 0:
		case blank:
			b.WriteString("\n\n")
		default:
			b.WriteByte('\n')
		}
		b.WriteString(line)
		blank = false
	}
	return b.String()
}

func asLine(text string) string {
	return strings.NewReplacer("\r\n", " ", "\r", " ", "\n", " ").Replace(text)
}

// posting reads the page's data block, which must be one JSON value.
func posting(t *testing.T, what string, page *html.Node) (headline, author string) {
	t.Helper()
	var text string
	eachElement(page, func(n *html.Node, _ string) {
		if n.Data == "script" && attributeOf(n, "type") == "application/ld+json" && n.FirstChild != nil {
			text += n.FirstChild.Data
		}
	})
	var data struct {
		Headline string
		Author   struct{ Name string }
	}
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		t.Errorf("%s: the data block is not JSON: %v", what, err)
	}
	return data.Headline, data.Author.Name
}

// visible is a name as pages show it.
func visible(name string) string { return prose.Visible(name) }
