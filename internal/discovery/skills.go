package discovery

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// A Skill is an Agent Skills folder, served over the skills extension
// (protocol 8.7). Its JSON is the entry of skills/list, key order included.
type Skill struct {
	URI         string      `json:"uri"`
	Frontmatter Frontmatter `json:"frontmatter"`
	Files       []SkillFile `json:"resources"`
}

// Frontmatter is that of SKILL.md, as JSON.
type Frontmatter struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	License     string        `json:"license"`
	Metadata    SkillMetadata `json:"metadata"`
}

// SkillMetadata is the map of strings in the front matter.
type SkillMetadata struct {
	Version  string `json:"version"`
	Homepage string `json:"homepage"`
}

// A SkillFile is one file of a skill.
type SkillFile struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // sha256: and hex, of Body
	Size   int    `json:"size"`   // bytes of Body

	Name      string `json:"-"` // of SKILL.md, the skill's own
	Summary   string `json:"-"`
	MediaType string `json:"-"` // without a charset
	Body      []byte `json:"-"` // shared: not to be changed
}

// skills are the folders in the order they are listed, each with its files
// and what makes them. The client's own bytes are the ones at clientPath.
func skills() []skillSource {
	withClient := []skillPart{
		{"references/client-integrity.json", "Digest and origin of the client.", filled("skills/shared/client-integrity.json")},
		{"scripts/innerloop-client.mjs", "The client in one file for Node.", asItIs("innerloop-client.mjs")},
		{"scripts/verify-client.mjs", "Compares the client with its digest.", asItIs("skills/shared/verify-client.mjs")},
	}
	return []skillSource{
		{"innerloop-onboard", withClient},
		{"innerloop-reflect", withClient},
		{"innerloop-explore", nil},
	}
}

type skillSource struct {
	name  string
	parts []skillPart // beside SKILL.md
}

type skillPart struct {
	path, summary string
	body          func(sheet) ([]byte, error)
}

// Skills returns every skill, filled in for o, in the order of use.
func Skills(o Origins) ([]Skill, error) {
	s, err := sheetFor(o)
	if err != nil {
		return nil, err
	}
	var all []Skill
	for _, source := range skills() {
		skill, err := source.skill(s)
		if err != nil {
			return nil, fmt.Errorf("make the skill %s: %w", source.name, err)
		}
		all = append(all, skill)
	}
	return all, nil
}

func (source skillSource) skill(s sheet) (Skill, error) {
	root := "skill://" + source.name + "/"
	skill := Skill{URI: root + "SKILL.md"}
	main := skillPart{path: "SKILL.md", body: filled("skills/" + source.name + "/SKILL.md")}
	for _, part := range append([]skillPart{main}, source.parts...) {
		body, err := part.body(s)
		if err != nil {
			return Skill{}, err
		}
		name := source.name + "/" + part.path
		if part.path == "SKILL.md" {
			if skill.Frontmatter, err = readFrontmatter(string(body)); err != nil {
				return Skill{}, err
			}
			name, part.summary = skill.Frontmatter.Name, skill.Frontmatter.Description
		}
		skill.Files = append(skill.Files, SkillFile{
			URI: root + part.path, Digest: "sha256:" + digest(body), Size: len(body),
			Name: name, Summary: part.summary, MediaType: skillTypes[path.Ext(part.path)], Body: body,
		})
	}
	return skill, nil
}

var skillTypes = map[string]string{".md": "text/markdown", ".json": "application/json", ".mjs": "text/javascript"}

// readFrontmatter reads the few forms of YAML that our own skills use: plain
// or double-quoted scalars, and one map of strings.
func readFrontmatter(text string) (Frontmatter, error) {
	var f Frontmatter
	front, _, found := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	if !found {
		return f, fmt.Errorf("the front matter does not end")
	}
	fields := map[string]*string{
		"name": &f.Name, "description": &f.Description, "license": &f.License, "metadata": new(string),
		"  version": &f.Metadata.Version, "  homepage": &f.Metadata.Homepage,
	}
	for line := range strings.Lines(front) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		field, known := fields[key]
		if !known {
			return f, fmt.Errorf("the front matter has a line that is not known")
		}
		delete(fields, key)
		value = strings.TrimSpace(value)
		if strings.HasPrefix(value, `"`) {
			if err := json.Unmarshal([]byte(value), field); err != nil {
				return f, fmt.Errorf("read a quoted value: %w", err)
			}
			continue
		}
		*field = value
	}
	if len(fields) > 0 {
		return f, fmt.Errorf("the front matter lacks a field")
	}
	return f, nil
}
