package locale

// SettingsMessages are what the settings pages of an organisation say. "#"
// takes a number, "%s" one value.
type SettingsMessages struct {
	// Around every page.
	Title, Sections, Description       string
	Organization, Users, Keys          string
	Connections, Audit, Sessions       string
	SignOut, Save, Cancel, Actions     string
	Name, Created, Never, Copy, Copied string
	Wrong, Further, First              string
	Missing, MissingLine               string
	Done                               map[string]string // by the word in the address
	Rules                              map[string]string // by the rule, or else by the field; "" is any

	SignIn      SettingsSignIn
	Rule        SettingsRules
	People      SettingsUsers
	Key         SettingsKeys
	Connection  SettingsConnections
	Log         SettingsAudit
	Open        SettingsSessions
	BringsByWay map[string]string // how a client brings a key, by way
}

// SettingsSignIn is the page before all others.
type SettingsSignIn struct {
	Title, Lead, Key, Hint, Submit      string
	NoKey, Unknown, Revoked, Expired    string
	NotAdmin, Elsewhere, TooMany, Ended string
	Already, Insecure, InsecureLine     string
	NotOurs, NotOursLine                string
}

// SettingsRules is the page of the organisation itself.
type SettingsRules struct {
	ID, Head, Confirm, ConfirmHint       string
	Broker, BrokerHint, All, AllHint     string
	Networks, NetworksLead, NoNetworks   string
	Network, NetworkHint, Admit, Take    string
	TakeOf                               string // "%s" is a network
	EndHead, EndLead, EndCommand, Export string
}

// SettingsUsers are the pages of users.
type SettingsUsers struct {
	Lead, New, NameHint, Add, Remove, RemoveOf string
	Ask, AskLead, AskSelf, Confirm, You        string
}

// SettingsKeys are the pages of keys.
type SettingsKeys struct {
	Lead, Existing, None, Scopes, Expires    string
	LastUsed, From, Edit, EditOf             string
	Revoke, RevokeOf, Revoked, Expired       string
	In                                       Forms
	This                                     string
	New, NameHint, User, Days                string
	Day                                      map[int]string
	Meaning                                  map[string]string // by scope
	AdminWarning, Limits, LimitsHint         string
	Connectors, ConnectorsHint               string
	Class, ClassHint                         string
	ByClass                                  map[string]string
	Networks, NetworksHint, Rate, RateHint   string
	Create, Once, OnceLead, CopyKey, Clients string
	ClientsLead, ToKeys                      string
	EditTitle, EditLead, Fixed, Owner        string
	Ask, AskLead, AskOwn, Confirm            string
	FileAt, Shell                            string
}

// SettingsConnections are the pages of connections.
type SettingsConnections struct {
	Lead, Search, Submit, All, Nothing      string
	Found, Services                         Forms
	Category                                map[string]string
	State                                   map[string]string
	Draft, DraftLine, Documentation         string
	Existing, None, Whose, Everyone, Ending string
	Checked, Test, TestOf, Remove, RemoveOf string
	NoTest, New, NewLead, NameHint, Way     string
	Secret, Optional, Default               string
	Address, AddressHint, Sandbox           string
	SandboxHint, Connect, Ask, AskLead      string
	Confirm, Worked, Refused, Failed        string
	BackToAll, Note, For, ForHint           string
	Unreachable, Answered                   string
}

// SettingsAudit is the page of the audit log.
type SettingsAudit struct {
	Lead, Filter, User, Key, Tool, Service string
	Error, Any, AnyError, From, Until      string
	Apply, Clear, Download, DownloadHint   string
	Chart, ChartLine, Table, Day           string
	Calls, Errors, None, When, Who, What   string
	Where, Result, Took, Fine, Command     string
	Older, Newest, BadDay, Gone            string
	Actions                                map[string]string
}

// SettingsSessions is the page of open sessions.
type SettingsSessions struct {
	Lead, Opened, Used, Until, This, End, EndOf, ByKey string
}

// SettingsMessages returns the catalogue of the language.
func (l Lang) SettingsMessages() *SettingsMessages {
	if l == Russian {
		return &russianSettings
	}
	return &englishSettings
}
