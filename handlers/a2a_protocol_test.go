package handlers_test

import (
	"net/http"
	"strings"
	"testing"
)

// Protocol 9.2 and 9.5: versions.
func TestA2AVersionsAreNegotiated(t *testing.T) {
	t.Parallel()
	d := open(t)
	body := message(t, "v", discoveryGet)
	post := func(path string, headers ...string) reply {
		return d.do(http.MethodPost, path, body, append([]string{"Content-Type", "application/a2a+json"}, headers...)...)
	}
	for name, r := range map[string]reply{
		"1.0":                       post(sendPath, "A2A-Version", "1.0"),
		"a patch number":            post(sendPath, "A2A-Version", "1.0.7"),
		"a long patch number":       post(sendPath, "A2A-Version", "1.0.12"),
		"in the query":              post(sendPath + "?A2A-Version=1.0"),
		"in the query, header bare": post(sendPath+"?A2A-Version=1.0.0", "A2A-Version", ""),
		"twice the same":            post(sendPath+"?A2A-Version=1.0", "A2A-Version", "1.0"),
		"twice in other words":      post(sendPath+"?A2A-Version=1.0", "A2A-Version", "1.0.3"),
		"another parameter beside":  post(sendPath + "?A2A-Version=1.0&trace=1"),
	} {
		if r.Status != http.StatusOK {
			t.Errorf("%s: %d %s", name, r.Status, r.Body)
		}
	}
	for name, r := range map[string]reply{
		"none":                  post(sendPath),
		"empty":                 post(sendPath, "A2A-Version", ""),
		"0.3":                   post(sendPath, "A2A-Version", "0.3"),
		"1":                     post(sendPath, "A2A-Version", "1"),
		"1.1":                   post(sendPath, "A2A-Version", "1.1"),
		"2.0":                   post(sendPath, "A2A-Version", "2.0"),
		"another in the query":  post(sendPath+"?A2A-Version=0.3", "A2A-Version", "1.0"),
		"two headers":           post(sendPath, "A2A-Version", "1.0", "A2A-Version", "0.3"),
		"1.0.":                  post(sendPath, "A2A-Version", "1.0."),
		"1.0.x":                 post(sendPath, "A2A-Version", "1.0.x"),
		"1.0.01":                post(sendPath, "A2A-Version", "1.0.01"),
		"01.0":                  post(sendPath, "A2A-Version", "01.0"),
		"1.0-rc":                post(sendPath, "A2A-Version", "1.0-rc"),
		"a list":                post(sendPath, "A2A-Version", "1.0, 0.3"),
		"0.3 in the query":      post(sendPath + "?A2A-Version=0.3"),
		"of a task":             d.get("/a2a/v1/tasks/task-1"),
		"of a list":             d.get("/a2a/v1/tasks"),
		"of a list, in query":   d.get("/a2a/v1/tasks?A2A-Version=1.1"),
		"of a stream":           post("/a2a/v1/message:stream"),
		"another parameter's":   post(sendPath + "?a2a-version=1.0"),
		"of a push subcription": d.get("/a2a/v1/tasks/task-1/pushNotificationConfigs"),
	} {
		t.Run(name, func(t *testing.T) {
			wantA2AError(t, r, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED", a2aDomain)
		})
	}
	wantA2AError(t, post(sendPath+"?A2A-Version=%zz"), 400, "INVALID_ARGUMENT", "INVALID_REQUEST", ourDomain)
}

// Protocol 9.5, a row a refusal.
func TestA2AProtocolErrors(t *testing.T) {
	t.Parallel()
	d := open(t)
	const v = "A2A-Version"
	part := func(part map[string]any) string {
		return message(t, "m", nil, func(_, m map[string]any) { m["parts"] = []any{part} })
	}
	with := func(change func(body, m map[string]any)) string { return message(t, "m", discoveryGet, change) }
	type row struct {
		got           reply
		status        int
		state, reason string
		domain        string
	}
	content := func(body string) row {
		return row{d.send(body), 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", a2aDomain}
	}
	shape := func(body string) row { return row{d.send(body), 400, "INVALID_ARGUMENT", "INVALID_REQUEST", ourDomain} }
	unsupported := func(r reply) row {
		return row{r, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION", a2aDomain}
	}
	push := func(r reply) row {
		return row{r, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED", a2aDomain}
	}
	noTask := func(r reply) row { return row{r, 404, "NOT_FOUND", "TASK_NOT_FOUND", a2aDomain} }
	for name, row := range map[string]row{
		"a part of text":         content(part(map[string]any{"text": "hello"})),
		"a raw part":             content(part(map[string]any{"raw": "aGk=", "mediaType": "application/json"})),
		"a part elsewhere":       content(part(map[string]any{"url": "https://x.example/a.json"})),
		"data of another type":   content(part(map[string]any{"data": discoveryGet, "mediaType": "text/plain"})),
		"data of no type":        content(part(map[string]any{"data": discoveryGet, "mediaType": "json"})),
		"a text beside the data": content(with(func(_, m map[string]any) { m["parts"] = append(m["parts"].([]any), map[string]any{"text": "x"}) })),
		"replies in text alone": content(with(func(b, _ map[string]any) {
			b["configuration"] = map[string]any{"acceptedOutputModes": []string{"text/plain", "image/*"}}
		})),
		"a stream":              unsupported(d.do("POST", "/a2a/v1/message:stream", with(same), v, "1.0")),
		"a subscription":        unsupported(d.do("POST", "/a2a/v1/tasks/task-1:subscribe", "", v, "1.0")),
		"a subscription by GET": unsupported(d.get("/a2a/v1/tasks/task-1:subscribe", v, "1.0")),
		"an extended card":      unsupported(d.get("/a2a/v1/extendedAgentCard", v, "1.0")),
		"to push":               push(d.do("POST", "/a2a/v1/tasks/t/pushNotificationConfigs", `{}`, v, "1.0")),
		"a list of pushes":      push(d.get("/a2a/v1/tasks/t/pushNotificationConfigs", v, "1.0")),
		"one push":              push(d.get("/a2a/v1/tasks/t/pushNotificationConfigs/c", v, "1.0")),
		"to end a push":         push(d.do("DELETE", "/a2a/v1/tasks/t/pushNotificationConfigs/c", "", v, "1.0")),
		"to push by the way": push(d.send(with(func(b, _ map[string]any) {
			b["configuration"] = map[string]any{"taskPushNotificationConfig": map[string]any{"url": "https://x.example"}}
		}))),
		"a task":                    noTask(d.get("/a2a/v1/tasks/task-1", v, "1.0")),
		"a task with its history":   noTask(d.get("/a2a/v1/tasks/task-1?historyLength=3", v, "1.0")),
		"to cancel a task":          noTask(d.do("POST", "/a2a/v1/tasks/task-1:cancel", `{}`, v, "1.0")),
		"a message for a task":      noTask(d.send(with(func(_, m map[string]any) { m["taskId"] = "task-1" }))),
		"nothing":                   shape(""),
		"no JSON":                   shape("{"),
		"not UTF-8":                 shape("{\"message\":\"\xff\"}"),
		"an array":                  shape("[]"),
		"no message":                shape("{}"),
		"a null message":            shape(`{"message":null}`),
		"no id":                     shape(with(func(_, m map[string]any) { delete(m, "messageId") })),
		"an empty id":               shape(with(func(_, m map[string]any) { m["messageId"] = "" })),
		"an id with white space":    shape(with(func(_, m map[string]any) { m["messageId"] = " m" })),
		"an id too long":            shape(with(func(_, m map[string]any) { m["messageId"] = strings.Repeat("m", 257) })),
		"an id that is a number":    shape(with(func(_, m map[string]any) { m["messageId"] = 1 })),
		"no role":                   shape(with(func(_, m map[string]any) { delete(m, "role") })),
		"the agent's role":          shape(with(func(_, m map[string]any) { m["role"] = "ROLE_AGENT" })),
		"the role of 0.3":           shape(with(func(_, m map[string]any) { m["role"] = "user" })),
		"no parts":                  shape(with(func(_, m map[string]any) { delete(m, "parts") })),
		"an empty list of parts":    shape(with(func(_, m map[string]any) { m["parts"] = []any{} })),
		"two data parts":            shape(with(func(_, m map[string]any) { m["parts"] = append(m["parts"].([]any), m["parts"].([]any)[0]) })),
		"a part with two contents":  shape(part(map[string]any{"data": discoveryGet, "text": "x"})),
		"a part without content":    shape(part(map[string]any{"mediaType": "application/json"})),
		"a part of 0.3":             shape(part(map[string]any{"kind": "data", "data": discoveryGet})),
		"data that is a list":       shape(part(map[string]any{"data": []any{}})),
		"data without an operation": shape(part(map[string]any{"data": map[string]any{}})),
		"an unknown operation":      shape(part(map[string]any{"data": map[string]any{"operation": "innerloop.entry.delete"}})),
		"an operation in capitals":  shape(part(map[string]any{"data": map[string]any{"operation": "Innerloop.Discovery.Get"}})),
		"a key that is unknown":     shape(with(func(b, _ map[string]any) { b["privateKey"] = "x" })),
		"a key in snake case":       shape(with(func(_, m map[string]any) { m["message_id"] = "x" })),
		"a tenant":                  shape(with(func(b, _ map[string]any) { b["tenant"] = "acme" })),
		"a key twice":               shape(`{"message":{},"message":{}}`),
		"modes that are no list": shape(with(func(b, _ map[string]any) {
			b["configuration"] = map[string]any{"acceptedOutputModes": "application/json"}
		})),
		"a configuration of 0.3":  shape(with(func(b, _ map[string]any) { b["configuration"] = map[string]any{"blocking": true} })),
		"a number beyond doubles": shape(strings.Replace(with(func(b, _ map[string]any) { b["metadata"] = map[string]any{"n": "N"} }), `"N"`, `1e999`, 1)),
		"a body of another type": {
			d.do("POST", sendPath, with(same), "Content-Type", "text/plain", v, "1.0"), 415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", a2aDomain,
		},
		"a body with a coding": {
			d.send(with(same), "Content-Encoding", "gzip"), 415, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED", a2aDomain,
		},
		"a body too large": {
			d.send(strings.Repeat(" ", 512<<10+1)), 413, "INVALID_ARGUMENT", "REQUEST_TOO_LARGE", ourDomain,
		},
		"an unknown path":   {d.get("/a2a/v1/other"), 404, "NOT_FOUND", "INVALID_REQUEST", ourDomain},
		"the door's root":   {d.get("/a2a"), 404, "NOT_FOUND", "INVALID_REQUEST", ourDomain},
		"another version":   {d.do("POST", "/a2a/v2/message:send", with(same), v, "1.0"), 404, "NOT_FOUND", "INVALID_REQUEST", ourDomain},
		"a tenant's path":   {d.do("POST", "/a2a/v1/acme/message:send", with(same), v, "1.0"), 404, "NOT_FOUND", "INVALID_REQUEST", ourDomain},
		"another verb":      {d.get(sendPath, v, "1.0"), 405, "UNIMPLEMENTED", "INVALID_REQUEST", ourDomain},
		"an unknown verb":   {d.do("BREW", sendPath, "", v, "1.0"), 405, "UNIMPLEMENTED", "INVALID_REQUEST", ourDomain},
		"a foreign page":    {d.send(with(same), "Origin", "https://evil.example"), 403, "PERMISSION_DENIED", "INVALID_REQUEST", ourDomain},
		"a foreign name":    {d.send(with(same), "Host", "evil.example"), 403, "PERMISSION_DENIED", "INVALID_REQUEST", ourDomain},
		"a task by DELETE":  {d.do("DELETE", "/a2a/v1/tasks/t", "", v, "1.0"), 405, "UNIMPLEMENTED", "INVALID_REQUEST", ourDomain},
		"tasks by POST":     {d.do("POST", "/a2a/v1/tasks", "{}", v, "1.0"), 405, "UNIMPLEMENTED", "INVALID_REQUEST", ourDomain},
		"a task's other op": {d.do("POST", "/a2a/v1/tasks/t:other", "{}", v, "1.0"), 405, "UNIMPLEMENTED", "INVALID_REQUEST", ourDomain},
	} {
		t.Run(name, func(t *testing.T) {
			wantA2AError(t, row.got, row.status, row.state, row.reason, row.domain)
			if row.status == 405 && row.got.Header.Get("Allow") == "" {
				t.Error("a 405 does not say what is allowed")
			}
		})
	}
	if strings.Contains(d.Log.String(), "level=ERROR") {
		t.Errorf("a refusal was logged as a failure:\n%s", d.Log)
	}
}

func same(_, _ map[string]any) {}

// What the data model allows and this service has no use for is taken and
// passed over.
func TestA2AMessagesMayCarryMore(t *testing.T) {
	t.Parallel()
	d := open(t)
	for name, change := range map[string]func(body, m map[string]any){
		"nothing but the message": func(b, _ map[string]any) { delete(b, "configuration") },
		"no modes":                func(b, _ map[string]any) { b["configuration"] = map[string]any{"acceptedOutputModes": []string{}} },
		"any mode": func(b, _ map[string]any) {
			b["configuration"] = map[string]any{"acceptedOutputModes": []string{"text/plain", "*/*"}}
		},
		"a mode with parameters": func(b, _ map[string]any) {
			b["configuration"] = map[string]any{"acceptedOutputModes": []string{"Application/JSON; charset=utf-8"}}
		},
		"every field": func(b, m map[string]any) {
			b["metadata"], b["tenant"] = map[string]any{"a": []any{1.5, nil, true}}, ""
			b["configuration"] = map[string]any{"acceptedOutputModes": []string{"application/json"}, "historyLength": 0, "returnImmediately": true, "taskPushNotificationConfig": nil}
			m["contextId"], m["taskId"], m["metadata"] = "", "", map[string]any{}
			m["extensions"], m["referenceTaskIds"] = []string{"https://x.example/ext"}, []string{"task-0"}
		},
		"a part without a type": func(_, m map[string]any) {
			m["parts"] = []any{map[string]any{"data": discoveryGet, "metadata": map[string]any{}, "filename": "x.json", "text": nil}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := d.dataOf(d.send(message(t, name, discoveryGet, change))); !got.OK {
				t.Errorf("%v", got)
			}
		})
	}
	if r := d.do("POST", sendPath, message(t, "j", discoveryGet), "Content-Type", "application/json", "A2A-Version", "1.0"); r.Status != 200 {
		t.Errorf("plain JSON: %d %s", r.Status, r.Body)
	}
	named := decode(t, d.send(message(t, "c", discoveryGet, func(_, m map[string]any) { m["contextId"] = "talk-1" })).Body)
	if got := named["message"].(map[string]any)["contextId"]; got != "talk-1" {
		t.Errorf("the reply is in context %v", got)
	}
}

// Protocol 9.5: a list of no tasks, whose filter must make sense.
func TestA2ATaskListsAreEmpty(t *testing.T) {
	t.Parallel()
	d := open(t)
	get := func(query string) reply { return d.get("/a2a/v1/tasks"+query, "A2A-Version", "1.0") }
	for query, size := range map[string]string{
		"": "50", "?pageSize=1": "1", "?pageSize=100": "100", "?A2A-Version=1.0": "50",
		"?contextId=c&status=TASK_STATE_WORKING&pageSize=7&pageToken=&historyLength=0&statusTimestampAfter=2026-01-01T00:00:00Z&includeArtifacts=true&tenant=": "7",
	} {
		r := get(query)
		if want := `{"tasks":[],"nextPageToken":"","pageSize":` + size + `,"totalSize":0}`; r.Status != 200 || r.Body != want || r.Header.Get("Content-Type") != "application/a2a+json" {
			t.Errorf("%s: %d %s", query, r.Status, r.Body)
		}
	}
	for _, query := range []string{
		"?pageSize=0", "?pageSize=101", "?pageSize=-1", "?pageSize=1.0", "?pageSize=x", "?pageSize=", "?pageSize=99999999999", "?pageSize=01",
		"?status=working", "?status=", "?status=TASK_STATE_UNSPECIFIED", "?status=1", "?pageToken=x", "?historyLength=-1", "?historyLength=x",
		"?statusTimestampAfter=yesterday", "?statusTimestampAfter=2026-02-30T00:00:00Z", "?includeArtifacts=1", "?includeArtifacts=TRUE",
		"?tenant=acme", "?page_size=5", "?pageSize=5&pageSize=5", "?unknown=1", "?contextId=" + strings.Repeat("c", 257), "?contextId=%ff", "?status=%zz",
	} {
		wantA2AError(t, get(query), 400, "INVALID_ARGUMENT", "INVALID_REQUEST", ourDomain)
	}
}
