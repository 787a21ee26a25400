package seal

import (
	"math/big"
	"slices"
)

// curve holds the constants of edwards25519 (RFC 8032 section 5.1) that the
// point check needs. They are computed per call: registration is rare, and a
// package variable of big integers could be changed by anyone.
type curve struct{ p, d *big.Int }

func edwards25519() curve {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	// d = -121665 / 121666 mod p
	d := new(big.Int).ModInverse(big.NewInt(121666), p)
	d.Mul(d, big.NewInt(-121665)).Mod(d, p)
	return curve{p: p, d: d}
}

// usablePoint tells whether raw is the canonical encoding of a curve point
// whose order is not small. Under a small-order key one signature fits many
// messages, so such a key proves nothing about who wrote what.
func usablePoint(raw []byte) bool {
	if len(raw) != 32 {
		return false
	}
	little := slices.Clone(raw)
	little[31] &= 0x7f // the top bit is the sign of x
	slices.Reverse(little)
	c, y := edwards25519(), new(big.Int).SetBytes(little)
	if y.Cmp(c.p) >= 0 || c.smallOrder(y) {
		return false
	}
	// x² = (y²-1) / (d·y²+1) must be a square.
	one := big.NewInt(1)
	yy := new(big.Int).Mul(y, y)
	numerator := new(big.Int).Sub(yy, one)
	denominator := new(big.Int).Mul(yy, c.d)
	denominator.Add(denominator, one).Mod(denominator, c.p)
	denominator.ModInverse(denominator, c.p) // never zero: -1/d is not a square
	xx := numerator.Mul(numerator, denominator)
	xx.Mod(xx, c.p)
	return big.Jacobi(xx, c.p) != -1
}

// smallOrder tells whether y belongs to one of the eight points of small
// order: y is 1, -1, 0, or one of the two values of the points of order 8.
// For those, doubling twice must give a point of order 2: with x² = -y² (the
// doubled y is zero) the curve equation leaves d·y⁴ + 2y² - 1 = 0.
func (c curve) smallOrder(y *big.Int) bool {
	one := big.NewInt(1)
	minusOne := new(big.Int).Sub(c.p, one)
	if y.Sign() == 0 || y.Cmp(one) == 0 || y.Cmp(minusOne) == 0 {
		return true
	}
	yy := new(big.Int).Mul(y, y)
	yy.Mod(yy, c.p)
	sum := new(big.Int).Mul(yy, yy)
	sum.Mul(sum, c.d)
	sum.Add(sum, new(big.Int).Lsh(yy, 1))
	sum.Sub(sum, one)
	return sum.Mod(sum, c.p).Sign() == 0
}
