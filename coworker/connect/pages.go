package connect

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/internal/keyring"
)

// A place is where the next page begins: values to be put into the request,
// or a whole address within the module.
type place struct {
	Query  map[string]string `json:"q,omitempty"`
	Body   map[string]any    `json:"b,omitempty"` // dotted names
	Header map[string]string `json:"h,omitempty"`
	URL    string            `json:"u,omitempty"`
}

// apply puts a place into a draft.
func (at *place) apply(d *draft) error {
	for name, value := range at.Query {
		d.query.Set(name, value)
	}
	for name, value := range at.Header {
		d.header.Set(name, value)
	}
	if len(at.Body) > 0 {
		if d.body == nil {
			d.body = map[string]any{}
		}
		d.hasBody = true
		for name, value := range at.Body {
			put(d.body, name, value)
		}
	}
	if at.URL == "" {
		return nil
	}
	next, err := d.url.Parse(at.URL)
	if err != nil || next.Scheme != d.url.Scheme || next.Host != d.url.Host || next.User != nil {
		return foreignPage()
	}
	d.query = next.Query()
	next.RawQuery, next.Fragment = "", ""
	d.url = next
	return nil
}

func foreignPage() error {
	return &coworker.Fault{Code: coworker.UpstreamError, Hint: "the service named a next page outside of the module; ask for it by its own parameters"}
}

// follow finds the place of the next page in an answer; nil when there is
// none. items is how many the page held, or -1 when nobody can tell.
func follow(rule catalog.Pagination, d *draft, header http.Header, body any) (next *place, items int, total *int) {
	items = -1
	list, ok := find(body, orText(rule.Items, "$"))
	if l, isList := list.([]any); ok && isList {
		items = len(l)
	}
	if value, ok := find(body, rule.Total); ok {
		if n, err := strconv.Atoi(plain(value)); err == nil {
			total = &n
		}
	}
	if more, ok := find(body, rule.More); rule.Stop == "more" && (!ok || nothing(more)) {
		return nil, items, total
	}
	if items == 0 && !trusted(rule) {
		return nil, items, total
	}
	size, sized := pageSize(rule, d)
	if rule.Stop == "short" && sized && items >= 0 && items < size {
		return nil, items, total
	}
	switch rule.Kind {
	case catalog.Link:
		if address := linkNext(header); address != "" {
			return &place{URL: address}, items, total
		}
	case catalog.NextURL:
		if value, ok := find(body, rule.Response); ok && plain(value) != "" {
			return &place{URL: plain(value)}, items, total
		}
	case catalog.Cursor, catalog.DateFrom:
		return cursorNext(rule, d, body), items, total
	case catalog.Offset, catalog.Page:
		return countedNext(rule, d, items, size, sized, total), items, total
	}
	return nil, items, total
}

// trusted tells rules under which a page without items need not be the last:
// the answer says itself whether another follows.
func trusted(rule catalog.Pagination) bool {
	named := rule.Kind == catalog.Cursor || rule.Kind == catalog.NextURL || rule.Kind == catalog.Link
	return rule.Stop == "more" || rule.Stop == "absent" && named
}

func cursorNext(rule catalog.Pagination, d *draft, body any) *place {
	at := &place{}
	moved := false
	set := func(name, path string) bool {
		value, ok := find(body, path)
		if !ok || nothing(value) || !scalar(value) {
			return false
		}
		if n, err := strconv.ParseInt(plain(value), 10, 64); err == nil && rule.Request.Add != 0 {
			value = json.Number(strconv.FormatInt(n+int64(rule.Request.Add), 10))
		}
		if before, ok := d.value(rule.Request.In, name); !ok || plain(before) != plain(value) {
			moved = true
		}
		at.set(rule.Request.In, name, value)
		return true
	}
	if rule.Request.Name != "" && rule.Response != "" && !set(rule.Request.Name, rule.Response) {
		return nil
	}
	for name, path := range rule.Carry {
		if !set(name, path) {
			return nil
		}
	}
	if !moved {
		return nil // the same page for ever
	}
	return at
}

