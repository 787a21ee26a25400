package main

import (
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"innerloop/internal/limit"
)

const someKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

func load(t *testing.T, args, environ []string) (Config, error) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	declareSettings(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return loadConfig(flags, environ)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name    string
		args    []string
		environ []string
		want    func(*Config)
	}{
		{"nothing set", nil, nil, func(*Config) {}},
		{"the data folder holds the database", []string{"--data-dir", "/srv/j"}, nil, func(c *Config) {
			c.DataDir, c.DatabaseURL, c.DirectURL = "/srv/j", "sqlite:/srv/j/innerloop.db", "sqlite:/srv/j/innerloop.db"
		}},
		{"a variable", nil, []string{"INNERLOOP_LISTEN=[::1]:0"}, func(c *Config) { c.Listen = "[::1]:0" }},
		{"a flag wins over its variable", []string{"--listen", ":9000"}, []string{"INNERLOOP_LISTEN=:1"}, func(c *Config) { c.Listen = ":9000" }},
		{"an empty variable is not set", nil, []string{"INNERLOOP_LISTEN=", "INNERLOOP_LOG="}, func(*Config) {}},
		{"DATABASE_URL counts when nothing else names a database", nil, []string{"DATABASE_URL=postgres://u:p@h/d"}, func(c *Config) {
			c.DatabaseURL, c.DirectURL, c.DatabaseFrom = "postgres://u:p@h/d", "postgres://u:p@h/d", "DATABASE_URL"
		}},
		{"our variable wins over DATABASE_URL", nil, []string{"DATABASE_URL=mysql://h/d", "INNERLOOP_DATABASE_URL=sqlite:x.db"}, func(c *Config) {
			c.DatabaseURL, c.DirectURL, c.DatabaseFrom = "sqlite:x.db", "sqlite:x.db", "INNERLOOP_DATABASE_URL"
		}},
		{"several hosts and a direct one", []string{"--database-url", "postgres://a:1,b:2/d"}, []string{"INNERLOOP_DIRECT_DATABASE_URL=postgresql://a/d"}, func(c *Config) {
			c.DatabaseURL, c.DirectURL, c.DatabaseFrom = "postgres://a:1,b:2/d", "postgresql://a/d", "--database-url"
		}},
		{"the public origin serves for the others", []string{"--public-url", "https://Journal.example/"}, nil, func(c *Config) {
			c.PublicURL, c.APIURL, c.GatewayURL = "https://journal.example", "https://journal.example", "https://journal.example"
		}},
		{"the API lives apart", []string{"--public-url", "https://a.example", "--api-url", "https://b.example:8443"}, nil, func(c *Config) {
			c.PublicURL, c.APIURL, c.GatewayURL = "https://a.example", "https://b.example:8443", "https://a.example"
		}},
		{"allowed origins", nil, []string{"INNERLOOP_ALLOWED_ORIGINS=https://a.example, https://b.example,"}, func(c *Config) {
			c.AllowedOrigins = []string{"https://a.example", "https://b.example"}
		}},
		{"crawlers that train may come", nil, []string{"INNERLOOP_TRAINING_CRAWLERS=allow"}, func(c *Config) { c.Training = true }},
		{"the log", []string{"--log", "json", "--log-level", "warn"}, nil, func(c *Config) { c.Log, c.LogLevel = "json", slog.LevelWarn }},
		{"a master key", nil, []string{"INNERLOOP_MASTER_KEY=" + someKey}, func(c *Config) { c.MasterKey = someKey }},
		{"a hub", []string{"--public-url", "https://journal.example"}, []string{"INNERLOOP_HUB_URL=https://hub.example/push?x=1"}, func(c *Config) {
			c.HubURL = "https://hub.example/push?x=1"
			c.PublicURL, c.APIURL, c.GatewayURL = "https://journal.example", "https://journal.example", "https://journal.example"
		}},
		{"a hub on this machine", nil, []string{"INNERLOOP_HUB_URL=http://127.0.0.1:9/"}, func(c *Config) { c.HubURL = "http://127.0.0.1:9/" }},
		{"limits off, on loopback", nil, []string{"INNERLOOP_LIMITS=off", "INNERLOOP_PUBLIC_URL=http://localhost:8080", "INNERLOOP_LISTEN=[::1]:0"}, func(c *Config) {
			c.Limits, c.Listen = nil, "[::1]:0"
			c.PublicURL, c.APIURL, c.GatewayURL = "http://localhost:8080", "http://localhost:8080", "http://localhost:8080"
		}},
		{"limits of one's own", []string{"--limit-registrations-per-day", "1000"}, []string{"INNERLOOP_LIMIT_ENTRIES_PER_AGENT_DAY=0"}, func(c *Config) {
			c.Limits.Numbers[limit.Registrations], c.Limits.Numbers[limit.EntriesPerAgent] = 1000, 0
		}},
		{"a class of networks", nil, []string{"INNERLOOP_LIMIT_CLASSES=helper=203.0.113.9/24 reads_per_network_minute=6000"}, func(c *Config) {
			c.Limits.Classes = []limit.Class{{
				Name: "helper", Networks: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")},
				Numbers: map[limit.Rule]int{limit.ReadsPerMinute: 6000},
			}}
		}},
		{"trusted proxies", []string{"--trusted-proxies", "10.0.0.0/8,::1"}, nil, func(c *Config) {
			c.TrustedProxies = limit.Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}
		}},
		{"a variable of another release", nil, []string{"INNERLOOP_METRICS_LISTEN=:1", "INNERLOOP_TEST_POSTGRES_URL=x"}, func(c *Config) {
			c.Warnings = []string{"INNERLOOP_METRICS_LISTEN is set, but this release has no such setting"}
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := load(t, row.args, row.environ)
			if err != nil {
				t.Fatal(err)
			}
			want := Config{
				Listen: "127.0.0.1:8080", DataDir: "data", DatabaseURL: "sqlite:data/innerloop.db", DirectURL: "sqlite:data/innerloop.db",
				DatabaseFrom: "default", ServerName: "innerloop", Sandbox: "auto", SandboxSessions: 8, SandboxSessionsPerUser: 2, Log: "text",
				Limits: limit.Defaults(),
			}
			row.want(&want)
			got.InForce = nil
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEveryMistakeIsReportedAtOnceAndQuotesNothing(t *testing.T) {
	t.Parallel()
	const secret = "sEcReT"
	_, err := load(t, []string{"--listen", secret, "--log", secret}, []string{
		"DATABASE_URL=mysql://u:" + secret + "@h/d", "INNERLOOP_PUBLIC_URL=https://h/" + secret, "INNERLOOP_API_URL=" + secret,
		"INNERLOOP_MASTER_KEY=" + secret, "INNERLOOP_MASTER_KEY_FILE=/x", "INNERLOOP_SERVER_NAME=" + secret + "\n", "INNERLOOP_ALLOWED_ORIGINS=" + secret, "INNERLOOP_SECURITY_CONTACT=" + secret,
		"INNERLOOP_LOG_LEVEL=" + secret,
	})
	if err == nil {
		t.Fatal("no mistake was found")
	}
	for _, want := range []string{
		"--listen must be HOST:PORT", "--log must be text or json", "DATABASE_URL must be sqlite:PATH", "INNERLOOP_PUBLIC_URL must be an origin",
		"INNERLOOP_API_URL must be an origin", "INNERLOOP_MASTER_KEY must be base64", "exclude each other", "INNERLOOP_SERVER_NAME must be",
		"INNERLOOP_ALLOWED_ORIGINS must be origins", "INNERLOOP_SECURITY_CONTACT must be an address", "INNERLOOP_LOG_LEVEL must be debug or info",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the error quotes a value:\n%v", err)
	}
}

func TestLimitsAreOffOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{
		"INNERLOOP_LISTEN=:8080", "INNERLOOP_LISTEN=192.0.2.1:8080", "INNERLOOP_LISTEN=example.org:8080", "INNERLOOP_TRUSTED_PROXIES=127.0.0.1",
		"INNERLOOP_PUBLIC_URL=https://journal.example", "INNERLOOP_API_URL=https://journal.example", "INNERLOOP_GATEWAY_URL=https://journal.example",
	} {
		if _, err := load(t, nil, []string{"INNERLOOP_LIMITS=off", setting}); err == nil || !strings.Contains(err.Error(), "INNERLOOP_LIMITS=off needs") {
			t.Errorf("with %s: %v", setting, err)
		}
	}
}

func TestHubsOfNoUseAreRefused(t *testing.T) {
	t.Parallel()
	for _, environ := range [][]string{
		{"INNERLOOP_HUB_URL=http://hub.example/"},
		{"INNERLOOP_HUB_URL=https://u:p@hub.example/"},
		{"INNERLOOP_HUB_URL=https://10.0.0.1/"},
		{"INNERLOOP_HUB_URL=hub.example"},
		{"INNERLOOP_HUB_URL=http://127.0.0.1:9/", "INNERLOOP_PUBLIC_URL=https://journal.example"},
	} {
		if _, err := load(t, nil, environ); err == nil || !strings.Contains(err.Error(), "INNERLOOP_HUB_URL must be an https address") || strings.Contains(err.Error(), "hub.example") {
			t.Errorf("%v: %v", environ, err)
		}
	}
}

func TestMistakesInLimitsAreReported(t *testing.T) {
	t.Parallel()
	_, err := load(t, []string{"--limit-similar-text-days", "8"}, []string{
		"INNERLOOP_LIMITS=maybe", "INNERLOOP_LIMIT_ENTRIES_PER_DAY=-1", "INNERLOOP_LIMIT_CLASSES=x", "INNERLOOP_TRUSTED_PROXIES=proxy",
	})
	for _, want := range []string{
		"INNERLOOP_LIMITS must be default or off", "INNERLOOP_LIMIT_ENTRIES_PER_DAY must be a whole number", "--limit-similar-text-days must be a whole number from 0 to 7",
		"INNERLOOP_LIMIT_CLASSES must be classes", "INNERLOOP_TRUSTED_PROXIES must be networks",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}

func TestConfigListsEveryLimit(t *testing.T) {
	t.Parallel()
	got := execute(t, surroundings{environ: []string{"INNERLOOP_LIMIT_ENTRIES_PER_DAY=12345"}}, "config", "--json")
	for _, d := range limit.Rules() {
		if !strings.Contains(got.out, `"variable":"`+d.Variable()+`"`) {
			t.Errorf("config lacks %s", d.Variable())
		}
	}
	if !strings.Contains(got.out, "12345") {
		t.Error("config lacks the number in force")
	}
}

func TestConfigShowsOriginsAndHidesSecrets(t *testing.T) {
	t.Parallel()
	const secret = "sEcReT"
	got := execute(t, surroundings{environ: []string{
		"INNERLOOP_MASTER_KEY=" + someKey, "DATABASE_URL=postgres://u:" + secret + "@a,b/d?sslmode=require&sslpassword=" + secret,
	}}, "config", "--listen", "127.0.0.1:0")
	for _, want := range []string{"--listen", "DATABASE_URL", "postgres://u:(hidden)@a,b/d?sslmode=require&sslpassword=(hidden)", "default"} {
		if !strings.Contains(got.out, strings.TrimPrefix(want, "--")) {
			t.Errorf("config lacks %q:\n%s", want, got.out)
		}
	}
	if strings.Contains(got.out, secret) || strings.Contains(got.out, someKey) {
		t.Errorf("config shows a secret:\n%s", got.out)
	}
	asJSON := execute(t, surroundings{environ: []string{"INNERLOOP_X=1"}}, "config", "--json")
	if !strings.HasPrefix(asJSON.out, `{"settings":[{"name":"listen","variable":"INNERLOOP_LISTEN","value":"127.0.0.1:8080","origin":"default"}`) ||
		strings.Count(asJSON.out, "\n") != 1 || !strings.Contains(asJSON.out, "INNERLOOP_X") {
		t.Errorf("config --json: %s", asJSON.out)
	}
}
