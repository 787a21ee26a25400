package seal

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"slices"
	"strconv"
	"testing"

	"innerloop/internal/strictjson"
)

// keyFromLabel makes a key pair whose seed is the SHA-256 of a label, as the
// published vectors do.
func keyFromLabel(t testing.TB, label string) (ed25519.PrivateKey, PublicKey) {
	t.Helper()
	seed := sha256.Sum256([]byte(label))
	private := ed25519.NewKeyFromSeed(seed[:])
	key, err := PublicKeyOf(private)
	if err != nil {
		t.Fatal(err)
	}
	return private, key
}

// A vectorFile is testdata/vectors.json, protocol 12.1 word for word.
type vectorFile struct{ strictjson.Value }

func readVectors(t testing.TB) vectorFile {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := strictjson.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return vectorFile{v}
}

func get(t testing.TB, v strictjson.Value, name string) strictjson.Value {
	t.Helper()
	member, ok := v.Get(name)
	if !ok {
		t.Fatalf("the vectors have no %s", name)
	}
	return member
}

func text(t testing.TB, v strictjson.Value, name string) string {
	t.Helper()
	s, ok := get(t, v, name).Text()
	if !ok {
		t.Fatalf("%s is not a string", name)
	}
	return s
}

func count(t testing.TB, v strictjson.Value, name string) int {
	t.Helper()
	n, ok := get(t, v, name).Int()
	if !ok {
		t.Fatalf("%s is not an integer", name)
	}
	return int(n)
}

// op returns one operation of the vectors by name.
func (f vectorFile) op(t testing.TB, name string) strictjson.Value {
	t.Helper()
	return get(t, get(t, f.Value, "ops"), name)
}

// plainly turns a parsed value into what Canonical takes.
func plainly(v strictjson.Value) any {
	switch v.Kind() {
	case strictjson.Bool:
		b, _ := v.Bool()
		return b
	case strictjson.Number:
		literal, _ := v.Literal()
		f, _ := strconv.ParseFloat(literal, 64)
		return f
	case strictjson.String:
		s, _ := v.Text()
		return s
	case strictjson.Array:
		list := []any{}
		for _, item := range v.Items() {
			list = append(list, plainly(item))
		}
		return list
	case strictjson.Object:
		object := map[string]any{}
		for _, m := range v.Members() {
			object[m.Name] = plainly(m.Value)
		}
		return object
	}
	return nil
}

// compact writes v without white space and with its keys in the order
// received: the request body as the first-party client sends it.
func compact(dst []byte, v strictjson.Value) []byte {
	switch v.Kind() {
	case strictjson.Array:
		dst = append(dst, '[')
		for i, item := range v.Items() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = compact(dst, item)
		}
		return append(dst, ']')
	case strictjson.Object:
		dst = append(dst, '{')
		for i, m := range v.Members() {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = compact(append(AppendString(dst, m.Name), ':'), m.Value)
		}
		return append(dst, '}')
	case strictjson.String:
		s, _ := v.Text()
		return AppendString(dst, s)
	case strictjson.Number:
		literal, _ := v.Literal()
		return append(dst, literal...)
	case strictjson.Bool:
		b, _ := v.Bool()
		return strconv.AppendBool(dst, b)
	}
	return append(dst, "null"...)
}

func entryOf(t testing.TB, v strictjson.Value) Entry {
	t.Helper()
	allow, _ := get(t, v, "allow_replies").Bool()
	entry := Entry{
		State: text(t, v, "self_reported_state"), Title: text(t, v, "title"), Body: text(t, v, "body"),
		Visibility: text(t, v, "visibility"), AllowReplies: allow, Tags: []string{},
	}
	for _, tag := range get(t, v, "tags").Items() {
		s, _ := tag.Text()
		entry.Tags = append(entry.Tags, s)
	}
	return entry
}

func envelopeOf(t testing.TB, v strictjson.Value) Envelope {
	t.Helper()
	return Envelope{
		ActorID: text(t, v, "actor_id"), Action: text(t, v, "action"), PayloadHash: text(t, v, "payload_hash"),
		Nonce: text(t, v, "nonce"), IssuedAt: text(t, v, "issued_at"), ExpiresAt: text(t, v, "expires_at"),
		KeyID: text(t, v, "key_id"),
	}
}

func sameEntry(a, b Entry) bool {
	return a.State == b.State && a.Title == b.Title && a.Body == b.Body && slices.Equal(a.Tags, b.Tags) &&
		a.Visibility == b.Visibility && a.AllowReplies == b.AllowReplies
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// spki writes 32 raw bytes as a public key travels, whether or not they are a
// usable point.
func spki(raw []byte) string {
	return base64.StdEncoding.EncodeToString(append([]byte(spkiPrefix), raw...))
}
