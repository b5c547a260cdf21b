package nipae

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/nbd-wtf/go-nostr"
)

func TestDeriveConversationKeyRefuses(t *testing.T) {
	pub := publicKey(t, secretKey(2))
	for name, in := range map[string][2]string{
		"no secret":            {"", pub},
		"short secret":         {secretKey(1)[1:], pub},
		"long secret":          {secretKey(1) + "00", pub},
		"secret not hex":       {strings.Repeat("g", 64), pub},
		"secret in upper case": {strings.ToUpper(strings.Repeat("ab", 32)), pub},
		"zero secret":          {zeroHex, pub},
		"the order":            {curveOrder, pub},
		"above the order":      {strings.Repeat("f", 64), pub},
		"upper case above":     {strings.Repeat("F", 64), pub},
		"nsec":                 {"nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5", pub},
		"no pubkey":            {secretKey(1), ""},
		"compressed pubkey":    {secretKey(1), "02" + pub},
		"pubkey in upper case": {secretKey(1), strings.ToUpper(pub)},
		"not on the curve":     {secretKey(1), secretKey(5)},
		"above the field":      {secretKey(1), strings.Repeat("f", 64)},
	} {
		key, err := DeriveConversationKey(in[0], in[1])
		if !errors.Is(err, ErrKey) || key != (ConversationKey{}) {
			t.Errorf("%s: %v", name, err)
		}
		for _, part := range in {
			if err != nil && len(part) > 8 && strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error holds a key: %v", name, err)
			}
		}
	}
}

// TestSharedPointIsNotHashed: hashing it gives a key that works between two
// wrong implementations, and with nobody else.
func TestSharedPointIsNotHashed(t *testing.T) {
	v := readVectors(t)
	secret, _ := btcec.PrivKeyFromBytes(must(hex.DecodeString(v.Inputs.SecretA)))
	public, err := btcec.ParsePubKey(must(hex.DecodeString("02" + v.Derived.PubKeyO)))
	if err != nil {
		t.Fatal(err)
	}
	shared := btcec.GenerateSharedSecret(secret, public)
	plain := must(hkdf.Extract(sha256.New, shared, []byte("nip44-v2")))
	sum := sha256.Sum256(shared)
	hashed := must(hkdf.Extract(sha256.New, sum[:], []byte("nip44-v2")))
	compressed := sha256.Sum256(append([]byte{2}, shared...))
	libsecp := must(hkdf.Extract(sha256.New, compressed[:], []byte("nip44-v2")))

	got, err := DeriveConversationKey(v.Inputs.SecretA, v.Derived.PubKeyO)
	if err != nil {
		t.Fatal(err)
	}
	if hex.EncodeToString(got[:]) != hex.EncodeToString(plain) {
		t.Error("the key is not the extract of the bare x coordinate")
	}
	for name, wrong := range map[string][]byte{"hashed": hashed, "hashed as libsecp256k1 does": libsecp} {
		if string(got[:]) == string(wrong) {
			t.Errorf("the x coordinate is %s", name)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestAddressesDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, p := range []*pair{newPair(t, 1, 2), newPair(t, 1, 4), newPair(t, 3, 2), newPair(t, 3, 4), newPair(t, 1, 1)} {
		for _, s := range []Slug{Core, "mem/core", "mem/a", "mem/a/a", "mem/aa"} {
			d := p.key.Address(s)
			if !nostr.IsValid32ByteHex(d) {
				t.Errorf("%s: %q is not 64 lower-case hex digits", s, d)
			}
			if strings.Contains(d, string(s)) {
				t.Errorf("%s stands in its own address", s)
			}
			if other, ok := seen[d]; ok {
				t.Errorf("%s has the address of %s", s, other)
			}
			seen[d] = string(s)
		}
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	p := newPair(t, 1, 2)
	sealing := Sealing{Secret: strings.Repeat("5", 64), Owner: p.owner, CreatedAt: 1}
	secrets := []string{
		hex.EncodeToString(p.key[:]), strings.ToUpper(hex.EncodeToString(p.key[:])), fmt.Sprint([32]byte(p.key)),
		fmt.Sprintf("%d", p.key[0]) + " " + fmt.Sprintf("%d", p.key[1]), string(p.key[:]), "0xc4", sealing.Secret,
	}
	var shown []string
	for _, v := range []any{p.key, &p.key, sealing, &sealing, struct{ Key ConversationKey }{p.key}, []ConversationKey{p.key},
		map[string]Sealing{"s": sealing}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%t"} {
			shown = append(shown, fmt.Sprintf(verb, v))
		}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, string(raw))
		for _, js := range []bool{false, true} {
			var b strings.Builder
			var handler slog.Handler = slog.NewTextHandler(&b, nil)
			if js {
				handler = slog.NewJSONHandler(&b, nil)
			}
			slog.New(handler).Info("m", "v", v)
			shown = append(shown, b.String())
		}
	}
	shown = append(shown, p.key.String(), p.key.GoString())
	for _, text := range shown {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("a secret shows in %q", text)
			}
		}
	}
	if got := fmt.Sprint(p.key); got != redacted {
		t.Errorf("a key prints as %q", got)
	}
}
