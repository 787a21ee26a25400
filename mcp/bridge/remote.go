package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"innerloop/internal/client"
)

const (
	// remoteLimit is the longest call; clients give up at 60 seconds.
	remoteLimit = 58 * time.Second
	maxTools    = 200
)

// A Remote is another MCP endpoint whose tools the bridge carries, with a key
// that its client could not send.
type Remote struct {
	endpoint string
	client   *mcpclient.Client
}

// DialRemote opens an endpoint of a service. key goes into the Authorization
// header and nowhere else. The caller closes it.
func DialRemote(ctx context.Context, address, key, version string) (*Remote, error) {
	endpoint, err := client.Endpoint(address, "/mcp")
	if err != nil {
		return nil, err
	}
	opened, err := mcpclient.NewStreamableHttpClient(endpoint,
		transport.WithHTTPBasicClient(client.Pinned(remoteLimit)),
		transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + key}))
	if err != nil {
		return nil, errors.New("the remote endpoint cannot be used")
	}
	ctx, cancel := context.WithTimeout(ctx, remoteLimit)
	defer cancel()
	if err := opened.Start(ctx); err != nil {
		return nil, errors.Join(unreachable(endpoint), opened.Close())
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "innerloop-bridge", Version: version}
	if _, err := opened.Initialize(ctx, hello); err != nil {
		return nil, errors.Join(unreachable(endpoint), opened.Close())
	}
	return &Remote{endpoint: endpoint, client: opened}, nil
}

// unreachable says no more: the cause could quote headers.
func unreachable(endpoint string) error {
	return fmt.Errorf("the remote endpoint %s gives no access; check its address and the key in INNERLOOP_API_KEY", endpoint)
}

// Close ends the connection.
func (r *Remote) Close() error { return r.client.Close() }

// join adds the remote's tools and returns their names. Ours keep theirs.
func (r *Remote) join(ctx context.Context, core *server.MCPServer, ours []tool) ([]string, error) {
	listed, err := r.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, unreachable(r.endpoint)
	}
	if len(listed.Tools) > maxTools {
		return nil, fmt.Errorf("the remote endpoint lists more than %d tools", maxTools)
	}
	var names []string
	for _, t := range listed.Tools {
		if slices.ContainsFunc(ours, func(o tool) bool { return o.name == t.Name }) || slices.Contains(names, t.Name) {
			continue
		}
		names = append(names, t.Name)
		core.AddTool(t, r.forward)
	}
	return names, nil
}

// forward hands a call on, and its result back, unread.
func (r *Remote) forward(ctx context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, remoteLimit)
	defer cancel()
	onward := mcp.CallToolRequest{}
	onward.Params.Name, onward.Params.Arguments = call.Params.Name, call.Params.Arguments
	if len(call.Params.RawArguments) > 0 {
		onward.Params.Arguments = call.Params.RawArguments
	}
	result, err := r.client.CallTool(ctx, onward)
	if err != nil {
		return failed(&problem{
			Code: "remote_unavailable", Message: "The remote endpoint gave no result for this call.", Retryable: true,
			Hint: "it may have been carried out; repeat it only if that is safe",
		})
	}
	return result, nil
}
