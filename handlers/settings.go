package handlers

import (
	"context"
	"net/url"
	"slices"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
	"innerloop/internal/locale"
	"innerloop/web/settings"
)

// settingsRoutes lists the settings pages, in each language. Without a coworker
// they are unknown.
func (s *Server) settingsRoutes() {
	if s.coworker == nil {
		return
	}
	for _, prefix := range []string{"", "/ru"} {
		page := func(path, section string, show func(*desk) error) { s.app.Get(prefix+path, s.atDesk(section, show)) }
		form := func(path, section string, act func(*desk, url.Values) error) {
			s.app.Post(prefix+path, s.byForm(section, act))
		}
		s.app.Get(prefix+settings.Path, s.settingsHome)
		s.app.Post(prefix+settings.Path, s.signIn)
		form(settings.SignOutPath, "", s.signOut)

		page(settings.UsersPath, settings.UsersPath, s.usersPage)
		form(settings.UsersPath, settings.UsersPath, s.addUserForm)
		page(settings.UsersPath+"/:user/remove", settings.UsersPath, s.askRemoveUser)
		form(settings.UsersPath+"/:user/remove", settings.UsersPath, s.removeUserForm)

		page(settings.KeysPath, settings.KeysPath, s.keysPage)
		form(settings.KeysPath, settings.KeysPath, s.createKeyForm)
		page(settings.KeysPath+"/:key", settings.KeysPath, s.keyPage)
		form(settings.KeysPath+"/:key", settings.KeysPath, s.updateKeyForm)
		page(settings.KeysPath+"/:key/revoke", settings.KeysPath, s.askRevokeKey)
		form(settings.KeysPath+"/:key/revoke", settings.KeysPath, s.revokeKeyForm)

		if s.keeper != nil {
			form(settings.RulesPath, settings.Path, s.saveRulesForm)
			form(settings.NetworksPath, settings.Path, s.admitNetworkForm)
			form(settings.NetworksPath+"/remove", settings.Path, s.forbidNetworkForm)

			service := settings.ConnectionsPath + "/:service"
			page(settings.ConnectionsPath, settings.ConnectionsPath, s.servicesPage)
			page(service, settings.ConnectionsPath, s.servicePage)
			form(service, settings.ConnectionsPath, s.connectForm)
			form(service+"/:connection/test", settings.ConnectionsPath, s.testForm)
			page(service+"/:connection/remove", settings.ConnectionsPath, s.askRemoveConnection)
			form(service+"/:connection/remove", settings.ConnectionsPath, s.removeConnectionForm)
		}

		s.shelfRoutes(prefix)

		page(settings.AuditPath, settings.AuditPath, s.auditPage)
		page(settings.CSVPath, settings.AuditPath, s.auditCSV)

		page(settings.SessionsPath, settings.SessionsPath, s.sessionsPage)
		form(settings.SessionsPath+"/:session/end", settings.SessionsPath, s.endSessionForm)
	}
}

// A desk is one request of somebody who is signed in.
type desk struct {
	*fiber.Ctx
	ctx    context.Context
	who    coworker.Caller
	frame  settings.Frame // of the page that will be shown
	secure bool
}

func (d *desk) lang() locale.Lang                     { return d.frame.Lang }
func (d *desk) messages() *locale.SettingsMessages    { return d.frame.Lang.SettingsMessages() }
func (d *desk) organization() coworker.OrganizationID { return d.who.Organization }

// onward leads to another page once something was done; a browser that
// reloads it repeats nothing.
func (d *desk) onward(path, done string) error {
	path = d.lang().Path(path)
	if done != "" {
		path += "?done=" + done
	}
	return d.Redirect(path, fiber.StatusSeeOther)
}

// atDesk wraps a page that only an admin who is signed in may see. Whoever is
// not is led to the sign-in.
func (s *Server) atDesk(section string, show func(*desk) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := work()
		defer cancel()
		way, ok := s.wayIn(c)
		if !ok {
			return s.insecure(c)
		}
		d, err := s.deskOf(ctx, c, way, section)
		if isSignedOut(err) {
			c.Set(fiber.HeaderCacheControl, settingsCache)
			return c.Redirect(s.lang(c).Path(settings.Path), fiber.StatusSeeOther)
		}
		if err == nil {
			err = show(d)
		}
		return s.settled(c, err)
	}
}

// byForm wraps what an admin does by a form of ours. It holds against a page
// of another site in three ways: a browser tells it in Origin, the cookie is
// SameSite=Strict, and the token of the session is in our forms alone.
func (s *Server) byForm(section string, act func(*desk, url.Values) error) fiber.Handler {
	return s.posted(section, formValues, act)
}

// posted is byForm for a form that is read in some way.
func (s *Server) posted(section string, read func(*fiber.Ctx) (url.Values, error), act func(*desk, url.Values) error) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, cancel := work()
		defer cancel()
		way, ok := s.wayIn(c)
		if !ok {
			return s.insecure(c)
		}
		if !way.ours(c) {
			return s.foreign(c)
		}
		d, err := s.deskOf(ctx, c, way, section)
		if isSignedOut(err) {
			f := settings.Frame{Lang: s.lang(c), Path: settings.Path, Title: s.lang(c).SettingsMessages().SignIn.Title}
			f.Faults = []settings.Fault{{Text: s.lang(c).SettingsMessages().SignIn.Ended}}
			c.Status(fiber.StatusUnauthorized)
			return s.sheet(c, settings.SignInPage(settings.SignIn{Frame: f}))
		}
		if err != nil {
			return s.settled(c, err)
		}
		values, err := read(c)
		if err != nil {
			return s.settled(c, err)
		}
		if token, ok := way.token(c); !ok || len(values["csrf"]) != 1 || !token.MatchesCSRF(values.Get("csrf")) {
			return s.foreign(c)
		}
		delete(values, "csrf")
		return s.settled(c, act(d, values))
	}
}

