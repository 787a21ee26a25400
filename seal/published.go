package seal

import "encoding/hex"

// PublishedTestKey tells whether the private half of k is printed in a public
// document, so that anyone can sign with it: the keys of our own vectors
// (protocol 12.1) and of RFC 8032 section 7 and RFC 8410 section 10.3. Such a
// key must never become an identity in production.
func PublishedTestKey(k PublicKey) bool {
	switch hex.EncodeToString(k.raw[:]) {
	case "1ac2fa7d1f6bf0132e17cf4a2bac4d3c92402c5857141a0f183a5a2b9d07e292", // vector key A
		"38981f1fa7f84de201f17588637a525e212855e24be2c62c5983a0467d59dcf4", // vector key B
		"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", // RFC 8032 7.1 TEST 1
		"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", // TEST 2
		"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", // TEST 3
		"278117fc144c72340f67d0f2316e8386ceffbf2b2428c9c51fef7c597f1d426e", // TEST 1024
		"ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf", // TEST SHA(abc), and 7.3
		"dfc9425e4f968f7f0c29f0259cf5f9aed6851c2bb4ad8bfb860cfee0ab248292", // 7.2
		"0f1d1274943b91415889152e893d80e93275a1fc0b65fd71b4b0dda10ad7d772", // 7.2, the other key
		"19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1": // RFC 8410 10.3
		return true
	}
	return false
}
