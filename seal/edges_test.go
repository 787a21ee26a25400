package seal

import (
	"crypto/sha512"
	"encoding/binary"
	"math/big"
	"slices"
	"testing"

	ed "filippo.io/edwards25519"
)

// A signature (R, S) has one S only: S + L, S + 2L and so on are refused
// (RFC 8032 section 5.1.7), else anyone could respell a signature.
func TestMalleableSignaturesAreRefused(t *testing.T) {
	t.Parallel()
	private, key := keyFromLabel(t, "malleable")
	message := []byte("the canonical envelope")
	good := Sign(private, message)
	s := slices.Clone(good[32:])
	slices.Reverse(s)
	value, limit := new(big.Int).SetBytes(s), new(big.Int).Lsh(big.NewInt(1), 256)
	tried := 0
	for next := new(big.Int).Add(value, order(t)); next.Cmp(limit) < 0; next.Add(next, order(t)) {
		respelled := good
		copy(respelled[32:], littleEndian(next, 0))
		if key.Verify(message, respelled) {
			t.Errorf("S + %d L verifies", tried+1)
		}
		tried++
	}
	if tried < 14 {
		t.Errorf("only %d spellings tried", tried)
	}
	for name, s := range map[string]*big.Int{"L": order(t), "L-1": new(big.Int).Sub(order(t), big.NewInt(1)), "all ones": new(big.Int).Sub(limit, big.NewInt(1))} {
		changed := good
		copy(changed[32:], littleEndian(s, 0))
		if key.Verify(message, changed) {
			t.Errorf("S = %s verifies", name)
		}
	}
	negated := good
	copy(negated[32:], littleEndian(new(big.Int).Sub(order(t), value), 0))
	negated[31] ^= 0x80 // -R
	if key.Verify(message, negated) {
		t.Error("the negated signature verifies")
	}
}

func uniform(t *testing.T, parts ...[]byte) *ed.Scalar {
	t.Helper()
	h := sha512.New()
	for _, part := range parts {
		h.Write(part)
	}
	scalar, err := new(ed.Scalar).SetUniformBytes(h.Sum(nil))
	if err != nil {
		t.Fatal(err)
	}
	return scalar
}

// A point of mixed order as key, signed by one who knows its main part. The
// equation without the cofactor holds exactly if the challenge is a multiple
// of the order of the small part; the one with the cofactor always holds. Ours
// is the former (RFC 8032 section 5.1.7 allows it): whatever we accept, every
// other verifier accepts too.
func TestCofactorlessEquation(t *testing.T) {
	t.Parallel()
	secret := uniform(t, []byte("mixed order key"))
	points := torsion(t)
	public := new(ed.Point).ScalarBaseMult(secret)
	public.Add(public, points[1])
	key, err := ParsePublicKey(spki(public.Bytes()))
	if err != nil {
		t.Fatalf("a point of mixed order is refused: %v", err)
	}
	message, accepted := []byte("the canonical envelope"), 0
	for n := range uint64(100) {
		nonce := uniform(t, binary.BigEndian.AppendUint64(nil, n))
		commitment := new(ed.Point).ScalarBaseMult(nonce)
		challenge := uniform(t, commitment.Bytes(), public.Bytes(), message)
		s := new(ed.Scalar).MultiplyAdd(challenge, secret, nonce)
		signature := Signature(append(commitment.Bytes(), s.Bytes()...))

		// 8·(S·B - k·A - R) is the identity.
		rest := new(ed.Point).VarTimeDoubleScalarBaseMult(challenge, new(ed.Point).Negate(public), s)
		rest.Subtract(rest, commitment).MultByCofactor(rest)
		if rest.Equal(points[0]) != 1 {
			t.Fatal("the equation with the cofactor does not hold")
		}
		want := challenge.Bytes()[0]%8 == 0
		if key.Verify(message, signature) != want {
			t.Errorf("challenge %x: verifies %t", challenge.Bytes(), !want)
		}
		if want {
			accepted++
		}
	}
	if accepted == 0 || accepted == 100 {
		t.Errorf("%d of 100 accepted: one side is not tested", accepted)
	}
}

// R is compared as bytes: of the spellings of one point only the canonical one
// verifies. The holder of the key may choose a silly R, as here the identity
// or a point of order 2; nobody else can.
func TestSmallOrderCommitments(t *testing.T) {
	t.Parallel()
	secret := uniform(t, []byte("honest key"))
	public := new(ed.Point).ScalarBaseMult(secret)
	key, err := ParsePublicKey(spki(public.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	message := []byte("the canonical envelope")
	for _, row := range []struct {
		name, commitment string
		want             bool
	}{
		{"identity", "0100000000000000000000000000000000000000000000000000000000000000", true},
		{"identity with the sign of x set", "0100000000000000000000000000000000000000000000000000000000000080", false},
		{"identity as y = p + 1", "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", false},
		{"identity as y = p + 1 with sign", "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", false},
		{"order 2, which only the cofactor hides", "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", false},
		{"order 4", "0000000000000000000000000000000000000000000000000000000000000000", false},
		{"order 8", "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", false},
		{"no point at all", "0200000000000000000000000000000000000000000000000000000000000000", false},
	} {
		commitment := unhex(t, row.commitment)
		challenge := uniform(t, commitment, public.Bytes(), message)
		s := new(ed.Scalar).Multiply(challenge, secret)
		if got := key.Verify(message, Signature(append(commitment, s.Bytes()...))); got != row.want {
			t.Errorf("R of %s verifies: %t", row.name, got)
		}
	}
}

// A stored key is not checked again, but one that is no point verifies nothing.
func TestUndecodableStoredKey(t *testing.T) {
	t.Parallel()
	key, err := TrustedPublicKey(spki(littleEndian(big.NewInt(2), 0)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParsePublicKey(key.String()); err == nil {
		t.Error("y = 2 is a point")
	}
	if key.Verify([]byte("m"), Signature{}) {
		t.Error("a key that is no point verifies")
	}
}
