package seal

import (
	"crypto"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/hex"
	"testing"
)

// RFC 8032 section 7.1, but for TEST 1024, whose message is a page long.
var rfc8032 = []struct{ name, seed, public, message, signature string }{
	{
		"TEST 1",
		"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
		"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
		"",
		"e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
	},
	{
		"TEST 2",
		"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
		"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
		"72",
		"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
	},
	{
		"TEST 3",
		"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
		"fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
		"af82",
		"6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
	},
	{
		"TEST SHA(abc)",
		"833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
		"ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
		"ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
		"dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
	},
}

// rfc8032Seeds are the seeds of every key in RFC 8032 sections 7.1 to 7.3.
func rfc8032Seeds() []string {
	seeds := []string{
		"f5e5767cf153319517630f226876b86c8160cc583bc013744c6bf255f5cc0ee5", // TEST 1024
		"0305334e381af78f141cb666f6199f57bc3495335a256a95bd2a55bf546663f6", // 7.2
		"ab9c2853ce297ddab85c993b3ae14bcad39b2c682beabc27d6d4eb20711d6560", // 7.2, the other key
	}
	for _, v := range rfc8032 {
		seeds = append(seeds, v.seed)
	}
	return seeds
}

func TestRFC8032(t *testing.T) {
	t.Parallel()
	for _, v := range rfc8032 {
		private := ed25519.NewKeyFromSeed(unhex(t, v.seed))
		key, err := PublicKeyOf(private)
		if err != nil || hex.EncodeToString(key.raw[:]) != v.public {
			t.Errorf("%s: key %x, %v", v.name, key.raw, err)
			continue
		}
		message := unhex(t, v.message)
		if got := Sign(private, message); hex.EncodeToString(got[:]) != v.signature {
			t.Errorf("%s: signature %x", v.name, got)
		}
		signature := Signature(unhex(t, v.signature))
		if !key.Verify(message, signature) {
			t.Errorf("%s: does not verify", v.name)
		}
		if key.Verify(append(message, 0), signature) {
			t.Errorf("%s: verifies a longer message", v.name)
		}
		for bit := range len(signature) * 8 {
			flipped := signature
			flipped[bit/8] ^= 1 << (bit % 8)
			if key.Verify(message, flipped) {
				t.Errorf("%s: verifies with bit %d of the signature flipped", v.name, bit)
			}
		}
	}
}

// Pure Ed25519 only: signatures of the two sister schemes of RFC 8032 over the
// same bytes are not ours (protocol 2.2).
func TestSisterSchemesAreRefused(t *testing.T) {
	t.Parallel()
	private, key := keyFromLabel(t, "pure")
	message := []byte("the canonical envelope")
	digest := sha512.Sum512(message)
	for name, sign := range map[string]struct {
		message []byte
		options *ed25519.Options
	}{
		"Ed25519ctx": {message, &ed25519.Options{Context: "innerloop"}},
		"Ed25519ph":  {digest[:], &ed25519.Options{Hash: crypto.SHA512}},
	} {
		raw, err := private.Sign(nil, sign.message, sign.options)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if key.Verify(message, Signature(raw)) || key.Verify(sign.message, Signature(raw)) {
			t.Errorf("%s verifies as pure Ed25519", name)
		}
	}
}
