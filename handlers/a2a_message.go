package handlers

import (
	"fmt"
	"mime"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"innerloop/internal/strictjson"
	"innerloop/journal"
	"innerloop/seal"
)

// a2aIDMax is the longest id of a message or a context, in code points.
const a2aIDMax = 256

// An a2aMessage is a message that has the right shape: one data part with one
// of our operations.
type a2aMessage struct {
	id        string // messageId
	context   string // contextId, empty when the caller named none
	operation string
	data      strictjson.Value
	canonical []byte // the whole body as canonical JSON
}

// member is one key that an object of the A2A data model may have. ok judges
// a value that is not null; a null counts as absent.
type member struct {
	name string
	rule string
	ok   func(strictjson.Value) bool
}

var (
	sendMembers = []member{
		{"message", "must be an object", isObject},
		{"configuration", "must be an object", isObject},
		{"metadata", "must be an object", isObject},
		{"tenant", "must be empty: this agent has no tenants", isEmptyText},
	}
	messageMembers = []member{
		{"messageId", "must be a string of 1 to 256 characters without surrounding white space", isID},
		{"contextId", "must be a string of at most 256 characters without surrounding white space", isIDOrEmpty},
		{"taskId", "must be a string", isText},
		{"role", "must be ROLE_USER", isUser},
		{"parts", "must be an array of one part", isArray},
		{"metadata", "must be an object", isObject},
		{"extensions", "must be an array of strings", areTexts},
		{"referenceTaskIds", "must be an array of strings", areTexts},
	}
	configurationMembers = []member{
		{"acceptedOutputModes", "must be an array of media types", areTexts},
		{"taskPushNotificationConfig", "must be an object", isObject},
		{"historyLength", "must be an integer, 0 or more", isCount},
		{"returnImmediately", "must be a boolean", isBool},
	}
	partMembers = []member{
		{"text", "must be a string", isText},
		{"raw", "must be a string", isText},
		{"url", "must be a string", isText},
		{"data", "must be an object with an operation", func(strictjson.Value) bool { return true }},
		{"metadata", "must be an object", isObject},
		{"filename", "must be a string", isText},
		{"mediaType", "must be a string", isText},
	}
)

func isObject(v strictjson.Value) bool { return v.Kind() == strictjson.Object }
func isArray(v strictjson.Value) bool  { return v.Kind() == strictjson.Array }
func isBool(v strictjson.Value) bool   { return v.Kind() == strictjson.Bool }
func isText(v strictjson.Value) bool   { return v.Kind() == strictjson.String }

func isEmptyText(v strictjson.Value) bool {
	text, ok := v.Text()
	return ok && text == ""
}

func isID(v strictjson.Value) bool { return isIDOrEmpty(v) && !isEmptyText(v) }

func isIDOrEmpty(v strictjson.Value) bool {
	text, ok := v.Text()
	return ok && utf8.RuneCountInString(text) <= a2aIDMax && journal.Trimmed(text)
}

func isUser(v strictjson.Value) bool {
	text, _ := v.Text()
	return text == "ROLE_USER"
}

func areTexts(v strictjson.Value) bool {
	return isArray(v) && !slices.ContainsFunc(v.Items(), func(item strictjson.Value) bool { return !isText(item) })
}

func isCount(v strictjson.Value) bool {
	n, ok := v.Int()
	return ok && n >= 0 && n <= 1<<31-1
}

// shaped refuses an object with keys that the data model does not have, or
// with values of another type.
func shaped(at string, v strictjson.Value, members []member, required ...string) error {
	if !isObject(v) {
		return malformed(at, "must be an object")
	}
	for _, m := range v.Members() {
		i := slices.IndexFunc(members, func(known member) bool { return known.name == m.Name })
		if i < 0 {
			return malformed(at, "has a key that does not belong there: "+strictjson.SafeName(m.Name))
		}
		if m.Value.Kind() != strictjson.Null && !members[i].ok(m.Value) {
			return malformed(at+"."+m.Name, members[i].rule)
		}
	}
	for _, name := range required {
		if field, ok := v.Get(name); !ok || field.Kind() == strictjson.Null {
			return malformed(at+"."+name, "is required")
		}
	}
	return nil
}

