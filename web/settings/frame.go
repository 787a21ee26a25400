package settings

import (
	"strconv"
	"strings"
	"time"

	"innerloop/components"
	"innerloop/internal/locale"

	"github.com/a-h/templ"
)

// Paths of the pages, before the language prefix.
const (
	Path            = "/settings"
	SignOutPath     = Path + "/sign-out"
	RulesPath       = Path + "/rules"
	NetworksPath    = Path + "/networks"
	UsersPath       = Path + "/users"
	KeysPath        = Path + "/keys"
	ConnectionsPath = Path + "/connections"
	AuditPath       = Path + "/audit"
	CSVPath         = Path + "/audit.csv"
	SessionsPath    = Path + "/sessions"
	FilesPath       = Path + "/memory"
	SkillsPath      = Path + "/skills"
)

// A Frame is what all pages have in common.
type Frame struct {
	Lang         locale.Lang
	Path         string // of this page, without the language prefix
	Title        string // the heading
	Organization string // its name; empty before the sign-in
	Section      string // path of the section this page is of
	CSRF         string // of the session; empty before the sign-in
	Done         string // what was just done; empty for nothing
	Connections  bool   // there are pages of connections
	Files        bool   // and of memory files
	Skills       bool   // and of skills
	Faults       []Fault
}

// A Fault leads to a field that must be changed. Field is its id.
type Fault struct{ Field, Label, Text string }

func (f Frame) messages() *locale.SettingsMessages { return f.Lang.SettingsMessages() }

// at is the fault of a field, or "".
func (f Frame) at(id string) string {
	for _, fault := range f.Faults {
		if fault.Field == id {
			return fault.Text
		}
	}
	return ""
}

// href is an address in the page's language.
func (f Frame) href(parts ...string) string { return f.Lang.Path(strings.Join(parts, "/")) }

// shell has no canonical address: these pages are not to be found.
func (f Frame) shell() components.Shell {
	m := f.messages()
	title := f.Title
	if len(f.Faults) > 0 {
		title = m.Wrong + " · " + title
	}
	if f.Organization != "" {
		title += " · " + f.Organization
	}
	return components.Shell{
		Lang: f.Lang, Title: title + " · Innerloop", Description: m.Description, SkipLabel: f.Lang.Messages().SkipToContent,
		Home: f.Lang.Path("/"), SwitchHref: f.Lang.Other().Path(f.Path),
	}
}

type section struct{ path, label string }

func (f Frame) sections() []section {
	m := f.messages()
	all := []section{{Path, m.Organization}, {UsersPath, m.Users}, {KeysPath, m.Keys}}
	if f.Connections {
		all = append(all, section{ConnectionsPath, m.Connections})
	}
	if f.Files {
		all = append(all, section{FilesPath, f.Lang.ShelfMessages().File.Title})
	}
	if f.Skills {
		all = append(all, section{SkillsPath, f.Lang.ShelfMessages().Skill.Title})
	}
	return append(all, section{AuditPath, m.Audit}, section{SessionsPath, m.Sessions})
}

// An Input is a field of a form with everything a reader needs to fill it.
type Input struct {
	ID, Name, Label, Hint, Value string
	Kind                         string // of the input element; empty means text
	Max                          int    // characters; 0 means no bound
	Optional                     bool
	Rows                         int  // more than 0 makes a textarea
	Code                         bool // shown in the face of code
}

// A Choice is one of several.
type Choice struct {
	Value, Label, Hint string
	Chosen             bool
}

// attributes say what a field is and what describes it. The first field that is
// at fault takes the focus when the page opens.
func (f Frame) attributes(i Input) templ.Attributes {
	a := f.described(i.ID, i.Hint != "")
	if i.Max > 0 {
		a["maxlength"] = strconv.Itoa(i.Max)
	}
	if !i.Optional {
		a["required"] = true
	}
	if i.Rows > 0 {
		a["rows"] = strconv.Itoa(i.Rows)
	}
	if i.Code || i.Kind == "password" {
		a["spellcheck"], a["autocapitalize"] = "false", "none"
	}
	a["autocomplete"] = "off"
	return a
}

func (f Frame) described(id string, hint bool) templ.Attributes {
	a := templ.Attributes{}
	var by []string
	if hint {
		by = append(by, id+"-hint")
	}
	if f.at(id) != "" {
		by = append(by, id+"-fault")
		a["aria-invalid"] = "true"
		if f.Faults[0].Field == id {
			a["autofocus"] = true
		}
	}
	if len(by) > 0 {
		a["aria-describedby"] = strings.Join(by, " ")
	}
	return a
}

// A Moment is a time as it is shown; empty for none.
type Moment struct{ Machine, Text string }

// At shows a time to the minute, in UTC.
func At(lang locale.Lang, t time.Time) Moment {
	if t.IsZero() {
		return Moment{}
	}
	return Moment{locale.Machine(t), lang.ShortDate(t) + t.UTC().Format(", 15:04 UTC")}
}

// Day shows the day of a time, in UTC.
func Day(lang locale.Lang, t time.Time) Moment {
	if t.IsZero() {
		return Moment{}
	}
	return Moment{locale.Machine(t), lang.ShortDate(t)}
}

// filled puts a value into a sentence with one "%s".
func filled(sentence, value string) string { return strings.Replace(sentence, "%s", value, 1) }
