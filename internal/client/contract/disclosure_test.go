package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/client"
	"engramd/nips/disclose"
	"engramd/nips/nipae"
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

// TestTwoSentencesAreRefused: one signed payload that two sets of keys open as two
// texts proves neither.
func TestTwoSentencesAreRefused(t *testing.T) {
	var vector struct {
		Event    json.RawMessage                `json:"event"`
		Openings [2]struct{ Keys, Text string } `json:"openings"`
	}
	b, err := os.ReadFile("../../../testdata/vectors/two-sentences.json")
	if err == nil {
		err = json.Unmarshal(b, &vector)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range vector.Openings {
		handed := fmt.Sprintf(`{"event":%s,"keys":%q}`, vector.Event, o.Keys)
		if d, err := ReadDisclosure([]byte(handed)); !errors.Is(err, ErrNotDisclosed) || !strings.Contains(err.Error(), "not committed") || d.Entry.Content != "" {
			t.Errorf("%q: %+v, %v", o.Text, d.Entry, err)
		}
	}
}

// TestCommitments: what is committed to is proved, what is from before is read
// and said to be neither, and a commitment to other keys is refused.
func TestCommitments(t *testing.T) {
	old := `{"type":"message","content":"x"}`
	named := `{"type":"message","content":"x","contract_id":"c1","entry_id":"mem_1"}`
	id, err := client.NewIdentity(strings.Repeat("2", 64))
	if err != nil {
		t.Fatal(err)
	}
	reader := clientFor(t, id, nil, nil)
	for name, c := range map[string]struct {
		text               string
		commit             func(keys disclose.Keys) nostr.Tag
		refused, committed bool
	}{
		"committed":                  {text: named, commit: func(k disclose.Keys) nostr.Tag { return nipae.Commitment(k) }, committed: true},
		"from before":                {text: old},
		"from before, with ids":      {text: named},
		"to other keys":              {text: named, commit: func(k disclose.Keys) nostr.Tag { k[0]++; return nipae.Commitment(k) }, refused: true},
		"committed, without ids":     {text: old, commit: func(k disclose.Keys) nostr.Tag { return nipae.Commitment(k) }, refused: true},
		"of another contract":        {text: strings.Replace(named, "c1", "c2", 1), refused: true},
		"committed, of another type": {text: strings.Replace(named, "message", "note", 1), commit: func(k disclose.Keys) nostr.Tag { return nipae.Commitment(k) }, refused: true},
	} {
		ev, conversation := sealedEntry(t, c.text)
		keys, err := disclose.KeysOf(conversation, ev.Content)
		if err != nil {
			t.Fatal(err)
		}
		if c.commit != nil {
			ev.Tags = append(ev.Tags, c.commit(keys))
		}
		if err := ev.Sign(strings.Repeat("1", 64)); err != nil {
			t.Fatal(err)
		}
		if read, ok := entryOfEvent(reader, ev); !ok || read.Committed != c.committed {
			t.Errorf("%s: read as %+v", name, read)
		}
		e, err := Disclosed(ev, keys)
		if refused := errors.Is(err, ErrNotDisclosed); refused != c.refused || e.Committed != c.committed || !refused && e.Content != "x" {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// TestVerdicts: of what a relay opened no commitment was looked at.
func TestVerdicts(t *testing.T) {
	for want, e := range map[string]Entry{"opened, committed": {Committed: true}, "opened, not committed": {}, "opened by the relay": {ByRelay: true}} {
		if got := e.Verdict(); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
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
