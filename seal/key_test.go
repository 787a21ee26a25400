package seal

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"
)

// spellings are base64 texts that a lenient decoder reads as the same bytes,
// or that carry another number of bytes.
func spellings(good string) map[string]string {
	bare := strings.TrimRight(good, "=")
	last := strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", bare[len(bare)-1])
	list := map[string]string{
		"empty":                   "",
		"no padding":              bare,
		"one padding too many":    good + "=",
		"padding in front":        "=" + good,
		"space in front":          " " + good,
		"space after":             good + " ",
		"space for the last":      good[:len(good)-1] + " ",
		"line feed after":         good + "\n",
		"carriage return after":   good + "\r",
		"CRLF after":              good + "\r\n",
		"line feed inside":        good[:20] + "\n" + good[20:],
		"line feed for a letter":  good[:20] + "\n" + good[21:],
		"tab inside":              good[:20] + "\t" + good[20:],
		"NUL after":               good + "\x00",
		"a quantum short":         good[4:],
		"a quantum more":          "AAAA" + good,
		"twice":                   good + good,
		"hex":                     strings.Repeat("ab", len(good)/2),
		"minus for a letter":      good[:8] + "-" + good[9:],
		"underscore for a letter": good[:8] + "_" + good[9:],
		"percent escape":          good[:8] + "%2B" + good[11:],
		"not ASCII":               good[:8] + "é" + good[10:],
		"data after padding":      good[:len(good)-4] + "AA==" + good[len(good)-4:],
	}
	for _, unused := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/" {
		at := strings.IndexRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", unused)
		spare := 16 // values that share the bits which count
		if len(good)-len(bare) == 1 {
			spare = 4
		}
		if at/spare == last/spare && at != last {
			list["last character "+string(unused)] = bare[:len(bare)-1] + string(unused) + good[len(bare):]
		}
	}
	return list
}

func TestPublicKeySpellings(t *testing.T) {
	t.Parallel()
	_, key := keyFromLabel(t, "spelling")
	good := key.String()
	if len(good) != 60 || !strings.HasPrefix(good, "MCowBQYDK2VwAyEA") {
		t.Fatalf("key %s", good)
	}
	list := spellings(good)
	list["raw key without SPKI"] = base64.StdEncoding.EncodeToString(key.raw[:])
	list["other algorithm (X25519)"] = strings.Replace(good, "K2VwAyEA", "K2VuAyEA", 1)
	list["first letter in lower case"] = "m" + good[1:]
	list["PKCS#8"] = "MC4CAQAwBQYDK2VwBCIEIA" + strings.Repeat("A", 38)
	for name, text := range list {
		if got, err := ParsePublicKey(text); !errors.Is(err, ErrPublicKey) || !got.IsZero() {
			t.Errorf("%s: accepted, %v", name, err)
		}
		if got, err := TrustedPublicKey(text); !errors.Is(err, ErrPublicKey) || !got.IsZero() {
			t.Errorf("%s: trusted, %v", name, err)
		}
	}
}

// Every one-bit change of the twelve bytes before the key is another kind of
// key and refused.
func TestPublicKeyPrefix(t *testing.T) {
	t.Parallel()
	_, key := keyFromLabel(t, "prefix")
	for bit := range len(spkiPrefix) * 8 {
		der := key.SPKI()
		der[bit/8] ^= 1 << (bit % 8)
		if _, err := ParsePublicKey(base64.StdEncoding.EncodeToString(der)); !errors.Is(err, ErrPublicKey) {
			t.Errorf("bit %d: %v", bit, err)
		}
	}
}

func TestSignatureSpellings(t *testing.T) {
	t.Parallel()
	// A signature with both special characters, whose last letter is not the
	// lowest of its group.
	raw := bytes.Repeat([]byte{0xfb, 0xff, 0xbf}, 22)[:64]
	good := base64.StdEncoding.EncodeToString(raw)
	parsed, err := ParseSignature(good)
	if err != nil || !bytes.Equal(parsed[:], raw) || parsed.String() != good || len(good) != 88 {
		t.Fatalf("%s: %v", good, err)
	}
	list := spellings(good)
	list["URL-safe alphabet"] = base64.URLEncoding.EncodeToString(raw)
	list["63 bytes"] = base64.StdEncoding.EncodeToString(raw[:63])
	list["65 bytes"] = base64.StdEncoding.EncodeToString(append(slices.Clone(raw), 0))
	list["66 bytes"] = base64.StdEncoding.EncodeToString(append(slices.Clone(raw), 0, 0))
	for name, text := range list {
		if got, err := ParseSignature(text); !errors.Is(err, ErrSignatureForm) || got != (Signature{}) {
			t.Errorf("%s: accepted, %v", name, err)
		}
	}
}

