package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"slices"
	"testing"

	"innerloop/internal/discovery"
)

// Documents and skills read over MCP are the bytes that their digests are of.
func TestResourcesAreDocumentsAndSkills(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	want := map[string][2]string{} // by uri: media type and text
	for _, r := range testDocuments(t) {
		want[r.uri] = [2]string{r.media, r.text}
	}
	for _, e := range eras {
		var listed struct {
			Resources []struct {
				URI, Name, MimeType, Description string
				Size                             int
			}
		}
		if err := json.Unmarshal(e.call(t, d, "resources/list", "", "").Result, &listed); err != nil {
			t.Fatal(err)
		}
		if len(listed.Resources) != len(want) {
			t.Fatalf("%s: %d resources, want %d", e, len(listed.Resources), len(want))
		}
		for _, got := range listed.Resources {
			row, known := want[got.URI]
			if !known || got.MimeType != row[0] || got.Name == "" || got.Description == "" || got.Size != len(row[1]) {
				t.Errorf("%s: resource %+v", e, got)
			}
			var read struct{ Contents []json.RawMessage }
			if err := json.Unmarshal(e.call(t, d, "resources/read", got.URI, `"uri":"`+got.URI+`"`).Result, &read); err != nil {
				t.Fatal(err)
			}
			if len(read.Contents) != 1 {
				t.Fatalf("%s: %s has %d contents", e, got.URI, len(read.Contents))
			}
			wantKeys(t, read.Contents[0], "uri mimeType text")
			var content struct{ URI, MimeType, Text string }
			if err := json.Unmarshal(read.Contents[0], &content); err != nil {
				t.Fatal(err)
			}
			if content.URI != got.URI || content.MimeType != row[0] || content.Text != row[1] {
				t.Errorf("%s: %s is not the document", e, got.URI)
			}
		}
		var templates struct{ ResourceTemplates []any }
		if err := json.Unmarshal(e.call(t, d, "resources/templates/list", "", "").Result, &templates); err != nil || templates.ResourceTemplates == nil || len(templates.ResourceTemplates) != 0 {
			t.Errorf("%s: templates are %v, %v", e, templates.ResourceTemplates, err)
		}
	}
}

type testDocument struct{ uri, media, text string }

// testDocuments are what the discovery package makes, read another way.
func testDocuments(t *testing.T) []testDocument {
	t.Helper()
	documents, err := discovery.Documents(testOrigins)
	if err != nil {
		t.Fatal(err)
	}
	skills, err := discovery.Skills(testOrigins)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{
		discovery.Markdown: "text/markdown", discovery.JSON: "application/json", discovery.PlainText: "text/plain",
	}
	var all []testDocument
	for _, document := range documents {
		if document.Resource {
			all = append(all, testDocument{testOrigins.Gateway + document.Path, types[document.MediaType], string(document.Body)})
		}
	}
	for _, skill := range skills {
		for _, f := range skill.Files {
			all = append(all, testDocument{f.URI, f.MediaType, string(f.Body)})
		}
	}
	return all
}

// The texts of skills/list and skills/get are compared by others as they are,
// key order included (protocol 8.2).
func TestSkills(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	files := map[string]string{}
	for _, document := range testDocuments(t) {
		files[document.uri] = document.text
	}
	for _, e := range eras {
		var listed struct {
			Skills     []json.RawMessage
			NextCursor *string
		}
		r := e.call(t, d, "skills/list", "", "")
		if err := json.Unmarshal(r.Result, &listed); err != nil {
			t.Fatal(err)
		}
		wantMarks(t, e, r.Result)
		if len(listed.Skills) != 3 || listed.NextCursor != nil {
			t.Fatalf("%s: %d skills, cursor %v", e, len(listed.Skills), listed.NextCursor)
		}
		names := []string{"innerloop-onboard", "innerloop-reflect", "innerloop-explore"}
		for i, raw := range listed.Skills {
			skill := readSkill(t, raw)
			if uri := "skill://" + names[i] + "/SKILL.md"; skill.URI != uri || skill.Frontmatter.Name != names[i] {
				t.Errorf("%s: skill %d is %s", e, i, skill.URI)
			}
			want := 4
			if names[i] == "innerloop-explore" {
				want = 1
			}
			if len(skill.Files) != want || skill.Files[0].URI != skill.URI {
				t.Errorf("%s: %s has %d files, want %d", e, names[i], len(skill.Files), want)
			}
			for _, f := range skill.Files {
				text, known := files[f.URI]
				sum := sha256.Sum256([]byte(text))
				if !known || f.Size != len(text) || f.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
					t.Errorf("%s: %s is not what its digest says", e, f.URI)
				}
			}
			got := e.call(t, d, "skills/get", "", `"uri":"`+skill.URI+`"`)
			var answer struct{ Skill json.RawMessage }
			if err := json.Unmarshal(got.Result, &answer); err != nil {
				t.Fatal(err)
			}
			wantMarks(t, e, got.Result)
			if string(answer.Skill) != string(raw) {
				t.Errorf("%s: skills/get tells\n%s\nskills/list\n%s", e, answer.Skill, raw)
			}
		}
	}
}

