package catalog

import (
	"fmt"
	"time"
)

// A Service is one file of the catalog. Field names in YAML and JSON are the
// ones given in the tags; an absent field has its zero value.
type Service struct {
	ID        string   `yaml:"id" json:"id"`
	Title     string   `yaml:"title" json:"title"`
	TitleRU   string   `yaml:"title_ru" json:"title_ru"`
	Status    Status   `yaml:"status" json:"status"`
	Sources   []string `yaml:"sources" json:"sources,omitempty"` // pages the checked facts were held against
	Summary   string   `yaml:"summary" json:"summary"`           // at most 90 bytes
	SummaryRU string   `yaml:"summary_ru" json:"-"`
	Short     string   `yaml:"short" json:"-"` // ASCII, at most 32 bytes
	Category  string   `yaml:"category" json:"category"`
	Style     Style    `yaml:"style" json:"style"`
	Version   string   `yaml:"version" json:"version"` // date, then + and a hash of the rest of the file
	TTL       int      `yaml:"ttl" json:"ttl"`         // seconds a client may keep the passport
	DocsURL   string   `yaml:"docs_url" json:"docs_url"`

	Auth        []Auth            `yaml:"auth" json:"auth"` // alternatives; the first is the usual one
	Params      []Param           `yaml:"params" json:"params,omitempty"`
	Check       *Call             `yaml:"check" json:"check,omitempty"` // harmless call that proves a credential
	Hosts       []string          `yaml:"hosts_allowed" json:"hosts_allowed,omitempty"`
	Headers     map[string]string `yaml:"headers" json:"headers,omitempty"`         // sent with every call; one whose param is empty is left out
	BrokerOnly  bool              `yaml:"broker_only" json:"broker_only,omitempty"` // the sandbox never reaches its hosts itself: anybody may store or send there
	Modules     []Module          `yaml:"modules" json:"modules"`
	RPC         *RPC              `yaml:"rpc" json:"rpc,omitempty"`
	Operations  []Operation       `yaml:"operations" json:"operations"`
	Errors      []ErrorRule       `yaml:"errors" json:"errors,omitempty"`
	ErrorFields *ErrorFields      `yaml:"error_fields" json:"-"`
	Idempotency *Idempotency      `yaml:"idempotency" json:"idempotency,omitempty"`
	Shape       *Shape            `yaml:"shape" json:"shape,omitempty"`
	Recipes     []Recipe          `yaml:"recipes" json:"recipes"`
	FieldHints  map[string]string `yaml:"field_hints" json:"field_hints,omitempty"`
	Limits      []string          `yaml:"limits" json:"limits,omitempty"`       // what no rate rule can say, in words
	Unchecked   []string          `yaml:"unchecked" json:"unchecked,omitempty"` // facts of a checked file that nobody has checked
}

// Status tells whether a person has held the file against public sources.
type Status string

// The two states of a file.
const (
	Checked Status = "checked"
	Draft   Status = "draft"
)

// Style is how the calls of a service are addressed.
type Style string

// REST: HTTP method and path. RPC, JSONRPC: the remote method's name and an
// empty path. OData: both ways. GraphQL: POST with a query in the body.
const (
	REST    Style = "rest"
	RPCs    Style = "rpc"
	JSONRPC Style = "jsonrpc"
	GraphQL Style = "graphql"
	OData   Style = "odata"
)

// A Module is one base address of a service with its own allow-list and pace.
type Module struct {
	ID         string            `yaml:"id" json:"id"`
	Summary    string            `yaml:"summary" json:"summary,omitempty"`
	BaseURL    string            `yaml:"base_url" json:"base_url"`         // https; {name} from params, or from a path credential
	TestURL    string            `yaml:"test_url" json:"-"`                // the service's own sandbox
	Paths      []string          `yaml:"paths" json:"paths,omitempty"`     // globs, after a method and a space admitted for that alone; absent admits every path, and none where remote methods are called (but in OData)
	Methods    []string          `yaml:"methods" json:"methods,omitempty"` // HTTP methods; absent admits every one
	Auth       []string          `yaml:"auth" json:"auth,omitempty"`       // ids of the alternatives that work here; absent means all
	Body       Encoding          `yaml:"body" json:"body,omitempty"`       // absent means json
	Headers    map[string]string `yaml:"headers" json:"headers,omitempty"`
	Query      map[string]string `yaml:"query" json:"query,omitempty"` // sent with every call unless the caller gives the same name
	Rate       *Rate             `yaml:"rate" json:"rate,omitempty"`
	Rates      []Rate            `yaml:"rates" json:"rates,omitempty"` // for single paths; the first match adds to Rate
	Pagination []Pagination      `yaml:"pagination" json:"pagination,omitempty"`
}

