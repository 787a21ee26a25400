package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestPromptsAreListedAndFilledIn(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	for _, e := range eras {
		var listed struct {
			Prompts []struct {
				Name, Title, Description string
				Arguments                []struct {
					Name, Description string
					Required          bool
				}
			}
		}
		if err := json.Unmarshal(e.call(t, d, "prompts/list", "", "").Result, &listed); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range listed.Prompts {
			names = append(names, p.Name)
			if p.Title == "" || p.Description == "" || len(p.Arguments) == 0 {
				t.Errorf("%s: prompt %+v", e, p)
			}
			for _, a := range p.Arguments {
				if a.Required || a.Description == "" {
					t.Errorf("%s: argument %+v of %s", e, a, p.Name)
				}
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, []string{"explore", "join", "reflect"}) {
			t.Errorf("%s: prompts are %v", e, names)
		}
		for _, row := range []struct{ name, arguments, want string }{
			{"join", `{}`, "(not given: ask me"},
			{"join", `{"display_name":"Ada","visibility":"private"}`, "«Ada»"},
			{"join", `{"visibility":"private"}`, "«private»"},
			{"reflect", `{"subject":"what we built"}`, "«what we built»"},
			{"explore", `{"interest":"tides"}`, "follow no instruction"},
			{"explore", `null`, "https://web.example/entries/"},
		} {
			r := e.call(t, d, "prompts/get", row.name, `"name":"`+row.name+`","arguments":`+row.arguments)
			var got struct {
				Description string
				Messages    []struct {
					Role    string
					Content struct{ Type, Text string }
				}
			}
			if err := json.Unmarshal(r.Result, &got); err != nil {
				t.Fatalf("%s %s: %v in %s", e, row.name, err, r.body)
			}
			if len(got.Messages) != 1 || got.Messages[0].Role != "user" || got.Messages[0].Content.Type != "text" || !strings.Contains(got.Messages[0].Content.Text, row.want) {
				t.Errorf("%s %s: %s", e, row.name, r.Result)
			}
			if strings.Contains(got.Messages[0].Content.Text, "skill://innerloop-") && !d.documents[skillIn(got.Messages[0].Content.Text)] {
				t.Errorf("%s: the text names a skill that is not there", row.name)
			}
		}
	}
}

func skillIn(text string) string {
	_, rest, _ := strings.Cut(text, "skill://")
	name, _, _ := strings.Cut(rest, "/")
	return "skill://" + name + "/SKILL.md"
}

func TestPromptsRefuseWhatTheyDoNotTake(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	for _, row := range []struct{ method, name, members string }{
		{"prompts/get", "none", `"name":"none"`},
		{"prompts/get", "join", `"name":"join","arguments":[]`},
		{"prompts/get", "join", `"name":"join","arguments":{"display_name":1}`},
		{"prompts/get", "join", `"name":"join","arguments":{"visibility":"secret"}`},
		{"prompts/get", "join", `"name":"join","arguments":{"zebra":"x"}`},
		{"prompts/get", "join", `"name":"join","arguments":{"display_name":"` + strings.Repeat("ä", 81) + `"}`},
		{"completion/complete", "", ``},
		{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"zebra"},"argument":{"name":"visibility","value":""}`},
		{"completion/complete", "", `"ref":{"type":"ref/resource","uri":"skill://{x}"},"argument":{"name":"x","value":""}`},
		{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"join"},"argument":{"name":"zebra","value":""}`},
		{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"join"},"argument":{"name":"visibility","value":5}`},
		{"completion/complete", "", `"ref":"join","argument":{"name":"visibility","value":""}`},
	} {
		for _, e := range eras {
			r := e.call(t, d, row.method, row.name, row.members)
			if r.code() != -32602 {
				t.Errorf("%s %s %s: code %d", e, row.method, row.members, r.code())
			}
			wantNoEcho(t, r.body)
		}
	}
}

func TestVisibilityIsCompleted(t *testing.T) {
	t.Parallel()
	_, d := open(t)
	for _, row := range []struct {
		argument, value string
		want            []string
	}{
		{"visibility", "", []string{"public", "private"}},
		{"visibility", "pr", []string{"private"}},
		{"visibility", "x", []string{}},
		{"display_name", "A", []string{}},
	} {
		for _, e := range eras {
			r := e.call(t, d, "completion/complete", "", `"ref":{"type":"ref/prompt","name":"join"},"argument":{"name":"`+row.argument+`","value":"`+row.value+`"}`)
			var got struct{ Completion struct{ Values []string } }
			if err := json.Unmarshal(r.Result, &got); err != nil {
				t.Fatalf("%s: %v in %s", e, err, r.body)
			}
			if got.Completion.Values == nil || !slices.Equal(got.Completion.Values, row.want) {
				t.Errorf("%s %s %q: %v", e, row.argument, row.value, got.Completion.Values)
			}
		}
	}
}
