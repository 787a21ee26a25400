package mcp

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"innerloop/internal/strictjson"
	"innerloop/journal"
)

// A request is a JSON-RPC message that may be handed to mcp-go.
type request struct {
	id           json.RawMessage // as it is to be echoed
	method       string
	params       strictjson.Value // Invalid when there are none
	token        json.RawMessage  // for telling progress; nil when it is not wanted
	notification bool
	modern       bool // of revision 2026-07-28
}

// The keys that mcp-go looks for without regard to case. Another spelling of
// one of them would be obeyed by it and overlooked by a guard that reads JSON
// exactly, so it is refused.
var (
	messageKeys = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramsKeys  = []string{
		"_meta", "name", "arguments", "uri", "cursor", "protocolVersion", "capabilities", "clientInfo",
		"task", "inputResponses", "requestState", "notifications", "ref", "argument", "context",
	}
)

// read reads one message strictly: its form first, then the revision it
// speaks, then what its method takes.
func (d *Door) read(header http.Header, body []byte) (request, *refusal) {
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return request{}, &refusal{
			status: http.StatusUnsupportedMediaType, code: mcp.INVALID_REQUEST,
			message: "The content type must be application/json.",
		}
	}
	message, err := strictjson.Parse(body)
	if err != nil {
		return request{}, notJSON(err)
	}
	r, refused := readMessage(message)
	if refused != nil {
		return r, refused
	}
	if refused := r.speaks(header); refused != nil {
		return r, refused
	}
	if r.notification {
		return r, nil
	}
	if refused := r.readToken(); refused != nil {
		return r, refused
	}
	return r, d.accepts(r)
}

// notJSON names the rule of strict JSON that was broken, which is a fixed
// text, and the word that the journal's own doors use for it.
func notJSON(err error) *refusal {
	f := &refusal{
		status: http.StatusBadRequest, code: mcp.PARSE_ERROR, message: "The body is not strict JSON.",
		data: map[string]string{"code": string(journal.InvalidRequest)},
	}
	var broken *strictjson.Error
	if errors.As(err, &broken) {
		f.message = "The body is not strict JSON: " + broken.Error() + "."
	}
	return f
}

func readMessage(message strictjson.Value) (request, *refusal) {
	var r request
	switch {
	case message.Kind() == strictjson.Array:
		return r, malformed("A batch is not taken; send one message at a time.")
	case message.Kind() != strictjson.Object:
		return r, malformed("A message is a JSON object.")
	case !exactCase(message, messageKeys):
		return r, malformed("A key of the message is not spelled exactly: jsonrpc, id, method, params.")
	}
	id, hasID := message.Get("id")
	if hasID {
		var ok bool
		if r.id, ok = echo(id); !ok {
			return r, malformed("The id must be a string or an integer between -(2^53-1) and 2^53-1.")
		}
	}
	if version, _ := message.Get("jsonrpc"); !isText(version, mcp.JSONRPC_VERSION) {
		return r, r.malformed("The member jsonrpc must be the string 2.0.")
	}
	method, hasMethod := message.Get("method")
	if !hasMethod {
		return r, r.malformed("The member method is missing; answers from a client are not taken, since nothing is asked of one.")
	}
	var ok bool
	if r.method, ok = method.Text(); !ok || r.method == "" {
		return r, r.malformed("The member method must be a string.")
	}
	for _, name := range [...]string{"result", "error"} {
		if _, sent := message.Get(name); sent {
			return r, r.malformed("A message that has a method is no answer: it has neither result nor error.")
		}
	}
	r.notification = !hasID
	if r.params, ok = message.Get("params"); ok && r.params.Kind() != strictjson.Object {
		return r, r.invalidParams("The member params must be an object.")
	}
	if !exactCase(r.params, paramsKeys) {
		return r, r.invalidParams("A key of params is not spelled exactly.")
	}
	if meta, ok := r.params.Get("_meta"); ok && meta.Kind() != strictjson.Object {
		return r, r.invalidParams("The member _meta of params must be an object.")
	}
	return r, nil
}

// echo returns the id as it will be sent back. Numbers that a client might
// not read as it wrote them are not ids.
func echo(id strictjson.Value) (json.RawMessage, bool) {
	if text, ok := id.Text(); ok {
		raw, err := encode(text)
		return raw, err == nil
	}
	if _, ok := id.Int(); !ok {
		return nil, false
	}
	literal, _ := id.Literal()
	return json.RawMessage(literal), true
}

// exactCase refuses keys that differ from a known one in case alone.
func exactCase(object strictjson.Value, known []string) bool {
	for _, m := range object.Members() {
		for _, name := range known {
			if m.Name != name && strings.EqualFold(m.Name, name) {
				return false
			}
		}
	}
	return true
}

func isText(v strictjson.Value, want string) bool {
	text, ok := v.Text()
	return ok && text == want
}

func malformed(message string) *refusal { return request{}.malformed(message) }

func (r request) malformed(message string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: mcp.INVALID_REQUEST, message: message, id: r.id}
}

// invalidParams travels under 200 for legacy clients, which look for errors
// in the body, and under 400 in the newest revision.
func (r request) invalidParams(message string) *refusal {
	return &refusal{status: r.status(http.StatusBadRequest), code: mcp.INVALID_PARAMS, message: message, id: r.id}
}

func (r request) unknownMethod() *refusal {
	return &refusal{
		status: r.status(http.StatusNotFound), code: mcp.METHOD_NOT_FOUND, id: r.id,
		message: "This endpoint does not have the method.",
	}
}

func (r request) status(modern int) int {
	if r.modern || r.notification {
		return modern
	}
	return http.StatusOK
}
