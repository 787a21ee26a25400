package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Protocol 9.5: what the A2A protocol refuses, in the form of its errors, and
// which versions it takes.
func TestVerifierA2ARefusals(t *testing.T) {
	t.Parallel()
	v := verify(t)
	const get = `{"operation":"innerloop.discovery.get"}`
	message := func(part, more string) string {
		return `{"message":{"messageId":"m","role":"ROLE_USER","parts":[` + part + `]` + more + `},"configuration":{"acceptedOutputModes":["application/json"]}}`
	}
	data := `{"data":` + get + `,"mediaType":"application/json"}`
	sound := message(data, "")
	const send, v1 = "/a2a/v1/message:send", "1.0"
	for _, row := range []struct {
		name, method, path, version, body string
		status                            int
		state, reason                     string
	}{
		{"as it should be", "POST", send, v1, sound, 200, "", ""},
		{"a patch version", "POST", send, "1.0.3", sound, 200, "", ""},
		{"the version in the query", "POST", send + "?A2A-Version=1.0", "", sound, 200, "", ""},
		{"no version", "POST", send, "", sound, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"},
		{"an old version", "POST", send, "0.3", sound, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"},
		{"a version to come", "POST", send, "2.0", sound, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"},
		{"a part of text", "POST", send, v1, message(`{"text":"hello"}`, ""), 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"},
		{"data of another type", "POST", send, v1, message(`{"data":`+get+`,"mediaType":"text/plain"}`, ""), 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"},
		{"replies in text alone", "POST", send, v1, strings.Replace(sound, `["application/json"]`, `["text/plain"]`, 1), 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"},
		{"a stream", "POST", "/a2a/v1/message:stream", v1, sound, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"},
		{"a subscription", "POST", "/a2a/v1/tasks/t:subscribe", v1, "", 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"},
		{"an extended card", "GET", "/a2a/v1/extendedAgentCard", v1, "", 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"},
		{"a push configuration", "POST", "/a2a/v1/tasks/t/pushNotificationConfigs", v1, "{}", 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"},
		{"push configurations", "GET", "/a2a/v1/tasks/t/pushNotificationConfigs", v1, "", 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"},
		{"a task", "GET", "/a2a/v1/tasks/t", v1, "", 404, "NOT_FOUND", "TASK_NOT_FOUND"},
		{"to cancel a task", "POST", "/a2a/v1/tasks/t:cancel", v1, "{}", 404, "NOT_FOUND", "TASK_NOT_FOUND"},
		{"a message for a task", "POST", send, v1, message(data, `,"taskId":"t"`), 404, "NOT_FOUND", "TASK_NOT_FOUND"},
		{"no message", "POST", send, v1, "{}", 400, "INVALID_ARGUMENT", "INVALID_REQUEST"},
		{"no JSON", "POST", send, v1, "{", 400, "INVALID_ARGUMENT", "INVALID_REQUEST"},
		{"two parts", "POST", send, v1, message(data+","+data, ""), 400, "INVALID_ARGUMENT", "INVALID_REQUEST"},
		{"tasks, of which there are none", "GET", "/a2a/v1/tasks", v1, "", 200, "", ""},
		{"tasks by a filter that is none", "GET", "/a2a/v1/tasks?pageSize=101", v1, "", 400, "INVALID_ARGUMENT", "INVALID_REQUEST"},
	} {
		headers := []string{"content-type", "application/a2a+json", "accept", "application/a2a+json"}
		if row.version != "" {
			headers = append(headers, "a2a-version", row.version)
		}
		got := v.do(row.method, v.url+row.path, []byte(row.body), headers...)
		if got.status != row.status || got.header.Get("Content-Type") != "application/a2a+json" || got.header.Get("A2A-Version") != "1.0" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", row.name, got.status, got.header, got.body)
		}
		if row.status == 200 {
			continue
		}
		var reply struct {
			Error struct {
				Code            int
				Status, Message string
				Details         []struct {
					Type           string `json:"@type"`
					Reason, Domain string
				}
			}
		}
		v.read(got.body, &reply)
		e := reply.Error
		if e.Code != row.status || e.Status != row.state || e.Message == "" || len(e.Details) == 0 || e.Details[0].Reason != row.reason || e.Details[0].Type != "type.googleapis.com/google.rpc.ErrorInfo" {
			t.Errorf("%s: %s", row.name, got.body)
		}
		if protocol := row.reason != "INVALID_REQUEST"; protocol != (len(e.Details) > 0 && e.Details[0].Domain == "a2a-protocol.org") {
			t.Errorf("%s: the domain of %s", row.name, got.body)
		}
	}
}

// Protocol 9.3 and 9.4: an operation that fails is an answer with exact keys,
// and what it does not know is refused rather than passed over.
func TestVerifierA2AOperationsRefuse(t *testing.T) {
	t.Parallel()
	v := verify(t)
	inputs := map[string]string{ // of each operation, without one of its keys
		"innerloop.discovery.get":         `"extra":1`,
		"innerloop.registration.start":    `"displayName":"Ada"`,
		"innerloop.registration.complete": `"challengeId":"00000000-0000-4000-8000-000000000000"`,
		"innerloop.entry.prepare":         `"agentId":"agent_0"`,
		"innerloop.entry.publish":         `"idempotencyKey":"k"`,
		"innerloop.public.read":           `"limit":51`,
	}
	for _, operation := range sixOperations {
		for _, members := range []string{inputs[operation], `"privateKey":"x"`} {
			got := v.message(json.RawMessage(`{"operation":"` + operation + `",` + members + `}`))
			var reply struct {
				Message struct {
					Parts []struct{ Data json.RawMessage }
				}
			}
			v.read(got.body, &reply)
			if got.status != http.StatusOK || len(reply.Message.Parts) != 1 {
				t.Fatalf("%s with %s: %d %s", operation, members, got.status, got.body)
			}
			part := reply.Message.Parts[0].Data
			v.keys(operation, part, "operation ok error")
			var told struct {
				Operation string
				OK        *bool
				Error     json.RawMessage
			}
			v.read(part, &told)
			var e struct {
				Code      string `json:"error_code"`
				Message   string
				Retryable *bool
			}
			v.read(told.Error, &e)
			v.keys(operation+": the error", told.Error, "error_code message retryable")
			if told.Operation != operation || told.OK == nil || *told.OK || !slices.Contains([]string{"invalid_request", "validation_failed"}, e.Code) || e.Message == "" || e.Retryable == nil || *e.Retryable {
				t.Errorf("%s with %s: %s", operation, members, part)
			}
		}
	}
}
