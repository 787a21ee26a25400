package connect

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/vault"
)

// A Wish is a connection to be made, or changed when there is one of its name.
type Wish struct {
	User    coworker.UserID // empty: for the organisation
	Service string
	Name    string // "" means "main"
	Auth    string // "" means the service's first
	Fields  map[string]string
	Params  map[string]string
	BaseURL string
	Test    bool
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// check holds a wish to the service's file. No value is repeated.
func (k *Keeper) check(w *Wish) (*catalog.Service, *catalog.Auth, error) {
	service, ok := k.catalog.Service(w.Service)
	if !ok {
		return nil, nil, &coworker.Fault{Code: coworker.UnknownService, Hint: "nearest: " + strings.Join(k.catalog.Nearest(w.Service, 3), ", ")}
	}
	var problems []coworker.Problem
	problem := func(field, rule string, allowed any) {
		problems = append(problems, coworker.Problem{Field: field, Problem: rule, Allowed: allowed})
	}
	if w.Name == "" {
		w.Name = "main"
	}
	if !nameForm.MatchString(w.Name) {
		problem("name", "must have 1 to 40 of a-z, 0-9, _ and -", nil)
	}
	at := slices.IndexFunc(service.Auth, func(a catalog.Auth) bool { return a.ID == w.Auth || w.Auth == "" })
	if at < 0 {
		ids := []string{}
		for _, a := range service.Auth {
			ids = append(ids, a.ID)
		}
		problem("auth", "is no kind of credential of this service", ids)
		return nil, nil, coworker.InvalidArguments(problems...)
	}
	auth := &service.Auth[at]
	w.Auth = auth.ID
	known := map[string]bool{}
	for _, f := range auth.Fields {
		known[f.Name] = true
		value := w.Fields[f.Name]
		switch {
		case value == "" && !f.Optional:
			problem("fields."+f.Name, "is needed", nil)
		case len(value) > fieldMax || !utf8.ValidString(value) || strings.ContainsAny(value, "\r\n\x00"):
			problem("fields."+f.Name, "must be one line of at most 8192 bytes", nil)
		case value != "" && f.Pattern != "":
			if whole, err := regexp.Compile(`^(?:` + f.Pattern + `)$`); err != nil || !whole.MatchString(value) {
				problem("fields."+f.Name, "does not have the form that the service gives it", nil)
			}
		}
	}
	if strange(w.Fields, known) {
		problem("fields", "holds a name that is no field of this kind of credential", slices.Sorted(maps.Keys(known)))
	}
	known = map[string]bool{}
	for i := range service.Params {
		p := &service.Params[i]
		known[p.Name] = true
		value := w.Params[p.Name]
		if value == "" {
			if !p.Optional && p.Default == "" && p.From == "" && w.BaseURL == "" {
				problem("params."+p.Name, "is needed", nil)
			}
			continue
		}
		if err := p.Accepts(value); err != nil {
			problem("params."+p.Name, err.Error(), nil)
		}
	}
	if strange(w.Params, known) {
		problem("params", "holds a name that is no value of this service", slices.Sorted(maps.Keys(known)))
	}
	if w.BaseURL != "" && !baseURL(w.BaseURL) {
		problem("base_url", "must be an http or https address without user, query, fragment and final slash", nil)
	}
	if len(problems) > 0 {
		return nil, nil, coworker.InvalidArguments(problems...)
	}
	return service, auth, nil
}

// strange tells of a name that is not known. It is not repeated: a secret in
// the wrong place may be one.
func strange(given map[string]string, known map[string]bool) bool {
	for name := range given {
		if !known[name] {
			return true
		}
	}
	return false
}

func baseURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" &&
		u.Fragment == "" && !strings.HasSuffix(text, "/") && len(text) <= 300 && (u.Path == "" || catalog.CheckPath(u.EscapedPath()) == nil)
}

// Connect stores a credential. A connection of the same owner, service and name
// is changed; what was stored before cannot be read again.
func (k *Keeper) Connect(ctx context.Context, who coworker.Caller, o coworker.OrganizationID, w Wish) (Stored, error) {
	if err := who.Administers(o); err != nil {
		return Stored{}, err
	}
	_, auth, err := k.check(&w)
	if err != nil {
		return Stored{}, err
	}
	n, err := k.store.CountConnections(ctx, o, connectionsMax)
	if err != nil {
		return Stored{}, err
	}
	key, err := k.key(ctx, o)
	if err != nil {
		return Stored{}, notFound(err, "organization")
	}
	for range 3 { // somebody else may change it at the same time
		s, err := k.draft(ctx, o, w)
		if err != nil {
			return Stored{}, err
		}
		if s.Version == 1 && n >= connectionsMax {
			return Stored{}, coworker.InvalidArguments(coworker.Problem{Field: "service", Problem: "is one too many: an organization has at most 500 connections"})
		}
		if err := k.seal(key, &s, auth, w); err != nil {
			return Stored{}, err
		}
		a, err := k.coworker.Change(who, o, "connection.save", s.ID)
		if err != nil {
			return Stored{}, err
		}
		a.Service = s.Service
		err = k.store.SaveConnection(ctx, s, &a)
		if errors.Is(err, coworker.ErrDuplicate) {
			continue
		}
		return s, notFound(err, "user")
	}
	return Stored{}, &coworker.Fault{Code: coworker.Internal}
}

// draft is the connection that a wish makes: new, or the next version.
func (k *Keeper) draft(ctx context.Context, o coworker.OrganizationID, w Wish) (Stored, error) {
	now := k.coworker.Now()
	s, err := k.store.FindConnection(ctx, o, w.User, w.Service, w.Name)
	switch {
	case errors.Is(err, coworker.ErrNotFound) || err == nil && s.User != w.User:
		id, err := k.coworker.NewID("connection")
		if err != nil {
			return Stored{}, err
		}
		s = Stored{ID: id, Organization: o, User: w.User, Service: w.Service, Name: w.Name, CreatedAt: now}
	case err != nil:
		return Stored{}, err
	}
	s.Version++
	s.Auth, s.BaseURL, s.Test, s.State, s.ChangedAt, s.CheckedAt, s.Values = w.Auth, w.BaseURL, w.Test, Connected, now, time.Time{}, nil
	return s, nil
}

func (k *Keeper) seal(key vault.Key, s *Stored, auth *catalog.Auth, w Wish) error {
	for _, f := range auth.Fields {
		value := w.Fields[f.Name]
		if value == "" {
			continue
		}
		sealed, err := key.Seal(s.place(f.Name), value)
		if err != nil {
			return err
		}
		tail := value
		if f.Secret {
			tail = vault.Tail(value)
		}
		s.Values = append(s.Values, Value{Kind: "field", Name: f.Name, Sealed: sealed, Tail: tail})
	}
	for _, name := range slices.Sorted(maps.Keys(w.Params)) {
		if w.Params[name] != "" {
			s.Values = append(s.Values, Value{Kind: "param", Name: name, Plain: w.Params[name]})
		}
	}
	return nil
}

func (s *Stored) place(field string) vault.Place {
	return vault.Place{User: string(s.User), Service: s.Service, Connection: s.ID, Field: field, Version: s.Version}
}
