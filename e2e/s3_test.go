package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	s3Access = "AKIDOFTHESTORY"
	s3Secret = "a secret/of+the story 0123456789"
	s3Region = "eu-central-1"
)

// s3Server starts a server of the S3 protocol that checks signatures, and
// returns its address. It ends with the story.
func s3Server(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "s3")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "s3", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build the server: %v\n%s", err, out)
	}
	ctx, cancel := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, binary, t.TempDir(), t.TempDir())
	server.Env = []string{"ROOT_ACCESS_KEY=" + s3Access, "ROOT_SECRET_KEY=" + s3Secret}
	var said bytes.Buffer
	server.Stderr = &said
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		cancel()
		_ = server.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return address
		}
	}
	t.Fatalf("the server did not listen\n%s", said.String())
	return ""
}

// s3Signed makes a request by the description of AWS Signature Version 4, not
// by the product's code. The path must need no encoding.
func s3Signed(t *testing.T, method, address string, body []byte, secret string, at time.Time) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	keyed := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	stamp, sum := at.UTC().Format("20060102T150405Z"), fmt.Sprintf("%x", sha256.Sum256(body))
	r.Header.Set("X-Amz-Content-Sha256", sum)
	r.Header.Set("X-Amz-Date", stamp)
	r.Header.Set("X-Amz-Meta-Note", "as it was signed")
	const names = "host;x-amz-content-sha256;x-amz-date;x-amz-meta-note"
	canonical := method + "\n" + r.URL.Path + "\n\nhost:" + r.URL.Host + "\nx-amz-content-sha256:" + sum + "\nx-amz-date:" + stamp +
		"\nx-amz-meta-note:as it was signed\n\n" + names + "\n" + sum
	scope, key := stamp[:8]+"/"+s3Region+"/s3/aws4_request", []byte("AWS4"+secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = keyed(key, part)
	}
	message := fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", stamp, scope, sha256.Sum256([]byte(canonical)))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+s3Access+"/"+scope+", SignedHeaders="+names+", Signature="+hex.EncodeToString(keyed(key, message)))
	return r
}

