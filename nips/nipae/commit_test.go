package nipae

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"testing"
)

// TestMessageKeys are HKDF-expand (RFC 5869) over the nonce, written out.
func TestMessageKeys(t *testing.T) {
	key, nonce := [32]byte{1, 2, 3}, bytes.Repeat([]byte{9}, 32)
	var want, last []byte
	for i := byte(1); len(want) < MessageKeysSize; i++ {
		mac := hmac.New(sha256.New, key[:])
		mac.Write(slices.Concat(last, nonce, []byte{i}))
		last = mac.Sum(nil)
		want = append(want, last...)
	}
	want = want[:MessageKeysSize]
	keys, err := MessageKeys(key, nonce)
	if err != nil || !bytes.Equal(keys[:], want) {
		t.Errorf("%x, want %x (%v)", keys, want, err)
	}
	sum := sha256.Sum256(want)
	if got := Commitment(keys); len(got) != 2 || got[0] != "commit" || got[1] != hex.EncodeToString(sum[:]) {
		t.Errorf("%v", got)
	}
}

// TestSealCommits: the tag is the hash of the keys that open what was sealed, and
// stands among what is signed.
func TestSealCommits(t *testing.T) {
	p := newPair(t, 1, 2)
	s := Sealing{Secret: p.secret, Owner: p.owner, CreatedAt: 100, Rand: p.random, Alt: true, Commit: true}
	ev, err := Seal(p.key, memory(t, "mem/a", "x"), s)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(ev.Content)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := MessageKeys(p.key, raw[1:33])
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(keys[:])
	if last := ev.Tags[len(ev.Tags)-1]; len(ev.Tags) != 4 || last[0] != CommitTag || last[1] != hex.EncodeToString(sum[:]) {
		t.Errorf("%v", ev.Tags)
	}
	if ok, err := ev.CheckSignature(); !ok || err != nil {
		t.Errorf("signature: %v, %v", ok, err)
	}
	if engram, err := p.open(ev); err != nil || engram.Slug() != "mem/a" || CheckEnvelope(ev) != nil {
		t.Errorf("does not open: %v", err)
	}
}
