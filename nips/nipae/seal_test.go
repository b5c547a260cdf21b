package nipae

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/nbd-wtf/go-nostr"
)

func TestSealTags(t *testing.T) {
	p := newPair(t, 1, 2)
	d := p.key.Address("mem/a")
	for name, c := range map[string]struct {
		sealing Sealing
		want    nostr.Tags
	}{
		"plain":     {Sealing{}, nostr.Tags{{"d", d}, {"p", p.owner}}},
		"alt":       {Sealing{Alt: true}, nostr.Tags{{"d", d}, {"p", p.owner}, {"alt", "encrypted agent memory record"}}},
		"expiring":  {Sealing{Expiration: 101}, nostr.Tags{{"d", d}, {"p", p.owner}, {"expiration", "101"}}},
		"protected": {Sealing{Protected: true}, nostr.Tags{{"d", d}, {"p", p.owner}, {"-"}}},
		"all": {Sealing{Alt: true, Expiration: 1e10, Protected: true},
			nostr.Tags{{"d", d}, {"p", p.owner}, {"alt", AltText}, {"expiration", "10000000000"}, {"-"}}},
	} {
		s := c.sealing
		s.Secret, s.Owner, s.CreatedAt, s.Rand = p.secret, p.owner, 100, p.random
		ev, err := Seal(p.key, memory(t, "mem/a", "x"), s)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(ev.Tags, c.want) || ev.Kind != Kind || ev.PubKey != p.agent || ev.CreatedAt != 100 {
			t.Errorf("%s: %v", name, ev)
		}
		if err := CheckEnvelope(ev); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if engram, err := p.open(ev); err != nil || engram.Slug() != "mem/a" {
			t.Errorf("%s: does not open: %v", name, err)
		}
		if strings.Contains(ev.String(), "mem/a") {
			t.Errorf("%s: the slug stands in the event", name)
		}
	}
}

func TestSealRefuses(t *testing.T) {
	p := newPair(t, 1, 2)
	other := newPair(t, 1, 3)
	broken := iotest.ErrReader(errors.New("broken"))
	for name, c := range map[string]struct {
		want error
		edit func(k *ConversationKey, b *Body, s *Sealing)
	}{
		"no secret":         {ErrKey, func(_ *ConversationKey, _ *Body, s *Sealing) { s.Secret = "" }},
		"no owner":          {ErrKey, func(_ *ConversationKey, _ *Body, s *Sealing) { s.Owner = "" }},
		"another's key":     {ErrKey, func(k *ConversationKey, _ *Body, _ *Sealing) { *k = other.key }},
		"no key":            {ErrKey, func(k *ConversationKey, _ *Body, _ *Sealing) { *k = ConversationKey{} }},
		"another's secret":  {ErrKey, func(_ *ConversationKey, _ *Body, s *Sealing) { s.Secret = secretKey(9) }},
		"another owner":     {ErrKey, func(_ *ConversationKey, _ *Body, s *Sealing) { s.Owner = other.owner }},
		"no body":           {ErrBody, func(_ *ConversationKey, b *Body, _ *Sealing) { *b = Body{} }},
		"too large":         {ErrTooLarge, func(_ *ConversationKey, b *Body, _ *Sealing) { *b = b.WithText(strings.Repeat("x", MaxBody)) }},
		"tombstone of core": {ErrBody, func(_ *ConversationKey, b *Body, _ *Sealing) { *b = b.Tombstoned() }},
		"no time":           {ErrSealing, func(_ *ConversationKey, _ *Body, s *Sealing) { s.CreatedAt = 0 }},
		"negative time":     {ErrSealing, func(_ *ConversationKey, _ *Body, s *Sealing) { s.CreatedAt = -1 }},
		"expires at once":   {ErrSealing, func(_ *ConversationKey, _ *Body, s *Sealing) { s.Expiration = s.CreatedAt }},
		"expires before":    {ErrSealing, func(_ *ConversationKey, _ *Body, s *Sealing) { s.Expiration = -1 }},
		"no randomness":     {ErrSealing, func(_ *ConversationKey, _ *Body, s *Sealing) { s.Rand = nil }},
		"broken randomness": {ErrSealing, func(_ *ConversationKey, _ *Body, s *Sealing) { s.Rand = broken }},
		"short randomness":  {ErrSealing, func(_ *ConversationKey, _ *Body, s *Sealing) { s.Rand = strings.NewReader(strings.Repeat("r", 63)) }},
		"zero randomness":   {ErrSealing, func(_ *ConversationKey, _ *Body, s *Sealing) { s.Rand = bytes.NewReader(make([]byte, 64)) }},
	} {
		key, body := p.key, NewProfile("x")
		s := Sealing{Secret: p.secret, Owner: p.owner, CreatedAt: 100, Rand: p.random}
		c.edit(&key, &body, &s)
		ev, err := Seal(key, body, s)
		if !errors.Is(err, c.want) || ev != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && len(s.Secret) == 64 && strings.Contains(err.Error(), s.Secret) {
			t.Errorf("%s: the error holds the secret", name)
		}
	}
}