// countedNext adds up pages and items.
func countedNext(rule catalog.Pagination, d *draft, items, size int, sized bool, total *int) *place {
	now := rule.Request.Start
	if value, ok := d.value(rule.Request.In, rule.Request.Name); ok {
		if n, err := strconv.Atoi(plain(value)); err == nil {
			now = n
		}
	}
	step := 1
	if rule.Kind == catalog.Offset {
		switch {
		case items > 0:
			step = items
		case sized:
			step = size
		default:
			return nil
		}
	}
	if total != nil {
		seen := now - rule.Request.Start + step
		if rule.Kind == catalog.Page && sized {
			seen = (now - rule.Request.Start + 1) * size
		}
		if (rule.Kind == catalog.Offset || sized) && seen >= *total {
			return nil
		}
	}
	if items < 0 && total == nil && rule.Stop != "more" {
		return nil // nothing would ever say that it is the last
	}
	at := &place{}
	at.set(rule.Request.In, rule.Request.Name, json.Number(strconv.Itoa(now+step)))
	return at
}

func (at *place) set(in, name string, value any) {
	switch in {
	case "body":
		if at.Body == nil {
			at.Body = map[string]any{}
		}
		at.Body[name] = value
	case "header":
		if at.Header == nil {
			at.Header = map[string]string{}
		}
		at.Header[name] = plain(value)
	default:
		if at.Query == nil {
			at.Query = map[string]string{}
		}
		at.Query[name] = plain(value)
	}
}

// value reads what a draft has at a name.
func (d *draft) value(in, name string) (any, bool) {
	switch in {
	case "body":
		return at(d.body, name)
	case "header":
		return d.header.Get(name), d.header.Get(name) != ""
	}
	return d.query.Get(name), d.query.Has(name)
}

// pageSize is how many items a full page of the request holds.
func pageSize(rule catalog.Pagination, d *draft) (int, bool) {
	if rule.Request.Limit != "" {
		if value, ok := d.value(rule.Request.In, rule.Request.Limit); ok {
			if n, err := strconv.Atoi(plain(value)); err == nil && n > 0 {
				return n, true
			}
		}
	}
	return rule.Request.Step, rule.Request.Step > 0
}

var linkForm = regexp.MustCompile(`<([^>]*)>([^<]*)`)

// linkNext reads the next page of a Link header (RFC 8288).
func linkNext(header http.Header) string {
	for _, match := range linkForm.FindAllStringSubmatch(strings.Join(header.Values("Link"), ", "), -1) {
		for _, parameter := range strings.Split(match[2], ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(strings.TrimRight(parameter, ", ")), "=")
			if strings.EqualFold(name, "rel") && strings.EqualFold(strings.Trim(value, `"`), "next") {
				return match[1]
			}
		}
	}
	return ""
}

// A cursor is a place, sealed and bound to the call that it continues. It is
// not readable: an address that a service gave may repeat the credential.
func (e *Engine) cursor(at *place, bound []byte) (string, error) {
	raw, err := json.Marshal(at)
	if err != nil {
		return "", err
	}
	sealed, err := e.cursors.Seal(e.random, raw, bound)
	if err != nil {
		return "", err
	}
	return sealed.KeyID + "." + base64.RawURLEncoding.EncodeToString(sealed.Box), nil
}

func (e *Engine) openCursor(text string, bound []byte) (*place, error) {
	bad := coworker.InvalidArguments(coworker.Problem{Field: "page", Problem: "must be the page.next of an answer to this same call, unchanged"})
	id, box, _ := strings.Cut(text, ".")
	sealed, err := base64.RawURLEncoding.DecodeString(box)
	if err != nil {
		return nil, bad
	}
	raw, err := e.cursors.Open(keyring.Sealed{KeyID: id, Box: sealed}, bound)
	if err != nil {
		return nil, bad
	}
	at := &place{}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	if err := decoder.Decode(at); err != nil {
		return nil, bad
	}
	return at, nil
}

// binding is what a cursor belongs to.
func binding(p *prepared, call catalog.Call) []byte {
	raw, _ := json.Marshal([]any{p.service.ID, p.ID, call.Module, call.Method, call.Path, call.Query, call.Body})
	sum := sha256.Sum256(raw)
	return sum[:]
}

// within tells whether an address that a service gave stays in the module's own
// allow-list, and is a call that the caller's permission was looked up for.
func (x *execution) within(service *catalog.Service, root, next *url.URL) bool {
	path, ok := strings.CutPrefix(next.EscapedPath(), strings.TrimSuffix(root.EscapedPath(), "/"))
	if !ok || next.Host != root.Host || next.Scheme != root.Scheme {
		return false
	}
	if service.Remote(x.target) {
		return path == "" || path == "/"
	}
	call := catalog.Call{Module: x.target.Module, Method: x.target.Method, Path: path, Query: x.target.Query, Body: x.target.Body}
	if service.Admits(call) != nil {
		return false
	}
	class := service.Classify(call)
	return class == catalog.Read || class == x.class
}
