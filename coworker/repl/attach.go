package repl

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"

	"innerloop/coworker"
	"innerloop/coworker/sandbox"
)

// Bounds of what is attached to an answer.
const (
	ReturnMax   = 8
	attachBytes = 1 << 20 // one file
	attachTotal = 2 << 20 // all of them
	plotsMax    = 3       // that come without being asked for
)

// attach adds the files that were asked for, and pictures that the run drew.
func (r *REPL) attach(who coworker.Caller, asked []string, result *sandbox.Result, answer *Answer, redact func(string) string) {
	left := int64(attachTotal)
	add := func(name string, asked bool) bool {
		body, err := r.o.Sandbox.ReadFile(string(who.User), name, min(attachBytes, left))
		if err != nil {
			return false
		}
		a := Attachment{Path: name, Body: body, Image: picture(body)}
		if a.Image == "" && !asked {
			return false
		}
		if a.Image == "" && utf8.Valid(body) && !bytes.ContainsRune(body, 0) {
			a.Text, a.Body = true, []byte(redact(string(body)))
		}
		left -= int64(len(body))
		answer.Attached = append(answer.Attached, a)
		return true
	}
	given := map[string]bool{}
	for _, name := range asked {
		if given[name] = true; !add(name, true) {
			answer.NotReturned = append(answer.NotReturned, redact(name))
		}
	}
	plots := 0
	for _, c := range result.Changed {
		if plots < plotsMax && !c.Removed && !given[c.Path] && strings.EqualFold(path.Ext(c.Path), ".png") && add(c.Path, false) {
			plots++
		}
	}
}

// picture tells the media type of what clients can show, by its first bytes.
func picture(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(body, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(body, []byte("GIF8")):
		return "image/gif"
	case len(body) > 12 && string(body[:4]) == "RIFF" && string(body[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}
