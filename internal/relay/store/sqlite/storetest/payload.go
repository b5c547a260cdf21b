package storetest

import (
	"crypto/sha256"
	"encoding/base64"
)

// Payload looks like the smallest NIP-44 v2 payload: version byte, nonce, 34
// bytes of ciphertext, MAC. It cannot be decrypted. The same seed gives the
// same payload.
func Payload(seed string) string {
	b := make([]byte, 0, 128)
	for sum := sha256.Sum256([]byte(seed)); len(b) < 99; sum = sha256.Sum256(sum[:]) {
		b = append(b, sum[:]...)
	}
	b[0] = 2
	return base64.StdEncoding.EncodeToString(b[:99])
}
