package handlers

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/connect"
	"innerloop/internal/locale"
	"innerloop/web/settings"
)

// stateOf is a connection's state in one word.
func stateOf(c connect.Stored) string {
	switch {
	case c.State == connect.Reconnect:
		return "reconnect"
	case c.CheckedAt.IsZero():
		return "untried"
	}
	return "connected"
}

// connectionsOf lists all connections of the organisation; there are at most
// 500.
func (s *Server) connectionsOf(d *desk) ([]connect.Stored, error) {
	page, err := s.keeper.List(d.ctx, d.who, d.organization(), "", coworker.PageMax)
	return page.Connections, err
}

// titleOf is a title in the reader's language, where there is one.
func titleOf(lang locale.Lang, english, russian string) string {
	if lang == locale.Russian && russian != "" {
		return russian
	}
	return english
}

func serviceView(lang locale.Lang, one *catalog.Service) settings.Service {
	v := settings.Service{ID: one.ID, Title: titleOf(lang, one.Title, one.TitleRU), Summary: titleOf(lang, one.Summary, one.SummaryRU), Draft: one.Status == catalog.Draft}
	if lang == locale.Russian && one.SummaryRU == "" {
		v.SummaryLang = locale.English.Code()
	}
	return v
}

// servicesPage is GET /settings/connections.
func (s *Server) servicesPage(d *desk) error {
	all, err := s.connectionsOf(d)
	if err != nil {
		return err
	}
	m, lang := d.messages().Connection, d.lang()
	text := shortText(d.Context().QueryArgs().Peek("q"))
	groups := map[string]*settings.ServiceGroup{}
	n := 0
	for _, id := range s.keeper.Catalog().IDs() {
		one, _ := s.keeper.Catalog().Service(id)
		if !fits(one, m.Category[one.Category], text) {
			continue
		}
		n++
		row := serviceView(lang, one)
		count := 0
		for _, c := range all {
			if c.Service != id {
				continue
			}
			count++
			if state := stateOf(c); row.State == "" || state == "reconnect" || row.State == "connected" {
				row.State = state
			}
		}
		if count > 1 {
			row.Count = lang.Count(count, m.Services)
		}
		g := groups[one.Category]
		if g == nil {
			g = &settings.ServiceGroup{ID: "category-" + one.Category, Title: one.Category}
			if title, ok := m.Category[one.Category]; ok {
				g.Title = title
			}
			groups[one.Category] = g
		}
		g.Services = append(g.Services, row)
	}
	d.frame.Title = d.messages().Connections
	v := settings.Services{Frame: d.frame, Query: text, Found: lang.Count(n, m.Found)}
	for _, g := range groups {
		v.Groups = append(v.Groups, *g)
	}
	slices.SortFunc(v.Groups, func(a, b settings.ServiceGroup) int { return strings.Compare(a.Title, b.Title) })
	return s.sheet(d.Ctx, settings.ServicesPage(v))
}

// fits tells whether every word of a search is in what a reader sees of a
// service, in either language.
func fits(one *catalog.Service, category, text string) bool {
	seen := strings.ToLower(strings.Join([]string{one.ID, one.Title, one.TitleRU, one.Summary, one.SummaryRU, one.Category, category}, " "))
	for _, word := range strings.Fields(strings.ToLower(text)) {
		if !strings.Contains(seen, word) {
			return false
		}
	}
	return true
}

// serviceOf is the service of a path.
func (s *Server) serviceOf(d *desk) (*catalog.Service, error) {
	id, err := segment(d.Ctx, "service")
	if err != nil {
		return nil, err
	}
	one, ok := s.keeper.Catalog().Service(id)
	if !ok {
		return nil, coworker.Missing("service")
	}
	return one, nil
}

// wayOf is the kind of credential that was chosen, or the usual one.
func wayOf(one *catalog.Service, id string) *catalog.Auth {
	at := slices.IndexFunc(one.Auth, func(a catalog.Auth) bool { return a.ID == id })
	return &one.Auth[max(at, 0)]
}

