package skills

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// SkillsMax is how many skills an organisation may have.
const SkillsMax = 100

// A Skill is a folder as it is kept.
type Skill struct {
	Organization coworker.OrganizationID
	ID           string // the folder's name
	Description  string
	Service      string // the bound service's id; "" for none
	Front        json.RawMessage
	Enabled      bool
	AddedAt      time.Time
	ChangedAt    time.Time
	Files        []File // by rising path
}

// A File of a skill; Content is there where it was asked for.
type File struct {
	Path    string
	Size    int64
	Sum     coworker.Sum
	Content []byte
}

// Digest is the SHA-256 as the skills extension writes it.
func (f File) Digest() string { return "sha256:" + hex.EncodeToString(f.Sum[:]) }

// URI is where a file of a skill is read.
func (s Skill) URI(path string) string { return "skill://" + s.ID + "/" + path }

// A Record is a skill as it is written.
type Record struct {
	ID          string `json:"skill_id"`
	Description string `json:"description"`
	Service     string `json:"service,omitempty"`
	Enabled     bool   `json:"enabled"`
	URI         string `json:"uri"`
	Files       int    `json:"files"`
	Bytes       int64  `json:"bytes"`
	AddedAt     string `json:"added_at"`
	ChangedAt   string `json:"changed_at"`
}

// Record returns the skill as it is written.
func (s Skill) Record() Record {
	r := Record{
		ID: s.ID, Description: s.Description, Service: s.Service, Enabled: s.Enabled, URI: s.URI(Main), Files: len(s.Files),
		AddedAt: coworker.FormatTime(s.AddedAt), ChangedAt: coworker.FormatTime(s.ChangedAt),
	}
	for _, f := range s.Files {
		r.Bytes += f.Size
	}
	return r
}

// ErrFull is what a Store answers when an organisation has too many skills.
var ErrFull = errors.New("skills: no room")

// A Store keeps skills. Each method is one transaction, durable when it returns
// nil, and safe for concurrent use.
type Store interface {
	// SaveSkill writes a skill with its files in place of the one of its id,
	// whose switch and first day stay. ErrFull: there are most others.
	SaveSkill(ctx context.Context, s Skill, most int, a coworker.Audit) error
	// Skills lists those of an organisation by rising id, without contents.
	Skills(ctx context.Context, o coworker.OrganizationID) ([]Skill, error)
	// SkillFile returns a file of an enabled skill.
	SkillFile(ctx context.Context, o coworker.OrganizationID, id, path string) (File, error)
	// KeptFile returns a file of a skill, be it enabled or not.
	KeptFile(ctx context.Context, o coworker.OrganizationID, id, path string) (File, error)
	// SkillFolder returns the files of an enabled skill whose paths begin with
	// the folder, by rising path.
	SkillFolder(ctx context.Context, o coworker.OrganizationID, id, folder string) ([]File, error)
	SwitchSkill(ctx context.Context, o coworker.OrganizationID, id string, on bool, a coworker.Audit) error
	RemoveSkill(ctx context.Context, o coworker.OrganizationID, id string, a coworker.Audit) error
}

// A Shelf answers every question of this room. It is safe for concurrent use.
type Shelf struct {
	store    Store
	coworker *coworker.Coworker
	services *catalog.Catalog
}

// New makes a Shelf.
func New(store Store, c *coworker.Coworker, services *catalog.Catalog) *Shelf {
	return &Shelf{store: store, coworker: c, services: services}
}

// Add keeps a skill that ReadFolder read, enabled unless it was disabled.
func (h *Shelf) Add(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, s Skill) (Skill, error) {
	if err := who.Administers(o); err != nil {
		return s, err
	}
	if s.Service != "" {
		if _, ok := h.services.Service(s.Service); !ok {
			return s, coworker.InvalidArguments(coworker.Problem{Field: "metadata.service", Problem: "is no service of the catalog", Allowed: h.services.Nearest(s.Service, 3)})
		}
	}
	a, err := h.coworker.Change(who, o, "skill.add", s.ID)
	if err != nil {
		return s, err
	}
	s.Organization, s.Enabled, s.AddedAt, s.ChangedAt = o, true, h.coworker.Now(), h.coworker.Now()
	err = h.store.SaveSkill(ctx, s, SkillsMax, a)
	if errors.Is(err, ErrFull) {
		err = wrong("skill", "is one too many: an organization has at most 100")
	}
	return s, missing(err, "organization")
}

