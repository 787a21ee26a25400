package handlers

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
	"innerloop/internal/discovery"
	"innerloop/internal/limit"
	"innerloop/web/settings"
)

// keyLives are the lives of a key that the form offers, in days.
var keyLives = []int{30, 90, 365}

// noConnector is what the form takes for a key without any connector.
const noConnector = "none"

// typedKey is a form of a key as it was sent.
type typedKey struct {
	name, user, days, class, connectors, networks, rate string
	scopes                                              []string
}

func readTypedKey(values url.Values, more ...string) (typedKey, error) {
	if err := only(values, append([]string{"name", "class", "connectors", "networks", "rate"}, more...), "scope"); err != nil {
		return typedKey{}, err
	}
	return typedKey{
		name: values.Get("name"), user: values.Get("user"), days: values.Get("days"), class: values.Get("class"),
		connectors: values.Get("connectors"), networks: values.Get("networks"), rate: values.Get("rate"), scopes: values["scope"],
	}, nil
}

// typed is a key as its form shows it.
func typed(k coworker.Key) typedKey {
	t := typedKey{name: k.Name, class: string(k.Class), connectors: strings.Join(k.Connectors, ", "), rate: strconv.Itoa(k.Rate), scopes: k.Scopes.List()}
	if k.Connectors != nil && len(k.Connectors) == 0 {
		t.connectors = noConnector
	}
	var networks []string
	for _, n := range k.Networks {
		networks = append(networks, n.String())
	}
	t.networks = strings.Join(networks, "\n")
	return t
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || unicode.IsSpace(r) })
}

// change reads what the two forms have in common.
func (t typedKey) change() (coworker.Change, []coworker.Problem) {
	var problems []coworker.Problem
	wrong := func(field string) { problems = append(problems, coworker.Problem{Field: field}) }
	scopes, ok := coworker.ParseScopes(t.scopes)
	if !ok {
		wrong("scopes")
	}
	class := coworker.Class(t.class)
	if !class.Valid() {
		wrong("class")
	}
	connectors := words(t.connectors)
	if slices.Equal(connectors, []string{noConnector}) {
		connectors = []string{}
	} else if len(connectors) == 0 {
		connectors = nil
	}
	var networks []netip.Prefix
	if list := words(t.networks); len(list) > 0 {
		var err error
		if networks, err = limit.ParsePrefixes(strings.Join(list, ",")); err != nil || len(networks) != len(list) {
			wrong("networks")
		}
	}
	rate := 0
	if text := strings.TrimSpace(t.rate); text != "" {
		var err error
		if rate, err = strconv.Atoi(text); err != nil {
			wrong("rate_per_minute")
		}
	}
	return coworker.Change{Name: &t.name, Scopes: &scopes, Connectors: &connectors, Class: &class, Networks: &networks, Rate: &rate}, problems
}

// form is what is shown of it.
func (t typedKey) form(d *desk, users []coworker.User) settings.KeyForm {
	m := d.messages().Key
	f := settings.KeyForm{Name: t.name, Connectors: t.connectors, Networks: t.networks, Rate: t.rate}
	for _, u := range users {
		f.Users = append(f.Users, settings.Choice{Value: string(u.ID), Label: u.Name, Chosen: string(u.ID) == t.user})
	}
	for _, word := range coworker.AllScopes() {
		f.Scopes = append(f.Scopes, settings.Choice{Value: word, Label: word, Hint: m.Meaning[word], Chosen: slices.Contains(t.scopes, word)})
	}
	for _, days := range keyLives {
		text := strconv.Itoa(days)
		f.Days = append(f.Days, settings.Choice{Value: text, Label: m.Day[days], Chosen: text == t.days})
	}
	for _, class := range coworker.AllClasses() {
		f.Class = append(f.Class, settings.Choice{Value: string(class), Label: m.ByClass[string(class)], Chosen: string(class) == t.class})
	}
	narrow := func(fault settings.Fault) bool {
		return slices.Contains([]string{"class", "connectors", "networks", "rate_per_minute"}, fault.Field)
	}
	f.Narrowed = t.connectors != "" || t.networks != "" || t.rate != "0" || t.class != string(coworker.ClassIrreversible) || slices.ContainsFunc(d.frame.Faults, narrow)
	return f
}