// deskOf finds the session of a request, as its key is now.
func (s *Server) deskOf(ctx context.Context, c *fiber.Ctx, way passage, section string) (*desk, error) {
	token, ok := way.token(c)
	if !ok {
		return nil, errSignedOut
	}
	_, who, err := s.coworker.Session(ctx, token, s.whereFrom(c))
	if err != nil {
		return nil, err
	}
	o, err := s.coworker.Organization(ctx, who, who.Organization)
	if err != nil {
		return nil, err
	}
	lang, path := locale.FromPath(rawPath(c))
	f := settings.Frame{Lang: lang, Path: path, Section: section, Organization: o.Name, CSRF: token.CSRF(), Connections: s.keeper != nil, Files: s.memory != nil, Skills: s.shelf != nil, Done: doneWords(lang, string(c.Context().QueryArgs().Peek("done")))}
	return &desk{Ctx: c, ctx: ctx, who: who, frame: f, secure: way.secure}, nil
}

// doneWords say what was just done, by the word in the address.
func doneWords(lang locale.Lang, word string) string {
	if said, ok := lang.ShelfMessages().Done[word]; ok {
		return said
	}
	return lang.SettingsMessages().Done[word]
}

var errSignedOut = coworker.NoCaller(coworker.ReasonMissing, "sign in")

func isSignedOut(err error) bool {
	f, ok := coworker.AsFault(err)
	return ok && f.Code == coworker.Unauthenticated
}

// settled turns what went wrong into a page: faults of the contract are for
// programs.
func (s *Server) settled(c *fiber.Ctx, err error) error {
	if err == nil {
		return nil
	}
	r := s.judge(c.Context(), err)
	if r.status == fiber.StatusNotFound {
		f := settings.Frame{Lang: s.lang(c), Path: settings.Path, Title: s.lang(c).SettingsMessages().Missing}
		c.Status(r.status)
		return s.sheet(c, settings.ElsewherePage(f, s.lang(c).SettingsMessages().MissingLine))
	}
	r.contract = nil
	s.refuse(c.Context(), r)
	c.Set(fiber.HeaderCacheControl, settingsCache)
	return nil
}

// settingsCache keeps the pages out of every cache and the browser's memory.
const settingsCache = "private, no-store"

// sheet sends a page of the settings. It is never compressed: it holds the
// token of the session beside words that others may have chosen, and the
// length of a compressed page tells about both.
func (s *Server) sheet(c *fiber.Ctx, page component) error {
	ctx, cancel := work()
	defer cancel()
	body, err := rendered(ctx, page)
	if err != nil {
		return err
	}
	h := &c.Context().Response.Header
	pageHeaders(h)
	h.Set(fiber.HeaderCacheControl, settingsCache)
	h.Set("X-Robots-Tag", "noindex")
	h.SetContentType(pageReading.contentType)
	c.Context().Response.SetBodyRaw(body)
	return nil
}

func (s *Server) insecure(c *fiber.Ctx) error {
	f := settings.Frame{Lang: s.lang(c), Path: settings.Path, Title: s.lang(c).SettingsMessages().SignIn.Title}
	c.Status(fiber.StatusForbidden)
	return s.sheet(c, settings.SignInPage(settings.SignIn{Frame: f, Insecure: true}))
}

func (s *Server) foreign(c *fiber.Ctx) error {
	c.Status(fiber.StatusForbidden)
	m := s.lang(c).SettingsMessages().SignIn
	return s.sheet(c, settings.ElsewherePage(settings.Frame{Lang: s.lang(c), Path: settings.Path, Title: m.NotOurs}, m.NotOursLine))
}

// only refuses a form with fields that its page does not have, or with one
// twice where only one can be.
func only(values url.Values, single []string, several ...string) error {
	for name, given := range values {
		if !slices.Contains(several, name) && (len(given) != 1 || !slices.Contains(single, name)) {
			return errForm
		}
	}
	return nil
}

// faulty finds what is wrong with the fields of a form; whatever else went
// wrong stays an error. label names a field for the reader.
func (d *desk) faulty(err error, label func(field string) string) error {
	f, ok := coworker.AsFault(err)
	problems, listed := problemsOf(f)
	if !ok || f.Code != coworker.InvalidArg || !listed {
		return err
	}
	d.blame(problems, label)
	return nil
}

func problemsOf(f *coworker.Fault) ([]coworker.Problem, bool) {
	if f == nil {
		return nil, false
	}
	problems, ok := f.Details.([]coworker.Problem)
	return problems, ok
}

// blame puts problems beside their fields, in the reader's language.
func (d *desk) blame(problems []coworker.Problem, label func(field string) string) {
	rules := d.messages().Rules
	for _, p := range problems {
		text, ok := rules[p.Problem]
		if !ok || p.Problem == "" {
			text, ok = rules[p.Field]
		}
		if !ok {
			text = rules[""]
		}
		d.frame.Faults = append(d.frame.Faults, settings.Fault{Field: p.Field, Label: label(p.Field), Text: text})
	}
	d.Status(fiber.StatusBadRequest)
}
