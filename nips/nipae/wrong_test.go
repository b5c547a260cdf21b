package nipae

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/nbd-wtf/go-nostr"
)

// This file and TestSharedPointIsNotHashed are what NIP-AE lists as silently
// wrong if done differently.

// TestAuxOfZerosIsNotNone: without aux, signatures are valid and not those of
// the vectors.
func TestAuxOfZerosIsNotNone(t *testing.T) {
	v := readVectors(t)
	for i, published := range vectorEvents(t) {
		zeros := *published
		if err := sign(&zeros, v.Inputs.SecretA, [32]byte{}); err != nil {
			t.Fatal(err)
		}
		if zeros.Sig != published.Sig || zeros.ID != published.ID {
			t.Errorf("event %d: aux of zeros gives another signature than published", i+1)
		}
		private, _ := btcec.PrivKeyFromBytes(must(hex.DecodeString(v.Inputs.SecretA)))
		none, err := schnorr.Sign(private, must(hex.DecodeString(published.ID)))
		if err != nil {
			t.Fatal(err)
		}
		if hex.EncodeToString(none.Serialize()) == published.Sig {
			t.Errorf("event %d: leaving aux out makes no difference, this test proves nothing", i+1)
		}
		other := *published
		if err := sign(&other, v.Inputs.SecretA, [32]byte{1}); err != nil {
			t.Fatal(err)
		}
		if other.Sig == published.Sig {
			t.Errorf("event %d: aux has no effect", i+1)
		}
		if err := verify(&other); err != nil {
			t.Errorf("event %d: %v", i+1, err)
		}
	}
}

// TestBIP340Vector0 is the self-check that NIP-AE names: key 3, a message of
// zeros, aux of zeros.
func TestBIP340Vector0(t *testing.T) {
	private, _ := btcec.PrivKeyFromBytes(must(hex.DecodeString(secretKey(3))))
	sig, err := schnorr.Sign(private, make([]byte, 32), schnorr.CustomNonce([32]byte{}))
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(sig.Serialize()); !strings.HasPrefix(got, "e907831f80848d1069a5371b402410364bdf1c5f8307b0084c55f1ce2dca821525f66a4a85ea8b71e482a74f382d2ce5ebeee8fdb2172f477df4900d310536c0") {
		t.Errorf("signature %s", got)
	}
}

// plainID is the id by the text of NIP-01, with encoding/json: non-ASCII as it
// is, or escaped as a careless implementation has it.
func plainID(t *testing.T, ev *nostr.Event, ascii bool) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode([]any{0, ev.PubKey, int64(ev.CreatedAt), ev.Kind, ev.Tags, ev.Content}); err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if ascii {
		text = strings.NewReplacer("é", `\u00e9`, "\U0001F9E0", `\ud83e\udde0`).Replace(text)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestIDDoesNotEscapeNonASCII: content of engrams is base64, but other tags may
// hold anything.
func TestIDDoesNotEscapeNonASCII(t *testing.T) {
	p := newPair(t, 1, 2)
	unsigned := p.write("mem/a", "é", 100)
	unsigned.Tags = append(unsigned.Tags, nostr.Tag{"alt", "mémoire <&> \U0001F9E0 \"\\\b\f\n\r\t"})
	ev := p.signed(*unsigned)
	if want := plainID(t, ev, false); ev.ID != want {
		t.Errorf("id %s, want %s", ev.ID, want)
	}
	if _, err := p.open(ev); err != nil {
		t.Errorf("an id over plain UTF-8: %v", err)
	}

	escaped := *ev
	escaped.ID = plainID(t, ev, true)
	private, _ := btcec.PrivKeyFromBytes(must(hex.DecodeString(p.secret)))
	sig, err := schnorr.Sign(private, must(hex.DecodeString(escaped.ID)), schnorr.CustomNonce([32]byte{}))
	if err != nil {
		t.Fatal(err)
	}
	escaped.Sig = hex.EncodeToString(sig.Serialize())
	if _, err := p.open(&escaped); !errors.Is(err, ErrSignature) {
		t.Errorf("an id over escaped text: %v", err)
	}
}

// TestPayloadLineBreaks: Go's decoder skips them, other readers do not, so the
// head would depend on who reads.
func TestPayloadLineBreaks(t *testing.T) {
	p := newPair(t, 1, 2)
	older := p.write("mem/a", "older", 100)
	broken := p.signed(*changed(p.write("mem/a", "newer", 200), func(ev *nostr.Event) {
		ev.Content = ev.Content[:76] + "\r\n" + ev.Content[76:]
	}))
	if r, err := p.head("mem/a", older, broken); err != nil || r.Head.Event != older || r.Unreadable != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