// keyLabel names a field of the forms.
func (d *desk) keyLabel(field string) string {
	m := d.messages()
	switch field {
	case "name":
		return m.Name
	case "user_id":
		return m.Key.User
	case "scopes":
		return m.Key.Scopes
	case "expires_in_days":
		return m.Key.Days
	case "class":
		return m.Key.Class
	case "connectors":
		return m.Key.Connectors
	case "networks":
		return m.Key.Networks
	}
	return m.Key.Rate
}

// keysPage is GET /settings/keys. Of the scopes only read:tools is ticked: who
// wants more says so.
func (s *Server) keysPage(d *desk) error {
	return s.showKeys(d, typedKey{user: string(d.who.User), days: strconv.Itoa(coworker.DaysDefault), class: string(coworker.ClassIrreversible), rate: "0", scopes: coworker.ReadTools.List()})
}

func (s *Server) showKeys(d *desk, t typedKey) error {
	page, err := s.coworker.ListKeys(d.ctx, d.who, d.organization(), d.cursorOf(), peoplePage)
	if err != nil {
		return err
	}
	users, err := s.coworker.UsersPage(d.ctx, d.who, d.organization(), "", coworker.PageMax)
	if err != nil {
		return err
	}
	called := map[coworker.UserID]string{}
	for _, u := range users.Users {
		called[u.ID] = u.Name
	}
	d.frame.Title = d.messages().Keys
	v := settings.Keys{Frame: d.frame, Form: t.form(d, users.Users), Further: d.further(settings.KeysPath, page.Next)}
	for _, k := range page.Keys {
		row := d.keyRow(k, s.now())
		row.User = named(called, k.User)
		v.Rows = append(v.Rows, row)
	}
	return s.sheet(d.Ctx, settings.KeysPage(v))
}

const day = 24 * time.Hour

func (d *desk) keyRow(k coworker.Key, now time.Time) settings.Key {
	m, lang := d.messages().Key, d.lang()
	ends := settings.Day(lang, k.ExpiresAt)
	row := settings.Key{
		ID: string(k.ID), Name: k.Name, Prefix: k.Prefix, Scopes: k.Scopes.List(), Status: k.Status(now), Ends: ends.Text, EndsAt: ends.Machine,
		Used: settings.At(lang, k.LastUsedAt), This: k.ID == d.who.Key,
	}
	if k.LastUsedFrom.IsValid() {
		row.From = k.LastUsedFrom.String()
	}
	switch row.Status {
	case "revoked":
		at := settings.Day(lang, k.RevokedAt)
		row.Ends, row.EndsAt = filled(m.Revoked, at.Text), at.Machine
	case "expired":
		row.Ends = filled(m.Expired, ends.Text)
	default:
		left := int((k.ExpiresAt.Sub(now) + day - 1) / day)
		row.Soon, row.Left = left <= 7, lang.Count(left, m.In)
	}
	return row
}

// createKeyForm is POST /settings/keys. The whole key is in this answer and on
// no page after it.
func (s *Server) createKeyForm(d *desk, values url.Values) error {
	t, err := readTypedKey(values, "user", "days")
	if err != nil {
		return err
	}
	change, problems := t.change()
	days, err := strconv.Atoi(t.days)
	if err != nil || !slices.Contains(keyLives, days) {
		problems = append(problems, coworker.Problem{Field: "expires_in_days"})
	}
	if !coworker.UserID(t.user).Valid() {
		problems = append(problems, coworker.Problem{Field: "user_id"})
	}
	if len(problems) > 0 {
		d.blame(problems, d.keyLabel)
		return s.showKeys(d, t)
	}
	k, secret, err := s.coworker.CreateKey(d.ctx, d.who, d.organization(), coworker.NewKey{
		User: coworker.UserID(t.user), Name: t.name, Scopes: *change.Scopes, Days: days,
		Connectors: *change.Connectors, Class: *change.Class, Networks: *change.Networks, Rate: *change.Rate,
	})
	if f, ok := coworker.AsFault(err); ok && f.Code == coworker.NotFound {
		err = coworker.InvalidArguments(coworker.Problem{Field: "user_id"}) // removed meanwhile, or another's
	}
	if err != nil {
		if err := d.faulty(err, d.keyLabel); err != nil {
			return err
		}
		return s.showKeys(d, t)
	}
	d.frame.Title = d.messages().Key.New
	v := settings.NewKey{Frame: d.frame, Name: k.Name, Secret: secret.Reveal()}
	for i, c := range discovery.KeyedSnippets(s.origins, secret.Reveal()) {
		client := settings.Client{ID: "client-" + strconv.Itoa(i+1), Name: c.Client, Brings: c.Brings, Text: c.Text}
		if c.Kind == discovery.File {
			client.File = strings.Join(c.Where, " ")
		}
		v.Clients = append(v.Clients, client)
	}
	d.Status(fiber.StatusCreated)
	return s.sheet(d.Ctx, settings.NewKeyPage(v))
}

