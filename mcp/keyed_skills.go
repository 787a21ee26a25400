package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"innerloop/coworker"
	"innerloop/coworker/skills"
)

// Skills of an organisation are looked up for each request and written into its
// answer: nothing of them is ever registered on an object that others share.

const lookupTimeout = 10 * time.Second

// mayBeSkill tells addresses that only a look into the store can judge.
func (d *Door) mayBeSkill(uri string) bool {
	_, _, ok := skills.ParseURI(uri)
	return ok && d.own != nil
}

// ownSkills are the skills of the caller's organisation; nobody has any
// without a key. Each look counts for the key's rate, or answers a fault.
func (d *Door) ownSkills(ctx context.Context, c call) ([]skills.Skill, error) {
	if c.key == nil || d.own == nil {
		return nil, nil
	}
	if err := d.coworker.Pace(*c.key); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	return d.own.For(ctx, *c.key)
}

// failedLookup tells a key that it has made all its calls of this minute, and
// logs what went wrong in the store.
func (d *Door) failedLookup(ctx context.Context, r request, err error) (int, http.Header, []byte) {
	if f, ok := coworker.AsFault(err); ok && f.Code == coworker.RateLimited {
		return refusal{status: http.StatusOK, code: mcp.INTERNAL_ERROR, id: r.id, message: "This key has made all its calls of this minute.", data: f.Contract()}.answer()
	}
	d.logger.ErrorContext(ctx, "skills cannot be read", "error", err)
	return r.internal().answer()
}

func (r request) uri() string {
	field, _ := r.params.Get("uri")
	uri, _ := field.Text()
	return uri
}

// An ownEntry is a skill as skills/list tells it.
type ownEntry struct {
	URI         string          `json:"uri"`
	Frontmatter json.RawMessage `json:"frontmatter"`
	Files       []ownFile       `json:"resources"`
}

type ownFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

func entryOf(s skills.Skill) (json.RawMessage, error) {
	e := ownEntry{URI: s.URI(skills.Main), Frontmatter: s.Front, Files: []ownFile{}}
	for _, f := range s.Files {
		file := ownFile{s.URI(f.Path), f.Digest(), f.Size}
		if f.Path == skills.Main {
			e.Files = slices.Insert(e.Files, 0, file)
			continue
		}
		e.Files = append(e.Files, file)
	}
	return encode(e)
}

// listSkills answers skills/list: everybody's, then the organisation's, on one
// page.
func (d *Door) listSkills(ctx context.Context, c call, r request) (int, http.Header, []byte) {
	own, err := d.ownSkills(ctx, c)
	if err != nil {
		return d.failedLookup(ctx, r, err)
	}
	list := d.skills.list
	if len(own) > 0 {
		entries := slices.Clone(d.skills.all)
		for _, s := range own {
			entry, err := entryOf(s)
			if err != nil {
				return d.failedLookup(ctx, r, err)
			}
			entries = append(entries, entry)
		}
		if list, err = encode(entries); err != nil {
			return d.failedLookup(ctx, r, err)
		}
	}
	return r.result(struct {
		Skills json.RawMessage `json:"skills"`
		marks
	}{list, d.marks(c, r)})
}

// getSkill answers skills/get.
func (d *Door) getSkill(ctx context.Context, c call, r request) (int, http.Header, []byte) {
	uri := r.uri()
	entry := d.skills.entry[uri]
	if entry == nil {
		own, err := d.ownSkills(ctx, c)
		if err != nil {
			return d.failedLookup(ctx, r, err)
		}
		at := slices.IndexFunc(own, func(s skills.Skill) bool { return s.URI(skills.Main) == uri })
		if at < 0 {
			return r.noSkill().answer()
		}
		if entry, err = entryOf(own[at]); err != nil {
			return d.failedLookup(ctx, r, err)
		}
	}
	return r.result(struct {
		Skill json.RawMessage `json:"skill"`
		marks
	}{entry, d.marks(c, r)})
}

