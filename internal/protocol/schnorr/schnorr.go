// Package schnorr checks BIP-340 signatures over 32-byte messages, which is
// what takes most of the time of storing an event, and makes them.
//
// Built with the tag libsecp256k1 on Linux it calls the copy of libsecp256k1
// that go-nostr brings along, and not through go-nostr, which hashes the event
// a second time, allocates, and decompresses the author's key for every event.
// Else it uses btcec, which is four times slower.
package schnorr

import (
	"encoding/binary"
	"sync/atomic"
)

// slots is how many keys a Keys remembers: each is 104 bytes. The signatures of
// one author come in a row, and there are fewer agents than this.
const slots = 1 << 13

// Keys remembers the decompressed form of keys whose signatures were good: a
// ninth of a check is decompressing the key. It is of fixed size, a key has one
// place, and the last one there stays. The zero Keys is ready and may be used
// by several goroutines.
type Keys struct {
	places [slots]atomic.Pointer[known]
}

// known is a key and what the library made of it. It does not change.
type known struct {
	key    [32]byte
	parsed parsed
}

// Verify reports whether sig (R and s, 32 bytes each) is the signature of key,
// an x coordinate, over the hash msg. An invalid key verifies nothing. A
// nil *Keys remembers nothing.
func (k *Keys) Verify(key, msg *[32]byte, sig *[64]byte) bool {
	if k != nil {
		if there := k.places[place(key)].Load(); there != nil && there.key == *key {
			return there.parsed.verify(msg, sig)
		}
	}
	var p parsed
	if !p.parse(key) || !p.verify(msg, sig) {
		return false
	}
	if k != nil {
		k.places[place(key)].Store(&known{*key, p})
	}
	return true
}

// Signed is a message of 32 bytes and the signature that a key made of it.
type Signed struct {
	Key, Msg [32]byte
	Sig      [64]byte
}

// VerifyAll tells of each signature whether it holds, as Verify does. atOnce
// says of all of them that they hold (many.Hold), or they are checked one by
// one; it may be nil.
func (k *Keys) VerifyAll(signed []Signed, atOnce func([]Signed) bool) []bool {
	hold := make([]bool, len(signed))
	known := atOnce != nil && atOnce(signed)
	for i := range signed {
		s := &signed[i]
		hold[i] = known || k.Verify(&s.Key, &s.Msg, &s.Sig)
	}
	return hold
}

// place returns where a key is remembered. Keys are as good as random, and who
// makes them collide slows himself down.
func place(key *[32]byte) int { return int(binary.LittleEndian.Uint16(key[:])) % slots }

// Sign signs as BIP-340 says ("Default Signing") with that randomness, and checks what it
// made. It is false for a secret that is out of range. The first signature of a process
// costs no more than the next with libsecp256k1; btcec inflates a table first, which takes
// 7 to 11 ms.
func Sign(secret, msg, aux *[32]byte) (key [32]byte, sig [64]byte, ok bool) {
	ok = sign(&key, &sig, secret, msg, aux) && (*Keys)(nil).Verify(&key, msg, &sig)
	return key, sig, ok
}
