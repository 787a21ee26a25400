package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"innerloop/coworker"
	"innerloop/internal/keyring"
)

// Limits of a user's memory.
const (
	FileMax  = 5 << 20   // bytes of one file
	BytesMax = 256 << 20 // of all files of a user
	FilesMax = 20_000    // of a user
	ManyMax  = 50        // files read at once
	ManyData = 256 << 10 // bytes of all contents read at once, as JSON writes them
	ReadMax  = 1 << 20   // bytes of one content read into an answer, as JSON writes it
	nameMax  = 100       // code points searched for
)

// A File is one file without its content.
type File struct {
	Path      string
	Size      int64
	Sum       coworker.Sum
	UpdatedAt time.Time
}

// Tag is what tells two contents apart: the SHA-256 in hex.
func (f File) Tag() string { return hex.EncodeToString(f.Sum[:]) }

// A Record is a file as it is written.
type Record struct {
	Path      string `json:"path"`
	Size      int64  `json:"size"`
	SHA256    string `json:"sha256"`
	UpdatedAt string `json:"updated_at"`
}

// Record returns the file as it is written.
func (f File) Record() Record {
	return Record{f.Path, f.Size, f.Tag(), coworker.FormatTime(f.UpdatedAt)}
}

// An Owner is whose files are meant.
type Owner struct {
	Organization coworker.OrganizationID
	User         coworker.UserID
}

// A Query says which files, by rising path.
type Query struct {
	Prefix string
	Folded string // a part of the folded path; "" does not narrow
	After  string
	Limit  int
}

// A Quota bounds what an owner may have.
type Quota struct{ Files, Bytes int64 }

// What a Store answers beside coworker.ErrNotFound.
var (
	ErrFull    = errors.New("memory: no room")
	ErrTree    = errors.New("memory: a file cannot be a folder")
	ErrChanged = errors.New("memory: another content than the expected")
)

// A Condition is what must hold of the file that a write replaces.
type Condition struct {
	Absent bool     // there is none
	Any    bool     // there is one
	Tags   []string // there is one with one of these contents
}

// Holds tells whether a file, or its absence, is as expected.
func (c Condition) Holds(there bool, tag string) bool {
	switch {
	case c.Absent && there, c.Any && !there:
		return false
	case c.Tags == nil:
		return true
	}
	for _, one := range c.Tags {
		if there && one == tag {
			return true
		}
	}
	return false
}

// A Store keeps files. Each method is one transaction, durable when it returns
// nil, and safe for concurrent use.
type Store interface {
	// PutFile writes a file and tells whether it is new. ErrNotFound: no such
	// owner; ErrFull, ErrTree, ErrChanged: nothing was written.
	PutFile(ctx context.Context, o Owner, f File, content []byte, c Condition, q Quota, a coworker.Audit) (created bool, err error)
	DeleteFile(ctx context.Context, o Owner, path string, c Condition, a coworker.Audit) error
	FileMeta(ctx context.Context, o Owner, path string) (File, error)
	FileContent(ctx context.Context, o Owner, path string) (File, []byte, error)
	Files(ctx context.Context, o Owner, q Query) ([]File, error)
	// Contents returns those of the paths that are there, by rising path.
	Contents(ctx context.Context, o Owner, paths []string) ([]Content, error)
}

// A Content is a file with its bytes, both of the same moment.
type Content struct {
	File
	Body []byte
}

// Options are what a Memory is made of. All but the quotas are required.
type Options struct {
	Store    Store
	Coworker *coworker.Coworker
	Cursors  keyring.Key
	Quota    Quota // zero: FilesMax and BytesMax
	Shown    Quota // of what Lay adds; zero: ShownFiles and ShownBytes
}

// A Memory answers every question of this room. It is safe for concurrent use.
type Memory struct {
	store    Store
	coworker *coworker.Coworker
	cursors  keyring.Key
	quota    Quota
	shown    Quota
}

// New makes a Memory.
func New(o Options) (*Memory, error) {
	if o.Store == nil || o.Coworker == nil || o.Cursors.Current() == "" {
		return nil, errors.New("memory: store, coworker and a key for cursors are required")
	}
	if o.Quota == (Quota{}) {
		o.Quota = Quota{Files: FilesMax, Bytes: BytesMax}
	}
	if o.Shown == (Quota{}) {
		o.Shown = Quota{Files: ShownFiles, Bytes: ShownBytes}
	}
	return &Memory{store: o.Store, coworker: o.Coworker, cursors: o.Cursors, quota: o.Quota, shown: o.Shown}, nil
}

// owner is whose files a caller may use: their own and nobody else's.
func owner(who coworker.Caller) Owner { return Owner{who.Organization, who.User} }

