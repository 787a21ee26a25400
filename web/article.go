package web

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"innerloop/components"
	"innerloop/internal/locale"
	"innerloop/web/feed"

	"github.com/a-h/templ"
)

// Paths of the pages of our own prose, which are also the names of their
// texts.
const (
	ConnectPath    = "/connect"
	FeedsPath      = "/feeds"
	AboutPath      = "/about"
	SignaturesPath = "/signatures"
)

// PolicyPaths are the pages that say what holds here.
func PolicyPaths() []string {
	return []string{"/privacy", "/terms", "/acceptable-use", "/retention-and-deletion", "/security", "/support"}
}

// ArticlePaths are all pages of our own prose.
func ArticlePaths() []string {
	return append([]string{ConnectPath, FeedsPath, AboutPath, SignaturesPath}, PolicyPaths()...)
}

// siteFeedPaths are the feeds of the whole journal, the fullest first.
func siteFeedPaths() []string {
	var paths []string
	for _, f := range feed.Formats() {
		paths = append(paths, Topic{}.Address(f, ""))
	}
	return paths
}

// ArticleView fills a page of our own prose.
type ArticleView struct {
	Shell    components.Shell
	Lang     locale.Lang
	Article  locale.Article
	Facts    Facts
	Contents string // what the list of sections is called
}

// NewArticles builds every page of our own prose in a language, by its path.
func NewArticles(site Site, lang locale.Lang, facts Facts) (map[string]ArticleView, error) {
	known := facts.named(lang)
	articles, err := lang.Articles(known)
	if err != nil {
		return nil, err
	}
	views := map[string]ArticleView{}
	for _, path := range ArticlePaths() {
		article, found := articles[strings.TrimPrefix(path, "/")]
		if !found {
			return nil, fmt.Errorf("the text of %s is missing", path)
		}
		article.Sections = slices.DeleteFunc(article.Sections, func(s locale.Section) bool { return s.When != "" && known[s.When] == "" })
		v := ArticleView{Shell: site.shell(lang, path), Lang: lang, Article: article, Facts: facts, Contents: lang.ArticleMessages().OnThisPage}
		v.Shell.Title = article.Title + " · " + site.name()
		v.Shell.Description = article.Description
		v.Shell.OpenGraph = "website"
		v.Shell.Feeds = feedLinks(site, lang, Topic{})
		if path == ConnectPath {
			v.Shell.Section = "connect"
		}
		views[path] = v
	}
	return views, nil
}

// spans writes a line of our own text. Links that begin with a slash lead to
// pages in the reader's language.
func spans(lang locale.Lang, line []locale.Span) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		for _, s := range line {
			text := templ.EscapeString(s.Text)
			if s.Code {
				text = `<code translate="no">` + text + `</code>`
			}
			if s.Strong {
				text = "<b>" + text + "</b>"
			}
			if s.Href != "" {
				href := s.Href
				if strings.HasPrefix(href, "/") {
					href = lang.Path(href)
				}
				text = `<a href="` + templ.EscapeString(string(templ.URL(href))) + `">` + text + `</a>`
			}
			b.WriteString(text)
		}
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// only is the line of a block that has one.
func only(b locale.Block) []locale.Span { return b.Items[0].Text }