// servicePage is GET /settings/connections/{service}.
func (s *Server) servicePage(d *desk) error {
	one, err := s.serviceOf(d)
	if err != nil {
		return err
	}
	return s.showService(d, one, url.Values{"auth": {string(d.Context().QueryArgs().Peek("way"))}})
}

// showService shows a service with its form as it was typed; what is secret is
// typed anew.
func (s *Server) showService(d *desk, one *catalog.Service, values url.Values) error {
	all, err := s.connectionsOf(d)
	if err != nil {
		return err
	}
	known, err := s.namesOf(d.ctx, d.who)
	if err != nil {
		return err
	}
	d.frame.Title, d.frame.Path = titleOf(d.lang(), one.Title, one.TitleRU), settings.ConnectionsPath+"/"+one.ID
	v := settings.ServiceDetail{Frame: d.frame, Service: serviceView(d.lang(), one), DocsURL: one.DocsURL, Testable: one.Check != nil, Form: d.connectionForm(one, values, known)}
	for _, c := range all {
		if c.Service == one.ID {
			v.Connections = append(v.Connections, s.connectionView(d, one, c, known))
		}
	}
	return s.sheet(d.Ctx, settings.ServicePage(v))
}

func (s *Server) connectionView(d *desk, one *catalog.Service, c connect.Stored, known names) settings.Connection {
	m := d.messages().Connection
	v := settings.Connection{ID: c.ID, Name: c.Name, Whose: m.Everyone, State: stateOf(c), Checked: settings.At(d.lang(), c.CheckedAt)}
	if c.User != "" {
		v.Whose = named(known.user, c.User)
	}
	if len(one.Auth) > 1 {
		way := wayOf(one, c.Auth)
		v.Facts = append(v.Facts, settings.Fact{Name: m.Way, Value: wayTitle(d.lang(), way)})
	}
	for _, value := range c.Values {
		fact := settings.Fact{Name: fieldTitle(d.lang(), one, c.Auth, value.Kind, value.Name), Value: value.Tail}
		switch {
		case value.Kind == "param":
			fact.Value = value.Plain
		case s.keeper.Secret(c.Service, c.Auth, value.Name):
			if fact.Value = "…"; value.Tail != "" {
				fact.Value = filled(m.Ending, value.Tail)
			}
		}
		v.Facts = append(v.Facts, fact)
	}
	if c.BaseURL != "" {
		v.Facts = append(v.Facts, settings.Fact{Name: m.Address, Value: c.BaseURL})
	}
	return v
}

func wayTitle(lang locale.Lang, way *catalog.Auth) string {
	if title := titleOf(lang, way.Title, way.TitleRU); title != "" {
		return title
	}
	return way.ID
}

func fieldTitle(lang locale.Lang, one *catalog.Service, way, kind, name string) string {
	if kind == "param" {
		for _, p := range one.Params {
			if p.Name == name {
				return titleOf(lang, p.Title, p.TitleRU)
			}
		}
		return name
	}
	for _, f := range wayOf(one, way).Fields {
		if f.Name == name {
			return titleOf(lang, f.Title, f.TitleRU)
		}
	}
	return name
}

