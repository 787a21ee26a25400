package mcp

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"innerloop/internal/strictjson"
)

// promised are the revisions we keep to, newest first. mcp-go negotiates
// older ones too; they work as far as it carries them.
var promised = [...]string{mcp.ProtocolVersion20260728, mcp.ProtocolVersion20251125, mcp.ProtocolVersion20250618}

// speaks finds the revision of a request and, for the newest, checks that
// header and body agree (protocol 8.1, 8.3). A proxy may have decided on the
// headers, so a difference is refused even where we would not care.
func (r *request) speaks(header http.Header) *refusal {
	for _, name := range [...]string{mcp.HeaderProtocolVersion, mcp.HeaderMethod, mcp.HeaderName} {
		if len(header.Values(name)) > 1 {
			return r.headerMismatch()
		}
	}
	announced := header.Get(mcp.HeaderProtocolVersion)
	meta, _ := r.params.Get("_meta")
	field, named := meta.Get(mcp.MetaKeyProtocolVersion)
	version, ok := field.Text()
	switch {
	case named && !ok:
		r.modern = true
		return r.missingMeta()
	case !named && announced == mcp.ProtocolVersion20260728:
		r.modern = true
		// Notifications need no _meta of their own: nothing is answered.
		if r.notification {
			return r.namesItself(header)
		}
		return r.missingMeta()
	case !named && (announced == "" || mcp.IsValidProtocolVersion(announced) || r.method == string(mcp.MethodInitialize)):
		return nil
	case !named:
		return r.unsupported(announced)
	case announced == "" && legacy(version):
		return nil
	case announced != version:
		r.modern = true
		return r.headerMismatch()
	case legacy(version):
		return nil
	}
	r.modern = true
	if version != mcp.ProtocolVersion20260728 {
		return r.unsupported(version)
	}
	if capabilities, _ := meta.Get(mcp.MetaKeyClientCapabilities); capabilities.Kind() != strictjson.Object && !r.notification {
		return r.missingMeta()
	}
	if header.Get(mcp.HeaderLastEventID) != "" {
		return r.headerMismatch()
	}
	return r.namesItself(header)
}

// namesItself compares the headers Mcp-Method and Mcp-Name with the body.
func (r request) namesItself(header http.Header) *refusal {
	if header.Get(mcp.HeaderMethod) != r.method {
		return r.headerMismatch()
	}
	name := map[mcp.MCPMethod]string{mcp.MethodToolsCall: "name", mcp.MethodPromptsGet: "name", mcp.MethodResourcesRead: "uri"}[mcp.MCPMethod(r.method)]
	if name == "" {
		return nil
	}
	given, ok := mcp.DecodeHeaderValue(header.Get(mcp.HeaderName))
	field, _ := r.params.Get(name)
	if !ok || given == "" || !isText(field, given) {
		return r.headerMismatch()
	}
	return nil
}

// versionPattern bounds what is repeated of a version we do not know.
var versionPattern = regexp.MustCompile(`^v?[0-9][0-9A-Za-z.-]{0,30}$`)

func legacy(version string) bool {
	return mcp.IsValidProtocolVersion(version) && !mcp.IsModernProtocol(version)
}

func (r request) headerMismatch() *refusal {
	return &refusal{
		status: http.StatusBadRequest, code: mcp.HEADER_MISMATCH, id: r.id,
		message: "The headers MCP-Protocol-Version, Mcp-Method and Mcp-Name must each be sent once and agree with the body; Last-Event-ID has no meaning here.",
	}
}

func (r request) missingMeta() *refusal {
	return &refusal{
		status: http.StatusBadRequest, code: mcp.INVALID_PARAMS, id: r.id,
		message: "A request of revision 2026-07-28 carries io.modelcontextprotocol/protocolVersion (a string) and io.modelcontextprotocol/clientCapabilities (an object) in params._meta.",
	}
}

// unsupported must tell which version was asked for; it is repeated only when
// it looks like one.
func (r request) unsupported(version string) *refusal {
	if !versionPattern.MatchString(version) {
		version = "unknown"
	}
	return &refusal{
		status: http.StatusBadRequest, code: mcp.UNSUPPORTED_PROTOCOL_VERSION, id: r.id,
		message: "This protocol version is not supported.",
		data: struct {
			Supported []string `json:"supported"`
			Requested string   `json:"requested"`
		}{slices.Clone(promised[:]), version},
	}
}