// listResources answers resources/list for a caller with a key: the documents
// of everybody, then the main file of each skill of the organisation. Their
// other files are named by skills/list.
func (d *Door) listResources(ctx context.Context, c call, r request) (int, http.Header, []byte) {
	own, err := d.ownSkills(ctx, c)
	if err != nil {
		return d.failedLookup(ctx, r, err)
	}
	list := slices.Clone(d.listed)
	for _, s := range own {
		for _, f := range s.Files {
			if f.Path == skills.Main {
				list = append(list, mcp.NewResource(s.URI(f.Path), s.ID, mcp.WithResourceDescription(s.Description), mcp.WithMIMEType("text/markdown"), mcp.WithResourceSize(f.Size)))
			}
		}
	}
	return r.result(struct {
		Resources []mcp.Resource `json:"resources"`
		marks
	}{list, d.marks(c, r)})
}

// getResource answers resources/read where mcp-go does not.
func (d *Door) getResource(ctx context.Context, c call, r request) (int, http.Header, []byte) {
	uri := r.uri()
	var contents mcp.ResourceContents = d.contents[uri]
	if !d.documents[uri] {
		id, file, ok := skills.ParseURI(uri)
		if !ok || c.key == nil || d.own == nil {
			return r.noResource(uri).answer()
		}
		if err := d.coworker.Pace(*c.key); err != nil {
			return d.failedLookup(ctx, r, err)
		}
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		f, err := d.own.File(ctx, *c.key, id, file)
		if _, refused := coworker.AsFault(err); refused { // also where the scope is missing
			return r.noResource(uri).answer()
		}
		if err != nil {
			return d.failedLookup(ctx, r, err)
		}
		contents = contentsOf(uri, f)
	}
	return r.result(struct {
		Contents []mcp.ResourceContents `json:"contents"`
		marks
	}{[]mcp.ResourceContents{contents}, d.marks(c, r)})
}

// contentsOf writes a file as text where it is some, else as base64.
func contentsOf(uri string, f skills.File) mcp.ResourceContents {
	if !utf8.Valid(f.Content) || slices.Contains(f.Content, 0) {
		return mcp.BlobResourceContents{URI: uri, MIMEType: "application/octet-stream", Blob: base64.StdEncoding.EncodeToString(f.Content)}
	}
	media := "text/plain"
	switch ext := path.Ext(f.Path); ext {
	case ".md":
		media = "text/markdown"
	case ".py":
		media = "text/x-python"
	default:
		if known, _, err := mime.ParseMediaType(mime.TypeByExtension(ext)); err == nil {
			media = known
		}
	}
	return mcp.TextResourceContents{URI: uri, MIMEType: media, Text: string(f.Content)}
}

// How many skills describe_service names, and how much of what they say.
const (
	namedMost = 20
	namedSays = 200 // code points
)

// withSkills adds to a passport the organisation's skills that are bound to its
// service: many clients hide resources from the model.
func withSkills(ctx context.Context, shelf *skills.Shelf, who coworker.Caller, service string, passport []byte) (string, error) {
	if shelf == nil {
		return string(passport), nil
	}
	own, err := shelf.For(ctx, who)
	if err != nil {
		return "", err
	}
	type named struct {
		ID    string `json:"id"`
		Says  string `json:"description"`
		URI   string `json:"uri"`
		Files int    `json:"files"`
	}
	var list []named
	for _, s := range own {
		if s.Service != service || len(list) == namedMost {
			continue
		}
		says := []rune(s.Description)
		if len(says) > namedSays {
			says = append(says[:namedSays:namedSays], '…')
		}
		list = append(list, named{s.ID, string(says), s.URI(skills.Main), len(s.Files)})
	}
	if len(list) == 0 {
		return string(passport), nil
	}
	text, err := encode(list)
	return strings.TrimSuffix(strings.TrimRight(string(passport), "\n "), "}") + `,"skills":` + string(text) + "}", err
}
