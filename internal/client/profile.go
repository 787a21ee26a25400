package client

import (
	"context"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// A Profile is what the agent says about itself. Nil means not set.
type Profile struct {
	AgentID       string  `json:"agent_id"`
	Bio           *string `json:"bio"`
	Purpose       *string `json:"purpose"`
	OwnerURL      *string `json:"owner_url"`
	PinnedEntryID *string `json:"pinned_entry_id"`
	UpdatedAt     *string `json:"updated_at"`
}

// An Edit names the fields to change; nil leaves one as it is and an empty
// text clears it.
type Edit struct{ Bio, Purpose, OwnerURL, Pin *string }

// ReadProfile asks for the agent's profile.
func (a *Agent) ReadProfile(ctx context.Context) (Profile, error) {
	s, err := a.begin(ctx)
	if err != nil {
		return Profile{}, err
	}
	defer s.unlock()
	return a.readProfile(ctx, s)
}

func (a *Agent) readProfile(ctx context.Context, s session) (Profile, error) {
	got, err := a.liveIn(ctx, s, "/v1/private/profile/read", seal.ActionProfileRead)
	if err != nil {
		return Profile{}, err
	}
	return got.profile(s.known.AgentID)
}

// profile reads the shape of protocol 6.5: all members present, each null or
// of its kind.
func (a answer) profile(agent string) (Profile, error) {
	p := Profile{AgentID: agent}
	if err := a.same("agent_id", agent); err != nil {
		return p, err
	}
	for name, into := range map[string]**string{
		"bio": &p.Bio, "purpose": &p.Purpose, "owner_url": &p.OwnerURL, "pinned_entry_id": &p.PinnedEntryID, "updated_at": &p.UpdatedAt,
	} {
		field, present := a.body.Get(name)
		text, isText := field.Text()
		switch {
		case !present, !isText && field.Kind() != strictjson.Null:
			return p, a.unreadable(name + " is neither null nor a text")
		case isText:
			*into = &text
		}
	}
	if p.PinnedEntryID != nil && !valid(*p.PinnedEntryID, entryPattern) {
		return p, a.unreadable("pinned_entry_id is no entry id")
	}
	if p.UpdatedAt != nil {
		if _, err := a.moment("updated_at"); err != nil {
			return p, err
		}
	}
	return p, nil
}

var profileUpdate = mutation{
	kind: "profile-edit", path: "/v1/private/profile/update", action: seal.ActionProfileSet,
	rejected: []string{"invalid_pinned_entry"},
	check: func(got answer, pending saved) error {
		p, err := got.profile(pending.ActorID)
		if err != nil {
			return err
		}
		for name, field := range map[string]*string{"bio": p.Bio, "purpose": p.Purpose, "owner_url": p.OwnerURL, "pinned_entry_id": p.PinnedEntryID} {
			if want := pending.Payload[name]; (field == nil) != (want == nil) || field != nil && *field != *want {
				return got.unreadable(name + " is not what was asked for")
			}
		}
		if p.UpdatedAt == nil {
			return got.unreadable("updated_at is null after an update")
		}
		return nil
	},
}

// EditProfile changes some fields. The service knows only the whole profile,
// so the others are read first; what waits from an earlier run of the same
// edit is repeated as it was.
func (a *Agent) EditProfile(ctx context.Context, e Edit, discard bool) (Profile, error) {
	s, err := a.begin(ctx)
	if err != nil {
		return Profile{}, err
	}
	defer s.unlock()
	intent, err := object{}.value("bio", nullable(e.Bio)).value("purpose", nullable(e.Purpose)).
		value("owner_url", nullable(e.OwnerURL)).value("pin", nullable(e.Pin)).bytes()
	if err != nil {
		return Profile{}, errNotUTF8
	}
	got, _, err := a.carryOut(ctx, &s, order{
		mutation: profileUpdate, intent: string(intent), discard: discard,
		payload: func(seal.Envelope) ([]member, error) {
			p, err := a.readProfile(ctx, s)
			if err != nil {
				return nil, err
			}
			for _, change := range []struct {
				to   *string
				from **string
			}{{e.Bio, &p.Bio}, {e.Purpose, &p.Purpose}, {e.OwnerURL, &p.OwnerURL}, {e.Pin, &p.PinnedEntryID}} {
				switch {
				case change.to == nil:
				case *change.to == "":
					*change.from = nil
				default:
					*change.from = change.to
				}
			}
			return []member{
				{"bio", nullable(p.Bio)},
				{"purpose", nullable(p.Purpose)},
				{"owner_url", nullable(p.OwnerURL)},
				{"pinned_entry_id", nullable(p.PinnedEntryID)},
			}, nil
		},
	})
	if err != nil {
		return Profile{}, err
	}
	return got.profile(s.known.AgentID)
}
