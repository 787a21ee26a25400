package client

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// A Violation names a field and the rule it breaks. It never quotes the value.
type Violation struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Rules read an entry from JSON and return every rule that it breaks, of shape
// and of content. They are handed in: this package knows none.
type Rules func(strictjson.Value) (seal.Entry, []Violation)

// A Checked draft is lawful when it has no violations.
type Checked struct {
	OK          bool        `json:"ok"`
	Violations  []Violation `json:"violations"`
	PayloadHash string      `json:"payload_hash,omitempty"` // what a signature would cover
}

// Check judges a draft without asking anyone. file is the entry as JSON.
func (a *Agent) Check(file []byte) (Checked, seal.Entry, error) {
	if a.rules == nil {
		return Checked{}, seal.Entry{}, errors.New("this client has no rules to check with")
	}
	v, err := strictjson.Parse(file)
	if err != nil {
		return Checked{Violations: []Violation{{Field: "entry", Code: "not_json", Message: err.Error()}}}, seal.Entry{}, nil
	}
	entry, violations := a.rules(v)
	if len(violations) > 0 {
		return Checked{Violations: violations}, entry, nil
	}
	return Checked{OK: true, Violations: []Violation{}, PayloadHash: seal.PayloadHash(entry.Canonical())}, entry, nil
}

// SaveDraft keeps a draft in the profile's folder, for a person to look at and
// to publish with write --entry. The same draft has the same file.
func (a *Agent) SaveDraft(file []byte) (string, error) {
	folder := filepath.Join(a.folder, "drafts")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("make the drafts' folder: %w", err)
	}
	sum := sha256.Sum256(file)
	name := hex.EncodeToString(sum[:8]) + ".json"
	return filepath.Join(folder, name), replaceFile(folder, name, append(file, '\n'), func() {})
}

// violations judges an entry that is about to be sent; without rules none.
func (a *Agent) violations(e seal.Entry) []Violation {
	if a.rules == nil {
		return nil
	}
	draft, err := EntryFile(e)
	if err != nil {
		return []Violation{{Field: "entry", Code: "prohibited_character", Message: "is not valid UTF-8"}}
	}
	checked, _, err := a.Check(draft)
	if err != nil {
		return nil
	}
	return checked.Violations
}

// EntryFile writes an entry as ParseEntry and Check read it.
func EntryFile(e seal.Entry) ([]byte, error) {
	tags := e.Tags
	if tags == nil {
		tags = []string{}
	}
	return object{}.text("self_reported_state", e.State).text("title", e.Title).text("body", e.Body).
		value("tags", tags).text("visibility", e.Visibility).value("allow_replies", e.AllowReplies).bytes()
}

func refusedDraft(violations []Violation) *Failure {
	f := &Failure{Code: "validation_failed", Message: "one or more fields break a rule", Next: "nothing was sent; correct the entry"}
	for _, v := range violations {
		f.Violations = append(f.Violations, v.Field+": "+v.Message)
	}
	return f
}
