package discovery

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"sync"

	"innerloop/static"
)

// Media types of the images.
const (
	SVG = "image/svg+xml"
	PNG = "image/png"
)

// iconSize is the width and height of the icon in pixels.
const iconSize = 512

// markSVG is the mark as the pages use it.
func markSVG(sheet) ([]byte, error) {
	body, _, ok := static.File(static.URL("favicon.svg"))
	if !ok {
		return nil, errors.New("the mark is not among the assets")
	}
	return body, nil
}

// An arc is a part of a circle around the middle of the mark, in the units of
// its 32 by 32 box. gap and open are the middle and half the width of what is
// left out, in radians.
type arc struct{ radius, gap, open float64 }

// distance is how far a point is from the arc's line.
func (a arc) distance(x, y float64) float64 {
	turn := math.Remainder(math.Atan2(y, x)-a.gap, 2*math.Pi)
	if math.Abs(turn) >= a.open {
		return math.Abs(math.Hypot(x, y) - a.radius)
	}
	near := math.Inf(1)
	for _, end := range []float64{a.gap - a.open, a.gap + a.open} {
		near = min(near, math.Hypot(x-a.radius*math.Cos(end), y-a.radius*math.Sin(end)))
	}
	return near
}

// markPNG is the mark on paper for catalogues that take no SVG.
func markPNG(sheet) ([]byte, error) { return icon() }

// icon is the same for every installation, so it is drawn once.
var icon = sync.OnceValues(drawIcon)

// drawIcon draws the two open circles and the point of favicon.svg, each pixel
// by its distance from them.
func drawIcon() ([]byte, error) {
	const (
		stroke = 1.8
		dot    = 2.2
		shades = 16              // from paper to ink
		scale  = iconSize / 40.0 // the box of 32 with a margin of 4 on each side
	)
	paper, ink := color.RGBA{0xf8, 0xf8, 0xf5, 0xff}, color.RGBA{0x17, 0x65, 0x4f, 0xff}
	arcs := []arc{
		{12.26, 0, math.Atan2(2.5, 12)},
		{6.87, (math.Atan2(1.7, 6.6) + math.Atan2(-4.8, 5)) / 2, (math.Atan2(1.7, 6.6) - math.Atan2(-4.8, 5)) / 2},
	}
	mix := func(a, b uint8, part float64) uint8 {
		return uint8(math.Round(float64(a) + (float64(b)-float64(a))*part))
	}
	palette := make(color.Palette, shades)
	for i := range palette {
		part := float64(i) / (shades - 1)
		palette[i] = color.RGBA{mix(paper.R, ink.R, part), mix(paper.G, ink.G, part), mix(paper.B, ink.B, part), 0xff}
	}
	picture := image.NewPaletted(image.Rect(0, 0, iconSize, iconSize), palette)
	for py := range iconSize {
		for px := range iconSize {
			x, y := (float64(px)+.5-iconSize/2)/scale, (float64(py)+.5-iconSize/2)/scale
			middle := math.Hypot(x, y)
			away := middle - dot
			for _, a := range arcs {
				// No point of the arc is nearer than its whole circle.
				if math.Abs(middle-a.radius)-stroke/2 < away {
					away = min(away, a.distance(x, y)-stroke/2)
				}
			}
			part := min(1, max(0, .5-away*scale))
			picture.SetColorIndex(px, py, uint8(math.Round(part*(shades-1))))
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, picture)
	return b.Bytes(), err
}