func TestSealDrawsNonceThenAux(t *testing.T) {
	p := newPair(t, 1, 2)
	stream := strings.Repeat("n", 32) + strings.Repeat("a", 32)
	aux := [32]byte([]byte(stream[32:]))
	base := Sealing{Secret: p.secret, Owner: p.owner, CreatedAt: 7}

	drawn, given := base, base
	drawn.Rand = strings.NewReader(stream)
	given.Nonce, given.Aux = [32]byte([]byte(stream)), &aux
	a, errA := Seal(p.key, NewProfile("x"), drawn)
	b, errB := Seal(p.key, NewProfile("x"), given)
	if errA != nil || errB != nil || compareWhole(a, b) != 0 {
		t.Errorf("32 bytes of nonce and 32 of aux from Rand give another event (%v, %v)", errA, errB)
	}
	if rest, _ := io.ReadAll(drawn.Rand); len(rest) != 0 {
		t.Errorf("%d bytes were left", len(rest))
	}
	// Two writes of one text must not look alike.
	c, d := p.write("mem/a", "same", 1), p.write("mem/a", "same", 1)
	if c.Content == d.Content || c.ID == d.ID {
		t.Error("two seals drew the same nonce")
	}
}

func TestAgentMayOwnItself(t *testing.T) {
	p := newPair(t, 6, 6)
	ev := p.write(Core, "mine", 5)
	if ev.PubKey != p.owner {
		t.Fatal("the keys differ")
	}
	r, err := p.head(Core, ev)
	if text, ok := r.Text(); err != nil || text != "mine" || !ok {
		t.Errorf("%q, %v, %v", text, ok, err)
	}
}

// TestSealBy: who signs in btcec's place makes the same event, byte for byte, for the author
// that is named, and for no other.
func TestSealBy(t *testing.T) {
	p := newPair(t, 1, 2)
	k, body, owner := p.key, memory(t, "mem/boats", "painted in spring"), p.owner
	s := Sealing{Secret: p.secret, Owner: owner, CreatedAt: 1_800_000_000, Nonce: [32]byte{1}, Aux: &[32]byte{2}}
	want, err := Seal(k, body, s)
	if err != nil {
		t.Fatal(err)
	}
	var signed int
	s.Author, s.Sign = want.PubKey, func(secret, id, aux *[32]byte) (key [32]byte, sig [64]byte, ok bool) {
		signed++
		private, public := btcec.PrivKeyFromBytes(secret[:])
		made, err := schnorr.Sign(private, id[:], schnorr.CustomNonce(*aux))
		if err != nil {
			t.Fatal(err)
		}
		return [32]byte(schnorr.SerializePubKey(public)), [64]byte(made.Serialize()), true
	}
	got, err := Seal(k, body, s)
	if err != nil || !reflect.DeepEqual(got, want) || signed != 1 {
		t.Errorf("%v, %v after %d signatures, want %v", got, err, signed, want)
	}
	s.Author = owner
	if _, err := Seal(k, body, s); !errors.Is(err, ErrKey) {
		t.Errorf("the event of another author: %v", err)
	}
}
