package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// A verifier repeats, against a running program, what the protocol marks as
// asserted by others: by a release verifier, by the published contract or by
// MCP and A2A themselves (protocol 8 to 10). It reads answers strictly and from
// outside.
type verifier struct {
	*testing.T
	url  string // one listener for all origins
	http *http.Client
}

func verify(t *testing.T) verifier {
	t.Helper()
	server := serve(t, embedded(t))
	return verifier{t, server.URL, &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

type heard struct {
	status int
	header http.Header
	body   []byte
}

// most is the response bound of protocol 0.2.
const most = 2_000_000

func (v verifier) do(method, address string, body []byte, headers ...string) heard {
	v.Helper()
	r, err := http.NewRequestWithContext(v.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		v.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	got, err := v.http.Do(r)
	if err != nil {
		v.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(io.LimitReader(got.Body, most+1))
	if err != nil || len(text) > most {
		v.Fatalf("%s %s: %d bytes, %v", method, address, len(text), err)
	}
	return heard{got.StatusCode, got.Header, text}
}

const (
	metaPrefix = "io.modelcontextprotocol/"
	callID     = "release-0b0e7a52-0f53-4ac5-9df9-5b5f3a1d9c11"
)

// call sends a request as the verifier of protocol 8.2 and 8.4 does.
func (v verifier) call(era, method string, params map[string]any) heard {
	v.Helper()
	sent := map[string]any{}
	for name, value := range params {
		sent[name] = value
	}
	headers := []string{"accept", "application/json, text/event-stream", "content-type", "application/json", "mcp-protocol-version", era}
	if era == modern {
		sent["_meta"] = map[string]any{
			metaPrefix + "protocolVersion": era, metaPrefix + "clientInfo": map[string]any{"name": "verifier", "version": "1"}, metaPrefix + "clientCapabilities": map[string]any{},
		}
		headers = append(headers, "mcp-method", method)
		for from, name := range map[string]string{"tools/call": "name", "resources/read": "uri"} {
			if method == from {
				headers = append(headers, "mcp-name", params[name].(string))
			}
		}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": callID, "method": method, "params": sent})
	if err != nil {
		v.Fatal(err)
	}
	return v.do(http.MethodPost, v.url+"/mcp", body, headers...)
}

const (
	modern   = "2026-07-28"
	legacy   = "2025-06-18"
	legacy25 = "2025-11-25"
)

// result holds an answer against what every call of protocol 8.2 expects and
// reads its result into a value.
func (v verifier) result(era, method string, params map[string]any, into any) json.RawMessage {
	v.Helper()
	got := v.call(era, method, params)
	if got.status/100 != 2 {
		v.Fatalf("%s %s: %d %s", era, method, got.status, got.body)
	}
	if media, _, _ := mime.ParseMediaType(got.header.Get("Content-Type")); media != "application/json" || got.header.Get("Cache-Control") != "no-store" {
		v.Errorf("%s %s: %v", era, method, got.header)
	}
	var reply struct {
		JSONRPC string
		ID      json.RawMessage
		Error   json.RawMessage
		Result  json.RawMessage
	}
	v.read(got.body, &reply)
	if reply.JSONRPC != "2.0" || string(reply.ID) != `"`+callID+`"` || reply.Error != nil {
		v.Fatalf("%s %s: %s", era, method, got.body)
	}
	var marks struct {
		ResultType string
		TTLMs      *float64
		CacheScope string
		Meta       map[string]json.RawMessage `json:"_meta"`
	}
	v.read(reply.Result, &marks)
	if era == modern {
		if info := marks.Meta[metaPrefix+"serverInfo"]; marks.ResultType != "complete" || len(info) == 0 || info[0] != '{' {
			v.Errorf("%s: resultType %q, serverInfo %s", method, marks.ResultType, info)
		}
		cached := !slices.Contains([]string{"tools/call", "prompts/get", "completion/complete"}, method)
		if cached != (marks.TTLMs != nil) || cached && (*marks.TTLMs < 0 || *marks.TTLMs != float64(int64(*marks.TTLMs)) || marks.CacheScope != "public") {
			v.Errorf("%s: ttlMs %v, cacheScope %q", method, marks.TTLMs, marks.CacheScope)
		}
	}
	v.read(reply.Result, into)
	return reply.Result
}

func (v verifier) read(text []byte, into any) {
	v.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		v.Fatalf("%v in %s", err, text)
	}
}

// order names the keys of an object and of those within it, as they are written.
func (v verifier) order(text json.RawMessage) string {
	v.Helper()
	var keys []string
	d := json.NewDecoder(bytes.NewReader(text))
	var objects []bool // those that are open, and lists as false
	key := false
	for {
		token, err := d.Token()
		if err == io.EOF {
			return strings.Join(keys, " ")
		}
		if err != nil {
			v.Fatal(err)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			objects = append(objects, token == json.Delim('{'))
		case json.Delim('}'), json.Delim(']'):
			objects = objects[:len(objects)-1]
		default:
			if key {
				keys = append(keys, token.(string))
				key = false
				continue
			}
		}
		key = len(objects) > 0 && objects[len(objects)-1]
	}
}

// keys compares the members of an object with the exact set.
func (v verifier) keys(what string, object json.RawMessage, names string) {
	v.Helper()
	var members map[string]json.RawMessage
	v.read(object, &members)
	var got []string
	for name := range members {
		got = append(got, name)
	}
	want := strings.Fields(names)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		v.Errorf("%s has %v, want %v", what, got, want)
	}
}

// links are the addresses of this service in a text; those with a blank to
// fill in are left out.
func (v verifier) links(text string) []string {
	var found []string
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, v.url)
		if !ok {
			return found
		}
		end := strings.IndexFunc(after, func(r rune) bool { return strings.ContainsRune(" \n\t\"'`()<>,;…|", r) })
		if end < 0 {
			end = len(after)
		}
		path := strings.TrimRight(after[:end], ".")
		rest = after[end:]
		if _, err := url.Parse(v.url + path); err == nil && !strings.Contains(path, "{") && !slices.Contains(found, path) {
			found = append(found, path)
		}
	}
}
