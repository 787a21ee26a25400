package catalog

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Recipes that a checked service shows at least.
const leastRecipes = 3

var (
	jsonPath = regexp.MustCompile(`^\$(\.\.?[\p{L}_][\p{L}\p{N}_-]*|\[(-?[0-9]+|\*|'[^'\\]+')\])*$`)

	// How credentials of well-known makers begin.
	secretStarts = []string{"sk_live_", "sk_test_", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxa-", "xoxb-", "xoxp-", "AKIA", "eyJ", "-----BEGIN"}

	// Headers that belong to the transport or to the credential.
	keptHeaders = []string{"authorization", "connection", "content-length", "cookie", "host", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade"}
)

// A checker walks one service and collects what breaks a rule.
type checker struct {
	*Service
	*faults
	names map[string]string // every name a template may hold, and where it comes from
}

// check adds what the schema cannot see.
func (s *Service) check(f *faults) {
	c := &checker{Service: s, faults: f, names: map[string]string{}}
	c.checkHead()
	c.checkAuth()
	c.checkParams()
	c.checkModules()
	c.checkRPC()
	c.checkOperations()
	c.checkAnswers()
	c.checkRecipes()
}

func (c *checker) checkHead() {
	if len(c.Summary) > 90 {
		c.add("summary", "has %d bytes, at most 90 are allowed", len(c.Summary))
	}
	if c.Status == Checked {
		if len(c.Sources) == 0 {
			c.add("sources", "a checked service names the pages it was checked against")
		}
		if c.Check == nil {
			c.add("check", "a checked service has a call that tests the connection")
		}
		if len(c.Recipes) < leastRecipes {
			c.add("recipes", "a checked service has at least %d", leastRecipes)
		}
	}
	for i, host := range c.Hosts {
		if err := checkHost(host); err != nil {
			c.add(fmt.Sprintf("hosts_allowed.%d", i), "%v", err)
		}
	}
	c.checkHeaders("headers", c.Headers)
}

func (c *checker) checkHeaders(field string, headers map[string]string) {
	for name := range headers {
		if slices.Contains(keptHeaders, strings.ToLower(name)) {
			c.add(field+"."+name, "belongs to the transport or to auth")
		}
	}
}

func (c *checker) checkModules() {
	c.checkTemplates("headers", c.Headers)
	seen := map[string]bool{}
	for i := range c.Modules {
		module := &c.Modules[i]
		field := fmt.Sprintf("modules.%d", i)
		if seen[module.ID] {
			c.add(field+".id", "is there twice")
		}
		seen[module.ID] = true
		c.checkBase(field+".base_url", module.BaseURL)
		if module.TestURL != "" {
			c.checkBase(field+".test_url", module.TestURL)
		}
		for j, entry := range module.Paths {
			method, glob := globOf(entry)
			if err := checkGlob(glob); err != nil {
				c.add(fmt.Sprintf("%s.paths.%d", field, j), "%v", err)
			}
			if method != "" && !slices.Contains(httpMethods, method) {
				c.add(fmt.Sprintf("%s.paths.%d", field, j), "no method before the path: one of %s", strings.Join(httpMethods, ", "))
			}
		}
		for _, id := range module.Auth {
			if !slices.ContainsFunc(c.Auth, func(a Auth) bool { return a.ID == id }) {
				c.add(field+".auth", "%s is no auth of this file", id)
			}
		}
		c.checkHeaders(field+".headers", module.Headers)
		c.checkTemplates(field+".headers", module.Headers)
		c.checkTemplates(field+".query", module.Query)
		if module.Rate != nil && module.Rate.Match != "" {
			c.add(field+".rate.match", "belongs into rates")
		}
		for j, rate := range module.Rates {
			c.checkMatch(fmt.Sprintf("%s.rates.%d.match", field, j), rate.Match, true)
		}
		for j, rule := range module.Pagination {
			c.checkPagination(fmt.Sprintf("%s.pagination.%d", field, j), rule)
		}
	}
}

func (c *checker) checkPagination(field string, rule Pagination) {
	c.checkMatch(field+".match", rule.Match, false)
	switch rule.Kind {
	case Cursor, DateFrom:
		if (rule.Request.Name == "" || rule.Response == "") && len(rule.Carry) == 0 {
			c.add(field, "%s needs request.name and response, or carry", rule.Kind)
		}
	case Offset, Page:
		if rule.Request.Name == "" {
			c.add(field+".request.name", "%s needs it", rule.Kind)
		}
	case NextURL:
		if rule.Response == "" {
			c.add(field+".response", "next_url needs it")
		}
	}
	if (rule.Stop == "more") != (rule.More != "") {
		c.add(field+".more", "goes with stop: more, and stop: more with it")
	}
	c.checkJSONPath(field+".response", rule.Response)
	c.checkJSONPath(field+".items", rule.Items)
	c.checkJSONPath(field+".total", rule.Total)
	c.checkJSONPath(field+".more", rule.More)
	for name, path := range rule.Carry {
		c.checkJSONPath(field+".carry."+name, path)
	}
}

func (c *checker) checkJSONPath(field, path string) {
	if path != "" && !jsonPath.MatchString(path) {
		c.add(field, "is no JSON path of names, [n], [*] and ['name']")
	}
}

// checkMatch reads a match as Service.fits does.
func (c *checker) checkMatch(field, match string, required bool) {
	if match == "" {
		if required {
			c.add(field, "is needed")
		}
		return
	}
	left, right, two := strings.Cut(match, " ")
	switch {
	case !two:
		if c.RPC == nil {
			c.add(field, "names a remote method; this service has no rpc")
		}
	case left == "query" || left == "mutation":
		if c.Style != GraphQL {
			c.add(field, "query and mutation are for style graphql")
		}
	case left != "*" && !slices.Contains(httpMethods, left):
		c.add(field, "begins with an HTTP method or *")
	case right != "*":
		if err := checkGlob(right); err != nil {
			c.add(field, "%v", err)
		}
	}
}

func (c *checker) checkRPC() {
	if (c.Style == RPCs || c.Style == JSONRPC || c.Style == OData) != (c.RPC != nil) {
		c.add("rpc", "goes with style rpc, jsonrpc or odata, and those with it")
	}
	if c.RPC == nil {
		return
	}
	if c.RPC.Call.HTTP == "" || c.RPC.Call.Path == "" {
		c.add("rpc.call", "needs http and path")
	}
	c.checkRPCCall("rpc.call", c.RPC.Call)
	for action, call := range c.RPC.Actions {
		c.checkRPCCall("rpc.actions."+action, call)
	}
	c.checkRemotePaths()
}

func (c *checker) checkRPCCall(field string, call RPCCall) {
	more := []string{"method", "service", "action", "args", "id", "key"}
	c.checkTemplate(field+".path", call.Path, more...)
	if call.Path != "" && call.Path != "/" {
		if err := CheckPath(placeholder.ReplaceAllString(call.Path, "x")); err != nil {
			c.add(field+".path", "%v", err)
		}
	}
	for name, template := range call.Envelope {
		c.checkTemplate(field+".envelope."+name, template, more...)
	}
	c.checkJSONPath(field+".result", call.Result)
	c.checkJSONPath(field+".error", call.Error)
	c.checkJSONPath(field+".error_description", call.ErrorDescription)
}

func (c *checker) checkOperations() {
	for i, operation := range c.Operations {
		field := fmt.Sprintf("operations.%d", i)
		if last := i == len(c.Operations)-1; last != (operation.Default != "") {
			c.add(field, "the last operation, and no other, is the default")
		}
		c.checkMatch(field+".match", operation.Match, operation.Default == "")
		for _, id := range operation.Modules {
			if _, ok := c.Module(id); !ok {
				c.add(field+".modules", "%s is no module of this file", id)
			}
		}
	}
}

func (c *checker) checkAnswers() {
	for i, rule := range c.Errors {
		field := fmt.Sprintf("errors.%d", i)
		c.checkMatch(field+".match", rule.Match, false)
		c.checkJSONPath(field+".json", rule.JSON)
		c.checkJSONPath(field+".after_json", rule.AfterJSON)
		if bare := rule.JSON == "" && rule.Body == ""; bare && rule.Status >= 200 && rule.Status <= 299 {
			c.add(field, "a status of success alone is no failure; json or body must tell it")
		}
		for j, before := range c.Errors[:i] {
			if before.covers(rule) {
				c.add(field, "is never reached: errors.%d comes before it and fits all that it fits", j)
			}
		}
		if !rule.Retry && (rule.After != 0 || rule.AfterHeader != "" || rule.AfterJSON != "") {
			c.add(field, "after is for errors that can be retried")
		}
	}
	if f := c.ErrorFields; f != nil {
		c.checkJSONPath("error_fields.code", f.Code)
		c.checkJSONPath("error_fields.message", f.Message)
		c.checkJSONPath("error_fields.request_id", f.RequestID)
	}
	if i := c.Idempotency; i != nil {
		places := 0
		for _, place := range []string{i.Header, i.Body, i.Query} {
			if place != "" {
				places++
			}
		}
		if places != 1 {
			c.add("idempotency", "has exactly one of header, body and query")
		}
	}
	if c.Shape != nil {
		for i, path := range c.Shape.Drop {
			c.checkJSONPath(fmt.Sprintf("shape.drop.%d", i), path)
		}
	}
}

// covers tells whether a rule fits every answer that another fits. A rule
// without text and path fits failures alone, so one for every status does not
// cover what a path finds in a success.
func (r ErrorRule) covers(other ErrorRule) bool {
	bare := r.JSON == "" && r.Body == ""
	return (r.Status == other.Status || r.Status == 0 && (!bare || other.JSON == "" && other.Body == "")) &&
		(r.Match == "" || r.Match == other.Match) && (r.Body == "" || r.Body == other.Body) &&
		(r.JSON == "" || r.JSON == other.JSON && (r.Equals == "" || r.Equals == other.Equals))
}

func (c *checker) checkRecipes() {
	if c.Check != nil {
		c.checkCall("check", *c.Check)
		if placeholder.MatchString(c.Check.Path) {
			c.add("check.path", "has nothing left to fill in")
		}
		if class := c.Classify(*c.Check); class != Read {
			c.add("check", "must be of class read, it is %s", class)
		}
	}
	seen := map[string]bool{}
	for i, recipe := range c.Recipes {
		field := fmt.Sprintf("recipes.%d", i)
		if seen[recipe.ID] {
			c.add(field+".id", "is there twice")
		}
		seen[recipe.ID] = true
		c.checkCall(field+".call", recipe.Call)
	}
}

func (c *checker) checkCall(field string, call Call) {
	call.Path = placeholder.ReplaceAllString(call.Path, "x")
	if err := c.Admits(call); err != nil {
		c.add(field, "%v", err)
	}
	for name, value := range call.Query {
		switch value.(type) {
		case string, bool, int, int64, uint64, float64:
		default:
			c.add(field+".query."+name, "is one text, number or boolean")
		}
	}
}

// checkSecrets refuses a file whose text holds what looks like a credential:
// a known beginning, 32 hexadecimal digits, or a run longer than any name.
// Addresses are left out: they hold long names of pages.
func checkSecrets(f *faults, text []byte) {
	for number, line := range strings.Split(string(text), "\n") {
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\"',;{}[]()<>", r) }) {
			if !strings.HasPrefix(word, "https://") && secretLike(word) {
				f.add("", "line %d: looks like a credential; examples hold none", number+1)
			}
		}
	}
}

func secretLike(word string) bool {
	known := slices.ContainsFunc(secretStarts, func(start string) bool { return len(word) > len(start)+7 && strings.HasPrefix(word, start) })
	hex := len(word) == 32 && strings.Trim(word, "0123456789abcdef") == ""
	run := len(word) >= 48 && strings.IndexFunc(word, func(r rune) bool { return r > 0x7f || !isWord(byte(r)) && r != '+' && r != '-' }) < 0
	return known || hex || run
}
