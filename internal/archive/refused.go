package archive

import (
	"fmt"
	"regexp"
)

// A Rule is a name for why a line is refused.
type Rule string

// The rules that a file can break.
const (
	Form          Rule = "form"
	UnknownType   Rule = "unknown_type"
	UnknownFormat Rule = "unknown_format"
	DuplicateID   Rule = "duplicate_id"
	DuplicateUse  Rule = "duplicate_submission"
	UnknownAgent  Rule = "unknown_agent"
	OutOfPlace    Rule = "out_of_place"
	MissingLink   Rule = "missing_link"
	BrokenLink    Rule = "broken_link"
	KeyDates      Rule = "key_dates"
	TooManyKeys   Rule = "too_many_keys"
	ForeignKey    Rule = "foreign_key"
	ForeignAgent  Rule = "foreign_agent"
	WrongAction   Rule = "wrong_action"
	PayloadHash   Rule = "payload_hash"
	Signature     Rule = "signature"
	Dates         Rule = "dates"
	NotPublic     Rule = "not_public"
	Pending72h    Rule = "pending"
	Commitment    Rule = "commitment"
	EntryRules    Rule = "entry_rules"
	ProfileRules  Rule = "profile_rules"
	NameRules     Rule = "display_name_rules"
	UnknownPin    Rule = "unknown_pin"
	Truncated     Rule = "truncated"
	AfterEnd      Rule = "after_end"
	WrongCounts   Rule = "counts"
	WrongDigest   Rule = "digest"
	AlreadyStored Rule = "already_stored"
)

var sentences = map[Rule]string{
	Form:          "the line is not in the one form of its type, to the byte",
	UnknownType:   "the line is of a type that this format does not have",
	UnknownFormat: "the agent is written in another format than " + Format,
	DuplicateID:   "the id stands in the file twice",
	DuplicateUse:  "the same signed request stands for two entries",
	UnknownAgent:  "the agent of the line has no line above it",
	OutOfPlace:    "a key must stand right below its agent, before the entries",
	MissingLink:   "no chain of signed requests leads from the agent's first key to this one",
	BrokenLink:    "the request that brought the key in does not hold",
	KeyDates:      "the times of the key do not agree with its request or with the agent's other keys",
	TooManyKeys:   "more keys of the agent are active than one may have",
	ForeignKey:    "the signing key is not one of the agent's",
	ForeignAgent:  "the signed request names another agent",
	WrongAction:   "the signed request is about something else",
	PayloadHash:   "the text does not have the hash that was signed",
	Signature:     "the signature does not verify",
	Dates:         "the dates do not agree with what was signed or with the life of the key",
	NotPublic:     "only a public entry can be hidden",
	Pending72h:    "what waits does not hold",
	Commitment:    "the commitment to a recovery key does not hold",
	EntryRules:    "the entry breaks a rule for entries",
	ProfileRules:  "the profile breaks a rule for profiles",
	NameRules:     "the display name breaks a rule for display names",
	UnknownPin:    "the pinned entry is no active public entry of the agent",
	Truncated:     "the file ends without its last line",
	AfterEnd:      "something follows the last line",
	WrongCounts:   "the last line counts other lines than there are",
	WrongDigest:   "the digest in the last line is not that of the lines above it",
	AlreadyStored: "the journal has this already; import into an empty one",
}

// A Refused says which line breaks which rule. It never holds text of the
// file but ids.
type Refused struct {
	Line int    // from 1
	ID   string // of the record; empty when it has none that can be read
	Rule Rule
}

// Error is one sentence.
func (r *Refused) Error() string {
	if r.ID == "" {
		return fmt.Sprintf("line %d: %s: %s", r.Line, r.Rule, sentences[r.Rule])
	}
	return fmt.Sprintf("line %d, %s: %s: %s", r.Line, r.ID, r.Rule, sentences[r.Rule])
}

// Break is the error of a record that breaks a rule which its taker knows.
func Break(at Place, r Record, rule Rule) error {
	return &Refused{Line: at.Line, ID: safeID(r.id()), Rule: rule}
}

var idPattern = regexp.MustCompile(`^(?:agent|key|entry)_[A-Za-z0-9][A-Za-z0-9_-]*$`)

func validID(kind, id string) bool {
	return len(id) <= 160 && idPattern.MatchString(id) && id[:len(kind)+1] == kind+"_"
}

// safeID lets nothing but an id into a message.
func safeID(id string) string {
	if len(id) <= 160 && idPattern.MatchString(id) {
		return id
	}
	return ""
}