// Encoding is the form of request bodies.
type Encoding string

// The forms of a request body.
const (
	JSONBody      Encoding = "json"
	FormBody      Encoding = "form"
	MultipartBody Encoding = "multipart"
	XMLBody       Encoding = "xml"
	RawBody       Encoding = "raw"
)

// A Rate is the pace a service asks for: Requests in each Per, Burst at once,
// Parallel unfinished. A zero part is not limited.
type Rate struct {
	Match    string   `yaml:"match" json:"match,omitempty"` // only in Rates: as in Operation
	Requests int      `yaml:"requests" json:"requests,omitempty"`
	Per      Duration `yaml:"per" json:"per,omitempty"`
	Burst    int      `yaml:"burst" json:"burst,omitempty"`
	Parallel int      `yaml:"parallel" json:"parallel,omitempty"`
	Key      string   `yaml:"key" json:"key,omitempty"` // connection (default), connection+path or address
	Note     string   `yaml:"note" json:"note,omitempty"`
}

// Pagination tells how the next page is asked for. The first rule whose Match
// fits the call is used; an empty Match fits every one.
type Pagination struct {
	Match    string            `yaml:"match" json:"match,omitempty"`
	Kind     PageKind          `yaml:"kind" json:"kind"`
	Request  PageRequest       `yaml:"request" json:"request,omitzero"`
	Response string            `yaml:"response" json:"response,omitempty"` // JSON path of the next cursor, address or date
	Carry    map[string]string `yaml:"carry" json:"carry,omitempty"`       // more request names and the JSON paths of their values
	Items    string            `yaml:"items" json:"items,omitempty"`       // JSON path of the page's items
	Total    string            `yaml:"total" json:"total,omitempty"`
	More     string            `yaml:"more" json:"more,omitempty"` // JSON path of a boolean
	Stop     string            `yaml:"stop" json:"stop,omitempty"` // empty, short, absent or more
}

// PageKind is how pages follow each other.
type PageKind string

// Cursor: a value of the answer goes into the next request. Offset and Page:
// counted. Link: the header of RFC 8288. NextURL: a whole address in the
// answer, followed only within the module. DateFrom: the last item's date.
const (
	NoPages  PageKind = "none"
	Cursor   PageKind = "cursor"
	Offset   PageKind = "offset"
	Page     PageKind = "page"
	Link     PageKind = "link"
	NextURL  PageKind = "next_url"
	DateFrom PageKind = "date_from"
)

// PageRequest names what changes from page to page.
type PageRequest struct {
	In    string `yaml:"in" json:"in,omitempty"`       // query (default), body or header
	Name  string `yaml:"name" json:"name,omitempty"`   // dotted in a body
	Limit string `yaml:"limit" json:"limit,omitempty"` // name of the size of a page
	Max   int    `yaml:"max" json:"max,omitempty"`     // the largest size
	Step  int    `yaml:"step" json:"step,omitempty"`   // a size that cannot be chosen
	Start int    `yaml:"start" json:"start,omitempty"` // number of the first page or item
	Add   int    `yaml:"add" json:"add,omitempty"`     // to a cursor that is a number, before it is sent
}

// RPC tells how a remote method becomes an HTTP request. In a template,
// {method} is the whole name, {service} and {action} are its parts around the
// last dot, {args} the caller's body, {key} the argument of that name (which
// is then no longer among {args}), {id} a number of ours.
type RPC struct {
	Call    RPCCall            `yaml:"call" json:"call"`
	Actions map[string]RPCCall `yaml:"actions" json:"actions,omitempty"` // by {action}; an absent part is Call's
	Methods []string           `yaml:"methods" json:"methods,omitempty"` // allow-list of method globs; absent admits every one
	Modules []string           `yaml:"modules" json:"modules,omitempty"` // where they are called; absent means in all
	Batch   *Batch             `yaml:"batch" json:"batch,omitempty"`
}

// An RPCCall is one form of request for remote methods.
type RPCCall struct {
	HTTP             string            `yaml:"http" json:"http,omitempty"`
	Path             string            `yaml:"path" json:"path,omitempty"`
	Args             string            `yaml:"args" json:"args,omitempty"`         // body, query or form
	Envelope         map[string]string `yaml:"envelope" json:"envelope,omitempty"` // the body around the arguments
	Result           string            `yaml:"result" json:"-"`
	Error            string            `yaml:"error" json:"-"`
	ErrorDescription string            `yaml:"error_description" json:"-"`
}

// Batch is the remote method that carries several calls.
type Batch struct {
	Method string `yaml:"method" json:"method"`
	Max    int    `yaml:"max" json:"max"`
}

