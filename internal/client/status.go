package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Status is all that this machine knows of a profile.
type Status struct {
	Profile      string     `json:"profile"`
	Folder       string     `json:"folder"`
	API          string     `json:"api"` // that the next command uses
	PublicKey    string     `json:"public_key"`
	KeyID        string     `json:"key_id"`
	AgentID      *string    `json:"agent_id"` // nil before registration
	DisplayName  *string    `json:"display_name"`
	RegisteredAt *time.Time `json:"registered_at"`
	Pending      []Pending  `json:"pending"` // requests of unknown fate
}

// Pending is a saved request that the next run repeats.
type Pending struct {
	Kind       string    `json:"kind"` // "registration" or "entry"
	API        string    `json:"api"`
	SavedAt    time.Time `json:"saved_at"`
	Title      string    `json:"title,omitempty"`
	Visibility string    `json:"visibility,omitempty"`
}

// Status reads the profile's files. It asks no server.
func (a *Agent) Status(context.Context) (Status, error) {
	if _, err := os.Stat(a.folder); errors.Is(err, fs.ErrNotExist) {
		return Status{}, fmt.Errorf("there is no profile %s; run: innerloop agent init --profile %s", a.profile, a.profile)
	}
	if err := a.checkFolder(); err != nil {
		return Status{}, err
	}
	_, own, err := a.ownKey()
	if err != nil {
		return Status{}, err
	}
	var known identity
	if _, err := a.read(identityFile, &known); err != nil {
		return Status{}, err
	}
	s := Status{
		Profile: a.profile, Folder: a.folder, API: a.address(known),
		PublicKey: own.PublicKey, KeyID: own.KeyID, Pending: []Pending{},
	}
	if known.AgentID != "" {
		s.AgentID, s.DisplayName, s.RegisteredAt = &known.AgentID, &known.DisplayName, &known.RegisteredAt
	}
	for _, file := range []struct{ name, kind string }{{registrationFile, "registration"}, {entryFile, "entry"}} {
		var p saved
		waits, err := a.read(file.name, &p)
		if err != nil {
			return Status{}, err
		}
		if waits {
			s.Pending = append(s.Pending, Pending{Kind: file.kind, API: p.API, SavedAt: p.SavedAt, Title: p.Title, Visibility: p.Visibility})
		}
	}
	return s, nil
}
