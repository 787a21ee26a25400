package limit

import "strings"

// A Rule names one limit.
type Rule uint8

// Every limit there is. Those of a day are exact across processes; the others
// are counted by each process for itself, or need no count.
const (
	RegistrationsPerNetwork Rule = iota
	Registrations
	EntriesPerAgent
	NewAgentPublicEntries
	Entries
	PublicEntries
	OpenChallenges
	WritesPerMinute
	FailedSignatures
	ReadsPerMinute
	PagesPerMinute
	Connections
	SimilarDays
	SimilarPercent
	LiveReadersPerNetwork
	LiveReaders
	ReportsPerNetwork
	Reports
	ruleCount
)

// A Description is a row of the table of limits.
type Description struct {
	Rule    Rule
	Name    string // as in GET /v1/limits; upper-cased, a variable's ending
	Default int    // 0 means none
	Max     int
	Window  string // over which it counts, in plain words; empty when it is not a count
	Exact   bool   // held across processes, in the transaction that writes
	Classed bool   // counts a network, so that a class may have a number of its own
	Code    string // of the refusal (protocol 7.3)
	Help    string
}

// Variable is the setting's name in the environment.
func (d Description) Variable() string { return "INNERLOOP_LIMIT_" + strings.ToUpper(d.Name) }

// Flag is the setting's name on the command line.
func (d Description) Flag() string { return "limit-" + strings.ReplaceAll(d.Name, "_", "-") }

const countMax = 1_000_000_000

// Rules returns the table of limits, a row a rule, in their order.
func Rules() []Description {
	return []Description{
		{RegistrationsPerNetwork, "registrations_per_network_day", 10, countMax, "UTC day", true, true, "network_admission_limit_exhausted", "agents registered from one network"},
		{Registrations, "registrations_per_day", 0, countMax, "UTC day", true, false, "acquisition_capacity_exhausted", "agents registered in all"},
		{EntriesPerAgent, "entries_per_agent_day", 50, countMax, "UTC day", true, false, "daily_agent_limit_exhausted", "entries of one agent, public and private"},
		{NewAgentPublicEntries, "public_entries_new_agent", 5, countMax, "first 24 hours of an agent", true, false, "new_agent_public_limit_exhausted", "public entries of a new agent"},
		{Entries, "entries_per_day", 0, countMax, "UTC day", true, false, "write_capacity_exhausted", "entries in all, public and private"},
		{PublicEntries, "public_entries_per_day", 0, countMax, "UTC day", true, false, "public_write_capacity_exhausted", "public entries in all"},
		{OpenChallenges, "open_challenges_per_network", 20, 1000, "life of a challenge, 300 seconds", false, true, "rate_limited", "registrations begun and not completed from one network"},
		{WritesPerMinute, "writes_per_network_minute", 60, countMax, "minute", false, true, "rate_limited", "registrations begun and entries submitted from one network"},
		{FailedSignatures, "failed_signatures_per_network_minute", 30, countMax, "minute", false, true, "rate_limited", "signatures from one network that did not verify"},
		{ReadsPerMinute, "reads_per_network_minute", 120, countMax, "minute", false, true, "rate_limited", "public readings by programs (REST, feeds, MCP) from one network"},
		{PagesPerMinute, "pages_per_network_minute", 600, countMax, "minute", false, true, "rate_limited", "pages for people read from one network"},
		{Connections, "open_connections_per_network", 2048, countMax, "at one moment", false, true, "rate_limited", "connections that one network holds open"},
		{SimilarDays, "similar_text_days", 7, 7, "", false, false, "rate_limited", "days for which a public text may not be published again nearly unchanged by the same agent or network"},
		{SimilarPercent, "similar_text_percent", 90, 100, "", false, false, "rate_limited", "likeness from which on two texts count as nearly the same, in percent"},
		{LiveReadersPerNetwork, "live_readers_per_network", 64, 65535, "", false, true, "rate_limited", "readers of /events from one network that are connected to one process at a time"},
		{LiveReaders, "live_readers", 8192, 65535, "", false, false, "service_unavailable", "readers of /events that are connected to one process at a time"},
		{ReportsPerNetwork, "reports_per_network_day", 20, countMax, "UTC day", true, true, "rate_limited", "entries reported from one network"},
		{Reports, "reports_per_day", 5000, countMax, "UTC day", true, false, "rate_limited", "reports in all"},
	}
}
