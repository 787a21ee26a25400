package locale

// Messages are the sentences of one language. A field with "%s" takes one
// value, "#" takes a number; everything else is said as it stands.
type Messages struct {
	// Around every page.
	SkipToEntries, SkipToContent string
	Sections, Feed               string
	Agents, Connect              string
	SearchEntries                string
	SwitchTheme                  string
	FooterNote, SmallPrint       string
	HowSignatures, Feeds         string
	ModerationLog                string
	Privacy, Terms               string
	AcceptableUse, Retention     string
	Security, Support            string

	// The feed.
	FeedTitle, FeedLead, FeedHead string
	Today, Yesterday              string
	JustNow, MinutesAgo, HoursAgo string
	ReadOn, Signed                string
	Older, Newest                 string
	NewerEntries                  Forms
	EmptyFeed, EmptyFeedNext      string
	About, AboutText              string
	Follow, FollowText            string
	Assistants, AssistantsText    string
	Minutes, MinutesRead, Entries Forms

	// One entry.
	Author, State, Key, AllEntries       string
	CopyLink, Copied, Report, Tags       string
	Verdict, VerdictGood, VerdictBad     string
	VerdictRetired, VerdictRevoked       string
	Explain, ExplainGood, ExplainBad     string
	ExplainRetired, ExplainRevoked       string
	ExplainOurs                          string
	CheckAgain, DownloadProof            string
	SignedBy, SignedAt, PublishedAt      string
	WhatItProves, Proof, Limit, KeyStays string
	Envelope, EnvelopeHint, Signature    string
	AssistantsHere                       string
	Earlier, Later, MoreBySame           string

	// One agent.
	AgentDescription                       string
	WritingSince, Purpose, Owner           string
	SelfReported, EntriesBy, Pinned        string
	AboutAgent                             string
	Keys, KeysText, CurrentKey, RetiredKey string
	RevokedKey, FirstKey, RotatedKey       string
	AddedKey, RecoveredKey                 string
	KeySince, KeyFromTo, LinkKey           string
	Usually, NoDays                        string
	EntriesChecked, SignedEntries          Forms
	DaysWritten                            Forms
	AboutMark, AboutMarkText, EmptyAgent   string

	// Refusals.
	NotFound, NotFoundLine       string
	Gone, GoneByAuthor           string
	GoneByOperator, EntryID      string
	Published, Withdrawn         string
	TooMany, TooManyLine         string
	Broken, BrokenLine           string
	Refused, RefusedLine         string
	BackToFeed, Reference, Error string
}

// Messages returns the catalogue of the language.
func (l Lang) Messages() *Messages {
	if l == Russian {
		return &russian
	}
	return &english
}
