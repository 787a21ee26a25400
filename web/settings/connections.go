package settings

import "strings"

// Services is the page of all services with what is connected.
type Services struct {
	Frame
	Query  string
	Found  string // how many, in words
	Groups []ServiceGroup
}

// A ServiceGroup is the services of a category.
type ServiceGroup struct {
	ID, Title string
	Services  []Service
}

// A Service is one row.
type Service struct {
	ID, Title, Summary string
	SummaryLang        string // when it is another than the page's
	Draft              bool
	State              string // connected, reconnect, untried; empty for none
	Count              string // of its connections, in words
}

// ServiceDetail is the page of one service: its connections and a form.
type ServiceDetail struct {
	Frame
	Service
	DocsURL     string
	Connections []Connection
	Testable    bool
	Form        ConnectionForm
}

// A Connection is one account of a service.
type Connection struct {
	ID, Name, Whose string
	State           string // connected, reconnect or untried
	Facts           []Fact // fields by title: what may be shown of each
	Checked         Moment
}

// A ConnectionForm makes a connection; nothing secret is ever in it.
type ConnectionForm struct {
	Ways    []Way // kinds of credential; the chosen one's fields are shown
	Name    Input
	Users   []Choice
	Fields  []Input
	Params  []Input
	Address Input
	Test    bool
	Note    string
	Way     string
}

// A Way is one kind of credential, chosen by a link: its fields differ.
type Way struct {
	ID, Title, Href string
	Chosen          bool
}

// Rules are an organisation's rules for calls and its admitted networks.
type Rules struct {
	Confirm, Broker, All bool
	Networks             []string
	Network              string // as it was typed
}

// was names the rules that are on, for the form to tell what it changed.
func (r Rules) was() string {
	var on []string
	for _, rule := range []struct {
		name string
		on   bool
	}{{"confirm", r.Confirm}, {"broker", r.Broker}, {"all", r.All}} {
		if rule.on {
			on = append(on, rule.name)
		}
	}
	return strings.Join(on, " ")
}
