package connect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// A draft is a request without its credential.
type draft struct {
	method  string
	url     *url.URL
	query   url.Values
	header  http.Header
	body    map[string]any // of a JSON or form body; nil when it is something else
	other   any            // a body that is no object
	form    catalog.Encoding
	hasBody bool
	rpc     *catalog.RPCCall // of a remote method
	hidden  []string         // made of secrets, by authorize
}

// compose turns a call that the catalog admits into a request.
func compose(service *catalog.Service, module *catalog.Module, p *prepared, call catalog.Call) (*draft, error) {
	base, err := p.base(module)
	if err != nil {
		return nil, err
	}
	d := &draft{method: call.Method, query: url.Values{}, header: http.Header{}, form: module.Body}
	if d.form == "" {
		d.form = catalog.JSONBody
	}
	path := call.Path
	query := maps.Clone(call.Query)
	body := copied(call.Body)
	if service.Remote(call) {
		if path, query, body, err = d.remote(service, call, query, body); err != nil {
			return nil, err
		}
	}
	if strings.ContainsAny(path, "{}") && !strings.Contains(path, "guid'") {
		return nil, coworker.InvalidArguments(coworker.Problem{Field: "path", Problem: "has a {name} that you must fill in"})
	}
	d.url = joined(base, path)
	for name, template := range module.Query {
		if _, given := query[name]; given {
			continue
		}
		if value, missing := expand(template, p.values); missing == "" && value != "" {
			d.query.Set(name, value)
		}
	}
	if err := addQuery(d.query, query); err != nil {
		return nil, err
	}
	for _, headers := range []map[string]string{service.Headers, module.Headers} {
		for name, template := range headers {
			if value, missing := expand(template, p.values); missing == "" && value != "" {
				d.header.Set(name, value)
			}
		}
	}
	if d.header.Get("Accept") == "" {
		d.header.Set("Accept", "application/json")
	}
	if d.header.Get("User-Agent") == "" {
		d.header.Set("User-Agent", "innerloop")
	}
	return d, d.take(body)
}

// take puts the caller's body in.
func (d *draft) take(body any) error {
	if body == nil {
		if d.method == http.MethodPost || d.method == http.MethodPut || d.method == http.MethodPatch {
			d.body, d.hasBody = map[string]any{}, d.rpc != nil
		}
		return nil
	}
	if d.method == http.MethodGet || d.method == http.MethodHead {
		return coworker.InvalidArguments(coworker.Problem{Field: "body", Problem: "does not go with " + d.method + "; use query"})
	}
	d.hasBody = true
	if object, ok := body.(map[string]any); ok {
		d.body = object
		return nil
	}
	if d.form != catalog.JSONBody {
		if _, ok := body.(string); !ok {
			return coworker.InvalidArguments(coworker.Problem{Field: "body", Problem: "must be an object or a text for this module"})
		}
	}
	d.other = body
	return nil
}

// remote makes path, query and body of a remote method's call.
func (d *draft) remote(service *catalog.Service, call catalog.Call, query map[string]any, body any) (string, map[string]any, any, error) {
	name, action := call.Method, ""
	if i := strings.LastIndex(call.Method, "."); i >= 0 {
		name, action = call.Method[:i], call.Method[i+1:]
	}
	form := service.RPC.Call
	if other, ok := service.RPC.Actions[action]; ok {
		form = merged(form, other)
	} else if len(service.RPC.Actions) > 0 && !strings.Contains(form.Path, "{service}") {
		name = call.Method
	}
	d.rpc, d.method = &form, form.HTTP
	args, ok := body.(map[string]any)
	if body == nil {
		args, ok = map[string]any{}, true
	}
	if !ok {
		if form.Args != "body" || len(form.Envelope) > 0 && !slices.Contains(slices.Collect(maps.Values(form.Envelope)), "{args}") {
			return "", nil, nil, coworker.InvalidArguments(coworker.Problem{Field: "body", Problem: "must be an object: the method's arguments by name"})
		}
	}
	values := map[string]string{"method": segments(call.Method), "service": segments(name), "action": segments(action)}
	for _, part := range placeholder.FindAllStringSubmatch(form.Path, -1) {
		if _, known := values[part[1]]; known {
			continue
		}
		value, given := args[part[1]]
		if !given {
			value, given = query[part[1]]
			delete(query, part[1])
		}
		delete(args, part[1])
		text := plain(value)
		if !given || text == "" || strings.ContainsAny(text, "'/\\") {
			return "", nil, nil, coworker.InvalidArguments(coworker.Problem{Field: "body." + part[1], Problem: "is needed for this method: a text without quotes and slashes"})
		}
		values[part[1]] = url.PathEscape(text)
	}
	path, _ := expand(form.Path, values)
	switch form.Args {
	case "query":
		if query == nil {
			query = map[string]any{}
		}
		maps.Copy(query, args)
		// What names the method comes last: it is what the call was classed by.
		for key, template := range form.Envelope {
			query[key], _ = expand(template, map[string]string{"method": call.Method, "service": name, "action": action, "id": "1"})
		}
		return path, query, nil, nil
	case "form":
		d.form = catalog.FormBody
	}
	if len(form.Envelope) == 0 {
		if ok {
			body = args
		}
		return path, query, body, nil
	}
	envelope := map[string]any{}
	for key, template := range form.Envelope {
		switch template {
		case "{args}":
			if envelope[key] = body; body == nil {
				envelope[key] = map[string]any{}
			}
		case "{id}":
			envelope[key] = 1
		default:
			envelope[key], _ = expand(template, map[string]string{"method": call.Method, "service": name, "action": action})
		}
	}
	return path, query, envelope, nil
}

