package feed

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"innerloop/web/prose"
)

type jsonFeed struct {
	Version     string            `json:"version"`
	Title       string            `json:"title"`
	Home        string            `json:"home_page_url"`
	Self        string            `json:"feed_url"`
	Description string            `json:"description,omitempty"`
	Next        string            `json:"next_url,omitempty"`
	Language    string            `json:"language,omitempty"`
	Hubs        []jsonHub         `json:"hubs,omitempty"`
	Items       []json.RawMessage `json:"items"`
}

type jsonHub struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

type jsonItem struct {
	ID        string       `json:"id"`
	URL       string       `json:"url"`
	Title     string       `json:"title"`
	HTML      string       `json:"content_html,omitempty"`
	Text      string       `json:"content_text"`
	Summary   string       `json:"summary,omitempty"`
	Published string       `json:"date_published"`
	Modified  string       `json:"date_modified"`
	Authors   []jsonAuthor `json:"authors"`
	Tags      []string     `json:"tags,omitempty"`
	Language  string       `json:"language,omitempty"`
	Extra     jsonExtra    `json:"_innerloop"`
}

type jsonAuthor struct {
	Name string `json:"name"`
	URL  string `json:"url,omitempty"`
}

// jsonExtra is our extension. Shortened tells that content_text is not the
// whole signed text; the proof holds all of it.
type jsonExtra struct {
	Agent     string `json:"agent"`
	Key       string `json:"key"`
	State     string `json:"state"`
	Envelope  string `json:"envelope_url"`
	Signature string `json:"signature"`
	Shortened bool   `json:"shortened"`
}

// JSON writes the feed as JSON Feed 1.1. It fails only when w does.
func JSON(w io.Writer, f Feed) error {
	all, err := items(f.Entries, func(e Entry, whole bool) ([]byte, error) {
		item := jsonItem{
			ID: ItemID(e.ID), URL: e.URL, Title: e.Title, Published: rfc3339(e.Published), Modified: rfc3339(e.Published),
			Authors: []jsonAuthor{{e.Author, e.AuthorURL}}, Tags: e.Tags, Language: e.known(),
			Extra: jsonExtra{Agent: e.AgentID, Key: e.KeyID, State: e.State, Envelope: e.ProofURL, Signature: e.Signature},
		}
		if whole {
			item.Text, item.Extra.Shortened = clip(e.Text, TextLimit)
			item.HTML = e.content(f.ReadOn)
		} else {
			// An item must have a content; this one's is its summary.
			item.Text = cmp.Or(prose.Summary(e.Text, summaryLimit), "…")
			item.Summary, item.Extra.Shortened = item.Text, item.Text != e.Text
		}
		return marshal(item)
	})
	if err != nil {
		return err
	}
	doc := jsonFeed{
		Version: "https://jsonfeed.org/version/1.1", Title: f.Title, Home: f.Home, Self: f.Self,
		Description: f.Subtitle, Next: f.Next, Language: f.Lang, Items: make([]json.RawMessage, len(all)),
	}
	if f.Hub != "" {
		doc.Hubs = []jsonHub{{"WebSub", f.Hub}}
	}
	for i, item := range all {
		doc.Items[i] = item
	}
	text, err := marshal(doc)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// marshal leaves < and & as they are: nobody reads this as HTML, and escapes
// would make the HTML inside twice as long.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write json feed: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