func sent(t *testing.T, r *http.Request) (int, string) {
	t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// Attack: what was signed is changed on the way, or signed with another secret
// or at another time. Expectation: the server of this story refuses it, so that
// what it takes from the product was signed well.
func s3Refuses(t *testing.T, address string) {
	t.Helper()
	now, object, body := time.Now(), address+"/reports/checked", []byte("what was signed")
	for name, row := range map[string]struct {
		request *http.Request
		want    string
	}{
		"another secret": {s3Signed(t, "PUT", object, body, "another secret", now), "SignatureDoesNotMatch"},
		"another header": {s3Signed(t, "PUT", object, body, s3Secret, now), "SignatureDoesNotMatch"},
		"another hash":   {s3Signed(t, "PUT", object, body, s3Secret, now), "SignatureDoesNotMatch"},
		"another body":   {s3Signed(t, "PUT", object, body, s3Secret, now), "XAmzContentSHA256Mismatch"},
		"long ago":       {s3Signed(t, "PUT", object, body, s3Secret, now.Add(-time.Hour)), "RequestTimeTooSkewed"},
	} {
		switch name {
		case "another header":
			row.request.Header.Set("X-Amz-Meta-Note", "as it was not signed")
		case "another hash":
			row.request.Header.Set("X-Amz-Content-Sha256", fmt.Sprintf("%x", sha256.Sum256([]byte("other"))))
		case "another body":
			row.request.Body = io.NopCloser(strings.NewReader("what was forged"))
		}
		if status, said := sent(t, row.request); status < 400 || status > 403 || !strings.Contains(said, row.want) {
			t.Errorf("%s: %d %s", name, status, said)
		}
	}
	if status, said := sent(t, s3Signed(t, "PUT", object, body, s3Secret, now)); status != 200 {
		t.Fatalf("signed well: %d %s", status, said)
	}
	if status, said := sent(t, s3Signed(t, "GET", object, nil, s3Secret, now)); status != 200 || said != string(body) {
		t.Errorf("what is there: %d %s", status, said)
	}
}

// s3List is what a list of objects says (ListObjectsV2).
type s3List struct {
	Keys      []string `xml:"Contents>Key"`
	Folders   []string `xml:"CommonPrefixes>Prefix"`
	Next      string   `xml:"NextContinuationToken"`
	Truncated bool     `xml:"IsTruncated"`
}

// TestS3 stores, lists, reads, measures and deletes objects through
// connector_execute on a server that checks every signature.
func TestS3(t *testing.T) {
	t.Parallel()
	address := s3Server(t)
	o := embedded(t)
	server := serve(t, o)
	acme := found(t, o)
	folder := t.TempDir()
	field := func(name, value string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// The first made is the one that a call without a name means.
	for _, name := range []string{"main", "wrong"} {
		secret := map[string]string{"main": s3Secret, "wrong": "the wrong secret"}[name]
		administer(t, o, &struct{}{}, "connect", "s3", "--org", acme.ID, "--name", name, "--base-url", address, "--param", "region="+s3Region,
			"--field", "access_key_id=@"+field("access", s3Access), "--field", "secret_access_key=@"+field(name, secret))
	}
	administer(t, o, &struct{}{}, "org", "allow-network", "--org", acme.ID, "127.0.0.0/8")
	do := func(arguments map[string]any) (executed, bool) {
		t.Helper()
		arguments["service"] = "s3"
		return execute(t, server, acme.Key, arguments)
	}
	must := func(arguments map[string]any) executed {
		t.Helper()
		a, failed := do(arguments)
		if failed {
			t.Fatalf("%v: %s", arguments, a.said)
		}
		return a
	}

	if a := must(map[string]any{"method": "PUT", "path": "/reports"}); a.Class != "irreversible" {
		t.Errorf("made a bucket: %s", a.said)
	}
	s3Refuses(t, address)
	if a, failed := do(map[string]any{"method": "GET", "path": "/", "connection": "wrong"}); !failed || a.Code != "NOT_CONNECTED" || !strings.Contains(a.said, "revoked") {
		t.Errorf("with the wrong secret: %s", a.said)
	}
	if a := must(map[string]any{"method": "GET", "path": "/"}); !strings.Contains(a.text(), "<Name>reports</Name>") {
		t.Errorf("buckets: %s", a.said)
	}

	keys := []string{"notes/a b.txt", "notes/a+b.txt", "notes/c&d=e,(f)!'*~.txt", "notes/under/deep.txt", "notes/with@:$;.txt", "notes/über файл 書.txt"} // sorted
	for _, key := range keys {
		must(map[string]any{"method": "PUT", "path": "/reports/" + key, "body": "content of " + key})
		if a := must(map[string]any{"method": "GET", "path": "/reports/" + key}); a.text() != "content of "+key {
			t.Errorf("%s: %s", key, a.said)
		}
		a := must(map[string]any{"method": "HEAD", "path": "/reports/" + key})
		if a.Headers["content-length"] != fmt.Sprint(len("content of "+key)) || a.Headers["last-modified"] == "" || a.Headers["etag"] == "" {
			t.Errorf("about %s: %s", key, a.said)
		}
	}
	if a := must(map[string]any{"method": "GET", "path": "/reports/notes/a%20b.txt"}); a.text() != "content of notes/a b.txt" {
		t.Errorf("a key that came encoded: %s", a.said)
	}

	// Every page of two, each by the token of the one before.
	var listed []string
	pages, token := 0, ""
	for ; pages < 10; pages++ {
		query := map[string]any{"list-type": 2, "prefix": "notes/", "max-keys": 2, "encoding-type": "url"}
		if token != "" {
			query["continuation-token"] = token
		}
		var page s3List
		a := must(map[string]any{"method": "GET", "path": "/reports", "query": query})
		if err := xml.Unmarshal([]byte(a.text()), &page); err != nil {
			t.Fatalf("%v: %s", err, a.said)
		}
		for _, key := range page.Keys {
			plain, err := url.PathUnescape(key)
			if err != nil {
				t.Fatal(err)
			}
			listed = append(listed, plain)
		}
		if token = page.Next; !page.Truncated {
			break
		}
	}
	slices.Sort(listed)
	if !slices.Equal(listed, keys) || pages != 2 {
		t.Errorf("listed %q on %d pages after the first", listed, pages)
	}
	var folders s3List
	a := must(map[string]any{"method": "GET", "path": "/reports", "query": map[string]any{"list-type": 2, "prefix": "notes/", "delimiter": "/"}})
	if err := xml.Unmarshal([]byte(a.text()), &folders); err != nil || !slices.Equal(folders.Folders, []string{"notes/under/"}) || len(folders.Keys) != len(keys)-1 {
		t.Errorf("%v: %s", err, a.said)
	}

	// What is no text becomes a file of the user's.
	picture := append([]byte("\x89PNG\r\n\x1a\n"), bytes.Repeat([]byte{0, 1, 0xff}, 4000)...)
	if status, said := sent(t, s3Signed(t, "PUT", address+"/reports/picture.png", picture, s3Secret, time.Now())); status != 200 {
		t.Fatalf("%d %s", status, said)
	}
	a = must(map[string]any{"method": "GET", "path": "/reports/picture.png"})
	if !strings.HasSuffix(a.File, ".png") {
		t.Fatalf("a picture: %s", a.said)
	}
	if status, kept := asked(t, http.MethodGet, server.URL+"/api/v1/memory/"+a.File, acme.Key, ""); status != 200 || kept != string(picture) {
		t.Errorf("the file %s: %d, %d bytes", a.File, status, len(kept))
	}

	for _, key := range append(keys, "picture.png", "checked") {
		if a := must(map[string]any{"method": "DELETE", "path": "/reports/" + key}); a.Class != "irreversible" || a.Status != 204 {
			t.Errorf("deleted %s: %s", key, a.said)
		}
	}
	if a, failed := do(map[string]any{"method": "GET", "path": "/reports/" + keys[0]}); !failed || a.Code != "UPSTREAM_ERROR" || !strings.Contains(a.said, "NoSuchKey") {
		t.Errorf("after it was deleted: %s", a.said)
	}
	must(map[string]any{"method": "DELETE", "path": "/reports"})
	for _, secret := range []string{s3Secret, "the wrong secret"} {
		if strings.Contains(server.Log(), secret) {
			t.Error("the log holds a secret")
		}
	}
}