func (d *desk) connectionForm(one *catalog.Service, values url.Values, known names) settings.ConnectionForm {
	m, lang := d.messages().Connection, d.lang()
	way := wayOf(one, values.Get("auth"))
	f := settings.ConnectionForm{Way: way.ID, Note: way.Note, Test: values.Get("test") == "yes"}
	for i := range one.Auth {
		a := &one.Auth[i]
		href := lang.Path(settings.ConnectionsPath+"/"+one.ID) + "?way=" + url.QueryEscape(a.ID)
		f.Ways = append(f.Ways, settings.Way{ID: a.ID, Title: wayTitle(lang, a), Href: href, Chosen: a.ID == way.ID})
	}
	optional := func(label string, yes bool) string {
		if yes {
			return label + " (" + m.Optional + ")"
		}
		return label
	}
	for _, field := range way.Fields {
		i := settings.Input{ID: "fields." + field.Name, Name: "field." + field.Name, Label: optional(titleOf(lang, field.Title, field.TitleRU), field.Optional), Optional: field.Optional, Max: 8192, Code: true}
		if field.Secret {
			i.Kind, i.Hint = "password", m.Secret
		} else {
			i.Value = values.Get(i.Name)
		}
		f.Fields = append(f.Fields, i)
	}
	for _, p := range one.Params {
		if p.From != "" {
			continue // a part of a field says it
		}
		may := p.Optional || p.Default != ""
		i := settings.Input{ID: "params." + p.Name, Name: "param." + p.Name, Label: optional(titleOf(lang, p.Title, p.TitleRU), may), Optional: true, Max: 300, Code: true}
		if i.Value = values.Get(i.Name); p.Default != "" {
			i.Hint = filled(m.Default, p.Default)
		}
		f.Params = append(f.Params, i)
	}
	name := values.Get("name")
	if _, sent := values["name"]; !sent {
		name = "main"
	}
	f.Name = settings.Input{ID: "name", Name: "name", Label: d.messages().Name, Hint: m.NameHint, Value: name, Max: 40, Code: true}
	f.Address = settings.Input{ID: "base_url", Name: "base_url", Label: optional(m.Address, true), Hint: m.AddressHint, Value: values.Get("base_url"), Optional: true, Max: 300, Code: true}
	f.Users = []settings.Choice{{Label: m.Everyone}}
	for _, u := range known.users {
		f.Users = append(f.Users, settings.Choice{Value: string(u.ID), Label: u.Name, Chosen: string(u.ID) == values.Get("user")})
	}
	return f
}

// connectForm is POST /settings/connections/{service}.
func (s *Server) connectForm(d *desk, values url.Values) error {
	one, err := s.serviceOf(d)
	if err != nil {
		return err
	}
	way := wayOf(one, values.Get("auth"))
	w := connect.Wish{
		User: coworker.UserID(values.Get("user")), Service: one.ID, Name: strings.TrimSpace(values.Get("name")), Auth: way.ID, BaseURL: strings.TrimSpace(values.Get("base_url")), Test: values.Get("test") == "yes",
		Fields: map[string]string{}, Params: map[string]string{},
	}
	taken := []string{"auth", "name", "user", "base_url", "test"}
	for _, f := range way.Fields {
		taken = append(taken, "field."+f.Name)
		w.Fields[f.Name] = strings.TrimSpace(values.Get("field." + f.Name))
	}
	kinds := map[string]string{}
	for _, p := range one.Params {
		taken = append(taken, "param."+p.Name)
		kinds["params."+p.Name] = p.Kind
		w.Params[p.Name] = strings.TrimSpace(values.Get("param." + p.Name))
	}
	if err := only(values, taken); err != nil {
		return err
	}
	_, err = s.keeper.Connect(d.ctx, d.who, d.organization(), w)
	if err == nil {
		return d.onward(settings.ConnectionsPath+"/"+one.ID, "connected")
	}
	if f, ok := coworker.AsFault(err); ok && f.Code == coworker.NotFound {
		err = coworker.InvalidArguments(coworker.Problem{Field: "user_id"})
	}
	if f, ok := coworker.AsFault(err); ok {
		if problems, listed := problemsOf(f); listed {
			for i, p := range problems { // the rule of a param is that of its kind
				if _, said := d.messages().Rules[p.Problem]; !said && kinds[p.Field] != "" {
					problems[i].Problem = "param:" + kinds[p.Field]
				}
			}
		}
	}
	if err := d.faulty(err, func(field string) string { return d.connectionLabel(one, way, field) }); err != nil {
		return err
	}
	return s.showService(d, one, values)
}

