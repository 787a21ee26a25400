package simulator

import (
	"slices"
	"strings"
)

// Auth tells whether a request proves who calls. It takes a credential that
// stands in the path out of Place.
type Auth func(*Request) bool

// inHeader wants one value of a header and no second.
func inHeader(name, value string) Auth {
	return func(r *Request) bool { return slices.Equal(r.Header.Values(name), []string{value}) }
}

// bearer wants the header of RFC 6750.
func bearer(token string) Auth { return inHeader("Authorization", "Bearer "+token) }

// basic wants the header of RFC 7617.
func basic(user, password string) Auth {
	return func(r *Request) bool {
		u, p, ok := r.BasicAuth()
		return ok && u == user && p == password
	}
}

// inPath wants a text within the path: before stands ahead of it.
func inPath(before, credential string) Auth {
	return func(r *Request) bool {
		rest, ok := strings.CutPrefix(r.Place, before+credential+"/")
		if ok {
			host, _, _ := strings.Cut(before, "/")
			r.Place = host + "/" + rest
		}
		return ok
	}
}

// all wants every one.
func all(kinds ...Auth) Auth {
	return func(r *Request) bool {
		return !slices.ContainsFunc(kinds, func(a Auth) bool { return !a(r) })
	}
}

// on wants a kind on one host alone.
func on(host string, kind Auth) Auth {
	return func(r *Request) bool { return !strings.HasPrefix(r.Place, host+"/") || kind(r) }
}
