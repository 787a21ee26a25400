package connect

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"innerloop/coworker/catalog"
)

// preview is a dry run: the request as it would be sent, secrets masked.
func (x *execution) preview(p *prepared, d *draft) (*Answer, error) {
	full := d.clone()
	const token = "an-access-token-that-is-not-exchanged-in-a-dry-run"
	if err := p.authorize(full, x.module, map[bool]string{true: token}[exchanges(p.auth)]); err != nil {
		return nil, err
	}
	if s := p.auth.Sign; s != nil && s.In == "query" {
		full.query.Set(s.Name, Masked)
	}
	request, body, err := full.request(context.Background())
	if err != nil {
		return nil, err
	}
	if p.auth.Kind == catalog.AWSSigV4 {
		if err := p.signAWS(request, body, x.now()); err != nil {
			return nil, err
		}
	}
	// An address of a further page may repeat a token that was good then.
	mask := newRedactor(slices.Concat(p.secrets, x.tokens.known(p.ID), []string{token}, full.hidden)...)
	show := &Preview{Method: request.Method, URL: mask.text(request.URL.String()), Header: map[string]string{}, Body: mask.text(string(body))}
	for name := range request.Header {
		value := request.Header.Get(name)
		if name == "Authorization" {
			value, _, _ = strings.Cut(value, " ")
			value += " " + Masked
			if !strings.Contains(request.Header.Get(name), " ") {
				value = Masked
			}
		}
		show.Header[name] = mask.text(value)
	}
	if s := p.auth.Sign; s != nil {
		show.mask(s.Name)
	}
	return &Answer{Class: x.class, Request: show, Hint: "nothing was sent"}, nil
}

// mask hides the signature, which is as good as the secret for this request.
func (p *Preview) mask(name string) {
	if _, ok := p.Header[name]; ok {
		p.Header[name] = Masked
	}
	var body map[string]any
	if json.Unmarshal([]byte(p.Body), &body) == nil {
		if _, ok := body[name]; ok {
			body[name] = Masked
			if raw, err := encodeJSON(body); err == nil {
				p.Body = string(raw)
			}
		}
	}
}
