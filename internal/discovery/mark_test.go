package discovery

import (
	"bytes"
	"image/color"
	"image/png"
	"testing"
)

// The icon shows the mark: ink in the middle and on both circles, paper
// between them, in the gaps and in the corners.
func TestIconShowsTheMark(t *testing.T) {
	t.Parallel()
	picture, err := png.Decode(bytes.NewReader(made(t)["/assets/marketplace-icon.png"].Body))
	if err != nil {
		t.Fatal(err)
	}
	if size := picture.Bounds().Size(); size.X != 512 || size.Y != 512 {
		t.Errorf("the icon is %v", size)
	}
	paper, ink := color.RGBA{0xf8, 0xf8, 0xf5, 0xff}, color.RGBA{0x17, 0x65, 0x4f, 0xff}
	for at, want := range map[[2]int]color.RGBA{
		{256, 256}: ink, {99, 256}: ink, {168, 256}: ink, {256, 99}: ink,
		{2, 2}: paper, {413, 256}: paper, {256, 212}: paper, {340, 240}: paper, {130, 256}: paper,
	} {
		if got := picture.At(at[0], at[1]); got != want {
			t.Errorf("at %v the icon is %v, want %v", at, got, want)
		}
	}
}
