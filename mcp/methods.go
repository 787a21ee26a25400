package mcp

import (
	"net/http"
	"regexp"

	"github.com/mark3labs/mcp-go/mcp"

	"innerloop/internal/strictjson"
)

// methods are all there is to call, with the eras that have them.
var methods = map[mcp.MCPMethod]struct{ legacy, modern bool }{
	mcp.MethodInitialize:             {legacy: true},
	mcp.MethodPing:                   {legacy: true},
	mcp.MethodServerDiscover:         {modern: true},
	mcp.MethodSubscriptionsListen:    {modern: true},
	mcp.MethodToolsList:              {legacy: true, modern: true},
	mcp.MethodToolsCall:              {legacy: true, modern: true},
	mcp.MethodResourcesList:          {legacy: true, modern: true},
	mcp.MethodResourcesTemplatesList: {legacy: true, modern: true},
	mcp.MethodResourcesRead:          {legacy: true, modern: true},
	mcp.MethodPromptsList:            {legacy: true, modern: true},
	mcp.MethodPromptsGet:             {legacy: true, modern: true},
	mcp.MethodCompletionComplete:     {legacy: true, modern: true},
	methodSkillsList:                 {legacy: true, modern: true},
	methodSkillsGet:                  {legacy: true, modern: true},
}

// accepts refuses a method that this era does not have and params that the
// method does not take.
func (d *Door) accepts(r request) *refusal {
	method := mcp.MCPMethod(r.method)
	if eras := methods[method]; r.modern && !eras.modern || !r.modern && !eras.legacy {
		return r.unknownMethod()
	}
	switch method {
	case mcp.MethodInitialize:
		return r.initializes()
	case mcp.MethodToolsCall:
		return d.calls(r)
	case mcp.MethodResourcesRead:
		return d.reads(r)
	case mcp.MethodSubscriptionsListen:
		if filter, sent := r.params.Get("notifications"); sent && filter.Kind() != strictjson.Object {
			return r.invalidParams("The member notifications of params must be an object.")
		}
	case mcp.MethodPromptsGet:
		return d.prompted(r)
	case mcp.MethodCompletionComplete:
		return d.completes(r)
	case methodSkillsGet:
		return d.getsSkill(r)
	case mcp.MethodToolsList, mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList, mcp.MethodPromptsList, methodSkillsList:
		// Every list is one page, so no cursor was ever given out.
		if cursor, sent := r.params.Get("cursor"); sent && !isText(cursor, "") {
			return r.invalidParams("The cursor is not one that this endpoint gave out; its lists are one page.")
		}
	}
	return nil
}

func (r request) initializes() *refusal {
	version, _ := r.params.Get("protocolVersion")
	if _, ok := version.Text(); !ok {
		return r.invalidParams("The member protocolVersion of params must be a string.")
	}
	for _, name := range [...]string{"capabilities", "clientInfo"} {
		if field, sent := r.params.Get(name); sent && field.Kind() != strictjson.Object {
			return r.invalidParams("The members capabilities and clientInfo of params must be objects.")
		}
	}
	return nil
}

func (d *Door) calls(r request) *refusal {
	field, _ := r.params.Get("name")
	name, ok := field.Text()
	if !ok {
		return r.invalidParams("The member name of params must be a string that names a tool.")
	}
	if !d.tools[name] {
		return r.invalidParams("There is no tool of this name; tools/list names them.")
	}
	arguments, sent := r.params.Get("arguments")
	if sent && arguments.Kind() != strictjson.Object && arguments.Kind() != strictjson.Null {
		return r.invalidParams("The member arguments of params must be an object.")
	}
	return nil
}

// resourceNotFound is the legacy code; revision 2026-07-28 dropped it.
const resourceNotFound = -32002

func (d *Door) reads(r request) *refusal {
	field, _ := r.params.Get("uri")
	uri, ok := field.Text()
	if !ok {
		return r.invalidParams("The member uri of params must be a string.")
	}
	if d.documents[uri] || d.mayBeSkill(uri) {
		return nil
	}
	return r.noResource(uri)
}

// noResource refuses an address under which there is nothing for the caller.
func (r request) noResource(uri string) *refusal {
	f := &refusal{
		status: r.status(http.StatusBadRequest), code: resourceNotFound, id: r.id,
		message: "There is no resource under this uri; resources/list names them.",
	}
	if r.modern {
		f.code = mcp.INVALID_PARAMS
	}
	if addressPattern.MatchString(uri) {
		f.data = map[string]string{"uri": uri}
	}
	return f
}

// addressPattern bounds what is repeated of an address we do not know: a
// client that asks for many can then tell which one is missing.
var addressPattern = regexp.MustCompile(`^[a-z][a-z0-9+.-]{0,31}://[A-Za-z0-9][A-Za-z0-9/._~-]{0,200}$`)
