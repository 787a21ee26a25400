package simulator

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"mime"
	"net/url"
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

// inQuery wants one value of a parameter of the address, and the text nowhere
// else.
func inQuery(name, value string) Auth {
	return func(r *Request) bool {
		return slices.Equal(r.URL.Query()[name], []string{value}) && r.Header.Get("Authorization") == "" &&
			!strings.Contains(string(r.Raw), value)
	}
}

// inForm wants one value of a form's field, and the text nowhere else.
func inForm(name, value string) Auth {
	return func(r *Request) bool {
		if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != formType {
			return false
		}
		form, err := url.ParseQuery(string(r.Raw))
		return err == nil && slices.Equal(form[name], []string{value}) && r.Header.Get("Authorization") == "" &&
			!strings.Contains(r.URL.RawQuery, value)
	}
}

// inObject wants a value of a JSON body under a dotted name, and the text
// nowhere else.
func inObject(name, value string) Auth {
	return func(r *Request) bool {
		in := &Request{Body: object(r.Raw)}
		return in.text(name) == value && strings.Count(string(r.Raw), value) == 1 && r.Header.Get("Authorization") == "" &&
			!strings.Contains(r.URL.RawQuery, value)
	}
}

// sortedSum wants a signature of the body's root values, ordered by their
// names, among which the password stands and neither objects, lists nor the
// signature itself. The password is sent nowhere.
func sortedSum(name, password string, keys map[string]string) Auth {
	return func(r *Request) bool {
		body := object(r.Raw)
		values := map[string]string{"Password": password}
		for key, value := range body {
			switch v := value.(type) {
			case string:
				values[key] = v
			case json.Number:
				values[key] = v.String()
			case bool:
				values[key] = map[bool]string{true: "true", false: "false"}[v]
			}
		}
		given := values[name]
		delete(values, name)
		for key, value := range keys {
			if values[key] != value {
				return false
			}
		}
		var text strings.Builder
		for _, key := range slices.Sorted(maps.Keys(values)) {
			text.WriteString(values[key])
		}
		sum := sha256.Sum256([]byte(text.String()))
		return given == hex.EncodeToString(sum[:]) && r.URL.RawQuery == "" && r.Header.Get("Authorization") == "" &&
			!bytes.Contains(r.Raw, []byte(password))
	}
}

// object reads a body that is one JSON object.
func object(raw []byte) map[string]any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	body := map[string]any{}
	if err := decoder.Decode(&body); err != nil {
		return nil
	}
	return body
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
