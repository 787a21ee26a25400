package locale

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed texts
var texts embed.FS

// An Article is a page of our own prose: a guide or a policy.
type Article struct {
	Title       string // of the page
	Description string // one sentence for search engines
	Lead        []Span
	Sections    []Section
}

// A Section has a heading to which one may link.
type Section struct {
	ID      string
	Heading string
	When    string // name of the fact without which the section is left out
	Blocks  []Block
}

// BlockKind is what a block is made of.
type BlockKind uint8

// The kinds of blocks.
const (
	Paragraph BlockKind = iota // one item
	List                       // items in no order
	Steps                      // items in order
	Rows                       // items with a term each
	Code                       // one item of plain text
	Slot                       // something that the page puts here: Name and Argument
)

// A Block is one piece of a section.
type Block struct {
	Kind           BlockKind
	Items          []Item
	Name, Argument string // of a Slot
}

// An Item is a line of a block.
type Item struct {
	Term []Span // of Rows
	Text []Span
}

// A Span is a run of text in one form: plain, strong, code, or a link.
type Span struct {
	Text   string
	Href   string
	Strong bool
	Code   bool
}

// Articles returns every article of the language by its name, which is also
// its path, with the facts filled in: {{name}} in a text stands for
// facts[name]. An unknown name is an error.
func (l Lang) Articles(facts map[string]string) (map[string]Article, error) {
	names, err := texts.ReadDir("texts/" + l.Code())
	if err != nil {
		return nil, fmt.Errorf("list the texts: %w", err)
	}
	all := map[string]Article{}
	for _, file := range names {
		text, err := texts.ReadFile("texts/" + l.Code() + "/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("read a text: %w", err)
		}
		name := strings.TrimSuffix(file.Name(), ".txt")
		if all[name], err = parseArticle(string(text), facts); err != nil {
			return nil, fmt.Errorf("read the text %s: %w", name, err)
		}
	}
	return all, nil
}

// parseArticle reads the form that our texts are written in. The head is
// lines "title:", "description:" and "lead:". Then, divided by empty lines:
// "## Heading {id}" or "## Heading {id fact}", "- " and "1. " for items,
// ": term | text" for rows, "!name argument" for a slot, lines indented by
// four spaces for code; anything else is a paragraph. In a line stand
// **strong**, `code` and [text](address).
func parseArticle(text string, facts map[string]string) (Article, error) {
	p := articleParser{facts: facts}
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		p.block(strings.Trim(block, "\n"))
	}
	return p.article, p.err
}

type articleParser struct {
	facts   map[string]string
	article Article
	err     error
}

func (p *articleParser) fail(format string, parts ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(format, parts...)
	}
}

func (p *articleParser) block(text string) {
	lines := strings.Split(text, "\n")
	first := lines[0]
	switch {
	case strings.HasPrefix(first, "title: "):
		p.head(lines)
	case strings.HasPrefix(first, "## "):
		heading, mark, _ := strings.Cut(strings.TrimPrefix(first, "## "), " {")
		id, when, _ := strings.Cut(strings.TrimSuffix(mark, "}"), " ")
		if id == "" || len(lines) > 1 {
			p.fail("a heading wants an id and a line of its own: %s", first)
		}
		p.article.Sections = append(p.article.Sections, Section{ID: id, Heading: p.fill(heading), When: when})
	case strings.HasPrefix(first, "!"):
		name, argument, _ := strings.Cut(first[1:], " ")
		p.add(Block{Kind: Slot, Name: name, Argument: argument})
	case strings.HasPrefix(first, "    "):
		for i := range lines {
			lines[i] = strings.TrimPrefix(lines[i], "    ")
		}
		p.add(Block{Kind: Code, Items: []Item{{Text: []Span{{Text: p.fill(strings.Join(lines, "\n"))}}}}})
	case strings.HasPrefix(first, "- "):
		p.add(Block{Kind: List, Items: p.items(lines, "- ")})
	case strings.HasPrefix(first, "1. "):
		p.add(Block{Kind: Steps, Items: p.items(lines, "1. ")})
	case strings.HasPrefix(first, ": "):
		items := p.items(lines, ": ")
		p.add(Block{Kind: Rows, Items: items})
	default:
		p.add(Block{Items: []Item{{Text: p.spans(strings.Join(lines, " "))}}})
	}
}

func (p *articleParser) head(lines []string) {
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "title":
			p.article.Title = p.fill(value)
		case "description":
			p.article.Description = p.fill(value)
		case "lead":
			p.article.Lead = p.spans(value)
		default:
			p.fail("the head has no line %q", name)
		}
	}
}

func (p *articleParser) add(b Block) {
	n := len(p.article.Sections)
	if n == 0 {
		p.fail("a text before the first heading")
		return
	}
	p.article.Sections[n-1].Blocks = append(p.article.Sections[n-1].Blocks, b)
}

func (p *articleParser) items(lines []string, mark string) []Item {
	var items []Item
	for _, line := range lines {
		rest, ok := strings.CutPrefix(line, mark)
		if !ok {
			p.fail("a line among items without %q: %s", mark, line)
		}
		var item Item
		if mark == ": " {
			term, text, both := strings.Cut(rest, " | ")
			if !both {
				p.fail("a row without a bar: %s", line)
			}
			item.Term, rest = p.spans(term), text
		}
		item.Text = p.spans(rest)
		items = append(items, item)
	}
	return items
}

// spans takes a line apart. Facts are filled in afterwards, so that none can
// bring a mark of its own.
func (p *articleParser) spans(line string) []Span {
	var out []Span
	for line != "" {
		at := strings.IndexAny(line, "`*[")
		if at < 0 {
			return append(out, Span{Text: p.fill(line)})
		}
		if at > 0 {
			out = append(out, Span{Text: p.fill(line[:at])})
			line = line[at:]
		}
		var inner, href string
		span, whole := Span{}, false
		switch line[0] {
		case '`':
			inner, line, whole = strings.Cut(line[1:], "`")
			span.Code = true
		case '*':
			inner, line, whole = strings.Cut(strings.TrimPrefix(line, "**"), "**")
			span.Strong = true
		default:
			if inner, line, whole = strings.Cut(line[1:], "]("); whole {
				href, line, whole = strings.Cut(line, ")")
			}
			// A link may be code all through.
			if code, ok := strings.CutPrefix(inner, "`"); ok {
				inner, span.Code = strings.TrimSuffix(code, "`"), true
			}
		}
		if !whole || inner == "" {
			p.fail("a mark that does not end in: %s", line)
			return out
		}
		span.Text, span.Href = p.fill(inner), p.fill(href)
		out = append(out, span)
	}
	return out
}

func (p *articleParser) fill(text string) string {
	before, rest, found := strings.Cut(text, "{{")
	if !found {
		return text
	}
	name, after, _ := strings.Cut(rest, "}}")
	fact, known := p.facts[name]
	if !known {
		p.fail("no fact is named %q", name)
	}
	return before + fact + p.fill(after)
}
