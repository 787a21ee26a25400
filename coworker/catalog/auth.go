package catalog

// Auth is one way to prove who calls. Templates are texts with {name}, where
// a name is a field, a named group of a field's pattern, a param, or, after a
// token exchange, access_token.
type Auth struct {
	ID       string      `yaml:"id" json:"id"`
	Kind     AuthKind    `yaml:"kind" json:"kind"`
	Title    string      `yaml:"title" json:"title,omitempty"`
	TitleRU  string      `yaml:"title_ru" json:"-"`
	Name     string      `yaml:"name" json:"name,omitempty"`         // header, query parameter, or dotted name in the body
	Template string      `yaml:"template" json:"template,omitempty"` // its value; «user:password» of basic
	Also     []Placement `yaml:"also" json:"also,omitempty"`         // further values of the same credential
	Fields   []Field     `yaml:"fields" json:"fields"`
	Token    *Token      `yaml:"token" json:"-"`
	AWS      *AWS        `yaml:"aws" json:"-"`
	Sign     *Sign       `yaml:"sign" json:"-"`
	Scopes   []string    `yaml:"scopes" json:"scopes,omitempty"` // what the credential must be allowed upstream
	Note     string      `yaml:"note" json:"note,omitempty"`     // where a person gets the credential
}

// AuthKind is the family of a credential.
type AuthKind string

// PathAuth puts a field into a module's base address. OAuth2CC, OAuth2Refresh
// and OAuth2Code exchange fields for a short-lived token first. Signed adds a
// signature over the body.
const (
	HeaderAuth    AuthKind = "header"
	Bearer        AuthKind = "bearer"
	Basic         AuthKind = "basic"
	QueryAuth     AuthKind = "query"
	PathAuth      AuthKind = "path"
	BodyAuth      AuthKind = "body"
	OAuth2CC      AuthKind = "oauth2_cc"
	OAuth2Refresh AuthKind = "oauth2_refresh"
	OAuth2Code    AuthKind = "oauth2_code"
	AWSSigV4      AuthKind = "aws_sigv4"
	Signed        AuthKind = "signed"
)

// A Field is one value a person enters.
type Field struct {
	Name     string `yaml:"name" json:"name"`
	Env      string `yaml:"env" json:"env"` // variable in the sandbox
	Secret   bool   `yaml:"secret" json:"secret"`
	Title    string `yaml:"title" json:"title"`
	TitleRU  string `yaml:"title_ru" json:"-"`
	Pattern  string `yaml:"pattern" json:"pattern,omitempty"` // whole value; named groups become names for templates
	Optional bool   `yaml:"optional" json:"optional,omitempty"`
}

// A Placement is one more value that a credential sends.
type Placement struct {
	In       string   `yaml:"in" json:"in"` // header, query or body
	Name     string   `yaml:"name" json:"name"`
	Template string   `yaml:"template" json:"template"`
	Base64   string   `yaml:"base64" json:"base64,omitempty"`   // template whose encoded value is {base64}
	Modules  []string `yaml:"modules" json:"modules,omitempty"` // absent means all
}

// Token tells how fields are exchanged for a short-lived token (RFC 6749, and
// logins that work alike).
type Token struct {
	AuthorizeURL string            `yaml:"authorize_url"` // of oauth2_code
	URL          string            `yaml:"url"`
	TestURL      string            `yaml:"test_url"`
	Method       string            `yaml:"method"`   // absent means POST
	Send         string            `yaml:"send"`     // form (default), json or query
	Fields       map[string]string `yaml:"fields"`   // templates
	Headers      map[string]string `yaml:"headers"`  // templates; {uuid} is a new one each time
	Basic        string            `yaml:"basic"`    // template «user:password»
	PKCE         bool              `yaml:"pkce"`     // RFC 7636, S256
	Access       string            `yaml:"access"`   // JSON path; absent means $.access_token
	Expires      string            `yaml:"expires"`  // JSON path of seconds; absent means $.expires_in
	Lifetime     Duration          `yaml:"lifetime"` // when the answer does not tell
	Rotates      bool              `yaml:"rotates"`  // each exchange gives a new refresh token, which must be kept
}

// AWS holds the templates of AWS Signature Version 4.
type AWS struct {
	Service      string `yaml:"service"`
	Region       string `yaml:"region"`
	AccessKey    string `yaml:"access_key"`
	SecretKey    string `yaml:"secret_key"`
	SessionToken string `yaml:"session_token"`
}

// Sign tells how a request's signature is made.
type Sign struct {
	Algorithm string            `yaml:"algorithm"` // md5, sha1, sha256, sha512, hmac_sha256
	Over      string            `yaml:"over"`      // sorted_values: root values of the body by key; or template
	Add       map[string]string `yaml:"add"`       // values that are signed and not sent
	Template  string            `yaml:"template"`  // {body} is the body as sent
	Key       string            `yaml:"key"`       // template of the HMAC's key
	In        string            `yaml:"in"`        // header, query or body
	Name      string            `yaml:"name"`
}

// A Param is a value of one connection that is no secret: a subdomain, the
// address of an own server, a version.
type Param struct {
	Name    string `yaml:"name" json:"name"`
	Env     string `yaml:"env" json:"env,omitempty"`
	Title   string `yaml:"title" json:"title"`
	TitleRU string `yaml:"title_ru" json:"-"`
	Kind    string `yaml:"kind" json:"kind"`                 // label, host, url, segment or text
	Net     string `yaml:"net" json:"net,omitempty"`         // of host and url: public (default), or own when an admin may allow a private network
	Suffix  string `yaml:"suffix" json:"suffix,omitempty"`   // of host and url: what the host must end in
	Pattern string `yaml:"pattern" json:"pattern,omitempty"` // whole value
	Default string `yaml:"default" json:"default,omitempty"`
	From    string `yaml:"from" json:"from,omitempty"` // a field whose pattern has a group of this name; then nobody is asked

	Optional bool `yaml:"optional" json:"optional,omitempty"`
}