// segments escapes a name for a path in which its slashes part segments.
func segments(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// merged lays one form over another.
func merged(base, over catalog.RPCCall) catalog.RPCCall {
	set := func(into *string, from string) {
		if from != "" {
			*into = from
		}
	}
	set(&base.HTTP, over.HTTP)
	set(&base.Path, over.Path)
	set(&base.Args, over.Args)
	set(&base.Result, over.Result)
	set(&base.Error, over.Error)
	set(&base.ErrorDescription, over.ErrorDescription)
	if over.Envelope != nil {
		base.Envelope = over.Envelope
	}
	return base
}

// joined puts a checked path behind a base address, each character that needs
// it encoded and none twice.
func joined(base *url.URL, path string) *url.URL {
	u := *base
	decoded, err := url.PathUnescape(path)
	if err != nil {
		decoded = path
	}
	u.RawPath = strings.TrimSuffix(base.EscapedPath(), "/") + escapedPath(path)
	u.Path = strings.TrimSuffix(base.Path, "/") + decoded
	if u.RawPath == (&url.URL{Path: u.Path}).EscapedPath() {
		u.RawPath = ""
	}
	return &u
}

func escapedPath(path string) string {
	if strings.Contains(path, "%") {
		if u, err := url.Parse(path); err == nil {
			return u.EscapedPath()
		}
	}
	return (&url.URL{Path: path}).EscapedPath()
}

func addQuery(into url.Values, query map[string]any) error {
	for _, name := range sortedKeys(query) {
		switch v := query[name].(type) {
		case nil:
		case []any:
			for _, one := range v {
				if !scalar(one) {
					return coworker.InvalidArguments(coworker.Problem{Field: "query." + name, Problem: "must be a text, a number, true or false, or a list of them"})
				}
				into.Add(name, plain(one))
			}
		default:
			if !scalar(v) {
				return coworker.InvalidArguments(coworker.Problem{Field: "query." + name, Problem: "must be a text, a number, true or false, or a list of them"})
			}
			into.Set(name, plain(v))
		}
	}
	return nil
}

// encode makes the bytes of the body and their type. A GET has none.
func (d *draft) encode() ([]byte, string, error) {
	if !d.hasBody && len(d.body) == 0 {
		return nil, "", nil
	}
	if d.other != nil {
		if text, ok := d.other.(string); ok && d.form != catalog.JSONBody {
			return []byte(text), map[catalog.Encoding]string{
				catalog.XMLBody: "application/xml", catalog.FormBody: "application/x-www-form-urlencoded",
			}[d.form], nil
		}
		raw, err := encodeJSON(d.other)
		return raw, "application/json", err
	}
	switch d.form {
	case catalog.FormBody:
		form, err := flattened(d.body)
		return []byte(form.Encode()), "application/x-www-form-urlencoded", err
	case catalog.MultipartBody:
		return multipartOf(d.body)
	}
	raw, err := encodeJSON(d.body)
	return raw, "application/json", err
}

func encodeJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, fmt.Errorf("encode a body: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// flattened writes nested values the way form-encoded services read them:
// a[b]=1, list[0]=x.
func flattened(body map[string]any) (url.Values, error) {
	out := url.Values{}
	var walk func(name string, value any)
	walk = func(name string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, inner := range v {
				walk(name+"["+key+"]", inner)
			}
		case []any:
			for i, inner := range v {
				walk(fmt.Sprintf("%s[%d]", name, i), inner)
			}
		case nil:
			out.Set(name, "")
		default:
			out.Set(name, plain(v))
		}
	}
	for key, value := range body {
		walk(key, value)
	}
	return out, nil
}

func multipartOf(body map[string]any) ([]byte, string, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, name := range sortedKeys(body) {
		value := body[name]
		text := plain(value)
		if !scalar(value) && value != nil {
			raw, err := encodeJSON(value)
			if err != nil {
				return nil, "", err
			}
			text = string(raw)
		}
		if err := w.WriteField(name, text); err != nil {
			return nil, "", fmt.Errorf("encode a body: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", fmt.Errorf("encode a body: %w", err)
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// request makes the request of a draft whose credential is in place.
func (d *draft) request(ctx context.Context) (*http.Request, []byte, error) {
	raw, contentType, err := d.encode()
	if err != nil {
		return nil, nil, err
	}
	u := *d.url
	u.RawQuery = d.query.Encode()
	var body io.Reader
	if raw != nil {
		body = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(ctx, d.method, u.String(), body)
	if err != nil {
		return nil, nil, fmt.Errorf("make a request: %w", err)
	}
	r.Header = d.header.Clone()
	if contentType != "" && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", contentType)
	}
	return r, raw, nil
}

func (d *draft) clone() *draft {
	c := *d
	c.query, c.header, c.hidden = maps.Clone(d.query), d.header.Clone(), nil
	if d.body != nil {
		c.body, _ = copied(d.body).(map[string]any)
	}
	return &c
}