// readMessage reads the body of message:send (protocol 9.2).
func readMessage(c *fiber.Ctx) (a2aMessage, error) {
	var m a2aMessage
	h := &c.Context().Request.Header
	kind, _, err := mime.ParseMediaType(string(h.ContentType()))
	coding := string(h.Peek(fiber.HeaderContentEncoding))
	if err != nil || kind != a2aType && kind != jsonType || coding != "" && !strings.EqualFold(coding, "identity") {
		return m, errBodyType
	}
	body := c.Context().Request.Body()
	if len(body) > bodyLimit(pathOf(h)) {
		return m, journal.Refuse(journal.RequestTooLarge, "the body is larger than this path takes")
	}
	v, err := strictjson.Parse(body)
	if err != nil {
		return m, malformed("the body", "must be one JSON value: "+err.Error())
	}
	if err := shaped("the body", v, sendMembers, "message"); err != nil {
		return m, err
	}
	message, _ := v.Get("message")
	if err := shaped("message", message, messageMembers, "messageId", "role", "parts"); err != nil {
		return m, err
	}
	if task, ok := message.Get("taskId"); ok && task.Kind() != strictjson.Null && !isEmptyText(task) {
		return m, errNoTask
	}
	if err := readConfiguration(v); err != nil {
		return m, err
	}
	if m.data, err = readPart(message); err != nil {
		return m, err
	}
	field, _ := m.data.Get("operation")
	m.operation, _ = field.Text()
	if _, known := a2aOperations[m.operation]; !known {
		return m, malformed("message.parts[0].data.operation", "must be one of "+operationNames())
	}
	field, _ = message.Get("messageId")
	m.id, _ = field.Text()
	field, _ = message.Get("contextId")
	m.context, _ = field.Text()
	m.canonical, err = canonicalBody(v)
	return m, err
}

func readConfiguration(v strictjson.Value) error {
	configuration, _ := v.Get("configuration")
	if !isObject(configuration) {
		return nil
	}
	if err := shaped("configuration", configuration, configurationMembers); err != nil {
		return err
	}
	if push, _ := configuration.Get("taskPushNotificationConfig"); isObject(push) {
		return errPush
	}
	modes, _ := configuration.Get("acceptedOutputModes")
	if len(modes.Items()) > 0 && !slices.ContainsFunc(modes.Items(), takesJSON) {
		return errModes
	}
	return nil
}

// takesJSON tells whether a media type, or range of them, allows our replies.
func takesJSON(mode strictjson.Value) bool {
	text, _ := mode.Text()
	kind, _, err := mime.ParseMediaType(text)
	return err == nil && (kind == jsonType || kind == "application/*" || kind == "*/*")
}

// readPart returns the data of the one part.
func readPart(message strictjson.Value) (strictjson.Value, error) {
	var data strictjson.Value
	parts, _ := message.Get("parts")
	for i, part := range parts.Items() {
		at := fmt.Sprintf("message.parts[%d]", i)
		if err := shaped(at, part, partMembers); err != nil {
			return data, err
		}
		var content []string
		for _, name := range []string{"text", "raw", "url", "data"} {
			if field, ok := part.Get(name); ok && (name == "data" || field.Kind() != strictjson.Null) {
				content = append(content, name)
			}
		}
		if len(content) != 1 {
			return data, malformed(at, "must have exactly one content: data")
		}
		field, _ := part.Get("mediaType")
		media, _ := field.Text()
		kind, _, err := mime.ParseMediaType(media)
		if content[0] != "data" || media != "" && (err != nil || kind != jsonType) {
			return data, errParts
		}
		data, _ = part.Get("data")
	}
	if len(parts.Items()) != 1 {
		return data, malformed("message.parts", "must hold exactly one part")
	}
	if !isObject(data) {
		return data, malformed("message.parts[0].data", "must be an object with an operation")
	}
	return data, nil
}

// canonicalBody is what a message is compared by when its id comes again. A
// number that canonical JSON cannot hold is refused.
func canonicalBody(v strictjson.Value) ([]byte, error) {
	text, err := seal.Canonical(plain(v))
	if err != nil {
		return nil, malformed("the body", "has a number that is no double of IEEE 754")
	}
	return text, nil
}

// plain is a value in the types that canonical JSON is written from.
func plain(v strictjson.Value) any {
	switch v.Kind() {
	case strictjson.String:
		text, _ := v.Text()
		return text
	case strictjson.Bool:
		value, _ := v.Bool()
		return value
	case strictjson.Number:
		literal, _ := v.Literal()
		number, _ := strconv.ParseFloat(literal, 64) // infinite when it is too large
		return number
	case strictjson.Array:
		list := make([]any, 0, len(v.Items()))
		for _, item := range v.Items() {
			list = append(list, plain(item))
		}
		return list
	case strictjson.Object:
		object := make(map[string]any, len(v.Members()))
		for _, m := range v.Members() {
			object[m.Name] = plain(m.Value)
		}
		return object
	}
	return nil
}
