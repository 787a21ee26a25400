package catalog

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	hostForm  = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$`)
	labelForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	portForm  = regexp.MustCompile(`^[1-9][0-9]{0,4}$`)
	aName     = regexp.MustCompile(`^\{([a-zA-Z_][a-zA-Z0-9_]*)\}$`)

	// Variables that would change how a program in the sandbox runs.
	keptEnv = regexp.MustCompile(`^(LD|DYLD|PYTHON|INNERLOOP|SSL|HTTP|HTTPS|ALL|NO|GIT|XDG|LC)_`)
)

func (c *checker) checkAuth() {
	seen, envs := map[string]bool{}, map[string]string{}
	for i := range c.Auth {
		auth := &c.Auth[i]
		field := fmt.Sprintf("auth.%d", i)
		if seen[auth.ID] {
			c.add(field+".id", "is there twice; give alternatives of one kind an id each")
		}
		seen[auth.ID] = true
		here := map[string]bool{}
		for j := range auth.Fields {
			one := &auth.Fields[j]
			at := fmt.Sprintf("%s.fields.%d", field, j)
			if here[one.Name] {
				c.add(at+".name", "is there twice")
			}
			here[one.Name] = true
			c.names[one.Name] = "field"
			c.claimEnv(at+".env", one.Env, one.Name, envs)
			for _, group := range c.groups(at+".pattern", one.Pattern) {
				c.names[group] = "field"
			}
		}
	}
	for i := range c.Params {
		c.names[c.Params[i].Name] = c.Params[i].Kind
		c.claimEnv(fmt.Sprintf("params.%d.env", i), c.Params[i].Env, c.Params[i].Name, envs)
	}
	for i := range c.Auth {
		c.checkKind(fmt.Sprintf("auth.%d", i), &c.Auth[i])
	}
}

// claimEnv holds a variable to one name. Alternatives may share a field.
func (c *checker) claimEnv(field, env, name string, envs map[string]string) {
	if env == "" {
		return
	}
	if keptEnv.MatchString(env) {
		c.add(field, "is a variable that steers programs")
	}
	if owner, taken := envs[env]; taken && owner != name {
		c.add(field, "is already the variable of %s", owner)
	}
	for other, owner := range envs {
		if owner == name && other != env {
			c.add(field, "%s already has the variable %s", name, other)
		}
	}
	envs[env] = name
}

// groups are the named groups of a pattern, which becomes one of whole values.
func (c *checker) groups(field, pattern string) []string {
	if pattern == "" {
		return nil
	}
	compiled, err := regexp.Compile(`^(?:` + pattern + `)$`)
	if err != nil {
		c.add(field, "is no regular expression of RE2")
		return nil
	}
	return slices.DeleteFunc(slices.Clone(compiled.SubexpNames()), func(name string) bool { return name == "" })
}

// checkKind holds a credential to what its kind needs and may have.
func (c *checker) checkKind(field string, auth *Auth) {
	exchanges := auth.Kind == OAuth2CC || auth.Kind == OAuth2Refresh || auth.Kind == OAuth2Code
	if exchanges != (auth.Token != nil) {
		c.add(field+".token", "goes with oauth2_cc, oauth2_refresh and oauth2_code, and those with it")
	}
	if (auth.Kind == AWSSigV4) != (auth.AWS != nil) {
		c.add(field+".aws", "goes with aws_sigv4, and that with it")
	}
	if (auth.Kind == Signed) != (auth.Sign != nil) {
		c.add(field+".sign", "goes with signed, and that with it")
	}
	switch auth.Kind {
	case HeaderAuth, QueryAuth, BodyAuth:
		if auth.Name == "" || auth.Template == "" {
			c.add(field, "%s needs name and template", auth.Kind)
		}
	case Bearer:
		if auth.Template == "" {
			c.add(field+".template", "bearer needs it")
		}
	case Basic:
		if !strings.Contains(auth.Template, ":") {
			c.add(field+".template", "basic needs it, as user:password")
		}
	case PathAuth:
		if !slices.ContainsFunc(c.Modules, func(m Module) bool { return mentions(m.BaseURL, auth) }) {
			c.add(field, "no base_url holds a field of it")
		}
	}
	own := []string{}
	if exchanges {
		own = append(own, "access_token")
		c.checkToken(field+".token", auth.Token)
	}
	c.checkTemplate(field+".template", auth.Template, own...)
	for i, also := range auth.Also {
		at := fmt.Sprintf("%s.also.%d", field, i)
		c.checkTemplate(at+".template", also.Template, append([]string{"base64"}, own...)...)
		c.checkTemplate(at+".base64", also.Base64)
		for _, id := range also.Modules {
			if _, ok := c.Module(id); !ok {
				c.add(at+".modules", "%s is no module of this file", id)
			}
		}
	}
	if auth.AWS != nil {
		for name, template := range map[string]string{
			"service": auth.AWS.Service, "region": auth.AWS.Region, "access_key": auth.AWS.AccessKey,
			"secret_key": auth.AWS.SecretKey, "session_token": auth.AWS.SessionToken,
		} {
			c.checkTemplate(field+".aws."+name, template)
		}
	}
	if auth.Sign != nil {
		c.checkTemplates(field+".sign.add", auth.Sign.Add)
		c.checkTemplate(field+".sign.template", auth.Sign.Template, "body")
		c.checkTemplate(field+".sign.key", auth.Sign.Key)
		if (auth.Sign.Over == "template") != (auth.Sign.Template != "") {
			c.add(field+".sign.template", "goes with over: template, and that with it")
		}
	}
}

func (c *checker) checkToken(field string, token *Token) {
	if token == nil {
		return
	}
	for name, address := range map[string]string{"url": token.URL, "test_url": token.TestURL, "authorize_url": token.AuthorizeURL} {
		if address != "" { // unlike a module's, it may end in /
			c.checkBase(field+"."+name, strings.TrimSuffix(address, "/"))
		}
	}
	c.checkTemplates(field+".fields", token.Fields)
	for name, template := range token.Headers {
		c.checkTemplate(field+".headers."+name, template, "uuid")
	}
	c.checkTemplate(field+".basic", token.Basic)
	c.checkJSONPath(field+".access", token.Access)
	c.checkJSONPath(field+".expires", token.Expires)
}

func mentions(base string, auth *Auth) bool {
	for _, part := range placeholder.FindAllStringSubmatch(base, -1) {
		for i := range auth.Fields {
			if auth.Fields[i].Name == part[1] || strings.Contains(auth.Fields[i].Pattern, "(?P<"+part[1]+">") {
				return true
			}
		}
	}
	return false
}

func (c *checker) checkTemplates(field string, templates map[string]string) {
	for name, template := range templates {
		c.checkTemplate(field+"."+name, template)
	}
}

// checkTemplate refuses names that nothing gives a value.
func (c *checker) checkTemplate(field, template string, more ...string) {
	for _, part := range placeholder.FindAllStringSubmatch(template, -1) {
		if c.names[part[1]] == "" && !slices.Contains(more, part[1]) {
			c.add(field, "{%s} is no field and no param", part[1])
		}
	}
	if rest := placeholder.ReplaceAllString(template, ""); strings.ContainsAny(rest, "{}\r\n") {
		c.add(field, "has a brace that names nothing, or a line break")
	}
}

// checkBase holds a base address to https, a host that only params can change,
// and a plain path. A param of kind url is a whole address in itself.
func (c *checker) checkBase(field, base string) {
	c.checkTemplate(field, base)
	rest, found := strings.CutPrefix(base, "https://")
	if !found {
		name, path, _ := strings.Cut(base, "/")
		if part := aName.FindStringSubmatch(name); part == nil || c.names[part[1]] != "url" {
			c.add(field, "begins with https:// or with a param of kind url")
		} else if path != "" {
			c.checkBasePath(field, "/"+path)
		}
		return
	}
	host, path, slash := strings.Cut(rest, "/")
	if slash {
		c.checkBasePath(field, "/"+path)
	}
	host, port, hasPort := strings.Cut(host, ":")
	if hasPort && !portForm.MatchString(port) {
		c.add(field, "has a port that is none")
	}
	if part := aName.FindStringSubmatch(host); part != nil {
		if c.names[part[1]] != "host" {
			c.add(field, "{%s} is a whole host and no param of kind host", part[1])
		}
		return
	}
	labels := strings.Split(host, ".")
	for i, label := range labels {
		for _, part := range placeholder.FindAllStringSubmatch(label, -1) {
			if c.names[part[1]] != "label" {
				c.add(field, "{%s} is part of a host and no param of kind label", part[1])
			}
		}
		// The last two labels decide whose host it is.
		if placeholder.MatchString(label) && i >= len(labels)-2 {
			c.add(field, "a param may not stand in the last two labels of a host")
		}
	}
	if err := checkHost(placeholder.ReplaceAllString(host, "x")); err != nil {
		c.add(field, "%v", err)
	}
}

func (c *checker) checkBasePath(field, path string) {
	if strings.HasSuffix(path, "/") {
		c.add(field, "does not end in /")
	}
	if err := CheckPath(placeholder.ReplaceAllString(path, "x")); err != nil {
		c.add(field, "%v", err)
	}
}

func checkHost(host string) error {
	if len(host) > 253 || !hostForm.MatchString(host) {
		return fmt.Errorf("%q is no lower-case host name", host)
	}
	return nil
}

func (c *checker) checkParams() {
	seen := map[string]bool{}
	for i, param := range c.Params {
		field := fmt.Sprintf("params.%d", i)
		if seen[param.Name] {
			c.add(field+".name", "is there twice")
		}
		seen[param.Name] = true
		for j := range c.Auth {
			if slices.ContainsFunc(c.Auth[j].Fields, func(f Field) bool { return f.Name == param.Name }) {
				c.add(field+".name", "is also a field")
			}
		}
		c.groups(field+".pattern", param.Pattern)
		if param.Net != "" && param.Kind != "host" && param.Kind != "url" {
			c.add(field+".net", "is for kind host and url")
		}
		if param.Suffix != "" && param.Kind != "host" && param.Kind != "url" {
			c.add(field+".suffix", "is for kind host and url")
		}
		if param.Default != "" {
			if err := param.Accepts(param.Default); err != nil {
				c.add(field+".default", "%v", err)
			}
		}
		if param.From != "" && !slices.ContainsFunc(c.Auth, func(a Auth) bool {
			return slices.ContainsFunc(a.Fields, func(f Field) bool {
				return f.Name == param.From && strings.Contains(f.Pattern, "(?P<"+param.Name+">")
			})
		}) {
			c.add(field+".from", "the pattern of %s has no group of this name", param.From)
		}
	}
}

// Accepts tells whether a value fits a param's kind, suffix and pattern. It
// looks at the spelling only: whether an address may be called is decided
// when the name is resolved.
func (p *Param) Accepts(value string) error {
	switch p.Kind {
	case "label":
		if !labelForm.MatchString(value) {
			return fmt.Errorf("%s is one lower-case label of a host name", p.Name)
		}
	case "host":
		if err := checkHost(value); err != nil {
			return fmt.Errorf("%s is a lower-case host name without port", p.Name)
		}
		if !strings.HasSuffix(value, p.Suffix) {
			return fmt.Errorf("%s ends in %s", p.Name, p.Suffix)
		}
	case "url":
		address, err := url.Parse(value)
		if err != nil || address.Scheme != "https" || address.Host == "" || address.User != nil ||
			address.RawQuery != "" || address.Fragment != "" || strings.HasSuffix(value, "/") ||
			address.Path != "" && CheckPath(address.EscapedPath()) != nil {
			return fmt.Errorf("%s is an https address without user, query, fragment and final slash", p.Name)
		}
		if !strings.HasSuffix(address.Hostname(), p.Suffix) {
			return fmt.Errorf("the host of %s ends in %s", p.Name, p.Suffix)
		}
	case "segment":
		if value == "" || strings.Contains(value, "/") || CheckPath("/"+value) != nil {
			return fmt.Errorf("%s is one segment of a path", p.Name)
		}
	case "text":
		if value == "" || len(value) > 300 || strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("%s is one line of at most 300 bytes", p.Name)
		}
	}
	if p.Pattern == "" {
		return nil
	}
	if whole, err := regexp.Compile(`^(?:` + p.Pattern + `)$`); err != nil || !whole.MatchString(value) {
		return fmt.Errorf("%s does not match %s", p.Name, p.Pattern)
	}
	return nil
}
