package connect

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"innerloop/coworker"
)

// A Passage is what code of a caller may use of a service without the engine:
// its credential, and the addresses that go with it.
type Passage struct {
	Env     []string // NAME=value
	Secrets []string // the values among them that nobody may see
	Roads   []Road
}

// A Road is an address that code may call. Own and Networks are as in
// Options.Clients.
type Road struct {
	Scheme, Host, Port string
	Own                string
	Networks           []netip.Prefix
}

// Passage opens a service for code that runs for a caller. It refuses what a
// call would be refused for: an unknown service, one that is not on the key's
// list, one without a credential. The passage is empty, and the engine the only
// way, for a service that everybody shares, for a key that may not do
// everything there, and where the organisation says so.
func (e *Engine) Passage(ctx context.Context, who coworker.Caller, id string, brokerOnly bool) (Passage, error) {
	var way Passage
	service, ok := e.catalog.Service(id)
	if !ok {
		x := execution{Engine: e}
		return way, x.unknown(id)
	}
	if err := who.MayExecute(id, coworker.ClassRead); err != nil {
		return way, err
	}
	connection, err := e.book.Connection(ctx, who, id, "")
	if err != nil {
		return way, err
	}
	if brokerOnly || service.BrokerOnly || who.MayExecute(id, coworker.ClassIrreversible) != nil {
		return way, nil
	}
	p, err := prepare(service, connection)
	if err != nil {
		return way, err
	}
	way.Secrets = p.secrets
	set := func(name, value string) {
		there := slices.ContainsFunc(way.Env, func(line string) bool { return strings.HasPrefix(line, name+"=") })
		if name != "" && value != "" && !there && !strings.ContainsRune(value, 0) {
			way.Env = append(way.Env, name+"="+value)
		}
	}
	for _, f := range p.auth.Fields {
		set(f.Env, p.values[f.Name])
	}
	for _, param := range service.Params {
		set(param.Env, p.values[param.Name])
	}
	if p.BaseURL != "" {
		set(strings.ToUpper(id)+"_BASE_URL", p.BaseURL)
	}
	for i := range service.Modules {
		if u, err := p.base(&service.Modules[i]); err == nil {
			way.open(p, u)
		}
	}
	if p.BaseURL == "" {
		for _, host := range service.Hosts {
			way.open(p, &url.URL{Scheme: "https", Host: host})
		}
	}
	return way, nil
}

func (way *Passage) open(p *prepared, u *url.URL) {
	r := Road{Scheme: u.Scheme, Host: strings.ToLower(u.Hostname()), Port: u.Port(), Own: p.own, Networks: p.Networks}
	if r.Port == "" {
		r.Port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if !slices.ContainsFunc(way.Roads, func(other Road) bool { return other.Name() == r.Name() }) {
		way.Roads = append(way.Roads, r)
	}
}

// Name spells a road as scheme, host and port.
func (r Road) Name() string { return r.Scheme + "://" + net.JoinHostPort(r.Host, r.Port) }

// Redactor masks secrets in text by value, also in the spellings they take in
// addresses and headers. It is a courtesy to the caller and no boundary: code
// can spell a secret in ways of its own.
func Redactor(secrets []string) func(text string) string { return newRedactor(secrets...).text }
