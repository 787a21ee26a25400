package handlers

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"innerloop/coworker"
)

// anyKeyedFaults may come of everything that needs a key.
var anyKeyedFaults = []coworker.Code{coworker.Unauthenticated, coworker.PermissionDenied, coworker.InvalidArg, coworker.RateLimited, coworker.Internal}

var neverKept = map[string]string{"cache-control": "NoStore"}

// describedCoworker lists the coworker's REST.
func describedCoworker() []described {
	auditParameters := []string{"AuditUserId", "AuditKeyId", "AuditAction", "AuditTool", "AuditService", "AuditError", "AuditErrors", "AuditFrom", "AuditUntil"}
	list := []string{"Org", "ListLimit", "ListCursor"}
	keyed := func(method, path, id, summary, request, answer string, status int, parameters []string, more ...coworker.Code) described {
		return described{
			method: method, path: path, id: id, tag: "coworker", summary: summary, request: request, parameters: parameters,
			answers: []describedAnswer{{status: status, about: "Done.", schema: answer, headers: neverKept}}, faults: append(slices.Clone(anyKeyedFaults), more...), keyed: true,
		}
	}
	key := []string{"Org", "APIKey"}
	info := described{
		method: "get", path: infoPath, id: "mcpInfo", tag: "coworker", summary: "Read how a client is connected with a key",
		parameters: []string{"IfNoneMatch"}, answers: reads("The address, the scopes and a settings block.", "MCPInfo"),
		faults: []coworker.Code{coworker.Unauthenticated, coworker.InvalidArg, coworker.RateLimited, coworker.Internal},
	}
	export := keyed("get", organizationPath+"/export", "exportOrganization", "Export everything stored of an organization", "", "", 200, []string{"Org"}, coworker.NotFound)
	export.answers[0].media = linesType
	export.about = "JSON Lines; the last record has the kind end. Admin."
	save := keyed("post", organizationPath+"/connections", "saveConnection", "Store the credential of a service", "NewConnection", "Connection", 201, []string{"Org"}, coworker.NotFound, coworker.UnknownService)
	save.about = "A connection of the same owner, service and name is replaced whole. No answer holds a secret again: of one with sixteen characters or more the last four are shown."
	save.answers = append(save.answers, describedAnswer{status: 200, about: "Replaced.", schema: "Connection", headers: neverKept})
	connection := []string{"Org", "Connection"}
	return append([]described{
		info,
		keyed("get", organizationPath, "organization", "Read an organization", "", "Organization", 200, []string{"Org"}, coworker.NotFound),
		keyed("delete", organizationPath, "deleteOrganization", "Delete an organization with all that is its own", "OrganizationDeletionRequest", "OrganizationDeletion", 200, []string{"Org"}, coworker.NotFound),
		export,
		keyed("get", organizationPath+"/users", "listUsers", "List users", "", "UserPage", 200, list, coworker.NotFound),
		keyed("post", organizationPath+"/users", "addUser", "Add a user", "NewUser", "User", 201, []string{"Org"}, coworker.NotFound),
		keyed("delete", organizationPath+"/users/:user", "removeUser", "Remove a user with keys and sessions", "", "UserRemoval", 200, []string{"Org", "User"}, coworker.NotFound),
		keyed("get", organizationPath+"/api-keys", "listAPIKeys", "List keys, the newest first", "", "APIKeyPage", 200, list, coworker.NotFound),
		keyed("post", organizationPath+"/api-keys", "createAPIKey", "Make a key, which is shown this once", "NewAPIKey", "CreatedAPIKey", 201, []string{"Org"}, coworker.NotFound),
		keyed("get", organizationPath+"/api-keys/:key", "readAPIKey", "Read a key", "", "APIKey", 200, key, coworker.NotFound),
		keyed("patch", organizationPath+"/api-keys/:key", "updateAPIKey", "Change a key", "APIKeyChange", "APIKey", 200, key, coworker.NotFound),
		keyed("delete", organizationPath+"/api-keys/:key", "revokeAPIKey", "Revoke a key", "", "APIKey", 200, key, coworker.NotFound),
		keyed("get", organizationPath+"/connections", "listConnections", "List connections", "", "ConnectionPage", 200, list, coworker.NotFound),
		save,
		keyed("delete", organizationPath+"/connections/:connection", "removeConnection", "Remove a connection with its credential", "", "ConnectionRemoval", 200, connection, coworker.NotFound),
		keyed("post", organizationPath+"/connections/:connection/check", "checkConnection", "Try a connection by a call that changes nothing", "", "ConnectionCheck", 200, connection, coworker.NotFound, coworker.NotConnected, coworker.UpstreamError),
		keyed("get", organizationPath+"/networks", "listNetworks", "List networks that connections with an address of their own may lead into", "", "NetworkPage", 200, []string{"Org"}, coworker.NotFound),
		keyed("post", organizationPath+"/networks", "allowNetwork", "Admit a network", "Network", "Network", 201, []string{"Org"}, coworker.NotFound),
		keyed("delete", organizationPath+"/networks", "forbidNetwork", "Take a network back", "Network", "NetworkRemoval", 200, []string{"Org"}, coworker.NotFound),
		keyed("get", organizationPath+"/settings", "organizationSettings", "Read the organization's rules for calls", "", "OrganizationSettings", 200, []string{"Org"}, coworker.NotFound),
		keyed("patch", organizationPath+"/settings", "changeOrganizationSettings", "Change the organization's rules for calls", "OrganizationSettingsChange", "OrganizationSettings", 200, []string{"Org"}, coworker.NotFound),
		keyed("get", auditPath, "audit", "List the audit: own rows with read:data, all with admin", "", "AuditPage", 200, append([]string{"ListLimit", "ListCursor"}, auditParameters...), coworker.NotFound),
		keyed("get", auditPath+"/days", "auditDays", "Count calls and errors by UTC day", "", "AuditDays", 200, auditParameters, coworker.NotFound),
	}, describedMemory(keyed)...)
}

