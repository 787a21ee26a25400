package simulator

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
)

// says is a reply with a body; header is a list of names and values.
func says(status int, body any, header ...string) Reply {
	reply := Reply{Status: status, Body: body}
	for i := 0; i+1 < len(header); i += 2 {
		reply.Header = withHeader(reply.Header, header[i], header[i+1])
	}
	return reply
}

// fixed answers every request alike.
func fixed(status int, body any, header ...string) func(*Request) Reply {
	return func(*Request) Reply { return says(status, body, header...) }
}

func withHeader(header map[string]string, name, value string) map[string]string {
	header = maps.Clone(header)
	if header == nil {
		header = map[string]string{}
	}
	header[name] = value
	return header
}

// write sends a reply, compressed when the client takes that.
func (reply Reply) write(w http.ResponseWriter, r *http.Request) {
	for name, value := range reply.Header {
		if name != troubleHeader {
			w.Header().Set(name, value)
		}
	}
	var out io.Writer = w
	send := func(kind string) {
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", kind)
		}
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			out = packed
		}
		w.WriteHeader(reply.Status)
	}
	switch body := reply.Body.(type) {
	case nil:
		w.WriteHeader(reply.Status)
		return
	case string:
		send("application/xml")
		_, _ = io.WriteString(out, body)
	default:
		send("application/json; charset=utf-8")
		_ = json.NewEncoder(out).Encode(body)
	}
	if packed, ok := out.(*gzip.Writer); ok {
		_ = packed.Close()
	}
}

// A refusal is one row of a service's table.
type refusal struct {
	status        int
	code, message string
	header        []string // names and values
}

// refusals gives every row the shape of the service's failures.
func refusals(shape func(status int, code, message string) any, table map[Trouble]refusal) map[Trouble]Reply {
	made := map[Trouble]Reply{}
	for trouble, row := range table {
		made[trouble] = says(row.status, shape(row.status, row.code, row.message), row.header...)
	}
	return made
}