// readSkill reads an entry and holds it against the key order of the protocol.
func readSkill(t *testing.T, raw json.RawMessage) discovery.Skill {
	t.Helper()
	var skill discovery.Skill
	decodeStrictly(t, raw, &skill)
	ordered := keyOrder(t, raw)
	want := []string{"uri", "frontmatter", "name", "description", "license", "metadata", "version", "homepage", "resources"}
	for range skill.Files {
		want = append(want, "uri", "digest", "size")
	}
	if !slices.Equal(ordered, want) {
		t.Errorf("keys come as %v, want %v", ordered, want)
	}
	return skill
}

// keyOrder lists the keys of a JSON text as they come.
func keyOrder(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	var keys []string
	decoder := json.NewDecoder(bytes.NewReader(raw))
	var inObject []bool // of each level, and whether a key comes next
	var keyNext []bool
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return keys
		}
		if err != nil {
			t.Fatal(err)
		}
		top := len(inObject) - 1
		switch delim, isDelim := token.(json.Delim); {
		case isDelim && (delim == '{' || delim == '['):
			if top >= 0 {
				keyNext[top] = true
			}
			inObject, keyNext = append(inObject, delim == '{'), append(keyNext, true)
		case isDelim:
			inObject, keyNext = inObject[:top], keyNext[:top]
		case inObject[top] && keyNext[top]:
			keys, keyNext[top] = append(keys, token.(string)), false
		default:
			keyNext[top] = true
		}
	}
}

func wantMarks(t *testing.T, e era, result json.RawMessage) {
	t.Helper()
	names := keysOf(t, result)
	for _, name := range []string{"_meta", "resultType", "ttlMs", "cacheScope"} {
		if slices.Contains(names, name) != (e == era2026) {
			t.Errorf("%s: has %v", e, names)
		}
	}
}

func TestSkillsAreAskedForByTheirAddress(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	for _, e := range eras {
		for _, members := range []string{
			``, `"uri":1`, `"uri":"skill://innerloop-onboard"`, `"uri":"skill://innerloop-onboard/skill.md"`,
			`"uri":"skill://innerloop-onboard/scripts/verify-client.mjs"`, `"uri":"skill://../SKILL.md"`,
		} {
			r := e.call(t, d, "skills/get", "", members)
			status := 200
			if e == era2026 {
				status = 400
			}
			if r.code() != -32602 || r.status != status {
				t.Errorf("%s %s: status %d, code %d", e, members, r.status, r.code())
			}
			wantNoEcho(t, r.body)
		}
		if r := e.call(t, d, "skills/list", "", `"cursor":"abc"`); r.code() != -32602 {
			t.Errorf("%s: a cursor nobody gave out gives code %d", e, r.code())
		}
	}
	header := era2026.header("skills/list", "")
	header.Set("Mcp-Method", "tools/list")
	if r := post(t, d, header, `{"jsonrpc":"2.0","id":1,"method":"skills/list","params":`+era2026.params("")+`}`); r.status != 400 || r.code() != -32020 {
		t.Errorf("another method in the header: status %d, code %d", r.status, r.code())
	}
}