const linesType = "application/x-ndjson"

// contractRefusals describes the answers of one operation that are the
// contract, by status.
func (d described) contractRefusals() map[int]object {
	groups := map[int][]string{}
	for _, code := range d.faults {
		groups[coworkerStatuses[code]] = append(groups[coworkerStatuses[code]], restCode(code))
	}
	own := []int{fiber.StatusRequestTimeout, fiber.StatusRequestHeaderFieldsTooLarge}
	if d.request != "" || d.takes != "" {
		own = append(own, fiber.StatusUnsupportedMediaType, fiber.StatusRequestEntityTooLarge)
	}
	if slices.Contains(d.parameters, "IfMatch") {
		own = append(own, fiber.StatusPreconditionFailed)
	}
	for _, status := range own {
		groups[status] = []string{string(coworker.InvalidArg)}
	}
	answers := map[int]object{}
	for status, codes := range groups {
		slices.Sort(codes)
		headers := map[string]string{"cache-control": "NoStore"}
		switch status {
		case fiber.StatusUnauthorized:
			headers["www-authenticate"] = "Challenge"
		case fiber.StatusTooManyRequests:
			headers["retry-after"] = "RetryAfter"
		}
		answers[status] = object{
			"description": "Refused: " + strings.Join(codes, ", ") + ".", "headers": headersOf(headers),
			"content": content(object{"allOf": []object{componentRef("schemas", "Contract"), {"properties": object{"code": object{"enum": codes}}}}}),
		}
	}
	return answers
}

// contractCodes tells status and retryability of every code of the contract.
func contractCodes() map[string]object {
	codes := map[string]object{}
	for _, code := range coworker.Codes() {
		codes[restCode(code)] = object{"status": coworkerStatuses[code], "retryable": code.Retryable()}
	}
	return codes
}
