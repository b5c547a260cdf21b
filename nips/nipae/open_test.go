package nipae

import (
	"errors"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

func TestOpenRefuses(t *testing.T) {
	p := newPair(t, 1, 2)
	stranger := newPair(t, 3, 2)
	otherOwner := newPair(t, 1, 4)
	good := p.write("mem/a", "x", 100)
	resigned := func(change func(*nostr.Event)) *nostr.Event { return p.signed(*changed(good, change)) }
	flip := func(s string, i int) string {
		c := byte('0')
		if s[i] == c {
			c = '1'
		}
		return s[:i] + string(c) + s[i+1:]
	}
	d := func(s Slug) string { return p.key.Address(s) }
	for name, c := range map[string]struct {
		want error
		ev   *nostr.Event
	}{
		"nil":            {ErrNotEngram, nil},
		"zero":           {ErrNotEngram, &nostr.Event{}},
		"another kind":   {ErrNotEngram, resigned(func(ev *nostr.Event) { ev.Kind = 30078 })},
		"another author": {ErrNotEngram, stranger.write("mem/a", "x", 100)},
		"another owner":  {ErrNotEngram, otherOwner.write("mem/a", "x", 100)},
		"no d":           {ErrNotEngram, resigned(func(ev *nostr.Event) { ev.Tags = ev.Tags[1:] })},
		"two d":          {ErrNotEngram, resigned(func(ev *nostr.Event) { ev.Tags = append(ev.Tags, ev.Tags[0]) })},
		"second d bare":  {ErrNotEngram, resigned(func(ev *nostr.Event) { ev.Tags = append(ev.Tags, nostr.Tag{"d"}) })},
		"no p":           {ErrNotEngram, resigned(func(ev *nostr.Event) { ev.Tags = ev.Tags[:1] })},
		"two p":          {ErrNotEngram, resigned(func(ev *nostr.Event) { ev.Tags = append(ev.Tags, ev.Tags[1]) })},
		"p upper case":   {ErrNotEngram, resigned(func(ev *nostr.Event) { ev.Tags[1][1] = strings.ToUpper(p.owner) })},
		"empty content":  {ErrPayload, resigned(func(ev *nostr.Event) { ev.Content = "" })},
		"plain content":  {ErrPayload, resigned(func(ev *nostr.Event) { ev.Content = `{"slug":"mem/a","value":"x"}` })},
		"newline":        {ErrPayload, resigned(func(ev *nostr.Event) { ev.Content += "\n" })},

		"id of another":      {ErrSignature, changed(good, func(ev *nostr.Event) { ev.ID = flip(ev.ID, 5) })},
		"id upper case":      {ErrSignature, changed(good, func(ev *nostr.Event) { ev.ID = strings.ToUpper(ev.ID) })},
		"id empty":           {ErrSignature, changed(good, func(ev *nostr.Event) { ev.ID = "" })},
		"id long":            {ErrSignature, changed(good, func(ev *nostr.Event) { ev.ID += "00" })},
		"time changed":       {ErrSignature, changed(good, func(ev *nostr.Event) { ev.CreatedAt++ })},
		"tag added":          {ErrSignature, changed(good, func(ev *nostr.Event) { ev.Tags = append(ev.Tags, nostr.Tag{"x"}) })},
		"content of another": {ErrSignature, changed(good, func(ev *nostr.Event) { ev.Content = p.write("mem/a", "y", 100).Content })},
		"sig changed":        {ErrSignature, changed(good, func(ev *nostr.Event) { ev.Sig = flip(ev.Sig, 100) })},
		"sig of another":     {ErrSignature, changed(good, func(ev *nostr.Event) { ev.Sig = p.write("mem/a", "y", 100).Sig })},
		"sig empty":          {ErrSignature, changed(good, func(ev *nostr.Event) { ev.Sig = "" })},
		"sig short":          {ErrSignature, changed(good, func(ev *nostr.Event) { ev.Sig = ev.Sig[:126] })},
		"sig long":           {ErrSignature, changed(good, func(ev *nostr.Event) { ev.Sig += "00" })},
		"sig very long":      {ErrSignature, changed(good, func(ev *nostr.Event) { ev.Sig = strings.Repeat("a", 4096) })},
		"sig not hex":        {ErrSignature, changed(good, func(ev *nostr.Event) { ev.Sig = strings.Repeat("z", 128) })},
		"sig beyond field":   {ErrSignature, changed(good, func(ev *nostr.Event) { ev.Sig = strings.Repeat("f", 128) })},

		"another pair's key": {ErrUnreadable, resigned(func(ev *nostr.Event) { ev.Content = otherOwner.write("mem/a", "x", 1).Content })},
		"MAC": {ErrUnreadable, resigned(func(ev *nostr.Event) {
			ev.Content = ev.Content[:60] + strings.Map(otherDigit, ev.Content[60:61]) + ev.Content[61:]
		})},

		"not JSON":           {ErrBody, p.sealRaw("mem/a", "hello", 100)},
		"duplicate":          {ErrBody, p.sealRaw("mem/a", `{"slug":"mem/a","value":"v","x":{"y":1,"y":2}}`, 100)},
		"not UTF-8":          {ErrBody, p.sealRaw("mem/a", "{\"slug\":\"mem/a\",\"value\":\"\xff\"}", 100)},
		"surrogate":          {ErrBody, p.sealRaw("mem/a", `{"slug":"mem/a","value":"\ud83e"}`, 100)},
		"another slug":       {ErrBody, p.sealRaw("mem/a", `{"slug":"mem/b","value":"v"}`, 100)},
		"core's slug":        {ErrBody, p.sealRaw("mem/a", `{"slug":"core","profile":"v"}`, 100)},
		"memory's shape":     {ErrBody, p.sealRaw(Core, `{"slug":"core","value":"v"}`, 100)},
		"tombstone of core":  {ErrBody, p.sealRaw(Core, `{"slug":"core","profile":null}`, 100)},
		"core's shape":       {ErrBody, p.sealRaw("mem/a", `{"slug":"mem/a","profile":"v"}`, 100)},
		"slug not valid":     {ErrBody, p.sealRaw("mem/A", `{"slug":"mem/A","value":"v"}`, 100)},
		"d of another slug":  {ErrBody, resigned(func(ev *nostr.Event) { ev.Tags[0][1] = d("mem/b") })},
		"d of another owner": {ErrBody, resigned(func(ev *nostr.Event) { ev.Tags[0][1] = otherOwner.key.Address("mem/a") })},
	} {
		engram, err := p.open(c.ev)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		kinds := 0
		for _, kind := range []error{ErrNotEngram, ErrSignature, ErrUnreadable, ErrBody} {
			if errors.Is(err, kind) {
				kinds++
			}
		}
		if kinds != 1 || engram.Event != nil {
			t.Errorf("%s: %v is %d kinds of error", name, err, kinds)
		}
		if err != nil && (strings.Contains(err.Error(), "mem/") || strings.Contains(err.Error(), p.agent)) {
			t.Errorf("%s: the error says too much: %v", name, err)
		}
	}
	if _, err := p.open(good); err != nil {
		t.Errorf("the event that all others come from: %v", err)
	}
}

// otherDigit is another digit of base64.
func otherDigit(r rune) rune {
	if r == 'A' {
		return 'B'
	}
	return 'A'
}

// TestOpenVerifiesBeforeDecryption: NIP-44 asks for it, and the error tells
// whether the agent stands behind what cannot be read.
func TestOpenVerifiesBeforeDecryption(t *testing.T) {
	p := newPair(t, 1, 2)
	unreadable := p.sealRaw("mem/a", "not a body", 5)
	if _, err := p.open(unreadable); !errors.Is(err, ErrBody) {
		t.Fatal(err)
	}
	forged := changed(unreadable, func(ev *nostr.Event) { ev.Sig = p.write("mem/b", "", 1).Sig })
	if _, err := p.open(forged); !errors.Is(err, ErrSignature) {
		t.Errorf("forged and not a body: %v", err)
	}
	if _, err := Open(ConversationKey{}, p.agent, p.owner, forged); !errors.Is(err, ErrSignature) {
		t.Errorf("forged, and read with the wrong key: %v", err)
	}
}

func TestOpenIgnoresOtherTags(t *testing.T) {
	p := newPair(t, 1, 2)
	for _, tags := range []nostr.Tags{
		{{"alt", "anything"}}, {{"-"}}, {{"expiration", "1"}}, {{"expiration", "soon"}}, {{"client", "é<&>\u2028\"\\\n\x7f\U0001F9E0"}},
		{{"D", "x"}, {"P", "y"}, {"dd", "x"}, {""}}, {{"e", p.agent}, {"a", "30174:x:y"}},
	} {
		good := p.write("mem/a", "x", 100)
		good.Tags = append(good.Tags, tags...)
		ev := p.signed(*good)
		if engram, err := p.open(ev); err != nil || engram.CreatedAt() != 100 || engram.Event != ev {
			t.Errorf("%q: %v", tags, err)
		}
	}
	further := p.write("mem/a", "x", 100)
	further.Tags[0] = append(further.Tags[0], "more")
	further.Tags[1] = append(further.Tags[1], "wss://relay.example")
	if _, err := p.open(p.signed(*further)); err != nil {
		t.Errorf("further elements of d and p: %v", err)
	}
}

// TestOpenRefusesWrongPadding: the MAC holds, the length inside does not.
func TestOpenRefusesWrongPadding(t *testing.T) {
	p := newPair(t, 1, 2)
	body := `{"slug":"mem/a","value":"x"}`
	for name, length := range map[string]byte{"zero": 0, "longer than the padding": 33, "far longer": 255} {
		padded := make([]byte, 2+32)
		padded[1] = length
		copy(padded[2:], body)
		ev := p.signed(nostr.Event{Kind: Kind, CreatedAt: 1, Content: encryptPadded(t, p.key, p.random, padded),
			Tags: nostr.Tags{{"d", p.key.Address("mem/a")}, {"p", p.owner}}})
		if _, err := p.open(ev); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
