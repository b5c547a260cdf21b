package settings

import (
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcutil/bech32"
	"github.com/nbd-wtf/go-nostr/nip49"
)

func TestParseSecret(t *testing.T) {
	const hexKey = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa"
	const nsec = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"
	for _, c := range []struct {
		name, in, secret, wrong string
	}{
		{"nsec", nsec + "\n", hexKey, ""},
		{"upper case", strings.ToUpper(nsec), hexKey, ""},
		{"hex", "  " + hexKey + "\r\n", hexKey, ""},
		{"upper hex", strings.ToUpper(hexKey), hexKey, ""},
		{"empty", " \n", "", "no key in it"},
		{"one character less", nsec[:len(nsec)-1], "", "damaged"},
		{"one character wrong", strings.Replace(nsec, "v", "w", 1), "", "damaged"},
		{"public", "npub10xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqpkge6d", "", "public key"},
		{"short hex", hexKey[2:], "", "want one secret key"},
		{"two", hexKey + "\n" + hexKey, "", "want one secret key"},
		{"encrypted, damaged", "ncryptsec1qqqq", "", "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			secret, encrypted, err := ParseSecret(c.in)
			if secret != c.secret || encrypted != "" && err == nil {
				t.Errorf("got %q, %q", secret, encrypted)
			}
			if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("error %v, want %q", err, c.wrong)
			}
			if err != nil && strings.Contains(err.Error(), hexKey[2:20]) {
				t.Errorf("the error repeats the key: %v", err)
			}
		})
	}
}

// TestEncryptedVector checks the test vector of NIP-49.
func TestEncryptedVector(t *testing.T) {
	const text = "ncryptsec1qgg9947rlpvqu76pj5ecreduf9jxhselq2nae2kghhvd5g7dgjtcxfqtd67p9m0w57lspw8gsq6yphnm8623nsl8xn9j4jdzz84zm3frztj3z7s35vpzmqf6ksu8r89qk5z2zxfmu5gv8th8wclt0h4p"
	secret, encrypted, err := ParseSecret(text)
	if err != nil || secret != "" || encrypted != text {
		t.Fatal(secret, encrypted, err)
	}
	secret, err = Decrypt(encrypted, "nostr")
	if err != nil || secret != "3501454135014541350145413501453fefb02227e449e57cf4d3a3ce05378683" {
		t.Error(secret, err)
	}
	again, err := Encrypt(secret, "\u212b\u2126\u1e9b\u0323", 4, nip49.ClientDoesNotTrackThisData)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decrypt(again, "nostr"); err != errPassword {
		t.Error(err)
	}
	// The same password in another Unicode composition (NFKC).
	if back, err := Decrypt(again, "\u00c5\u03a9\u1e69"); err != nil || back != secret {
		t.Error(back, err)
	}
}

// TestEncryptedShape: what would make the decrypter fail, or use all memory, is
// refused first.
func TestEncryptedShape(t *testing.T) {
	payload := make([]byte, encryptedSize)
	payload[0], payload[1] = 2, 16
	for _, c := range []struct {
		name, wrong string
		change      func([]byte) []byte
	}{
		{"good", "", func(b []byte) []byte { return b }},
		{"empty", "length", func([]byte) []byte { return nil }},
		{"short", "length", func(b []byte) []byte { return b[:90] }},
		{"long", "length", func(b []byte) []byte { return append(b, 0) }},
		{"version 1", "version 1", func(b []byte) []byte { b[0] = 1; return b }},
		{"cost", "2^23 rounds", func(b []byte) []byte { b[1] = 23; return b }},
		{"highest cost", "2^255 rounds", func(b []byte) []byte { b[1] = 255; return b }},
	} {
		t.Run(c.name, func(t *testing.T) {
			five, err := bech32.ConvertBits(c.change(append([]byte{}, payload...)), 8, 5, true)
			if err != nil {
				t.Fatal(err)
			}
			text, err := bech32.Encode("ncryptsec", five)
			if err != nil {
				t.Fatal(err)
			}
			err = checkEncrypted(text)
			if (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("error %v, want %q", err, c.wrong)
			}
		})
	}
}

func TestRedact(t *testing.T) {
	const nsec = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"
	got := Redact("unknown command \"" + nsec + "\" or " + strings.ToUpper(nsec) + " or ncryptsec1qgg9947 but npub10xlx")
	if got != `unknown command "[secret key]" or [secret key] or [secret key] but npub10xlx` {
		t.Error(got)
	}
}
