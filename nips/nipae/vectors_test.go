package nipae

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// vectors are the published ones of NIP-AE.
type vectors struct {
	Inputs struct {
		SecretA string `json:"seckey_a"`
		SecretO string `json:"seckey_o"`
		Aux     string `json:"schnorr_aux"`
	} `json:"inputs"`
	Derived struct {
		PubKeyA string `json:"pubkey_a"`
		PubKeyO string `json:"pubkey_o"`
		Key     string `json:"conversation_key"`
	} `json:"derived"`
	Addresses map[string]string `json:"d_tags"`
	Events    []struct {
		Body       string          `json:"body"`
		Slug       string          `json:"slug"`
		D          string          `json:"d"`
		CreatedAt  nostr.Timestamp `json:"created_at"`
		Nonce      string          `json:"nip44_nonce"`
		Content    string          `json:"content"`
		ContentLen int             `json:"content_len"`
		ContentSum string          `json:"content_sha256"`
		ID         string          `json:"id"`
		Sig        string          `json:"sig"`
	} `json:"events"`
}

func readVectors(t testing.TB) vectors {
	t.Helper()
	raw, err := os.ReadFile("../../testdata/vectors/nip-ae.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Events) != 4 || len(v.Addresses) != 3 {
		t.Fatalf("there are %d events and %d addresses in the vectors", len(v.Events), len(v.Addresses))
	}
	return v
}

func vectorEvents(t testing.TB) []*nostr.Event {
	t.Helper()
	v := readVectors(t)
	var out []*nostr.Event
	for _, e := range v.Events {
		out = append(out, &nostr.Event{
			ID: e.ID, PubKey: v.Derived.PubKeyA, Kind: Kind, CreatedAt: e.CreatedAt, Content: e.Content, Sig: e.Sig,
			Tags: nostr.Tags{{"d", e.D}, {"p", v.Derived.PubKeyO}},
		})
	}
	return out
}

func bytes32(t testing.TB, s string) (out [32]byte) {
	t.Helper()
	if n, err := hex.Decode(out[:], []byte(s)); err != nil || n != 32 {
		t.Fatalf("not 32 bytes in hex: %q", s)
	}
	return out
}

func TestVectorsConversationKeyBothWays(t *testing.T) {
	v := readVectors(t)
	want := ConversationKey(bytes32(t, v.Derived.Key))
	for name, from := range map[string][2]string{
		"agent": {v.Inputs.SecretA, v.Derived.PubKeyO},
		"owner": {v.Inputs.SecretO, v.Derived.PubKeyA},
	} {
		if got, err := DeriveConversationKey(from[0], from[1]); err != nil || got != want {
			t.Errorf("%s: another key than published (%v)", name, err)
		}
	}
}

func TestVectorsAddresses(t *testing.T) {
	v := readVectors(t)
	key := ConversationKey(bytes32(t, v.Derived.Key))
	for slug, want := range v.Addresses {
		parsed, err := ParseSlug(slug)
		if err != nil {
			t.Fatal(err)
		}
		if got := key.Address(parsed); got != want {
			t.Errorf("%s: address %s, want %s", slug, got, want)
		}
	}
}

func TestVectorsSealByteForByte(t *testing.T) {
	v := readVectors(t)
	key := ConversationKey(bytes32(t, v.Derived.Key))
	aux := bytes32(t, v.Inputs.Aux)
	published := vectorEvents(t)
	for i, e := range v.Events {
		parsed, err := ParseBody([]byte(e.Body))
		if err != nil {
			t.Fatal(err)
		}
		for how, body := range map[string]Body{"parsed": parsed, "made": remade(t, parsed)} {
			if got, err := body.Bytes(); err != nil || string(got) != e.Body {
				t.Errorf("event %d, %s: body is %s, %v", i+1, how, got, err)
			}
			ev, err := Seal(key, body, Sealing{
				Secret: v.Inputs.SecretA, Owner: v.Derived.PubKeyO, CreatedAt: int64(e.CreatedAt),
				Nonce: bytes32(t, e.Nonce), Aux: &aux,
			})
			if err != nil {
				t.Fatal(err)
			}
			if compareWhole(ev, published[i]) != 0 {
				t.Errorf("event %d, %s: sealed as\n%v, published is\n%v", i+1, how, ev, published[i])
			}
			if sum := sha256.Sum256([]byte(ev.Content)); len(ev.Content) != e.ContentLen || hex.EncodeToString(sum[:]) != e.ContentSum {
				t.Errorf("event %d, %s: length or sum of the content is another", i+1, how)
			}
		}
	}
}

// remade is the body made by its constructor.
func remade(t testing.TB, b Body) Body {
	t.Helper()
	text, ok := b.Text()
	switch {
	case b.Slug().IsCore():
		return NewProfile(text)
	case ok:
		return memory(t, b.Slug(), text)
	}
	tombstone, err := NewTombstone(b.Slug())
	if err != nil {
		t.Fatal(err)
	}
	return tombstone
}

func TestVectorsOpenAsAgentAndAsOwner(t *testing.T) {
	v := readVectors(t)
	asOwner, err := DeriveConversationKey(v.Inputs.SecretO, v.Derived.PubKeyA)
	if err != nil {
		t.Fatal(err)
	}
	asAgent := ConversationKey(bytes32(t, v.Derived.Key))
	for _, key := range []ConversationKey{asAgent, asOwner} {
		for i, ev := range vectorEvents(t) {
			engram, err := Open(key, v.Derived.PubKeyA, v.Derived.PubKeyO, ev)
			if err != nil {
				t.Fatalf("event %d: %v", i+1, err)
			}
			if got, _ := engram.Body.Bytes(); string(got) != v.Events[i].Body || string(engram.Slug()) != v.Events[i].Slug {
				t.Errorf("event %d: opened as %s", i+1, got)
			}
		}
	}
}

func TestVectorsHeads(t *testing.T) {
	v := readVectors(t)
	key := ConversationKey(bytes32(t, v.Derived.Key))
	events := vectorEvents(t)
	l := SelectHeads(key, v.Derived.PubKeyA, v.Derived.PubKeyO, events)
	if l.Core == nil || l.Core.Event != events[3] {
		t.Error("the core is not the fourth event")
	}
	if len(l.Memories) != 1 || l.Memories[0].Event != events[1] {
		t.Errorf("memories: %d, want the second event alone", len(l.Memories))
	}
	if len(l.Tombstones) != 1 || l.Tombstones[0].Event != events[2] {
		t.Errorf("tombstones: %d, want the third event alone", len(l.Tombstones))
	}
}
