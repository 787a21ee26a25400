package seal

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math/big"
	"slices"
	"testing"

	ed "filippo.io/edwards25519"
)

// usableByReference decides with an implementation of the curve that shares
// nothing with ours: the encoding decodes, is the canonical one, and eight
// times the point is not the identity.
func usableByReference(raw []byte) bool {
	point, err := new(ed.Point).SetBytes(raw)
	if err != nil || !bytes.Equal(point.Bytes(), raw) {
		return false
	}
	return new(ed.Point).MultByCofactor(point).Equal(ed.NewIdentityPoint()) == 0
}

// littleEndian writes y as the 32 bytes of a point, with the sign of x.
func littleEndian(y *big.Int, sign byte) []byte {
	raw := y.FillBytes(make([]byte, 32))
	slices.Reverse(raw)
	raw[31] |= sign << 7
	return raw
}

func prime() *big.Int {
	return new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
}

// order is L, the order of the base point (RFC 8032 section 5.1).
func order(t *testing.T) *big.Int {
	t.Helper()
	l, ok := new(big.Int).SetString("27742317777372353535851937790883648493", 10)
	if !ok {
		t.Fatal("L")
	}
	return l.Add(l, new(big.Int).Lsh(big.NewInt(1), 252))
}

// torsion returns the eight points of small order as multiples of one of
// order 8.
func torsion(t *testing.T) [8]*ed.Point {
	t.Helper()
	eighth, err := new(ed.Point).SetBytes(unhex(t, "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"))
	if err != nil {
		t.Fatal(err)
	}
	var points [8]*ed.Point
	points[0] = ed.NewIdentityPoint()
	for i := 1; i < 8; i++ {
		points[i] = new(ed.Point).Add(points[i-1], eighth)
		if points[i].Equal(points[0]) == 1 {
			t.Fatalf("the point has order %d", i)
		}
	}
	if new(ed.Point).Add(points[7], eighth).Equal(points[0]) != 1 {
		t.Fatal("the point does not have order 8")
	}
	return points
}

// The fourteen encodings of small-order points known from "Taming the many
// EdDSAs" (Chalkias, Garillot, Nikolaenko, 2020), eight of them canonical.
func TestSmallOrderKeysAreRefused(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, text := range []string{
		"0100000000000000000000000000000000000000000000000000000000000000",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"0000000000000000000000000000000000000000000000000000000000000000",
		"0000000000000000000000000000000000000000000000000000000000000080",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
		"0100000000000000000000000000000000000000000000000000000000000080",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	} {
		known[text] = true
		if _, err := ParsePublicKey(spki(unhex(t, text))); !errors.Is(err, ErrPublicKey) {
			t.Errorf("%s is accepted as a key", text)
		}
	}
	for i, point := range torsion(t) {
		if text := hex.EncodeToString(point.Bytes()); !known[text] {
			t.Errorf("%d times the point of order 8 is %s, not one of the known", i, text)
		}
	}
}

// All 38 encodings of a y that is not below p, whatever they stand for.
func TestNonCanonicalKeysAreRefused(t *testing.T) {
	t.Parallel()
	decodable := 0
	for k := range int64(19) {
		for sign := range byte(2) {
			raw := littleEndian(new(big.Int).Add(prime(), big.NewInt(k)), sign)
			if _, err := new(ed.Point).SetBytes(raw); err == nil {
				decodable++
			}
			if _, err := ParsePublicKey(spki(raw)); !errors.Is(err, ErrPublicKey) {
				t.Errorf("%x is accepted", raw)
			}
		}
	}
	if decodable == 0 {
		t.Error("the test tests nothing: no such encoding decodes elsewhere")
	}
}

func TestPointsAgreeWithReference(t *testing.T) {
	t.Parallel()
	check := func(raw []byte) bool {
		want := usableByReference(raw)
		if usablePoint(raw) != want {
			t.Errorf("%x: usable %t, the reference says %t", raw, !want, want)
		}
		return want
	}
	usable, refused := 0, 0
	tally := func(raw []byte) {
		if check(raw) {
			usable++
		} else {
			refused++
		}
	}
	for n := range uint64(400) { // anything
		raw := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("any"), n))
		tally(raw[:])
	}
	for n := range int64(100) { // both ends of the field, and beyond
		for sign := range byte(2) {
			tally(littleEndian(big.NewInt(n), sign))
			tally(littleEndian(new(big.Int).Sub(prime(), big.NewInt(n)), sign))
		}
	}
	small := torsion(t)
	for n := range uint64(40) { // points of the main group, alone and mixed with each of small order
		seed := sha512.Sum512(binary.BigEndian.AppendUint64([]byte("point"), n))
		scalar, err := new(ed.Scalar).SetUniformBytes(seed[:])
		if err != nil {
			t.Fatal(err)
		}
		main := new(ed.Point).ScalarBaseMult(scalar)
		for _, extra := range small {
			if raw := new(ed.Point).Add(main, extra).Bytes(); !check(raw) {
				t.Errorf("%x: a point of large order is refused", raw)
			}
		}
	}
	for _, extra := range small {
		tally(extra.Bytes())
	}
	if usable < 100 || refused < 100 {
		t.Errorf("%d usable and %d refused: one side is hardly tested", usable, refused)
	}
	for _, raw := range [][]byte{nil, {}, make([]byte, 31), make([]byte, 33)} {
		if usablePoint(raw) {
			t.Errorf("a point of %d bytes is accepted", len(raw))
		}
	}
}

// Why small-order keys are refused: under the identity as key, one signature
// fits every message. Verify alone does not protect, the parsing does.
func TestForgeryUnderSmallOrderKey(t *testing.T) {
	t.Parallel()
	identity := append([]byte{1}, make([]byte, 31)...)
	forged := Signature(append(slices.Clone(identity), make([]byte, 32)...))
	for _, message := range []string{"one thing", "its opposite"} {
		if !ed25519.Verify(identity, []byte(message), forged[:]) {
			t.Errorf("the forgery does not work on %q, so the test tests nothing", message)
		}
	}
	if _, err := ParsePublicKey(spki(identity)); !errors.Is(err, ErrPublicKey) {
		t.Error("the identity is accepted as a key")
	}
}
