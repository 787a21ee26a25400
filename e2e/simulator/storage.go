package simulator

import (
	"fmt"
	"strconv"
	"strings"
)

// S3: every request signed, answers and refusals in XML, pages by a token that
// the caller sends on.
func S3() Service {
	const access, secret, region = "AKIDSIMULATED", "secret-access-key-simulated", "eu-west-1"
	keys := func(secret string) Credential {
		return Credential{Fields: map[string]string{"access_key_id": access, "secret_access_key": secret}, Params: map[string]string{"region": region}}
	}
	list := func(r *Request) Reply {
		query := r.URL.Query()
		size, err := strconv.Atoi(query.Get("max-keys"))
		from := 0
		if token := query.Get("continuation-token"); token != "" && err == nil {
			_, err = fmt.Sscanf(token, "token/%d==", &from)
		}
		if query.Get("list-type") != "2" || err != nil {
			return r.Refuse(BadValue)
		}
		page := paging{Rows: rows(5, func(n int) map[string]any { return map[string]any{"Key": fmt.Sprintf("part-%d", n)} })}.cut(from, size)
		var b strings.Builder
		fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>%s</Name><IsTruncated>%t</IsTruncated>`, r.Place, from+len(page) < 5)
		for _, row := range page {
			object, _ := row.(map[string]any)
			fmt.Fprintf(&b, "<Contents><Key>%s</Key></Contents>", object["Key"])
		}
		if from+len(page) < 5 {
			fmt.Fprintf(&b, "<NextContinuationToken>token/%d==</NextContinuationToken>", from+len(page))
		}
		return says(200, b.String()+"</ListBucketResult>")
	}
	return Service{
		ID: "s3", Good: keys(secret), Stale: keys("secret-access-key-of-last-year"), Auth: signed(access, secret, region),
		Refusal: refusals(func(_ int, code, message string) any {
			return `<?xml version="1.0" encoding="UTF-8"?><Error><Code>` + code + `</Code><Message>` + message + `</Message></Error>`
		}, map[Trouble]refusal{
			NoCredential: {403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you provided.", nil},
			NoPath:       {404, "NoSuchBucket", "The specified bucket does not exist", nil},
			NoMethod:     {405, "MethodNotAllowed", "The specified method is not allowed against this resource.", nil},
			NoType:       {400, "InvalidArgument", "The content type is not expected", nil},
			NoHeader:     {400, "MissingSecurityHeader", "Your request was missing a required header", nil},
			BadValue:     {400, "InvalidArgument", "An argument is not valid", nil},
			Missing:      {404, "NoSuchKey", "The specified key does not exist.", nil},
			TooMany:      {503, "SlowDown", "Please reduce your request rate.", nil},
		}),
		Routes: []Route{
			{Call: "GET /", Answer: fixed(200, "<ListAllMyBucketsResult><Buckets></Buckets></ListAllMyBucketsResult>")},
			{Call: "GET reports", Answer: list},
			{Call: "GET archive", Answer: list},
			{Call: "GET reports/slow", Busy: 1, Answer: fixed(200, "<report></report>")},
			{Call: "GET reports/none", Answer: func(r *Request) Reply { return r.Refuse(Missing) }},
			{Call: "PUT reports/*/*", Answer: func(r *Request) Reply {
				if string(r.Raw) != "Hello" {
					return r.Refuse(BadValue)
				}
				return says(200, nil)
			}},
			{Call: "DELETE reports/*/*", Answer: fixed(204, nil)},
		},
	}
}
