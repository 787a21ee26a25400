package simulator

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var sigForm = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^/]+)/([0-9]{8})/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$`)

// signed wants a signature of AWS Signature Version 4 over the request as it
// came, for one region of S3.
func signed(access, secret, region string) Auth {
	return func(r *Request) bool {
		form := sigForm.FindStringSubmatch(r.Header.Get("Authorization"))
		stamp := r.Header.Get("X-Amz-Date")
		if form == nil || form[1] != access || form[3] != region || form[4] != "s3" || !strings.HasPrefix(stamp, form[2]) {
			return false
		}
		sum := digested(string(r.Raw))
		names := strings.Split(form[5], ";")
		if r.Header.Get("X-Amz-Content-Sha256") != sum || !slices.Contains(names, "host") || !slices.Contains(names, "x-amz-date") {
			return false
		}
		var headers strings.Builder
		for _, name := range names {
			value := r.Header.Get(name)
			if name == "host" {
				value = r.Host
			}
			headers.WriteString(name + ":" + strings.TrimSpace(value) + "\n")
		}
		request := strings.Join([]string{r.Method, r.URL.EscapedPath(), sortedQuery(r.URL.Query()), headers.String(), form[5], sum}, "\n")
		text := strings.Join([]string{"AWS4-HMAC-SHA256", stamp, strings.Join([]string{form[2], region, "s3", "aws4_request"}, "/"), digested(request)}, "\n")
		key := []byte("AWS4" + secret)
		for _, part := range []string{form[2], region, "s3", "aws4_request", text} {
			h := hmac.New(sha256.New, key)
			h.Write([]byte(part))
			key = h.Sum(nil)
		}
		return hmac.Equal([]byte(hex.EncodeToString(key)), []byte(form[6]))
	}
}

func sortedQuery(query url.Values) string {
	return strings.ReplaceAll(query.Encode(), "+", "%20")
}

func digested(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
