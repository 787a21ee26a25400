package mcp

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// A refusal is a JSON-RPC error with the HTTP status it travels under. Its
// message is a fixed text of ours and quotes nothing of the request.
type refusal struct {
	status  int
	code    int
	message string
	data    any
	id      json.RawMessage // nil while the request's id is unknown
}

func (f refusal) answer() (int, http.Header, []byte) {
	id := f.id
	if id == nil {
		id = json.RawMessage("null")
	}
	type detail struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}
	payload, err := encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   detail          `json:"error"`
	}{mcp.JSONRPC_VERSION, id, detail{f.code, f.message, f.data}})
	if err != nil {
		panic(err) // fixed texts and checked ids always encode
	}
	return f.status, answerHeader(), payload
}

// answerHeader is the same for every answer: nothing here may be kept by a
// cache on the way.
func answerHeader() http.Header {
	return http.Header{
		"Content-Type":           {"application/json"},
		"Cache-Control":          {"no-store"},
		"X-Content-Type-Options": {"nosniff"},
	}
}

// encode writes JSON without the escapes that HTML would need.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// internal is the answer to a failure of ours. Legacy clients read errors
// from the body of a 200.
func (r request) internal() refusal {
	return refusal{
		status: http.StatusOK, code: mcp.INTERNAL_ERROR, id: r.id,
		message: "The service could not answer this request. Repeating it unchanged is safe.",
	}
}

// rewrite replaces an error of mcp-go by one of ours: its texts quote the
// request and name Go types. It returns nil for a result.
func (r request) rewrite(w *buffered) *refusal {
	media, _, err := mime.ParseMediaType(w.header.Get("Content-Type"))
	if err != nil || media != "application/json" || w.status == 0 {
		f := r.internal()
		return &f
	}
	code, isError := errorCode(w.body)
	if !isError {
		return nil
	}
	switch code {
	case mcp.METHOD_NOT_FOUND:
		return r.unknownMethod()
	case mcp.HEADER_MISMATCH:
		return r.headerMismatch()
	case mcp.INVALID_PARAMS, mcp.INVALID_REQUEST, mcp.PARSE_ERROR:
		// The envelope was read before; what mcp-go cannot read is in params.
		return r.invalidParams("The params do not have the shape that this method takes.")
	}
	f := r.internal()
	return &f
}

// errorCode tells whether a JSON-RPC message is an error, reading no further
// than it must: a result may be long.
func errorCode(payload []byte) (code int, isError bool) {
	d := json.NewDecoder(bytes.NewReader(payload))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return 0, true
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return 0, true
		}
		switch name {
		case "result":
			return 0, false
		case "error":
			var detail struct {
				Code int `json:"code"`
			}
			if err := d.Decode(&detail); err != nil {
				return 0, true
			}
			return detail.Code, true
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			return 0, true
		}
	}
	return 0, true
}