// liveKey is the key of a path that can still be changed.
func (s *Server) liveKey(d *desk) (coworker.Key, error) {
	id, err := segment(d.Ctx, "key")
	if err != nil {
		return coworker.Key{}, err
	}
	k, err := s.coworker.Key(d.ctx, d.who, coworker.KeyID(id))
	if err == nil && !k.RevokedAt.IsZero() {
		err = coworker.Missing("key that can still be changed")
	}
	return k, err
}

// keyPage is GET /settings/keys/{key_id}.
func (s *Server) keyPage(d *desk) error {
	k, err := s.liveKey(d)
	if err != nil {
		return err
	}
	return s.showKey(d, k, typed(k))
}

func (s *Server) showKey(d *desk, k coworker.Key, t typedKey) error {
	u, err := s.coworker.User(d.ctx, d.who, k.User)
	if err != nil {
		return err
	}
	d.frame.Title = filled(d.messages().Key.EditTitle, k.Name)
	return s.sheet(d.Ctx, settings.EditKeyPage(settings.EditKey{
		Frame: d.frame, ID: string(k.ID), Prefix: k.Prefix, Owner: u.Name, Ends: settings.Day(d.lang(), k.ExpiresAt), Form: t.form(d, nil),
	}))
}

// updateKeyForm is POST /settings/keys/{key_id}.
func (s *Server) updateKeyForm(d *desk, values url.Values) error {
	t, err := readTypedKey(values)
	if err != nil {
		return err
	}
	k, err := s.liveKey(d)
	if err != nil {
		return err
	}
	change, problems := t.change()
	if len(problems) > 0 {
		d.blame(problems, d.keyLabel)
		return s.showKey(d, k, t)
	}
	if _, err = s.coworker.UpdateKey(d.ctx, d.who, d.organization(), k.ID, change); err != nil {
		if err := d.faulty(err, d.keyLabel); err != nil {
			return err
		}
		return s.showKey(d, k, t)
	}
	return d.onward(settings.KeysPath, "saved")
}

// askRevokeKey is GET /settings/keys/{key_id}/revoke.
func (s *Server) askRevokeKey(d *desk) error {
	k, err := s.liveKey(d)
	if err != nil {
		return err
	}
	m := d.messages()
	d.frame.Title = filled(m.Key.Ask, k.Name)
	v := settings.Ask{
		Frame: d.frame, Lead: m.Key.AskLead,
		Facts:  []settings.Fact{{Name: m.Name, Value: k.Name}, {Name: m.Keys, Value: k.Prefix + "…"}, {Name: m.Key.Scopes, Value: strings.Join(k.Scopes.List(), ", ")}},
		Action: settings.KeysPath + "/" + string(k.ID) + "/revoke", Confirm: m.Key.Confirm, Back: settings.KeysPath,
	}
	if k.ID == d.who.Key {
		v.Own = m.Key.AskOwn
	}
	return s.sheet(d.Ctx, settings.AskPage(v))
}

// revokeKeyForm is POST /settings/keys/{key_id}/revoke.
func (s *Server) revokeKeyForm(d *desk, values url.Values) error {
	if err := only(values, nil); err != nil {
		return err
	}
	id, err := segment(d.Ctx, "key")
	if err != nil {
		return err
	}
	if _, err := s.coworker.RevokeKey(d.ctx, d.who, d.organization(), coworker.KeyID(id)); err != nil {
		return err
	}
	return d.onward(settings.KeysPath, "revoked")
}

// filled puts a value into a sentence with one "%s".
func filled(sentence, value string) string { return strings.Replace(sentence, "%s", value, 1) }
