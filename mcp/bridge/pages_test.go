package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"innerloop/internal/client"
)

func entries(n, bytes int) client.Page {
	one := fmt.Sprintf(`{"body":%q}`, strings.Repeat("x", bytes))
	return client.Page{Raw: json.RawMessage(`{"entries":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}`), NextCursor: "next"}
}

func untrimmed(map[string]json.RawMessage) {}

func TestAPageIsAskedForUntilItFits(t *testing.T) {
	t.Parallel()
	var asked []int
	page, err := fitting(50, func(limit int) (client.Page, error) {
		asked = append(asked, limit)
		return entries(min(limit, 10), 30_000), nil
	}, untrimmed)
	if err != nil || len(page.Entries) != 2 || !page.Truncated || *page.NextCursor != "next" || fmt.Sprint(asked) != "[50 2]" {
		t.Errorf("%v: %d entries, truncated %v, asked for %v", err, len(page.Entries), page.Truncated, asked)
	}
}

// Attack: a service answers with more than was asked for, however little that
// is. Expectation: the bridge gives up rather than asking for ever.
func TestAServiceThatReturnsTooMuchIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	asked := 0
	_, err := fitting(50, func(int) (client.Page, error) {
		if asked++; asked > 10 {
			t.Fatal("asked for ever")
		}
		return entries(10, 90_000), nil
	}, untrimmed)
	if p := problemOf(err); err == nil || p.Code != "invalid_response" || asked != 2 {
		t.Errorf("%v after %d answers", err, asked)
	}
}

func TestAPanicEndsOneCall(t *testing.T) {
	t.Parallel()
	b := &Bridge{}
	result, err := b.handler(tool{name: "t", call: func(context.Context, *arguments) (any, error) { panic("secret") }})(t.Context(), mcp.CallToolRequest{})
	if err != nil || !result.IsError {
		t.Fatalf("%+v, %v", result, err)
	}
	if text := result.Content[0].(mcp.TextContent).Text; !strings.Contains(text, "internal_error") || strings.Contains(text, "secret") {
		t.Errorf("told %s", text)
	}
}
