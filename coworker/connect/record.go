package connect

import (
	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// A Record is a connection as it is written: never a value of a secret field.
type Record struct {
	ID           string                  `json:"connection_id"`
	Organization coworker.OrganizationID `json:"organization_id"`
	User         *coworker.UserID        `json:"user_id"` // null: every user's
	Service      string                  `json:"service"`
	Name         string                  `json:"name"`
	Auth         string                  `json:"auth"`
	Fields       map[string]string       `json:"fields"` // what may be shown of each: the last characters of a secret
	Params       map[string]string       `json:"params"`
	BaseURL      *string                 `json:"base_url"`
	Test         bool                    `json:"test"`
	State        State                   `json:"state"`
	CreatedAt    string                  `json:"created_at"`
	ChangedAt    string                  `json:"changed_at"`
	CheckedAt    *string                 `json:"checked_at"` // null: never tried
}

// Record returns the connection as it is written.
func (s Stored) Record() Record {
	r := Record{
		ID: s.ID, Organization: s.Organization, Service: s.Service, Name: s.Name, Auth: s.Auth, Test: s.Test, State: s.State,
		Fields: map[string]string{}, Params: map[string]string{},
		CreatedAt: coworker.FormatTime(s.CreatedAt), ChangedAt: coworker.FormatTime(s.ChangedAt),
	}
	if s.User != "" {
		r.User = &s.User
	}
	if s.BaseURL != "" {
		r.BaseURL = &s.BaseURL
	}
	if !s.CheckedAt.IsZero() {
		r.CheckedAt = new(coworker.FormatTime(s.CheckedAt))
	}
	for _, v := range s.Values {
		if v.Kind == "param" {
			r.Params[v.Name] = v.Plain
		} else {
			r.Fields[v.Name] = v.Tail
		}
	}
	return r
}

// Secret tells whether a field is one that must not be seen. What is not known
// counts as secret.
func (k *Keeper) Secret(service, auth, field string) bool {
	s, ok := k.catalog.Service(service)
	if !ok {
		return true
	}
	for _, a := range s.Auth {
		if a.ID != auth && auth != "" {
			continue
		}
		for _, f := range a.Fields {
			if f.Name == field {
				return f.Secret
			}
		}
		if auth == "" {
			break
		}
	}
	return true
}

// Catalog is what can be connected.
func (k *Keeper) Catalog() *catalog.Catalog { return k.catalog }