// Put writes a file of the caller's user, and tells whether it is new. Unless
// the condition holds, it returns ErrChanged.
func (m *Memory) Put(ctx context.Context, who coworker.Caller, path string, content []byte, c Condition) (File, bool, error) {
	if err := who.MayHold(coworker.WriteTools); err != nil {
		return File{}, false, err
	}
	return m.put(ctx, who, path, content, c)
}

func (m *Memory) put(ctx context.Context, who coworker.Caller, path string, content []byte, c Condition) (File, bool, error) {
	if p := CheckPath(path); p != nil {
		return File{}, false, coworker.InvalidArguments(*p)
	}
	if len(content) > FileMax {
		return File{}, false, &coworker.Fault{
			Code: coworker.ResponseTooLarge, Message: "The file is larger than the memory keeps.",
			Details: tooLarge{int64(len(content)), FileMax},
		}
	}
	a, err := m.act(who, "memory.put")
	if err != nil {
		return File{}, false, err
	}
	f := File{Path: path, Size: int64(len(content)), Sum: sha256.Sum256(content), UpdatedAt: m.coworker.Now()}
	created, err := m.store.PutFile(ctx, owner(who), f, content, c, m.quota, a)
	switch {
	case errors.Is(err, ErrFull):
		err = coworker.InvalidArguments(coworker.Problem{Field: "path", Problem: "does not fit: the memory of this user is full; delete files first", Allowed: struct {
			Files int64 `json:"files"`
			Bytes int64 `json:"bytes"`
		}{m.quota.Files, m.quota.Bytes}})
	case errors.Is(err, ErrTree):
		err = coworker.InvalidArguments(coworker.Problem{Field: "path", Problem: "must not lead through a file, nor name a folder that holds files"})
	case errors.Is(err, coworker.ErrNotFound):
		err = coworker.Missing("user")
	}
	return f, created, err
}

// act makes the audit row of a change. It names the user and no path: admins
// read the audit, and not what their users keep.
func (m *Memory) act(who coworker.Caller, action string) (coworker.Audit, error) {
	by := who
	if who.Operates() {
		by.User = ""
	}
	return m.coworker.Change(by, who.Organization, action, string(who.User))
}

// Delete removes a file of the caller's user.
func (m *Memory) Delete(ctx context.Context, who coworker.Caller, path string, c Condition) error {
	if err := who.MayHold(coworker.WriteTools); err != nil {
		return err
	}
	if p := CheckPath(path); p != nil {
		return coworker.InvalidArguments(*p)
	}
	a, err := m.act(who, "memory.delete")
	if err != nil {
		return err
	}
	return m.missing(ctx, who, path, m.store.DeleteFile(ctx, owner(who), path, c, a), true)
}

// Read returns a file of the caller's user.
func (m *Memory) Read(ctx context.Context, who coworker.Caller, path string) (File, []byte, error) {
	if err := who.MayHold(coworker.ReadData); err != nil {
		return File{}, nil, err
	}
	if p := CheckPath(path); p != nil {
		return File{}, nil, coworker.InvalidArguments(*p)
	}
	f, content, err := m.store.FileContent(ctx, owner(who), path)
	return f, content, m.missing(ctx, who, path, err, true)
}

// tooLarge are the details of a file that cannot be passed on. Where it is for
// an answer, its bytes are those that it takes there.
type tooLarge struct {
	Original int64 `json:"original_bytes"`
	Limit    int64 `json:"limit"`
}

// downloads is the folder of what services answered.
const downloads = "downloads/"

// Keep fulfils connect.Files: what a service answered for the caller is kept
// for their user, whatever scopes let the call happen.
func (m *Memory) Keep(ctx context.Context, who coworker.Caller, name string, body []byte) (string, error) {
	sum := sha256.Sum256(body)
	path := downloads + harmless(name) + "-" + hex.EncodeToString(sum[:4]) + extension(body)
	_, _, err := m.put(ctx, who, path, body, Condition{})
	return path, err
}

// harmless keeps of a name what every file system takes.
func harmless(name string) string {
	kept := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '-'
	}, name)
	if kept = strings.Trim(kept[:min(len(kept), 80)], "-"); kept == "" {
		return "answer"
	}
	return kept
}

// extension tells a few kinds of file by their first bytes.
func extension(body []byte) string {
	for _, known := range []struct{ begins, ext string }{
		{"%PDF-", ".pdf"}, {"\x89PNG\r\n\x1a\n", ".png"}, {"\xff\xd8\xff", ".jpg"}, {"GIF8", ".gif"}, {"PK\x03\x04", ".zip"}, {"\x1f\x8b", ".gz"},
	} {
		if strings.HasPrefix(string(body[:min(len(body), 8)]), known.begins) {
			return known.ext
		}
	}
	return ".bin"
}

// isText tells whether a content can be written as it is.
func isText(content []byte) bool {
	return utf8.Valid(content) && !strings.ContainsRune(string(content), 0)
}
