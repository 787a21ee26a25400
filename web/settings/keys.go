package settings

import "innerloop/internal/locale"

// Keys is the page of an organisation's keys.
type Keys struct {
	Frame
	Rows    []Key
	Further string // address of the next page
	Form    KeyForm
}

// A Key is one row.
type Key struct {
	ID, Name, Prefix, User string
	Scopes                 []string
	Status                 string // active, expired or revoked
	Ends                   string // when it ends or ended, as a sentence or a date
	EndsAt                 string // for machines
	Left                   string // how long it still lives
	Soon                   bool   // it ends within a week
	Used                   Moment
	From                   string // address of the last use
	This                   bool   // it opened the session
}

// A KeyForm is what a new or a changed key shall be, as it was typed.
type KeyForm struct {
	Name       string
	User       string
	Users      []Choice
	Scopes     []Choice
	Days       []Choice
	Class      []Choice
	Connectors string
	Networks   string
	Rate       string
	Narrowed   bool // a limit is set or at fault, so that they are shown open
}

// EditKey is the page that changes a key.
type EditKey struct {
	Frame
	ID, Prefix, Owner string
	Ends              Moment
	Form              KeyForm
}

// NewKey is the answer to the form that made a key: the one page that holds it.
type NewKey struct {
	Frame
	Name, Secret string
	Clients      []Client
}

// A Client is one way to use the key.
type Client struct {
	ID, Name string
	Brings   string // a way of SettingsMessages.BringsByWay
	File     string // where Text belongs; empty for a shell
	Text     string // empty when there is none
}

func (c Client) place(m *locale.SettingsMessages) string {
	if c.File == "" {
		return m.Key.Shell
	}
	return filled(m.Key.FileAt, c.File)
}
