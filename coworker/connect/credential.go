package connect

import (
	"crypto/hmac"
	"crypto/md5"  //nolint:gosec // what services ask for
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strings"
	"time"

	"innerloop/coworker"
	"innerloop/coworker/catalog"
)

// authorize puts the credential into a draft. token is the access token of
// kinds that exchange for one.
func (p *prepared) authorize(d *draft, module *catalog.Module, token string) error {
	if len(module.Auth) > 0 && !slices.Contains(module.Auth, p.auth.ID) {
		return coworker.InvalidArguments(coworker.Problem{Field: "module", Problem: "does not take this connection's kind of credential", Allowed: module.Auth})
	}
	values := p.values
	if token != "" {
		values = map[string]string{"access_token": token}
		for name, value := range p.values {
			values[name] = value
		}
	}
	a := p.auth
	text, missing := expand(a.Template, values)
	if missing != "" {
		return unusable("the value " + missing + " is missing")
	}
	switch a.Kind {
	case catalog.HeaderAuth:
		d.header.Set(a.Name, text)
	case catalog.Bearer:
		d.header.Set("Authorization", "Bearer "+text)
	case catalog.Basic:
		d.header.Set("Authorization", "Basic "+d.hides(base64.StdEncoding.EncodeToString([]byte(text))))
	case catalog.QueryAuth:
		d.query.Set(a.Name, text)
	case catalog.BodyAuth:
		d.inBody(a.Name, text)
	case catalog.OAuth2CC, catalog.OAuth2Refresh, catalog.OAuth2Code:
		switch {
		case a.Template == "":
			d.header.Set("Authorization", "Bearer "+token)
		case a.Name == "":
			d.header.Set("Authorization", text)
		default:
			d.header.Set(a.Name, text)
		}
	}
	for _, also := range a.Also {
		if len(also.Modules) > 0 && !slices.Contains(also.Modules, module.ID) {
			continue
		}
		if also.Base64 != "" {
			inner, _ := expand(also.Base64, values)
			with := map[string]string{"base64": d.hides(base64.StdEncoding.EncodeToString([]byte(inner)))}
			for name, value := range values {
				with[name] = value
			}
			text, missing = expand(also.Template, with)
		} else {
			text, missing = expand(also.Template, values)
		}
		if missing != "" || text == "" {
			continue
		}
		switch also.In {
		case "query":
			d.query.Set(also.Name, text)
		case "body":
			d.inBody(also.Name, text)
		default:
			d.header.Set(also.Name, text)
		}
	}
	if a.Kind == catalog.Signed {
		return p.sign(d, values)
	}
	return nil
}

// hides remembers a text that was made of a secret and is as good as one.
func (d *draft) hides(text string) string {
	d.hidden = append(d.hidden, text)
	return text
}

func (d *draft) inBody(name, text string) {
	if d.body == nil {
		d.body = map[string]any{}
	}
	d.hasBody = true
	put(d.body, name, text)
}

// sign adds the signature that a service wants over the body.
func (p *prepared) sign(d *draft, values map[string]string) error {
	s := p.auth.Sign
	var message string
	switch s.Over {
	case "sorted_values":
		// Root values by the order of their names; nested ones are not signed.
		all := map[string]string{}
		for name, value := range d.body {
			if scalar(value) {
				all[name] = plain(value)
			}
		}
		for name, template := range s.Add {
			all[name], _ = expand(template, values)
		}
		for _, name := range sortedKeys(all) {
			message += all[name]
		}
	default:
		raw, _, err := d.encode()
		if err != nil {
			return err
		}
		with := map[string]string{"body": string(raw)}
		for name, value := range values {
			with[name] = value
		}
		message, _ = expand(s.Template, with)
	}
	sum, err := digest(s, message, values)
	if err != nil {
		return err
	}
	d.hides(sum)
	switch s.In {
	case "header":
		d.header.Set(s.Name, sum)
	case "query":
		d.query.Set(s.Name, sum)
	default:
		d.inBody(s.Name, sum)
	}
	return nil
}

func digest(s *catalog.Sign, message string, values map[string]string) (string, error) {
	var h hash.Hash
	switch s.Algorithm {
	case "md5":
		h = md5.New() //nolint:gosec // what services ask for
	case "sha1":
		h = sha1.New() //nolint:gosec // as above
	case "sha256":
		h = sha256.New()
	case "sha512":
		h = sha512.New()
	case "hmac_sha256":
		key, _ := expand(s.Key, values)
		h = hmac.New(sha256.New, []byte(key))
	default:
		return "", fmt.Errorf("sign: no algorithm %s", s.Algorithm)
	}
	h.Write([]byte(message))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// signAWS signs a finished request (AWS Signature Version 4, header form).
func (p *prepared) signAWS(r *http.Request, body []byte, now time.Time) error {
	var parts [5]string
	for i, template := range []string{p.auth.AWS.Service, p.auth.AWS.Region, p.auth.AWS.AccessKey, p.auth.AWS.SecretKey, p.auth.AWS.SessionToken} {
		text, missing := expand(template, p.values)
		if missing != "" {
			return unusable("the value " + missing + " is missing")
		}
		parts[i] = text
	}
	service, region, access, secret, session := parts[0], parts[1], parts[2], parts[3], parts[4]
	sum := sha256.Sum256(body)
	stamp := now.UTC().Format("20060102T150405Z")
	r.Header.Set("X-Amz-Date", stamp)
	r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	if session != "" {
		r.Header.Set("X-Amz-Security-Token", session)
	}
	names := []string{"host"}
	for name := range r.Header {
		if lower := strings.ToLower(name); lower == "content-type" || strings.HasPrefix(lower, "x-amz-") {
			names = append(names, lower)
		}
	}
	slices.Sort(names)
	var headers strings.Builder
	for _, name := range names {
		value := r.URL.Host
		if name != "host" {
			value = strings.Join(strings.Fields(r.Header.Get(name)), " ")
		}
		headers.WriteString(name + ":" + value + "\n")
	}
	signed := strings.Join(names, ";")
	// Both are sent as they are signed: not every store encodes a path anew.
	r.URL.RawQuery = awsQuery(r.URL.Query())
	r.URL.RawPath = awsEscape(r.URL.Path, true)
	canonical := strings.Join([]string{
		r.Method, awsPath(r.URL.Path, service), r.URL.RawQuery, headers.String(), signed, hex.EncodeToString(sum[:]),
	}, "\n")
	scope := strings.Join([]string{stamp[:8], region, service, "aws4_request"}, "/")
	whole := sha256.Sum256([]byte(canonical))
	message := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, scope, hex.EncodeToString(whole[:])}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range []string{stamp[:8], region, service, "aws4_request"} {
		key = keyed(key, part)
	}
	r.Header.Set("Authorization", fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s",
		access, scope, signed, hex.EncodeToString(keyed(key, message))))
	return nil
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// awsPath encodes a decoded path as the signature wants it: S3 once, every
// other service twice.
func awsPath(path, service string) string {
	if path == "" {
		return "/"
	}
	once := awsEscape(path, true)
	if service == "s3" {
		return once
	}
	return awsEscape(once, true)
}

func awsQuery(query map[string][]string) string {
	var pairs []string
	for name, values := range query {
		for _, value := range values {
			pairs = append(pairs, awsEscape(name, false)+"="+awsEscape(value, false))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

// awsEscape encodes every byte that RFC 3986 does not call unreserved.
func awsEscape(text string, slash bool) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 || slash && c == '/' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