// All lists an organisation's skills to its admins.
func (h *Shelf) All(ctx context.Context, who coworker.Caller, o coworker.OrganizationID) ([]Skill, error) {
	if err := who.Administers(o); err != nil {
		return nil, err
	}
	return h.store.Skills(ctx, o)
}

// One returns a skill to the organisation's admins, enabled or not, with the
// content of its main file and of no other.
func (h *Shelf) One(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, id string) (Skill, error) {
	all, err := h.All(ctx, who, o)
	if err != nil {
		return Skill{}, err
	}
	at := slices.IndexFunc(all, func(s Skill) bool { return s.ID == id })
	if at < 0 {
		return Skill{}, coworker.Missing("skill")
	}
	s := all[at]
	f, err := h.store.KeptFile(ctx, o, id, Main)
	for i := range s.Files {
		if s.Files[i].Path == Main {
			s.Files[i] = f
		}
	}
	return s, missing(err, "skill")
}

// Switch enables or disables a skill.
func (h *Shelf) Switch(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, id string, on bool) error {
	if err := who.Administers(o); err != nil {
		return err
	}
	word := "skill.disable"
	if on {
		word = "skill.enable"
	}
	a, err := h.coworker.Change(who, o, word, id)
	if err != nil {
		return err
	}
	return missing(h.store.SwitchSkill(ctx, o, id, on, a), "skill")
}

// Remove removes a skill with its files.
func (h *Shelf) Remove(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, id string) error {
	if err := who.Administers(o); err != nil {
		return err
	}
	a, err := h.coworker.Change(who, o, "skill.remove", id)
	if err != nil {
		return err
	}
	return missing(h.store.RemoveSkill(ctx, o, id, a), "skill")
}

// For lists the enabled skills of a caller's organisation; none for a caller
// who may not see tools.
func (h *Shelf) For(ctx context.Context, who coworker.Caller) ([]Skill, error) {
	if who.MayReadSkills() != nil {
		return nil, nil
	}
	all, err := h.store.Skills(ctx, who.Organization)
	var on []Skill
	for _, s := range all {
		if s.Enabled {
			on = append(on, s)
		}
	}
	return on, err
}

// File returns a file of an enabled skill of a caller's organisation.
func (h *Shelf) File(ctx context.Context, who coworker.Caller, id, path string) (File, error) {
	if err := who.MayReadSkills(); err != nil {
		return File{}, err
	}
	f, err := h.store.SkillFile(ctx, who.Organization, id, path)
	return f, missing(err, "skill")
}

// scripts is the folder of a skill whose files can be run.
const scripts = "scripts/"

// Scripts is how many bytes the files below scripts/ have.
func (s Skill) Scripts() (bytes int64) {
	for _, f := range s.Files {
		if strings.HasPrefix(f.Path, scripts) {
			bytes += f.Size
		}
	}
	return bytes
}

// Scripts returns the files below scripts/ of an enabled skill, all of the same
// moment, with contents and paths relative to that folder.
func (h *Shelf) Scripts(ctx context.Context, who coworker.Caller, id string) ([]File, error) {
	if err := who.MayReadSkills(); err != nil {
		return nil, err
	}
	files, err := h.store.SkillFolder(ctx, who.Organization, id, scripts)
	for i := range files {
		files[i].Path = strings.TrimPrefix(files[i].Path, scripts)
	}
	return files, missing(err, "skill")
}

// ParseURI reads the skill and the path out of an address.
func ParseURI(uri string) (id, path string, ok bool) {
	rest, ok := strings.CutPrefix(uri, "skill://")
	if !ok {
		return "", "", false
	}
	id, path, ok = strings.Cut(rest, "/")
	return id, path, ok && nameForm.MatchString(id) && len(id) <= nameMax && pathForm.MatchString(path) && len(path) <= pathMax
}

func missing(err error, what string) error {
	if errors.Is(err, coworker.ErrNotFound) {
		return coworker.Missing(what)
	}
	return err
}
