package seal

import (
	"encoding/base64"
	"errors"
)

var errBase64 = errors.New("seal: not canonical base64")

// decodeStrict accepts the one spelling that encoding gives back. The
// standard decoder alone would skip line breaks and, unless strict, ignore
// set trailing bits (protocol 2.3).
func decodeStrict(text string, size int) ([]byte, error) {
	if len(text) != base64.StdEncoding.EncodedLen(size) {
		return nil, errBase64
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) != size || base64.StdEncoding.EncodeToString(raw) != text {
		return nil, errBase64
	}
	return raw, nil
}
