package components

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
)

// A Mark is an agent's rosette, drawn from the SHA-256 of its first public
// key. It helps to recognise an agent and proves nothing; the fingerprint
// stands beside it wherever identity is claimed.
type Mark struct {
	ID    string // unique per agent, names the symbol on the page
	Hue   string // class "h0" to "h12"
	Outer Figure
	Inner Figure
	Heart Heart
}

// A Figure is one closed curve and the angles of its turned copies.
type Figure struct {
	Path  string   // path data around the origin, radius at most 48
	Turns []string // transform values, without the unturned original
}

// A Heart is the dot or ring in the middle; an empty R means there is none.
type Heart struct {
	R    string
	Ring bool
}

const markRadius = 48 // the view box reaches from -50 to 50

// NewMark draws the mark of a public key from its SPKI bytes.
func NewMark(spki []byte) Mark { return MarkFromDigest(sha256.Sum256(spki)) }

// MarkFromKeyID draws the mark from a derived key id: "key_" and the SHA-256
// of the key's SPKI in hex (protocol 1). Any other id is hashed as text, so
// that a mark always exists and always is the same.
func MarkFromKeyID(id string) Mark {
	if digits, ok := strings.CutPrefix(id, "key_"); ok {
		if sum, err := hex.DecodeString(digits); err == nil && len(sum) == sha256.Size {
			return MarkFromDigest([sha256.Size]byte(sum))
		}
	}
	return MarkFromDigest(sha256.Sum256([]byte(id)))
}

// MarkFromDigest reads nine bytes of the digest: hue (0), outer lobes 3 to 8
// (1), their depth (2), turned copies (3), softness (4), the same three
// of the inner figure (5 to 7) and the heart (8).
func MarkFromDigest(d [sha256.Size]byte) Mark {
	softness := 0.55 + 0.6*share(d[4])

	lobes := 3 + int(d[1])%6
	valley := markRadius * (0.34 + 0.5*share(d[2]))
	copies := 2 + int(d[3])%2
	if lobes < 5 { // few lobes need company to read as a rosette
		copies++
	}
	outer := figure(lobes, markRadius, valley, softness, copies)

	reach := max(10, valley*(0.62+0.3*share(d[6])))
	innerLobes := 2 + int(d[5])%7
	inner := figure(innerLobes, reach, reach*(0.46+0.4*share(d[6]>>1)), softness, 1+int(d[7])%2)

	heart := Heart{R: number(2.6 + 0.5*float64(d[8]>>2%5))}
	if d[8]%2 == 1 {
		heart = Heart{R: number(reach * 0.4), Ring: true}
	}
	return Mark{
		ID:    "m" + hex.EncodeToString(d[:6]),
		Hue:   "h" + strconv.Itoa(int(d[0])%13),
		Outer: outer, Inner: inner, Heart: heart,
	}
}

// share maps a byte to 0…1.
func share(b byte) float64 { return float64(b) / 255 }

// figure draws a closed curve through 2·lobes points that lie by turns on
// the peak and valley radius. At each point the curve runs along the circle,
// which makes lobes round; softness scales how far it does.
func figure(lobes int, peak, valley, softness float64, copies int) Figure {
	step := math.Pi / float64(lobes)
	point := func(i int) (radius, angle float64) {
		radius = peak
		if i%2 == 1 {
			radius = valley
		}
		return radius, float64(i)*step - math.Pi/2
	}
	path := make([]byte, 0, 64*lobes)
	// at adds the point moved by a share of its handle along the tangent.
	at := func(mark string, i int, along float64) {
		radius, angle := point(i)
		handle := along * softness * step * radius * 0.42
		path = append(path, mark...)
		path = appendNumber(path, radius*math.Cos(angle)-handle*math.Sin(angle))
		path = append(path, ' ')
		path = appendNumber(path, radius*math.Sin(angle)+handle*math.Cos(angle))
	}
	// Handles are alike on both sides of a point, so after the first segment
	// the shorthand S, which mirrors the last handle, says it all.
	at("M", 0, 0)
	at("C", 0, 1)
	for i := 1; i <= 2*lobes; i++ {
		before := "S"
		if i == 1 {
			before = " "
		}
		at(before, i, -1)
		at(" ", i, 0)
	}
	path = append(path, 'z')

	f := Figure{Path: string(path)}
	for i := 1; i < copies; i++ {
		f.Turns = append(f.Turns, "rotate("+number(float64(i)*360/float64(lobes*copies))+")")
	}
	return f
}

// number prints one decimal at most, the shortest way. Rounding to a tenth
// hides the last bits in which processors differ.
func number(v float64) string { return string(appendNumber(nil, v)) }

func appendNumber(to []byte, v float64) []byte {
	v = math.Round(v*10) / 10
	if v == 0 {
		return append(to, '0') // never "-0"
	}
	return strconv.AppendFloat(to, v, 'f', -1, 64)
}
