package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
	"innerloop/coworker/coworkertest"
	"innerloop/internal/discovery"
	"innerloop/internal/strictjson"
	"innerloop/journal"
	"innerloop/journal/journaltest"
)

// openBoth makes a door with both halves, and an organisation's caller.
func openBoth(t *testing.T) (*coworkertest.C, *Door, coworker.Caller) {
	t.Helper()
	j := journaltest.Open(t)
	c := coworkertest.On(t, j)
	services, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(Options{Journal: j.Journal, Coworker: c.Coworker, Catalog: services, Memory: c.Memory(), Skills: c.Skills(services), Origins: testOrigins, ServerName: "innerloop", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	_, secret := c.Key(c.Found("Acme"), coworker.NewKey{Scopes: coworker.WriteTools | coworker.ReadData})
	return c, d, c.Caller(secret)
}

// keyed asks as a caller with a key, in an era.
func (e era) keyed(t *testing.T, d *Door, who coworker.Caller, method, name, members string) reply {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"call-1","method":%q,"params":%s}`, method, e.params(members))
	status, header, payload, _ := d.ServeKeyed(t.Context(), who, journal.Caller{}, http.MethodPost, e.header(method, name), []byte(body))
	r := reply{status: status, header: header, body: payload}
	if err := json.Unmarshal(payload, &r); err != nil {
		t.Fatalf("%v: %s", err, payload)
	}
	return r
}

// The tools of a caller with a key, in every era: those of everybody first,
// then the golden ones. INNERLOOP_UPDATE_GOLDEN=1 rewrites the files.
func TestKeyedToolsAreListedAsAgreed(t *testing.T) {
	t.Parallel()
	_, d, who := openBoth(t)
	for _, e := range eras {
		var result struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(e.keyed(t, d, who, "tools/list", "", "").Result, &result); err != nil {
			t.Fatal(err)
		}
		var names []string
		for i, text := range result.Tools {
			var tool listedTool
			if err := json.Unmarshal(text, &tool); err != nil {
				t.Fatal(err)
			}
			names = append(names, tool.Name)
			if i >= 5 {
				golden(t, filepath.Join("testdata", "tools", tool.Name+".json"), text)
				if tool.Annotations["readOnlyHint"] != true || tool.Annotations["destructiveHint"] != false || tool.OutputSchema != nil {
					t.Errorf("%s: %+v", tool.Name, tool)
				}
			}
		}
		if want := append(discovery.PublicTools(), "list_services", "describe_service", "read_memory"); !slices.Equal(names, want) {
			t.Errorf("%s: %q", e, names)
		}
		if tools, _ := list(t, d, e); len(tools) != 5 {
			t.Errorf("%s: everybody sees %d tools", e, len(tools))
		}
	}
}

// Acting tools say so before they can be listed: a client asks a person first.
func TestHintsOfKeyedTools(t *testing.T) {
	t.Parallel()
	services, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range coworkerTools(services, nil, nil, nil, nil, nil) {
		acts := tool.name == coworker.ToolConnectorExecute || tool.name == coworker.ToolReplExecute
		if tool.hints.readOnly == acts || tool.hints.destructive != acts || tool.hints.openWorld != acts || tool.description == "" || tool.title == "" {
			t.Errorf("%s: %+v", tool.name, tool.hints)
		}
	}
}

// What falls over, fails or takes too long is a fault of the contract, quotes
// nothing, and stands in the audit.
func TestKeyedCallsThatFailAreTheContracts(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		call func(ctx context.Context, k *keyedCall) (any, error)
		code coworker.Code
	}{
		{"a panic", func(context.Context, *keyedCall) (any, error) { panic("private words") }, coworker.Internal},
		{"a failure", func(context.Context, *keyedCall) (any, error) { return nil, errors.New("private words") }, coworker.Internal},
		{"no text", func(context.Context, *keyedCall) (any, error) { return 5, nil }, coworker.Internal},
		{"a refusal", func(_ context.Context, k *keyedCall) (any, error) {
			k.row.change(func(row *coworker.Audit) { row.Service = "github" })
			return nil, &coworker.Fault{Code: coworker.UpstreamError, Retry: true}
		}, coworker.UpstreamError},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c, d, who := openBoth(t)
			result, err := d.keyedHandler(tool{name: coworker.ToolListServices, keyed: row.call})(callAs(t, who, time.Minute))
			if err != nil || !result.IsError || result.StructuredContent != nil || len(result.Content) != 1 {
				t.Fatalf("%+v, %v", result, err)
			}
			text := fmt.Sprint(result.Content[0])
			page, err := c.Audit(t.Context(), coworker.Operator(), coworker.AuditQuery{Organization: who.Organization, Action: coworker.ActionCall}, "")
			if err != nil || len(page.Items) != 1 || page.Items[0].Error != row.code || (row.code == coworker.UpstreamError) != (page.Items[0].Service == "github") {
				t.Errorf("%s: %+v, %v", text, page.Items, err)
			}
			if want := `"code":"` + string(row.code) + `"`; !strings.Contains(text, want) || strings.Contains(text, "private") {
				t.Errorf("%s", text)
			}
		})
	}
}

func TestAKeyedCallIsCutInTime(t *testing.T) {
	t.Parallel()
	_, d, who := openBoth(t)
	synctest.Test(t, func(t *testing.T) {
		ctx := call{caller: journal.Caller{}, key: &who, waiting: context.Background(), limit: time.Second, report: func(string) {}}
		_, err := d.bounded(context.Background(), tool{name: "slow", keyed: func(ctx context.Context, _ *keyedCall) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}, ctx, emptyObject(t))
		if f := d.faultOf(t.Context(), tool{name: "slow"}, err); f == nil || f.Code != coworker.Internal || f.Message != "The call took too long." {
			t.Errorf("%+v from %v", f, err)
		}
	})
}

// callAs is what mcp-go hands to the handler of a tool.
func callAs(t *testing.T, who coworker.Caller, limit time.Duration) (context.Context, mcp.CallToolRequest) {
	t.Helper()
	c := call{key: &who, waiting: t.Context(), limit: limit, report: func(string) {}}
	return c.within(t.Context()), mcp.CallToolRequest{}
}

func emptyObject(t *testing.T) strictjson.Value {
	t.Helper()
	v, err := strictjson.Parse([]byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
