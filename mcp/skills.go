package mcp

import (
	"encoding/json"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"

	"innerloop/internal/discovery"
)

// The skills extension (SEP-2640, protocol 8.7). mcp-go knows none of it, so
// it is answered here, after the same reading that every request goes through.
const (
	skillsExtension = "io.modelcontextprotocol/skills"

	methodSkillsList mcp.MCPMethod = "skills/list"
	methodSkillsGet  mcp.MCPMethod = "skills/get"
)

// A shelf holds the skills, written once: the texts that are compared are the
// bytes that are sent.
type shelf struct {
	list  json.RawMessage            // the array of all entries
	all   []json.RawMessage          // the entries
	entry map[string]json.RawMessage // by uri of SKILL.md
}

func shelve(skills []discovery.Skill) (shelf, error) {
	s := shelf{entry: map[string]json.RawMessage{}}
	for _, skill := range skills {
		text, err := encode(skill)
		if err != nil {
			return shelf{}, err
		}
		s.entry[skill.URI], s.all = text, append(s.all, text)
	}
	var err error
	s.list, err = encode(skills)
	return s, err
}

// marks are what a result of revision 2026-07-28 says beside its content.
type marks struct {
	Meta       map[string]any `json:"_meta,omitempty"`
	ResultType string         `json:"resultType,omitempty"`
	TTLMillis  *int64         `json:"ttlMs,omitempty"`
	CacheScope mcp.CacheScope `json:"cacheScope,omitempty"`
}

func (d *Door) marks(c call, r request) marks {
	if !r.modern {
		return marks{}
	}
	millis, scope := int64(cacheMillis), mcp.CacheScopePublic
	if c.key != nil {
		scope = mcp.CacheScopePrivate
	}
	return marks{
		Meta:       map[string]any{mcp.MetaKeyServerInfo: d.self},
		ResultType: string(mcp.ResultTypeComplete), TTLMillis: &millis, CacheScope: scope,
	}
}

// getsSkill refuses a uri that is none of a skill.
func (d *Door) getsSkill(r request) *refusal {
	field, _ := r.params.Get("uri")
	uri, ok := field.Text()
	if !ok {
		return r.invalidParams("The member uri of params must be a string.")
	}
	if d.skills.entry[uri] == nil && !d.mayBeSkill(uri) {
		return r.noSkill()
	}
	return nil
}

func (r request) noSkill() *refusal {
	return r.invalidParams("There is no skill under this uri; skills/list names them.")
}

// result is an answer that mcp-go has no part in.
func (r request) result(body any) (int, http.Header, []byte) {
	payload, err := encode(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result"`
	}{mcp.JSONRPC_VERSION, r.id, body})
	if err != nil {
		return r.internal().answer()
	}
	return http.StatusOK, answerHeader(), payload
}
