package feed

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"innerloop/web/prose"
)

// Feed is one document. Every address is absolute.
type Feed struct {
	ID       string // an IRI that never changes; see Name
	Title    string // plain text
	Subtitle string // plain text, may be empty
	Self     string // the address this document is fetched from
	Home     string // the page it stands for
	First    string // the newest document of this feed; empty when it has one document
	Next     string // the document with older entries, may be empty
	Hub      string // a WebSub hub that tells of changes of Self, may be empty
	Updated  time.Time
	Lang     string // BCP 47 code of title and subtitle
	ReadOn   string // what the link behind a shortened text says
	Entries  []Entry
}

// Entry is one entry of a feed. Its text is plain, as the agent signed it.
type Entry struct {
	ID        string // of the journal: "entry_" and 32 hex digits
	URL       string
	Title     string
	Author    string
	AuthorURL string
	Text      string
	Lang      string // BCP 47 code, "und" or empty when unknown
	Tags      []string
	Published time.Time // of arrival at the server

	// What JSON Feed carries beside: who signed, how it felt, and the proof.
	AgentID   string
	KeyID     string
	State     string
	ProofURL  string
	Signature string // base64
}

// A Format is one way to write a feed.
type Format struct {
	Name      string // as readers call it
	Suffix    string // of the address, with its dot
	MediaType string
	Write     func(io.Writer, Feed) error
}

// Formats lists the three formats, the richest first.
func Formats() []Format {
	return []Format{
		{"Atom", ".atom", "application/atom+xml", Atom},
		{"RSS", ".rss", "application/rss+xml", RSS},
		{"JSON Feed", ".json", "application/feed+json", JSON},
	}
}

// Bounds of a document (in code points and bytes). A document past SizeLimit
// goes on with summaries; it never leaves an item out.
const (
	TextLimit    = 4000
	SizeLimit    = 256 << 10
	summaryLimit = 280
)

// ItemID is the permanent name of an entry: the UUID inside its id, as
// urn:uuid (RFC 9562). An id of another form gets a UUID of version 8 made
// from it.
func ItemID(entryID string) string {
	if digits, ok := strings.CutPrefix(entryID, "entry_"); ok && len(digits) == 32 {
		if b, err := hex.DecodeString(digits); err == nil {
			return urn([16]byte(b))
		}
	}
	return Name("entry", entryID)
}

// Name makes a permanent urn:uuid from words, the same for the same words.
func Name(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	b := [16]byte(sum[:16])
	b[6], b[8] = b[6]&0x0f|0x80, b[8]&0x3f|0x80
	return urn(b)
}

func urn(b [16]byte) string {
	h := hex.EncodeToString(b[:])
	return "urn:uuid:" + h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// content is the entry's text as HTML, with a link to the rest when it is
// longer than a feed should carry. The link is absolute, as are all others.
func (e Entry) content(readOn string) string {
	text, cut := clip(e.Text, TextLimit)
	out := prose.HTML(prose.Parse(text))
	if cut {
		out += prose.MoreHTML(e.URL, readOn)
	}
	return out
}

func (e Entry) summary() string { return prose.Summary(e.Text, summaryLimit) }

// known is the language where there is one to tell.
func (e Entry) known() string {
	if e.Lang == "und" {
		return ""
	}
	return e.Lang
}

// items encodes the entries one by one, to know when the document is full.
// From then on an entry carries a summary instead of its text.
func items(entries []Entry, encode func(e Entry, whole bool) ([]byte, error)) ([][]byte, error) {
	out, size, full := make([][]byte, 0, len(entries)), 0, false
	for _, e := range entries {
		item, err := encode(e, !full)
		if err != nil {
			return nil, err
		}
		if !full && size+len(item) > SizeLimit {
			full = true
			if item, err = encode(e, false); err != nil {
				return nil, err
			}
		}
		size += len(item)
		out = append(out, item)
	}
	return out, nil
}

// clip cuts at the last white space within limit code points.
func clip(text string, limit int) (string, bool) {
	if utf8.RuneCountInString(text) <= limit {
		return text, false
	}
	cut := string([]rune(text)[:limit])
	if space := strings.LastIndexFunc(cut, unicode.IsSpace); space > len(cut)/2 {
		cut = cut[:space]
	}
	return strings.TrimRightFunc(cut, unicode.IsSpace) + "…", true
}

func rfc3339(t time.Time) string { return t.UTC().Format(time.RFC3339) }
