package client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// DefaultAPI is where a service on this machine listens.
const DefaultAPI = "http://127.0.0.1:8080"

// Options say which local agent this is. All but API and Transport are
// required.
type Options struct {
	StateHome string // profiles are kept in StateHome/innerloop/agents
	Profile   string // protocol 1, local profile name
	// API is the origin of the service. Empty means the one that the profile
	// used last, or DefaultAPI.
	API       string
	UserAgent string
	Now       func() time.Time
	Random    io.Reader // cryptographic
	Transport http.RoundTripper
	// Rules check entries before anything is sent. Nil leaves that to the
	// server.
	Rules Rules
}

// An Agent is one profile. Its methods may be called from several processes at
// once; all but one of them then fail without having done anything.
type Agent struct {
	profile   string
	folder    string
	api       string
	userAgent string
	now       func() time.Time
	random    io.Reader
	http      *http.Client
	rules     Rules
	crash     func(step string) // tests only
}

var profilePattern = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$`)

var errProfile = errors.New("a profile name has 1 to 64 lower-case letters, digits, dots, dashes or underscores, and begins and ends with a letter or digit")

// Open checks the options. It reads and creates nothing.
func Open(o Options) (*Agent, error) {
	if !profilePattern.MatchString(o.Profile) {
		return nil, errProfile
	}
	api := ""
	if o.API != "" {
		var err error
		if api, err = readAPI(o.API); err != nil {
			return nil, err
		}
	}
	calls := Pinned(requestLimit)
	if o.Transport != nil {
		calls.Transport = o.Transport
	}
	return &Agent{
		profile: o.Profile, folder: filepath.Join(o.StateHome, "innerloop", "agents", o.Profile),
		api: api, userAgent: o.UserAgent, now: o.Now, random: o.Random, rules: o.Rules, http: calls,
	}, nil
}

// Pinned is an HTTP client that talks to the address that was named and to no
// other: no proxy from the environment, no redirect.
func Pinned(limit time.Duration) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: requestLimit}).DialContext,
			TLSHandshakeTimeout: requestLimit,
			DisableKeepAlives:   true,
			ForceAttemptHTTP2:   true,
		},
		Timeout:       limit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Endpoint accepts an origin, with path behind it or not, and returns both.
func Endpoint(address, path string) (string, error) {
	origin, err := readAPI(strings.TrimSuffix(strings.TrimSuffix(address, "/"), path))
	return origin + path, err
}

// StateHome returns the folder for state files: $XDG_STATE_HOME when it is an
// absolute path, else ~/.local/state (XDG Base Directory Specification).
func StateHome(env func(string) string) (string, error) {
	if named := env("XDG_STATE_HOME"); filepath.IsAbs(named) {
		return named, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", errors.New("there is no home folder for the agent's files; set XDG_STATE_HOME to an absolute path")
	}
	return filepath.Join(home, ".local", "state"), nil
}

// Profiles lists the profiles on this machine, for shell completion.
func Profiles(env func(string) string) []string {
	home, err := StateHome(env)
	if err != nil {
		return nil
	}
	folders, err := os.ReadDir(filepath.Join(home, "innerloop", "agents"))
	if err != nil {
		return nil
	}
	var names []string
	for _, f := range folders {
		if f.IsDir() && profilePattern.MatchString(f.Name()) {
			names = append(names, f.Name())
		}
	}
	return names
}

// readAPI accepts an origin: https anywhere, http on this machine only.
func readAPI(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("the API address must be an origin such as https://example.org")
	}
	switch {
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
		return u.Scheme + "://" + u.Host, nil
	case u.Scheme == "http":
		return "", errors.New("the API address must be https; plain http is for this machine alone")
	}
	return "", errors.New("the API address must begin with https://")
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// uuid returns a random UUIDv4 (RFC 9562).
func (a *Agent) uuid() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(a.random, b[:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]), nil
}
