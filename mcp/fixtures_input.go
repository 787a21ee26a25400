//go:build conformance

package mcp

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// What the suite wants of tools that ask their client for more: no tool of
// ours does, so what passes here is our reading of inputResponses and
// requestState and our writing of a result that is not complete.

func ask(message, field, kind string) mcp.ElicitationParams {
	return mcp.ElicitationParams{Message: message, RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{field: map[string]any{"type": kind}}, "required": []string{field},
	}}
}

func sample(text string) mcp.CreateMessageParams {
	return mcp.CreateMessageParams{MaxTokens: 100, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(text)}}}
}

// A round is what a tool asks for, and under which state it is answered.
type round struct {
	keys  []string
	state string
	asks  func(b *server.InputRequestBuilder, r mcp.CallToolRequest)
}

func (d *Door) fixtureInput(core *server.MCPServer) {
	name := round{[]string{"user_name"}, "", func(b *server.InputRequestBuilder, _ mcp.CallToolRequest) {
		b.Elicit("user_name", ask("What is your name?", "name", "string"))
	}}
	sampling := round{[]string{"capital_question"}, "", func(b *server.InputRequestBuilder, _ mcp.CallToolRequest) {
		b.Sample("capital_question", sample("What is the capital of France?"))
	}}
	roots := round{[]string{"client_roots"}, "", func(b *server.InputRequestBuilder, _ mcp.CallToolRequest) { b.Roots("client_roots") }}
	confirm := round{[]string{"confirm"}, "state-1", func(b *server.InputRequestBuilder, _ mcp.CallToolRequest) {
		b.Elicit("confirm", ask("Please confirm", "ok", "boolean"))
	}}
	for tool, rounds := range map[string][]round{
		"test_input_required_result_elicitation":    {name},
		"test_streaming_elicitation":                {name},
		"test_input_required_result_sampling":       {sampling},
		"test_input_required_result_list_roots":     {roots},
		"test_input_required_result_request_state":  {confirm},
		"test_input_required_result_tampered_state": {confirm},
		"test_input_required_result_multiple_inputs": {{[]string{"user_name", "greeting", "client_roots"}, "state-1", func(b *server.InputRequestBuilder, _ mcp.CallToolRequest) {
			b.Elicit("user_name", ask("What is your name?", "name", "string")).Sample("greeting", sample("Generate a greeting")).Roots("client_roots")
		}}},
		"test_input_required_result_multi_round": {
			{[]string{"step1"}, "state-1", func(b *server.InputRequestBuilder, _ mcp.CallToolRequest) {
				b.Elicit("step1", ask("Step 1: What is your name?", "name", "string"))
			}},
			{[]string{"step2"}, "state-2", func(b *server.InputRequestBuilder, _ mcp.CallToolRequest) {
				b.Elicit("step2", ask("Step 2: What is your favorite color?", "color", "string"))
			}},
		},
		"test_input_required_result_capabilities": {{[]string{"capital_question"}, "", func(b *server.InputRequestBuilder, r mcp.CallToolRequest) {
			can := r.Params.Meta.ClientCapabilities()
			if can != nil && can.Elicitation != nil {
				b.Elicit("user_name", ask("What is your name?", "name", "string"))
			}
			if can != nil && can.Sampling != nil {
				b.Sample("capital_question", sample("What is the capital of France?"))
			}
		}}},
	} {
		core.AddTool(mcp.Tool{Name: tool, Description: "A fixture of the conformance suite.", RawInputSchema: []byte(`{"type":"object"}`)}, func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return answerRound(r, rounds)
		})
		d.tools[tool] = true
	}
	core.AddTool(mcp.Tool{Name: "test_logging_tool", Description: "A fixture of the conformance suite.", RawInputSchema: []byte(`{"type":"object"}`)}, func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("Nobody asked for a log, so there is none."), nil
	})
	d.tools["test_logging_tool"] = true
	const asking = "test_input_required_result_prompt"
	core.AddPrompt(mcp.Prompt{Name: asking, Description: "A fixture of the conformance suite."}, func(_ context.Context, r mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if _, told := r.Params.InputResponses["user_context"]; !told {
			return server.NewInputRequestBuilder("").Elicit("user_context", ask("What context should the prompt use?", "context", "string")).PromptResult(), nil
		}
		return mcp.NewGetPromptResult("", []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent("In that context."))}), nil
	})
	d.prompts[asking] = prompt{name: asking}
}

// answerRound finds the round that the caller answered and asks the next.
func answerRound(r mcp.CallToolRequest, rounds []round) (*mcp.CallToolResult, error) {
	at := -1
	if state := r.Params.RequestState; state != "" {
		if at = slices.IndexFunc(rounds, func(one round) bool { return one.state == state }); at < 0 {
			return nil, mcp.ErrInvalidParams
		}
	} else if rounds[0].state == "" {
		at = 0
	}
	next := 0
	if at >= 0 && answered(r, rounds[at].keys) {
		next = at + 1
	}
	if next == len(rounds) {
		return mcp.NewToolResultText("state-ok, Alice, file:///workspace: all that was asked for is there."), nil
	}
	b := server.NewInputRequestBuilder(rounds[next].state)
	rounds[next].asks(b, r)
	return b.ToolResult(), nil
}

// answered tells whether each key has an answer, which is an object.
func answered(r mcp.CallToolRequest, keys []string) bool {
	return !slices.ContainsFunc(keys, func(key string) bool {
		response, told := r.Params.InputResponses[key]
		raw, err := json.Marshal(response)
		return !told || err != nil || raw[0] != '{'
	})
}
