package discovery

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// The rules of the Agent Skills format: a name that is its folder's, short
// enough, a description of at most 1,024 characters, a body of use.
func TestSkillsAreValid(t *testing.T) {
	t.Parallel()
	skills, err := Skills(origins)
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, skill := range skills {
		f := skill.Frontmatter
		if path.Base(path.Dir(skill.URI)) != f.Name || !name.MatchString(f.Name) || len(f.Name) > 64 {
			t.Errorf("%s is named %s", skill.URI, f.Name)
		}
		if n := len([]rune(f.Description)); n < 40 || n > 1024 || !strings.Contains(f.Description, "Use when") {
			t.Errorf("%s: %d characters of description", f.Name, n)
		}
		if f.License != "MIT" || f.Metadata.Version != Version || f.Metadata.Homepage != origins.Web {
			t.Errorf("%s: %+v", f.Name, f)
		}
		for _, file := range skill.Files {
			if file.Digest != "sha256:"+digest(file.Body) || file.Size != len(file.Body) || file.MediaType == "" || file.Summary == "" {
				t.Errorf("%s: %+v", file.URI, file)
			}
		}
		text := string(skill.Files[0].Body)
		for _, part := range skill.Files[1:] {
			if !strings.HasPrefix(part.URI, strings.TrimSuffix(skill.URI, "SKILL.md")) {
				t.Errorf("%s is not below its skill", part.URI)
			}
		}
		// What a skill tells to run or read is in its folder.
		for _, used := range regexp.MustCompile(`(?:scripts|references)/[a-z-]+\.[a-z]+`).FindAllString(text, -1) {
			there := false
			for _, part := range skill.Files {
				there = there || strings.HasSuffix(part.URI, "/"+used)
			}
			if !there {
				t.Errorf("%s tells of %s, which it does not have", f.Name, used)
			}
		}
	}
}

func TestFrontmatterIsReadExactly(t *testing.T) {
	t.Parallel()
	const good = "---\nname: a\ndescription: b: c\nlicense: MIT\nmetadata:\n  version: \"1\"\n  homepage: \"https://x\"\n---\nbody"
	f, err := readFrontmatter(good)
	if err != nil || f.Name != "a" || f.Description != "b: c" || f.Metadata.Version != "1" || f.Metadata.Homepage != "https://x" {
		t.Errorf("%+v, %v", f, err)
	}
	for _, bad := range []string{
		"", "---\nname: a\n", strings.Replace(good, "license: MIT\n", "", 1), strings.Replace(good, "license", "licence", 1),
		strings.Replace(good, `"1"`, `"1`, 1), strings.Replace(good, "name: a\n", "name: a\nname: b\n", 1),
	} {
		if _, err := readFrontmatter(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
