package main

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"innerloop/internal/limit"
)

// Config is what is in force. It comes of the command line and the environment
// and of nothing else.
type Config struct {
	Listen        string
	DatabaseURL   string
	DatabaseFrom  string // the flag, variable or "default" it came from
	DirectURL     string
	DataDir       string
	PublicURL     string // an origin without a trailing slash, or empty
	APIURL        string
	GatewayURL    string
	MasterKey     string // base64 of 32 bytes, or empty
	MasterKeyFile string
	// Earlier master keys, or the file that holds them.
	PreviousMasterKey, PreviousMasterKeyFile string
	ServerName                               string
	AllowedOrigins                           []string
	SecurityContact                          string          // a URI, or empty
	Training                                 bool            // crawlers that train models may come
	HubURL                                   string          // of a WebSub hub, or empty
	ReportWebhook                            string          // told of new reports, or empty
	Sandbox                                  string          // auto, native, bwrap, runsc or off
	SandboxPackages                          string          // a folder of Python packages, or empty
	SandboxSessions, SandboxSessionsPerUser  int             // that may live at a time
	Limits                                   *limit.Settings // nil: off
	TrustedProxies                           limit.Proxies
	Log                                      string
	LogLevel                                 slog.Level

	InForce  []Setting
	Warnings []string // about variables that nothing reads
}

// A Setting is one value in force, fit to be shown.
type Setting struct {
	Name     string `json:"name"`
	Variable string `json:"variable"`
	Value    string `json:"value"`
	Origin   string `json:"origin"` // "default", "env" or "flag"
	Help     string `json:"-"`
}

// settings reads one setting a line. It does so twice: once with flags to
// declare, and once with flags and environment to read.
type settings struct {
	declare *pflag.FlagSet
	flags   *pflag.FlagSet
	env     map[string]string
	inForce []Setting
	errs    []error
}

// all is the table of settings: name (from which the variable follows),
// default, help.
func (s *settings) all() Config {
	var c Config
	c.Listen = s.listen("listen", "127.0.0.1:8080", "`ADDRESS` to serve on; port 0 takes a free one")
	c.DataDir = s.text("data-dir", "data", "`FOLDER` for the embedded database and the master key")
	c.DatabaseURL = s.database("database-url", "sqlite:"+filepath.Join(c.DataDir, "innerloop.db"), "`URL` of the database, sqlite:PATH or postgres://…; without it DATABASE_URL counts, then innerloop.db in the data folder")
	c.DatabaseFrom = s.inForce[max(len(s.inForce)-1, 0)].source()
	c.DirectURL = or(s.database("direct-database-url", "", "`URL` for migrations when the main connection goes through a pooler"), c.DatabaseURL)
	c.PublicURL = s.origin("public-url", "", "`ORIGIN` used in every link; empty means the listener")
	c.APIURL = s.origin("api-url", c.PublicURL, "`ORIGIN` of the REST API where it lives apart")
	c.GatewayURL = s.origin("gateway-url", c.PublicURL, "`ORIGIN` of the MCP endpoint and the discovery documents where they live apart")
	c.MasterKey = s.secret("master-key", "base64 of 32 bytes, from which every secret key derives; generated in the data folder for the embedded store")
	c.MasterKeyFile = s.text("master-key-file", "", "`FILE` that holds the master key")
	c.PreviousMasterKey = s.secret("previous-master-key", "earlier master keys, comma-separated: what was made under them can still be read")
	c.PreviousMasterKeyFile = s.text("previous-master-key-file", "", "`FILE` that holds earlier master keys, a line each; without it master.key.previous in the data folder, where the key is kept there")
	c.ServerName = s.name("server-name", "innerloop", "`NAME` told to MCP clients")
	c.AllowedOrigins = s.origins("allowed-origins", "", "comma-separated `ORIGINS` of foreign pages that may call API and MCP; own origins always may")
	c.SecurityContact = s.check("security-contact", "", "`ADDRESS` for /.well-known/security.txt, mailto:…, https:… or tel:…; empty means the mailbox security of the public host", "an address that begins with mailto:, https: or tel:", contactable)
	c.Training = s.choice("training-crawlers", "refuse", "what robots.txt tells crawlers that gather texts to train models with", "refuse", "allow") == "allow"
	c.HubURL = s.hub("hub-url", "`URL` of a WebSub hub that is told of new entries and named in feeds; empty means none", c.PublicURL)
	c.ReportWebhook = s.webhookAddress("report-webhook", "address that is told of new reports by a form with report_id, entry_id, reason and reported_at; https, or this machine")
	c.Sandbox = s.choice("sandbox", "auto", "what runs code of assistants", "auto", "native", "bwrap", "runsc", "off")
	c.SandboxPackages = s.text("sandbox-packages", "", "`FOLDER` of Python packages that code may import, readable by everybody; empty means what the system has")
	c.SandboxSessions = s.count("sandbox-sessions", 8, 0, 1000, "`NUMBER` of Python sessions that may live at a time, each with the memory of a run; 0 means that none are offered")
	c.SandboxSessionsPerUser = s.count("sandbox-sessions-per-user", 2, 1, 100, "`NUMBER` of them that one user may have")
	c.Limits = s.limits(&c)
	c.Log = s.choice("log", "text", "`FORM` of the log", "text", "json")
	c.LogLevel = s.level("log-level", "info", "`LEVEL` from which on is logged")
	return c
}

// declareSettings adds every flag to flags.
func declareSettings(flags *pflag.FlagSet) {
	(&settings{declare: flags, env: map[string]string{}}).all()
}

