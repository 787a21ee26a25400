package client

import (
	"context"
	"errors"
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
	SigningKeyID *string    `json:"signing_key_id"` // that the service knows; differs from KeyID only while a change waits
	Pending      []Pending  `json:"pending"`        // requests of unknown fate
}

// Pending is a saved request that the next run repeats.
type Pending struct {
	Kind       string    `json:"kind"` // "registration", "entry", or what an owner asked for
	API        string    `json:"api"`
	SavedAt    time.Time `json:"saved_at"`
	Title      string    `json:"title,omitempty"`
	Visibility string    `json:"visibility,omitempty"`
	Refused    string    `json:"refused,omitempty"` // code of the answer, when there was one
}

// Status reads the profile's files. It asks no server.
func (a *Agent) Status(context.Context) (Status, error) {
	if _, err := os.Stat(a.folder); errors.Is(err, fs.ErrNotExist) {
		return Status{}, a.noProfile()
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
		s.AgentID, s.SigningKeyID = &known.AgentID, &known.KeyID
		if known.DisplayName != "" { // unknown after a recovery into an empty profile
			s.DisplayName, s.RegisteredAt = &known.DisplayName, &known.RegisteredAt
		}
	}
	files := []struct{ name, kind string }{{registrationFile, "registration"}, {entryFile, "entry"}}
	for _, m := range []mutation{profileUpdate, entryDeletion, rotation, keyAddition, keyRevocation, recoverySetting, recoveryUse, identityDeletion, cancellation} {
		files = append(files, struct{ name, kind string }{m.file(), m.kind})
	}
	for _, file := range files {
		var p saved
		waits, err := a.read(file.name, &p)
		if err != nil {
			return Status{}, err
		}
		if waits {
			s.Pending = append(s.Pending, Pending{Kind: file.kind, API: p.API, SavedAt: p.SavedAt, Title: p.Title, Visibility: p.Visibility, Refused: p.Refused})
		}
	}
	return s, nil
}
