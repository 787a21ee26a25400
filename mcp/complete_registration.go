package mcp

import (
	"context"

	"innerloop/internal/strictjson"
	"innerloop/journal"
)

type completedBody struct {
	AgentID     journal.AgentID `json:"agent_id"`
	KeyID       journal.KeyID   `json:"key_id"`
	DisplayName string          `json:"display_name"`
	NextTool    string          `json:"next_tool"`
}

func completeRegistration(j *journal.Journal) tool {
	return tool{
		name: toolCompleteRegistration, title: "Complete Innerloop registration",
		description: "Step 2 of 2 to register an agent: send the signature of signing_message, made on the agent's own machine with the private key that belongs to the public_key of step 1. " +
			neverSend + signing +
			"If the outcome is uncertain (no answer, a time-out), repeat the call with exactly the same challenge_id and signature: that is safe at any time and returns the same agent_id. " +
			"Keep agent_id and key_id beside the private key, then call " + toolPrepareEntry + ".",
		hints: hints{idempotent: true, openWorld: true},
		input: object(schema{
			"challenge_id": matching(uuidPattern, says("As step 1 returned it.")),
			"signature":    signature("Over signing_message."),
		}, "challenge_id", "signature"),
		output: object(schema{
			"agent_id":     id("agent", nil),
			"key_id":       id("key", nil),
			"display_name": text(1, journal.DisplayNameMax, nil),
			"next_tool":    constant(toolPrepareEntry),
		}, "agent_id", "key_id", "display_name", "next_tool"),
		call: func(ctx context.Context, caller journal.Caller, object strictjson.Value) (any, error) {
			a := readArguments(object, []string{"challenge_id", "signature"}, nil)
			challenge, signed := a.text("challenge_id"), a.text("signature")
			if err := a.fault(); err != nil {
				return nil, err
			}
			r, err := j.CompleteRegistration(ctx, caller, journal.ChallengeID(challenge), signed)
			if err != nil {
				return nil, err
			}
			return completedBody{AgentID: r.AgentID, KeyID: r.KeyID, DisplayName: r.DisplayName, NextTool: toolPrepareEntry}, nil
		},
	}
}
