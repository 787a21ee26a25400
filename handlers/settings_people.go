package handlers

import (
	"context"
	"net/url"

	"innerloop/coworker"
	"innerloop/web/settings"
)

// peoplePage is how many users or keys a page lists.
const peoplePage = 50

// names are what pages call the users and keys of an organisation.
type names struct {
	users []coworker.User
	keys  []coworker.Key
	user  map[coworker.UserID]string
	key   map[coworker.KeyID]string
}

// namesOf reads the names of at most PageMax users and keys each; whoever is
// not among them is called by the id.
func (s *Server) namesOf(ctx context.Context, who coworker.Caller) (names, error) {
	n := names{user: map[coworker.UserID]string{}, key: map[coworker.KeyID]string{}}
	users, err := s.coworker.UsersPage(ctx, who, who.Organization, "", coworker.PageMax)
	if err != nil {
		return n, err
	}
	keys, err := s.coworker.ListKeys(ctx, who, who.Organization, "", coworker.PageMax)
	if err != nil {
		return n, err
	}
	n.users, n.keys = users.Users, keys.Keys
	for _, u := range n.users {
		n.user[u.ID] = u.Name
	}
	for _, k := range n.keys {
		n.key[k.ID] = k.Name
	}
	return n, nil
}

func named[ID ~string](names map[ID]string, id ID) string {
	if name, ok := names[id]; ok {
		return name
	}
	return string(id)
}

// cursorOf is where a page of a list begins.
func (d *desk) cursorOf() string { return string(d.Context().QueryArgs().Peek("after")) }

// further is the address of a list's next page, or "".
func (d *desk) further(path, next string) string {
	if next == "" {
		return ""
	}
	return d.lang().Path(path) + "?after=" + url.QueryEscape(next)
}

// usersPage is GET /settings/users.
func (s *Server) usersPage(d *desk) error { return s.showUsers(d, "") }

func (s *Server) showUsers(d *desk, name string) error {
	page, err := s.coworker.UsersPage(d.ctx, d.who, d.organization(), d.cursorOf(), peoplePage)
	if err != nil {
		return err
	}
	d.frame.Title = d.messages().Users
	v := settings.Users{Frame: d.frame, Name: name, Further: d.further(settings.UsersPath, page.Next)}
	for _, u := range page.Users {
		v.Rows = append(v.Rows, settings.User{ID: string(u.ID), Name: u.Name, Created: settings.Day(d.lang(), u.CreatedAt), You: u.ID == d.who.User})
	}
	return s.sheet(d.Ctx, settings.UsersPage(v))
}

// addUserForm is POST /settings/users.
func (s *Server) addUserForm(d *desk, values url.Values) error {
	if err := only(values, []string{"name"}); err != nil {
		return err
	}
	_, err := s.coworker.AddUser(d.ctx, d.who, d.organization(), values.Get("name"))
	if err == nil {
		return d.onward(settings.UsersPath, "user")
	}
	if err := d.faulty(err, func(string) string { return d.messages().Name }); err != nil {
		return err
	}
	return s.showUsers(d, values.Get("name"))
}

// userOf is the user of a path, of the caller's organisation.
func (s *Server) userOf(d *desk) (coworker.User, error) {
	id, err := segment(d.Ctx, "user")
	if err != nil {
		return coworker.User{}, err
	}
	return s.coworker.User(d.ctx, d.who, coworker.UserID(id))
}

// askRemoveUser is GET /settings/users/{user_id}/remove.
func (s *Server) askRemoveUser(d *desk) error {
	u, err := s.userOf(d)
	if err != nil {
		return err
	}
	m := d.messages()
	d.frame.Title = filled(m.People.Ask, u.Name)
	v := settings.Ask{
		Frame: d.frame, Lead: m.People.AskLead, Facts: []settings.Fact{{Name: m.Name, Value: u.Name}, {Name: m.Rule.ID, Value: string(u.ID)}},
		Action: settings.UsersPath + "/" + string(u.ID) + "/remove", Confirm: m.People.Confirm, Back: settings.UsersPath,
	}
	if u.ID == d.who.User {
		v.Own = m.People.AskSelf
	}
	return s.sheet(d.Ctx, settings.AskPage(v))
}

// removeUserForm is POST /settings/users/{user_id}/remove.
func (s *Server) removeUserForm(d *desk, values url.Values) error {
	if err := only(values, nil); err != nil {
		return err
	}
	u, err := s.userOf(d)
	if err != nil {
		return err
	}
	err = s.coworker.RemoveUser(d.ctx, d.who, d.organization(), u.ID)
	if err == nil {
		return d.onward(settings.UsersPath, "gone")
	}
	if err := d.faulty(err, func(string) string { return u.Name }); err != nil {
		return err
	}
	d.frame.Faults[0].Field = "" // there is no field to lead to
	return s.askRemoveUser(d)
}

// sessionsPage is GET /settings/sessions.
func (s *Server) sessionsPage(d *desk) error {
	open, err := s.coworker.Sessions(d.ctx, d.who)
	if err != nil {
		return err
	}
	known, err := s.namesOf(d.ctx, d.who)
	if err != nil {
		return err
	}
	d.frame.Title = d.messages().Sessions
	v := settings.Sessions{Frame: d.frame}
	for _, one := range open {
		v.Rows = append(v.Rows, settings.Session{
			ID: string(one.ID), User: named(known.user, one.User), Key: named(known.key, one.Key), This: one.ID == d.who.Session,
			Opened: settings.At(d.lang(), one.CreatedAt), Used: settings.At(d.lang(), one.UsedAt), Ends: settings.At(d.lang(), one.ExpiresAt),
		})
	}
	return s.sheet(d.Ctx, settings.SessionsPage(v))
}

// endSessionForm is POST /settings/sessions/{session_id}/end.
func (s *Server) endSessionForm(d *desk, values url.Values) error {
	if err := only(values, nil); err != nil {
		return err
	}
	id, err := segment(d.Ctx, "session")
	if err != nil {
		return err
	}
	if err := s.coworker.EndSession(d.ctx, d.who, coworker.SessionID(id)); err != nil {
		return err
	}
	return d.onward(settings.SessionsPath, "ended")
}