// Of all bytes, each place of a signature's text takes only those that decode
// to other bytes: no two texts give one signature.
func TestOneTextPerSignature(t *testing.T) {
	t.Parallel()
	private, _ := keyFromLabel(t, "one text")
	good := Sign(private, []byte("m"))
	text := []byte(good.String())
	for at := range text {
		for c := range 256 {
			changed := slices.Clone(text)
			changed[at] = byte(c)
			if got, err := ParseSignature(string(changed)); err == nil && (got == good) != (byte(c) == text[at]) {
				t.Errorf("byte %d as %q gives the same signature", at, byte(c))
			}
		}
	}
}

func TestPublicKeyOf(t *testing.T) {
	t.Parallel()
	private, key := keyFromLabel(t, "halves")
	other, _ := keyFromLabel(t, "other halves")
	for name, bad := range map[string]ed25519.PrivateKey{
		"nothing":       nil,
		"only the seed": private[:32],
		"a byte short":  private[:63],
		"a byte more":   append(slices.Clone(private), 0),
		"foreign half":  append(slices.Clone(private[:32]), other[32:]...),
		"zero half":     append(slices.Clone(private[:32]), make([]byte, 32)...),
	} {
		if got, err := PublicKeyOf(bad); !errors.Is(err, ErrPublicKey) || !got.IsZero() {
			t.Errorf("%s: %v", name, err)
		}
	}
	if again, err := ParsePublicKey(key.String()); err != nil || again != key {
		t.Errorf("the key does not come back: %v", err)
	}
}

func TestZeroPublicKeyVerifiesNothing(t *testing.T) {
	t.Parallel()
	var zero PublicKey
	// 32 zero bytes encode a point of order 4, under which forgeries exist: S of
	// zero, and the R that fits the challenge. The zero value must not fall
	// into that.
	forgeries := 0
	for n := range byte(16) {
		for _, commitment := range []string{
			"0100000000000000000000000000000000000000000000000000000000000000", "0000000000000000000000000000000000000000000000000000000000000000",
			"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "0000000000000000000000000000000000000000000000000000000000000080",
		} {
			message, forged := []byte{n}, Signature(append(unhex(t, commitment), make([]byte, 32)...))
			if ed25519.Verify(zero.raw[:], message, forged[:]) {
				forgeries++
			}
			if zero.Verify(message, forged) {
				t.Error("the zero key verified a forgery")
			}
		}
	}
	if forgeries == 0 {
		t.Error("no forgery works on the raw bytes, so the test tests nothing")
	}
	if !zero.IsZero() || PublishedTestKey(zero) {
		t.Error("the zero key is something")
	}
}

func TestSPKIIsACopy(t *testing.T) {
	t.Parallel()
	_, key := keyFromLabel(t, "copy")
	before := key.ID()
	clear(key.SPKI())
	if key.ID() != before {
		t.Error("a caller changed the key")
	}
}

func TestPublishedTestKeys(t *testing.T) {
	t.Parallel()
	for _, label := range []string{"compat vector key A", "compat vector key B"} {
		if _, key := keyFromLabel(t, label); !PublishedTestKey(key) {
			t.Errorf("%s is not known", label)
		}
	}
	for _, seed := range append(rfc8032Seeds(), "d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842") { // the last: RFC 8410 10.3
		key, err := PublicKeyOf(ed25519.NewKeyFromSeed(unhex(t, seed)))
		if err != nil || !PublishedTestKey(key) {
			t.Errorf("the key of seed %s is not known, %v", seed, err)
		}
	}
	if rfc8410, err := ParsePublicKey("MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="); err != nil || !PublishedTestKey(rfc8410) {
		t.Errorf("the key of RFC 8410 is not known, %v", err)
	}
	if _, key := keyFromLabel(t, "a key of someone"); PublishedTestKey(key) {
		t.Error("any key is taken for a published one")
	}
}
