package contract

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/nips/disclose"
)

// sealedEntry returns a sealed entry and the conversation key of its parties.
func sealedEntry(t testing.TB, text string) (*nostr.Event, [32]byte) {
	t.Helper()
	author, other := strings.Repeat("1", 64), strings.Repeat("2", 64)
	to, err := nostr.GetPublicKey(other)
	if err != nil {
		t.Fatal(err)
	}
	key, err := nip44.GenerateConversationKey(to, author)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := nip44.Encrypt(text, key)
	if err != nil {
		t.Fatal(err)
	}
	ev := &nostr.Event{Kind: kindEntry, CreatedAt: 1_700_000_000, Content: payload, Tags: nostr.Tags{{"d", "c1"}, {"t", "message"}, {"p", to}}}
	if err := ev.Sign(author); err != nil {
		t.Fatal(err)
	}
	return ev, key
}

func TestDisclosureProvesWhatASealedEntrySays(t *testing.T) {
	ev, conversation := sealedEntry(t, `{"type":"message","content":"I refund if it is late"}`)
	keys, err := disclose.KeysOf(conversation, ev.Content)
	if err != nil {
		t.Fatal(err)
	}
	handed, err := json.Marshal(Disclosure{Event: ev, Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	d, err := ReadDisclosure(handed)
	if err != nil || d.Entry.Content != "I refund if it is late" || d.Entry.EventID != ev.ID || d.Entry.Author.PubKey != ev.PubKey {
		t.Fatalf("%+v, %v", d.Entry, err)
	}
	another, conversation2 := sealedEntry(t, `{"type":"message","content":"I never refund"}`)
	wrong, err := disclose.KeysOf(conversation2, another.Content)
	if err != nil {
		t.Fatal(err)
	}
	plain := *ev
	plain.Content = `{"type":"message","content":"said"}`
	if err := plain.Sign(strings.Repeat("1", 64)); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{
		"keys of another entry":  string(jsonOf(json.Marshal(Disclosure{Event: ev, Keys: wrong}))),
		"an entry in the open":   string(jsonOf(json.Marshal(Disclosure{Event: &plain, Keys: keys}))),
		"another signature":      strings.Replace(string(handed), ev.Sig[:8], "00000000", 1),
		"a text beside it":       strings.Replace(string(handed), `"keys"`, `"text":"I never refund","keys"`, 1),
		"the keys twice":         strings.Replace(string(handed), `"keys"`, `"keys":"00","keys"`, 1),
		"keys in capital digits": strings.Replace(string(handed), keys.Hex(), strings.ToUpper(keys.Hex()), 1),
		"no JSON":                "keys",
		"nothing":                "",
	} {
		if _, err := ReadDisclosure([]byte(bad)); !errors.Is(err, ErrNotDisclosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func jsonOf(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func FuzzReadDisclosure(f *testing.F) {
	ev, conversation := sealedEntry(f, "text")
	keys, err := disclose.KeysOf(conversation, ev.Content)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(jsonOf(json.Marshal(Disclosure{Event: ev, Keys: keys})))
	f.Add([]byte(`{"event":{},"keys":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := ReadDisclosure(data); err != nil && !errors.Is(err, ErrNotDisclosed) {
			t.Fatal(err)
		}
	})
}
