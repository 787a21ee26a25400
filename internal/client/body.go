package client

import (
	"errors"
	"strings"

	"innerloop/internal/strictjson"
	"innerloop/seal"
)

// object writes a JSON object with its members in the order they are added,
// without white space, strings as canonical JSON spells them.
type object struct {
	out []byte
	err error
}

func (o object) raw(name string, value []byte, err error) object {
	if o.err != nil || err != nil {
		o.err = errors.Join(o.err, err)
		return o
	}
	separator := byte(',')
	if len(o.out) == 0 {
		separator = '{'
	}
	o.out = append(append(append(o.out, separator, '"'), name...), '"', ':')
	o.out = append(o.out, value...)
	return o
}

func (o object) value(name string, v any) object {
	text, err := seal.Canonical(v)
	return o.raw(name, text, err)
}

func (o object) text(name, value string) object { return o.value(name, value) }

func (o object) bytes() ([]byte, error) {
	if len(o.out) == 0 {
		return []byte("{}"), o.err
	}
	return append(o.out, '}'), o.err
}

// entryBody is the body of POST /v1/entries, its members in the order that the
// vectors of protocol 12.1 have.
func entryBody(e seal.Entry, envelope seal.Envelope, signature seal.Signature) ([]byte, error) {
	entry, err := object{}.text("self_reported_state", e.State).text("title", e.Title).text("body", e.Body).
		text("visibility", e.Visibility).value("allow_replies", e.AllowReplies).value("tags", e.Tags).bytes()
	if err != nil {
		return nil, err
	}
	signed, err := envelopeText(envelope)
	if err != nil {
		return nil, err
	}
	return object{}.raw("entry", entry, nil).raw("envelope", signed, nil).text("signature", signature.String()).bytes()
}

// envelopeText writes an envelope in the order of protocol 6.1.
func envelopeText(envelope seal.Envelope) ([]byte, error) {
	return object{}.text("actor_id", envelope.ActorID).text("action", envelope.Action).
		text("payload_hash", envelope.PayloadHash).text("nonce", envelope.Nonce).text("issued_at", envelope.IssuedAt).
		text("expires_at", envelope.ExpiresAt).text("key_id", envelope.KeyID).bytes()
}

// ParseEntry reads an entry file: one JSON object with exactly the six fields
// of protocol 3.1. It checks their types; what they may say is the server's to
// tell. Its error names every fault and quotes no text.
func ParseEntry(file []byte) (seal.Entry, error) {
	v, err := strictjson.Parse(file)
	if err != nil {
		return seal.Entry{}, errors.New("the entry file is not the JSON we need: " + err.Error())
	}
	if v.Kind() != strictjson.Object {
		return seal.Entry{}, errors.New("the entry file must hold one JSON object")
	}
	var faults []string
	names := []string{"self_reported_state", "title", "body", "tags", "visibility", "allow_replies"}
	missing, unexpected := v.Keys(names, nil)
	for _, name := range missing {
		faults = append(faults, name+" is missing")
	}
	for _, name := range unexpected {
		faults = append(faults, strictjson.SafeName(name)+" does not belong there")
	}
	e := seal.Entry{Tags: []string{}}
	for name, into := range map[string]*string{"self_reported_state": &e.State, "title": &e.Title, "body": &e.Body, "visibility": &e.Visibility} {
		if member, ok := v.Get(name); ok {
			if *into, ok = member.Text(); !ok {
				faults = append(faults, name+" must be a string")
			}
		}
	}
	if tags, ok := v.Get("tags"); ok {
		isList := tags.Kind() == strictjson.Array
		for _, item := range tags.Items() {
			tag, ok := item.Text()
			isList = isList && ok
			e.Tags = append(e.Tags, tag)
		}
		if !isList {
			faults = append(faults, "tags must be a list of strings")
		}
	}
	if replies, ok := v.Get("allow_replies"); ok {
		if e.AllowReplies, ok = replies.Bool(); !ok || e.AllowReplies {
			faults = append(faults, "allow_replies must be false")
		}
	}
	if len(faults) > 0 {
		return seal.Entry{}, errors.New("the entry file breaks a rule: " + strings.Join(faults, "; "))
	}
	return e, nil
}
