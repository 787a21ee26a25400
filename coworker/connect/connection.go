package connect

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// A Connection is a credential of a service with all that belongs to it, as it
// comes out of the vault.
type Connection struct {
	ID      string
	Name    string // the organisation's word for it
	Service string
	Auth    string            // which of the service's ways
	Fields  map[string]string // in the clear
	Params  map[string]string
	BaseURL string // instead of every module's own host; "" for the service's
	Test    bool   // the service's own test addresses
	// Networks are those a BaseURL may lie in although they are not public.
	Networks []netip.Prefix
	Version  int64 // grows with every change
	// Doubted says that the service refused this version a while ago.
	Doubted bool
}

// A Book keeps connections.
type Book interface {
	// Connection returns the caller's connection of a service by its name; the
	// only one, or the oldest, when name is "". It is read anew at every call. A
	// *coworker.Fault NotConnected when there is none, NotFound for another name.
	Connection(ctx context.Context, who coworker.Caller, service, name string) (Connection, error)
	// Broken remembers that the service no longer takes a credential of this
	// version.
	Broken(ctx context.Context, id string, version int64) error
	// Works takes Broken back: the service took a credential of this version.
	Works(ctx context.Context, id string, version int64) error
	// Renew keeps a field that a token exchange replaced, unless the connection
	// is no longer of this version, and returns the new one.
	Renew(ctx context.Context, id string, version int64, field, value string) (Connection, error)
}

// A prepared connection has every name that templates may hold.
type prepared struct {
	Connection
	service *catalog.Service
	auth    *catalog.Auth
	values  map[string]string
	secrets []string
	own     string // the address that is the organisation's word, if one is
}

// prepare fills in defaults and the parts that patterns name. What does not
// fit the file any more is told as a connection that must be made again.
func prepare(service *catalog.Service, c Connection) (*prepared, error) {
	p := &prepared{Connection: c, service: service, values: map[string]string{}}
	at := slices.IndexFunc(service.Auth, func(a catalog.Auth) bool { return a.ID == c.Auth })
	if at < 0 && c.Auth == "" && len(service.Auth) > 0 {
		at = 0
	}
	if at < 0 {
		return nil, unusable("its kind of credential is no longer offered")
	}
	p.auth = &service.Auth[at]
	for _, f := range p.auth.Fields {
		value, ok := c.Fields[f.Name]
		if !ok || value == "" {
			if f.Optional {
				p.values[f.Name] = ""
				continue
			}
			return nil, unusable("the field " + f.Name + " is missing")
		}
		p.values[f.Name] = value
		if f.Secret {
			p.secrets = append(p.secrets, value)
		}
		if f.Pattern == "" {
			continue
		}
		whole, err := regexp.Compile(`^(?:` + f.Pattern + `)$`)
		if err != nil {
			return nil, fmt.Errorf("pattern of %s: %w", f.Name, err)
		}
		match := whole.FindStringSubmatch(value)
		if match == nil {
			return nil, unusable("the field " + f.Name + " does not have its form")
		}
		for i, name := range whole.SubexpNames() {
			if name == "" {
				continue
			}
			p.values[name] = match[i]
			if f.Secret && isPrivate(service, name) {
				p.secrets = append(p.secrets, match[i])
			}
		}
	}
	for i := range service.Params {
		param := &service.Params[i]
		value := c.Params[param.Name]
		if value == "" {
			value = p.values[param.Name] // a part of a field
		}
		if value == "" {
			value = param.Default
		}
		if value == "" {
			if param.Optional || c.BaseURL != "" {
				p.values[param.Name] = ""
				continue
			}
			return nil, unusable("the value " + param.Name + " is missing")
		}
		if c.BaseURL == "" || param.Kind != "url" {
			if err := param.Accepts(value); err != nil {
				return nil, unusable(err.Error())
			}
		}
		p.values[param.Name] = value
		if param.Net == "own" && p.own == "" {
			p.own = value
			if param.Kind == "host" {
				p.own = "https://" + value
			}
		}
	}
	if c.BaseURL != "" {
		p.own = c.BaseURL
	}
	return p, nil
}

// isPrivate tells parts of a secret field that are secrets too: all but those
// that are a param, such as the host in a webhook's address.
func isPrivate(service *catalog.Service, name string) bool {
	return !slices.ContainsFunc(service.Params, func(p catalog.Param) bool { return p.Name == name })
}

func unusable(why string) error {
	return &coworker.Fault{Code: coworker.NotConnected, Hint: "make the connection again: " + why, Details: reason{"revoked"}}
}

type reason struct {
	Reason string `json:"reason"`
}

// base is the address that a module's paths stand on.
func (p *prepared) base(m *catalog.Module) (*url.URL, error) {
	template := m.BaseURL
	if p.Test && m.TestURL != "" {
		template = m.TestURL
	}
	return p.address(template)
}

// address fills a template that is an address, under the rules of the
// connection's own base address if it has one.
func (p *prepared) address(template string) (*url.URL, error) {
	escaped := make(map[string]string, len(p.values))
	for name, value := range p.values {
		if strings.HasPrefix(template, "{"+name+"}") {
			escaped[name] = value // a whole address
		} else {
			escaped[name] = url.PathEscape(value)
		}
	}
	if p.BaseURL != "" {
		// Only the path of the template remains.
		rest := template
		if after, found := strings.CutPrefix(template, "https://"); found {
			_, path, slash := strings.Cut(after, "/")
			rest = ""
			if slash {
				rest = "/" + path
			}
		} else if _, path, slash := strings.Cut(template, "/"); slash {
			rest = "/" + path
		} else {
			rest = ""
		}
		template = strings.TrimSuffix(p.BaseURL, "/") + rest
	}
	text, missing := expand(template, escaped)
	if missing != "" {
		return nil, unusable("the value " + missing + " is missing")
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, unusable("its address is none")
	}
	if u.Scheme != "https" && (p.BaseURL == "" || u.Scheme != "http") {
		return nil, unusable("its address is not https")
	}
	return u, nil
}
