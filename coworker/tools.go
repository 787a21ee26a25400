package coworker

import "slices"

// The names of the tools, as callers know them.
const (
	ToolListServices     = "list_services"
	ToolDescribeService  = "describe_service"
	ToolConnectorExecute = "connector_execute"
	ToolReplExecute      = "repl_execute"
	ToolReadMemory       = "read_memory"
)

// A rule says which scopes let a key call a tool: one of them is enough.
type rule struct {
	tool   string
	scopes []Scopes
}

var rules = []rule{
	{ToolListServices, []Scopes{ReadTools}},
	{ToolDescribeService, []Scopes{ReadTools}},
	{ToolConnectorExecute, []Scopes{WriteTools, ReadData}},
	{ToolReplExecute, []Scopes{WriteTools}},
	{ToolReadMemory, []Scopes{ReadData}},
}

// Tools names the tools of a coworker in the order they are listed.
func Tools() []string {
	names := make([]string, 0, len(rules))
	for _, r := range rules {
		names = append(names, r.tool)
	}
	return names
}

// MayCall refuses a caller whose scopes do not reach a tool. What a call of a
// connector may do is looked at again when its class is known (MayExecute).
func (who Caller) MayCall(tool string) error {
	at := slices.IndexFunc(rules, func(r rule) bool { return r.tool == tool })
	if at < 0 {
		return Missing("tool")
	}
	if slices.ContainsFunc(rules[at].scopes, who.Scopes.Holds) {
		return nil
	}
	return denied(who.Scopes, rules[at].scopes...)
}

// MayUse tells whether a connector is on the key's list.
func (who Caller) MayUse(service string) bool {
	return who.Connectors == nil || slices.Contains(who.Connectors, service)
}

// MayExecute refuses a call of a connector that is not on the key's list,
// whose class is above the key's, or that changes something without the scope
// for it.
func (who Caller) MayExecute(service string, class Class) error {
	if err := who.MayCall(ToolConnectorExecute); err != nil {
		return err
	}
	refuse := func(message string, required, have any) error {
		return &Fault{
			Code: PermissionDenied, Message: message, Hint: "ask an admin of the organization to change the key",
			Details: struct {
				Required any `json:"required"`
				Have     any `json:"have"`
			}{required, have},
		}
	}
	switch {
	case class != ClassRead && !who.Scopes.Holds(WriteTools):
		return denied(who.Scopes, WriteTools)
	case !who.MayUse(service):
		return refuse("This connector is not on the key's list.", []string{service}, who.Connectors)
	case !who.Class.Covers(class):
		return refuse("The key may not make calls of this class.", class, who.Class)
	}
	return nil
}

// MayReadSkills refuses a caller who may not see tools.
func (who Caller) MayReadSkills() error {
	if !who.Scopes.Holds(ReadTools) {
		return denied(who.Scopes, ReadTools)
	}
	return nil
}
