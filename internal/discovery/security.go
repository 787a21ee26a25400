package discovery

import (
	"net"
	"strings"
	"time"
)

// SecurityPath is where RFC 9116 puts security.txt, on the web origin.
const SecurityPath = "/.well-known/security.txt"

// securityLife is how long a copy of security.txt is good for. RFC 9116 asks
// for less than a year.
const securityLife = 180 * 24 * time.Hour

// SecurityContact is where to write: contact, a mailto:, https: or tel:
// address, or the mailbox that RFC 2142 reserves for this when it is empty.
func SecurityContact(o Origins, contact string) string {
	if contact != "" {
		return contact
	}
	host := hostOf(o.Web)
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		host = "[IPv6:" + host + "]"
	} else if ip != nil {
		host = "[" + host + "]"
	}
	return "mailto:security@" + host
}

// SecurityDocument is security.txt as of now, with SecurityContact's address.
func SecurityDocument(o Origins, contact string, now time.Time) Document {
	// Whole days: the text, and so its validator, changes once a day.
	expires := now.UTC().Truncate(24 * time.Hour).Add(securityLife)
	body := []byte(strings.Join([]string{
		"Contact: " + SecurityContact(o, contact),
		"Expires: " + expires.Format(time.RFC3339),
		"Preferred-Languages: en, ru",
		"Canonical: " + o.Web + SecurityPath,
		"",
	}, "\n"))
	return Document{
		Path: SecurityPath, MediaType: PlainText, Summary: "Whom to tell about a weakness.",
		Body: body, Digest: digest(body), Cache: Surface,
	}
}
