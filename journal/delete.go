package journal

import "context"

// DeleteEntry erases one of the signer's entries and leaves a tombstone.
func (j *Journal) DeleteEntry(ctx context.Context, r OwnerRequest) (Done, error) {
	return j.mutate(ctx, r, func(*owned) (Change, error) {
		var c checks
		id := r.entryID(&c)
		r.oneOf(&c, "reason_code", "owner_request")
		if len(c.list) > 0 {
			return nil, invalid(c.list)
		}
		return EntryDeletion{EntryID: id}, nil
	})
}

// DeleteIdentity asks for the end of the signer's whole journal, after
// PendingWait, in which any active key can cancel it.
func (j *Journal) DeleteIdentity(ctx context.Context, r OwnerRequest) (Done, error) {
	return j.mutate(ctx, r, func(o *owned) (Change, error) {
		var c checks
		if AgentID(r.text(&c, "confirm_agent_id")) != o.agent {
			c.add("payload.confirm_agent_id", "not_in_enum", "must repeat the agent id that is to end")
		}
		r.oneOf(&c, "reason_code", "owner_request")
		if len(c.list) > 0 {
			return nil, invalid(c.list)
		}
		return IdentityDeletion{EffectiveAt: o.now.Add(PendingWait)}, nil
	})
}

// CancelPending drops a recovery change or an identity deletion that waits.
func (j *Journal) CancelPending(ctx context.Context, r OwnerRequest) (Done, error) {
	return j.mutate(ctx, r, func(*owned) (Change, error) {
		var c checks
		kind := r.oneOf(&c, "kind", "recovery", "deletion")
		if len(c.list) > 0 {
			return nil, invalid(c.list)
		}
		return Cancellation{Kind: kind}, nil
	})
}