// loadConfig reads the settings from parsed flags and an environment in the
// form of os.Environ. Its error joins every mistake and quotes no value.
func loadConfig(flags *pflag.FlagSet, environ []string) (Config, error) {
	s := settings{flags: flags, env: map[string]string{}}
	for _, line := range environ {
		if name, value, ok := strings.Cut(line, "="); ok && value != "" {
			s.env[name] = value
		}
	}
	c := s.all()
	if c.MasterKey != "" && c.MasterKeyFile != "" {
		s.fail("INNERLOOP_MASTER_KEY and INNERLOOP_MASTER_KEY_FILE exclude each other; set one")
	}
	if c.MasterKey != "" {
		if _, err := decodeMasterKey(c.MasterKey); err != nil {
			s.fail("INNERLOOP_MASTER_KEY must be base64 of 32 bytes")
		}
	}
	if c.PreviousMasterKey != "" && c.PreviousMasterKeyFile != "" {
		s.fail("INNERLOOP_PREVIOUS_MASTER_KEY and INNERLOOP_PREVIOUS_MASTER_KEY_FILE exclude each other; set one")
	}
	if _, err := decodeMasterKeys(c.PreviousMasterKey); err != nil {
		s.fail("INNERLOOP_PREVIOUS_MASTER_KEY must be base64 of 32 bytes, several with commas between them")
	}
	c.InForce = s.inForce
	c.Warnings = unread(s.inForce, s.env)
	return c, errors.Join(s.errs...)
}

// unread names variables that look like ours and are not. It is a warning and
// no error: a newer or older release may know them.
func unread(known []Setting, env map[string]string) []string {
	var warnings []string
	for name := range env {
		ours := strings.HasPrefix(name, "INNERLOOP_") && !strings.HasPrefix(name, "INNERLOOP_TEST_")
		if ours && !slices.ContainsFunc(known, func(k Setting) bool { return k.Variable == name }) {
			warnings = append(warnings, clean(name)+" is set, but this release has no such setting")
		}
	}
	slices.Sort(warnings)
	return warnings
}

func (s Setting) source() string {
	switch s.Origin {
	case "flag":
		return "--" + s.Name
	case "env":
		return s.Variable
	}
	return "default"
}

func (s *settings) fail(format string, parts ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, parts...))
}

// text is the reading that the others stand on.
func (s *settings) text(name, fallback, help string) string {
	return s.read(name, "INNERLOOP_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_")), fallback, help)
}

func (s *settings) read(name, variable, fallback, help string) string {
	in := Setting{Name: name, Variable: variable, Value: fallback, Origin: "default", Help: help}
	if s.declare != nil {
		s.declare.String(name, fallback, help+" ["+variable+"]")
	}
	if value := s.env[variable]; value != "" {
		in.Value, in.Origin = value, "env"
	}
	if s.flags != nil && s.flags.Changed(name) && s.flags.Lookup(name).Value.String() != "" {
		in.Value, in.Origin = s.flags.Lookup(name).Value.String(), "flag"
	}
	s.inForce = append(s.inForce, in)
	return in.Value
}

// check reads a setting and reports it under the name the user gave it.
func (s *settings) check(name, fallback, help, rule string, ok func(string) bool) string {
	value := s.text(name, fallback, help)
	if in := s.inForce[len(s.inForce)-1]; !ok(value) {
		s.fail("%s must be %s", in.source(), rule)
	}
	return value
}

func (s *settings) count(name string, fallback, least, most int, help string) int {
	given := fallback
	s.check(name, strconv.Itoa(fallback), help, fmt.Sprintf("a whole number from %d to %d", least, most), func(value string) bool {
		n, err := strconv.Atoi(value)
		given = n
		return err == nil && n >= least && n <= most
	})
	return given
}

func (s *settings) listen(name, fallback, help string) string {
	return s.check(name, fallback, help, "HOST:PORT", func(value string) bool {
		_, port, err := net.SplitHostPort(value)
		n, bad := strconv.Atoi(port)
		return err == nil && bad == nil && n >= 0 && n <= 65535
	})
}

func (s *settings) choice(name, fallback, help string, words ...string) string {
	all := strings.Join(words, " or ")
	return s.check(name, fallback, help+": "+all, all, func(value string) bool { return slices.Contains(words, value) })
}

func (s *settings) level(name, fallback, help string) slog.Level {
	words := []string{"debug", "info", "warn", "error"}
	value := s.choice(name, fallback, help, words...)
	return slog.Level(4 * (slices.Index(words, value) - 1))
}

func (s *settings) name(name, fallback, help string) string {
	return s.check(name, fallback, help, "1 to 64 letters, digits, spaces, dots, dashes or underscores", func(value string) bool {
		plain := func(r rune) bool {
			return r == ' ' || r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		}
		return value != "" && len(value) <= 64 && strings.IndexFunc(value, func(r rune) bool { return !plain(r) }) < 0
	})
}

// contactable tells a URI that RFC 9116 allows as a contact, on one line.
func contactable(value string) bool {
	known := value == "" || strings.HasPrefix(value, "mailto:") || strings.HasPrefix(value, "https://") || strings.HasPrefix(value, "tel:")
	return known && len(value) <= 256 && strings.IndexFunc(value, func(r rune) bool { return r <= ' ' || r >= 0x7f }) < 0
}

// secret is read from the environment alone: a command line is seen by every
// process of the machine.
func (s *settings) secret(name, help string) string {
	variable := "INNERLOOP_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	value := s.env[variable]
	in := Setting{Name: name, Variable: variable, Origin: "default", Help: help}
	if value != "" {
		in.Value, in.Origin = hidden, "env"
	}
	s.inForce = append(s.inForce, in)
	return value
}