// An ErrorRule says what a failed answer means. Every part that is set must
// fit; the first rule that fits is used.
type ErrorRule struct {
	Status      int      `yaml:"status" json:"status,omitempty"` // 0 fits every status
	Match       string   `yaml:"match" json:"match,omitempty"`   // as in Operation
	Body        string   `yaml:"body" json:"body,omitempty"`     // text in the body
	JSON        string   `yaml:"json" json:"json,omitempty"`     // JSON path whose value is Equals, or, without that, not nothing
	Equals      string   `yaml:"equals" json:"equals,omitempty"`
	Retry       bool     `yaml:"retry" json:"retry"`
	After       Duration `yaml:"after" json:"after,omitempty"`
	AfterHeader string   `yaml:"after_header" json:"after_header,omitempty"` // a number or a date
	AfterJSON   string   `yaml:"after_json" json:"after_json,omitempty"`     // JSON path of a number
	AfterUnit   string   `yaml:"after_unit" json:"after_unit,omitempty"`     // of that number: s (default) or ms
	Reconnect   bool     `yaml:"reconnect" json:"reconnect,omitempty"`       // the credential is no longer good
	Note        string   `yaml:"note" json:"note,omitempty"`
}

// ErrorFields are the JSON paths of a failure's own code, words and number.
type ErrorFields struct {
	Code      string `yaml:"code"`
	Message   string `yaml:"message"`
	RequestID string `yaml:"request_id"`
}

// Idempotency tells how a repeated write is recognised upstream.
type Idempotency struct {
	Header  string   `yaml:"header" json:"header,omitempty"`
	Body    string   `yaml:"body" json:"body,omitempty"` // dotted name in the body
	Query   string   `yaml:"query" json:"query,omitempty"`
	Methods []string `yaml:"methods" json:"methods,omitempty"`
	Max     int      `yaml:"max" json:"max,omitempty"` // characters
	Keeps   Duration `yaml:"keeps" json:"keeps,omitempty"`
}

// Shape cuts answers down before they are handed out.
type Shape struct {
	Drop     []string `yaml:"drop" json:"drop,omitempty"` // JSON paths
	MaxItems int      `yaml:"max_items" json:"max_items,omitempty"`
}

// A Recipe is one call that shows how the service is used.
type Recipe struct {
	ID      string `yaml:"id" json:"id"`
	Title   string `yaml:"title" json:"title"`
	TitleRU string `yaml:"title_ru" json:"-"`
	Call    Call   `yaml:"call" json:"call"`
	Note    string `yaml:"note" json:"note,omitempty"`
}

// A Call is one request as connector_execute takes it: for remote methods
// Path is empty and Method is the method's name. {name} in a recipe's path is
// for the caller to fill.
type Call struct {
	Module string         `yaml:"module" json:"module"`
	Method string         `yaml:"method" json:"method"`
	Path   string         `yaml:"path" json:"path"`
	Query  map[string]any `yaml:"query" json:"query,omitempty"`
	Body   any            `yaml:"body" json:"body,omitempty"`
}

// An Operation gives a class to the calls that Match fits; the first fit
// wins, and the last rule is the default. Match is «METHOD GLOB» for HTTP
// (* fits any method, a lone * any path), one glob for a remote method's
// name, and «query GLOB» or «mutation GLOB» for GraphQL.
type Operation struct {
	Match   string   `yaml:"match" json:"match,omitempty"`
	Modules []string `yaml:"modules" json:"modules,omitempty"`
	Class   Class    `yaml:"class" json:"class,omitempty"`
	Default Class    `yaml:"default" json:"default,omitempty"`
}

// Class is how far a call reaches.
type Class string

// Read changes nothing. Write can be set right by another call. Irreversible
// cannot: money moves, a message reaches people, a thing is gone.
const (
	Read         Class = "read"
	Write        Class = "write"
	Irreversible Class = "irreversible"
)

// Duration is a time.Duration spelled as time.ParseDuration reads it.
type Duration time.Duration

// UnmarshalYAML reads «1s», «3m», «24h».
func (d *Duration) UnmarshalYAML(decode func(any) error) error {
	var text string
	if err := decode(&text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed <= 0 {
		return fmt.Errorf("a duration is a positive number with ms, s, m or h")
	}
	*d = Duration(parsed)
	return nil
}

// MarshalText spells whole units without the zeros behind them: 24h, not 24h0m0s.
func (d Duration) MarshalText() ([]byte, error) {
	length := time.Duration(d)
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if length >= unit.size && length%unit.size == 0 {
			return fmt.Appendf(nil, "%d%s", length/unit.size, unit.name), nil
		}
	}
	return []byte(length.String()), nil
}
