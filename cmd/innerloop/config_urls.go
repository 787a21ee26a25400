package main

import (
	"net/url"
	"strings"

	"innerloop/internal/egress"
)

// hidden stands where a secret was.
const hidden = "(hidden)"

// database reads the address of a store. Only the main one falls back to
// DATABASE_URL, the name that hosting platforms use.
func (s *settings) database(name, fallback, help string) string {
	value := s.text(name, fallback, help)
	in := &s.inForce[len(s.inForce)-1]
	if common := s.env["DATABASE_URL"]; name == "database-url" && in.Origin == "default" && common != "" {
		value, in.Value, in.Origin, in.Variable = common, common, "env", "DATABASE_URL"
	}
	if value != "" && !knownDatabase(value) {
		s.fail("%s must be sqlite:PATH or postgres://…", in.source())
	}
	in.Value = withoutPassword(value)
	return value
}

func knownDatabase(value string) bool {
	if path, ok := strings.CutPrefix(value, "sqlite:"); ok {
		return path != ""
	}
	return isPostgres(value)
}

func isPostgres(value string) bool {
	return strings.HasPrefix(value, "postgres://") || strings.HasPrefix(value, "postgresql://")
}

// withoutPassword hides what is secret in a database address, also in forms
// that net/url does not read, such as several hosts.
func withoutPassword(address string) string {
	if !isPostgres(address) {
		return address
	}
	scheme, rest, _ := strings.Cut(address, "://")
	rest, query, asked := strings.Cut(rest, "?")
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		user, _, secret := strings.Cut(rest[:at], ":")
		if secret {
			user += ":" + hidden
		}
		rest = user + rest[at:]
	}
	if !asked {
		return scheme + "://" + rest
	}
	parts := strings.Split(query, "&")
	for i, part := range parts {
		if key, _, _ := strings.Cut(part, "="); strings.Contains(strings.ToLower(key), "password") {
			parts[i] = key + "=" + hidden
		}
	}
	return scheme + "://" + rest + "?" + strings.Join(parts, "&")
}

func (s *settings) origin(name, fallback, help string) string {
	value := s.text(name, fallback, help)
	in := &s.inForce[len(s.inForce)-1]
	if in.Origin == "default" {
		in.Value = ""
		return value
	}
	origin, ok := readOrigin(value)
	if !ok {
		s.fail("%s must be an origin such as https://example.org, without a path", in.source())
		in.Value = ""
		return ""
	}
	in.Value = origin
	return origin
}

func (s *settings) origins(name, fallback, help string) []string {
	value := s.text(name, fallback, help)
	in := &s.inForce[len(s.inForce)-1]
	var list []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		origin, ok := readOrigin(part)
		if !ok {
			s.fail("%s must be origins such as https://example.org, separated by commas", in.source())
			in.Value = ""
			return nil
		}
		list = append(list, origin)
	}
	in.Value = strings.Join(list, ",")
	return list
}

// readOrigin accepts scheme, host and port, with at most a slash behind.
func readOrigin(value string) (string, bool) {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.ForceQuery || strings.Contains(value, "#") {
		return "", false
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), true
}

// hub reads the address of a WebSub hub. One on this machine serves a journal
// that is on this machine alone.
func (s *settings) hub(name, help, public string) string {
	return s.check(name, "", help, "an https address without a user name; http to this machine only where the public URL is unset or loopback", func(value string) bool {
		return value == "" || egress.Lawful(value, loopbackOrigin(public))
	})
}
