package mcp

import (
	"encoding/json"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// subscribe answers subscriptions/listen. No list here changes under a
// client, so nothing can be subscribed to: the stream acknowledges that as
// its first event, as the revision demands, and ends. mcp-go could send the
// same, but loses an acknowledgement that meets the end of the call.
func (d *Door) subscribe(r request) (int, http.Header, []byte) {
	tag := map[string]any{mcp.MetaKeySubscriptionID: r.id}
	acknowledged := map[string]any{
		"jsonrpc": mcp.JSONRPC_VERSION,
		"method":  mcp.MethodNotificationSubscriptionsAcknowledged,
		"params":  map[string]any{"_meta": tag, "notifications": struct{}{}},
	}
	result := map[string]any{
		"jsonrpc": mcp.JSONRPC_VERSION,
		"id":      r.id,
		"result": map[string]any{
			"resultType": mcp.ResultTypeComplete,
			"_meta":      map[string]any{mcp.MetaKeySubscriptionID: r.id, mcp.MetaKeyServerInfo: d.self},
		},
	}
	var events []byte
	for _, message := range [...]map[string]any{acknowledged, result} {
		data, err := json.Marshal(message)
		if err != nil {
			return r.internal().answer()
		}
		events = append(events, event(data)...)
	}
	return http.StatusOK, eventHeader(), events
}
