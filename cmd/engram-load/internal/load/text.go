package load

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// eventSize is what the JSON of an event is made to be, in bytes, where its
// parts leave a choice.
const eventSize = 500

// generator makes the same event for the same seed, stream and number, but for
// the signature, which libsecp256k1 makes with randomness of its own.
type generator struct {
	seed   uint64
	stream string // what the events are for
}

func (g generator) rand(i int) *rand.ChaCha8 {
	b := binary.BigEndian.AppendUint64([]byte(g.stream+" "), g.seed)
	return rand.NewChaCha8(sha256.Sum256(binary.BigEndian.AppendUint64(b, uint64(i))))
}

// note is event number i: a note with the given tags and first words.
func (g generator) note(i int, k Key, at int64, tags nostr.Tags, first string) (*nostr.Event, error) {
	ev := &nostr.Event{PubKey: k.Pub, Kind: nostr.KindTextNote, CreatedAt: nostr.Timestamp(at), Tags: tags}
	ev.ID, ev.Sig = zeros(64), zeros(128)
	room := max(eventSize-len(wire.AppendEvent(nil, ev)), len(first)+8)
	ev.Content = words(rand.New(g.rand(i)), first, room)
	return ev, k.Sign(ev)
}

// engram is event number i: the record of a slug, encrypted for its pair.
func (g generator) engram(i int, a Agent, n int, at int64) (*nostr.Event, error) {
	source := g.rand(i)
	r := rand.New(source)
	body, err := nipae.NewMemory(slugOf(n), words(r, "", 12+r.IntN(70)))
	if err != nil {
		return nil, fmt.Errorf("engram: %w", err)
	}
	plain, err := body.Bytes()
	if err != nil {
		return nil, fmt.Errorf("engram: %w", err)
	}
	var nonce [32]byte
	source.Read(nonce[:])
	content, err := nip44.Encrypt(string(plain), a.convo, nip44.WithCustomNonce(nonce[:]))
	if err != nil {
		return nil, fmt.Errorf("engram: %w", err)
	}
	ev := &nostr.Event{Kind: nipae.Kind, CreatedAt: nostr.Timestamp(at), Content: content,
		Tags: nostr.Tags{{"d", a.Address(n)}, {"p", a.Owner.Pub}}}
	return ev, a.Sign(ev)
}

// words returns a text of exactly room bytes that begins with first.
func words(r *rand.Rand, first string, room int) string {
	const consonants, vowels = "bcdfghklmnprstvw", "aeiou"
	var b strings.Builder
	b.WriteString(first)
	for b.Len() < room {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		// Some 2,000 words, the early ones far more often.
		w := int(2000 * r.Float64() * r.Float64())
		for range 2 + w%2 {
			b.WriteByte(consonants[w%len(consonants)])
			w /= 3
			b.WriteByte(vowels[w%len(vowels)])
			w /= 2
		}
	}
	return strings.TrimSpace(b.String()[:room-1]) + "."
}

func zeros(n int) string { return strings.Repeat("0", n) }