func (d *desk) connectionLabel(one *catalog.Service, way *catalog.Auth, field string) string {
	m := d.messages()
	if name, ok := strings.CutPrefix(field, "fields."); ok {
		return fieldTitle(d.lang(), one, way.ID, "field", name)
	}
	if name, ok := strings.CutPrefix(field, "params."); ok {
		return fieldTitle(d.lang(), one, way.ID, "param", name)
	}
	switch field {
	case "base_url":
		return m.Connection.Address
	case "user_id":
		return m.Connection.For
	case "auth":
		return m.Connection.Way
	}
	return m.Name
}

// accountOf is the connection of a path, with its service.
func (s *Server) accountOf(d *desk) (*catalog.Service, connect.Stored, error) {
	one, err := s.serviceOf(d)
	if err != nil {
		return nil, connect.Stored{}, err
	}
	id, err := segment(d.Ctx, "connection")
	if err != nil {
		return nil, connect.Stored{}, err
	}
	all, err := s.connectionsOf(d)
	if err != nil {
		return nil, connect.Stored{}, err
	}
	at := slices.IndexFunc(all, func(c connect.Stored) bool { return c.ID == id && c.Service == one.ID })
	if at < 0 {
		return nil, connect.Stored{}, coworker.Missing("connection")
	}
	return one, all[at], nil
}

// testForm is POST /settings/connections/{service}/{connection_id}/test: the
// harmless call that the service's file names.
func (s *Server) testForm(d *desk, values url.Values) error {
	if err := only(values, nil); err != nil {
		return err
	}
	one, c, err := s.accountOf(d)
	if err != nil {
		return err
	}
	m := d.messages().Connection
	_, err = s.engine.Test(d.ctx, s.keeper, d.who, d.organization(), c.ID)
	if err == nil {
		return d.onward(settings.ConnectionsPath+"/"+one.ID, "worked")
	}
	f, ok := coworker.AsFault(err)
	if !ok {
		return err
	}
	text := m.Refused
	if f.Code != coworker.NotConnected {
		text = filled(m.Failed, string(f.Code))
	}
	if f.Code == coworker.UpstreamError {
		text = m.Unreachable
		if told, answered := f.Details.(connect.UpstreamDetails); answered {
			text = filled(m.Answered, strconv.Itoa(told.Status))
		}
	}
	d.frame.Faults = []settings.Fault{{Text: c.Name + ": " + text}}
	d.Status(fiber.StatusBadGateway)
	return s.showService(d, one, url.Values{})
}

// askRemoveConnection is GET /settings/connections/{service}/{connection_id}/remove.
func (s *Server) askRemoveConnection(d *desk) error {
	one, c, err := s.accountOf(d)
	if err != nil {
		return err
	}
	m := d.messages()
	title := titleOf(d.lang(), one.Title, one.TitleRU)
	d.frame.Title = filled(filled(m.Connection.Ask, c.Name), title)
	path := settings.ConnectionsPath + "/" + one.ID
	return s.sheet(d.Ctx, settings.AskPage(settings.Ask{
		Frame: d.frame, Lead: m.Connection.AskLead, Facts: []settings.Fact{{Name: m.Log.Service, Value: title}, {Name: m.Name, Value: c.Name}},
		Action: path + "/" + c.ID + "/remove", Confirm: m.Connection.Confirm, Back: path,
	}))
}

// removeConnectionForm is POST of the same path.
func (s *Server) removeConnectionForm(d *desk, values url.Values) error {
	if err := only(values, nil); err != nil {
		return err
	}
	one, c, err := s.accountOf(d)
	if err != nil {
		return err
	}
	if err := s.keeper.Remove(d.ctx, d.who, d.organization(), c.ID); err != nil {
		return err
	}
	return d.onward(settings.ConnectionsPath+"/"+one.ID, "removed")
}
