package nipae

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"golang.org/x/crypto/chacha20"
)

// encrypt is NIP-44 v2 written again from its text, so that tests can make
// payloads that no library makes, and so that there is something to compare
// Seal with.
func encrypt(tb testing.TB, k ConversationKey, random io.Reader, plain string) string {
	tb.Helper()
	padded := make([]byte, 2+PaddedSize(max(1, len(plain))))
	binary.BigEndian.PutUint16(padded, uint16(len(plain)))
	copy(padded[2:], plain)
	return encryptPadded(tb, k, random, padded)
}

func encryptPadded(tb testing.TB, k ConversationKey, random io.Reader, padded []byte) string {
	tb.Helper()
	nonce := make([]byte, 32)
	if _, err := io.ReadFull(random, nonce); err != nil {
		tb.Fatal(err)
	}
	keys, err := hkdf.Expand(sha256.New, k[:], string(nonce), 76)
	if err != nil {
		tb.Fatal(err)
	}
	cipher, err := chacha20.NewUnauthenticatedCipher(keys[:32], keys[32:44])
	if err != nil {
		tb.Fatal(err)
	}
	out := make([]byte, len(padded))
	cipher.XORKeyStream(out, padded)
	mac := hmac.New(sha256.New, keys[44:])
	mac.Write(nonce)
	mac.Write(out)
	payload := append([]byte{payloadVersion}, nonce...)
	return base64.StdEncoding.EncodeToString(mac.Sum(append(payload, out...)))
}

func TestSealEncryptsAsNIP44Says(t *testing.T) {
	p := newPair(t, 1, 2)
	for _, size := range []int{0, 1, 7, 30, 33, 100, 223, 224, 225, 1000, 32768, 40000, 65000} {
		body := memory(t, "mem/size", strings.Repeat("x", size))
		plain, err := body.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		nonce := [32]byte{31: byte(size) | 1}
		ev, err := Seal(p.key, body, Sealing{Secret: p.secret, Owner: p.owner, CreatedAt: 1, Nonce: nonce})
		if err != nil {
			t.Fatal(err)
		}
		if want := encrypt(t, p.key, strings.NewReader(string(nonce[:])), string(plain)); ev.Content != want {
			t.Errorf("a text of %d bytes: content is not what NIP-44 gives", size)
		}
	}
}
