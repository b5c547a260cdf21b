package nipae

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/nbd-wtf/go-nostr"
)

// pair is an agent and an owner with published keys.
type pair struct {
	tb     testing.TB
	secret string // the agent's
	agent  string
	owner  string
	key    ConversationKey
	random *rand.ChaCha8
}

// secretKey is the secret key n, as the vectors use 1 and 2.
func secretKey(n uint64) string {
	var raw [32]byte
	binary.BigEndian.PutUint64(raw[24:], n)
	return hex.EncodeToString(raw[:])
}

func publicKey(tb testing.TB, secret string) string {
	tb.Helper()
	raw, err := hex.DecodeString(secret)
	if err != nil {
		tb.Fatal(err)
	}
	_, public := btcec.PrivKeyFromBytes(raw)
	return hex.EncodeToString(schnorr.SerializePubKey(public))
}

// newPair is the pair of agent key a and owner key o; its randomness follows
// from them.
func newPair(tb testing.TB, a, o uint64) *pair {
	tb.Helper()
	p := &pair{tb: tb, secret: secretKey(a), agent: publicKey(tb, secretKey(a)), owner: publicKey(tb, secretKey(o))}
	key, err := DeriveConversationKey(p.secret, p.owner)
	if err != nil {
		tb.Fatal(err)
	}
	p.key = key
	var seed [32]byte
	binary.BigEndian.PutUint64(seed[:], a)
	binary.BigEndian.PutUint64(seed[8:], o)
	p.random = rand.NewChaCha8(seed)
	return p
}

// seal signs a body at a time.
func (p *pair) seal(b Body, at int64) *nostr.Event {
	p.tb.Helper()
	ev, err := Seal(p.key, b, Sealing{Secret: p.secret, Owner: p.owner, CreatedAt: at, Rand: p.random})
	if err != nil {
		p.tb.Fatal(err)
	}
	return ev
}

// write is seal for a slug and a text.
func (p *pair) write(s Slug, text string, at int64) *nostr.Event {
	p.tb.Helper()
	if s.IsCore() {
		return p.seal(NewProfile(text), at)
	}
	return p.seal(memory(p.tb, s, text), at)
}

// remove is seal for a tombstone.
func (p *pair) remove(s Slug, at int64) *nostr.Event {
	p.tb.Helper()
	b, err := NewTombstone(s)
	if err != nil {
		p.tb.Fatal(err)
	}
	return p.seal(b, at)
}

func (p *pair) open(ev *nostr.Event) (Engram, error) { return Open(p.key, p.agent, p.owner, ev) }

func (p *pair) head(s Slug, candidates ...*nostr.Event) (Reading, error) {
	return SelectHead(p.key, p.agent, p.owner, s, candidates)
}

// signed signs an event of any shape with the agent's key, as somebody would
// who does not use Seal.
func (p *pair) signed(ev nostr.Event) *nostr.Event {
	p.tb.Helper()
	if err := sign(&ev, p.secret, [32]byte{}); err != nil {
		p.tb.Fatal(err)
	}
	return &ev
}

// sealRaw signs an event at the slug's address whose decrypted content is any
// text.
func (p *pair) sealRaw(s Slug, plain string, at int64) *nostr.Event {
	p.tb.Helper()
	return p.signed(nostr.Event{
		Kind: Kind, CreatedAt: nostr.Timestamp(at), Content: encrypt(p.tb, p.key, p.random, plain),
		Tags: nostr.Tags{{"d", p.key.Address(s)}, {"p", p.owner}},
	})
}

func memory(tb testing.TB, s Slug, text string) Body {
	tb.Helper()
	b, err := NewMemory(s, text)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// changed is a copy of an event after a change, not signed again.
func changed(ev *nostr.Event, change func(*nostr.Event)) *nostr.Event {
	c := *ev
	c.Tags = make(nostr.Tags, len(ev.Tags))
	for i, tag := range ev.Tags {
		c.Tags[i] = append(nostr.Tag(nil), tag...)
	}
	change(&c)
	return &c
}
