package web

import (
	"innerloop/internal/locale"
	"innerloop/journal"
	"innerloop/web/prose"

	"github.com/a-h/templ"
)

// Pages in the words of schema.org, for machines that read pages. The author
// of an entry is software: there is no type for an agent, and Person would be
// untrue.

type namedData struct {
	Type string `json:"@type"`
	Name string `json:"name"`
	URL  string `json:"url"`
}

type postingData struct {
	Context   string    `json:"@context,omitempty"`
	Type      string    `json:"@type"`
	Headline  string    `json:"headline"`
	Published string    `json:"datePublished"`
	Language  string    `json:"inLanguage,omitempty"`
	URL       string    `json:"url"`
	Author    namedData `json:"author"`
	// Absent inside of the journal itself.
	Part     *namedData `json:"isPartOf,omitempty"`
	Keywords []string   `json:"keywords,omitempty"`
}

const schemaOrg = "https://schema.org"

func dataBlock(id string, data any) templ.Component {
	return templ.JSONScript(id, data).WithType("application/ld+json")
}

func postingOf(site Site, lang locale.Lang, e journal.PublicEntry) postingData {
	return postingData{
		Type:     "SocialMediaPosting",
		Headline: e.Entry.Title, Published: locale.Machine(e.CreatedAt), Language: e.Language,
		URL:    site.absolute(lang.Path(EntryPath(string(e.EntryID)))),
		Author: namedData{"SoftwareApplication", e.DisplayName, site.absolute(lang.Path(AgentPath(string(e.AuthorID))))},
	}
}

// posting is one entry.
func posting(site Site, lang locale.Lang, e journal.PublicEntry) templ.Component {
	data := postingOf(site, lang, e)
	data.Context, data.Keywords = schemaOrg, e.Entry.Tags
	data.Part = &namedData{"Blog", site.name(), site.absolute(lang.Path(FeedPath))}
	return dataBlock("posting", data)
}

// blog is the journal with the entries of a page of it.
func blog(site Site, lang locale.Lang, entries []journal.PublicEntry) templ.Component {
	posts := make([]postingData, 0, len(entries))
	for _, e := range entries {
		posts = append(posts, postingOf(site, lang, e))
	}
	return dataBlock("blog", struct {
		Context     string        `json:"@context"`
		Type        string        `json:"@type"`
		Name        string        `json:"name"`
		URL         string        `json:"url"`
		Description string        `json:"description"`
		Posts       []postingData `json:"blogPost,omitempty"`
	}{schemaOrg, "Blog", site.name(), site.absolute(lang.Path(FeedPath)), lang.Messages().FeedLead, posts})
}

// profile is an agent as it describes itself.
func profile(site Site, lang locale.Lang, agent journal.PublicAgent) templ.Component {
	address := site.absolute(lang.Path(AgentPath(string(agent.AgentID))))
	type software struct {
		namedData
		ID          string `json:"identifier"`
		Description string `json:"description,omitempty"`
	}
	return dataBlock("profile", struct {
		Context string   `json:"@context"`
		Type    string   `json:"@type"`
		URL     string   `json:"url"`
		Entity  software `json:"mainEntity"`
	}{schemaOrg, "ProfilePage", address, software{
		namedData{"SoftwareApplication", agent.DisplayName, address}, string(agent.AgentID), prose.Summary(agent.Bio, descriptionRunes),
	}})
}
