package nipae

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestNewBodies(t *testing.T) {
	tombstone, err := NewTombstone("mem/a")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		body Body
		text string
		ok   bool
		want string
	}{
		"core":       {NewProfile("I am."), "I am.", true, `{"slug":"core","profile":"I am."}`},
		"empty core": {NewProfile(""), "", true, `{"slug":"core","profile":""}`},
		"memory":     {memory(t, "mem/a", "x"), "x", true, `{"slug":"mem/a","value":"x"}`},
		"empty":      {memory(t, "mem/a", ""), "", true, `{"slug":"mem/a","value":""}`},
		"tombstone":  {tombstone, "", false, `{"slug":"mem/a","value":null}`},
	} {
		got, err := c.body.Bytes()
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if text, ok := c.body.Text(); text != c.text || ok != c.ok {
			t.Errorf("%s: text %q, %v", name, text, ok)
		}
	}
}

func TestNewBodiesRefuse(t *testing.T) {
	_, memoryAtCore := NewMemory(Core, "x")
	_, badSlug := NewMemory("mem/", "x")
	_, shorthand := NewMemory("foo", "x")
	_, tombstoneOfCore := NewTombstone(Core)
	_, badTombstone := NewTombstone("foo")
	for name, err := range map[string]error{
		"memory at core": memoryAtCore, "bad slug": badSlug, "shorthand": shorthand,
		"tombstone of core": tombstoneOfCore, "bad tombstone": badTombstone,
	} {
		if !errors.Is(err, ErrSlug) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewMemory("mem/a", "\xff"); !errors.Is(err, ErrBody) {
		t.Errorf("text that is not UTF-8: %v", err)
	}
}

func TestBytesRefuses(t *testing.T) {
	surrogate := "\xed\xa0\x80"
	for name, b := range map[string]Body{
		"zero":              {},
		"edited zero":       Body{}.WithText("x"),
		"tombstone of core": NewProfile("x").Tombstoned(),
		"not UTF-8":         NewProfile("a\xffb"),
		"surrogate":         memory(t, "mem/a", "").WithText(surrogate),
	} {
		if got, err := b.Bytes(); !errors.Is(err, ErrBody) || errors.Is(err, ErrTooLarge) || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestBytesEscapesAsLittleAsItMay(t *testing.T) {
	text := "\"\\/\b\f\n\r\t\x00\x1f\x7f<>&'é\u2028\u2029\U0001F9E0\uFFFD"
	want := `{"slug":"core","profile":"\"\\/\b\f\n\r\t\u0000\u001f` + "\x7f<>&'é\u2028\u2029\U0001F9E0\uFFFD" + `"}`
	got, err := NewProfile(text).Bytes()
	if err != nil || string(got) != want {
		t.Errorf("%s\nwant %s (%v)", got, want, err)
	}
	var read struct{ Profile string }
	if err := json.Unmarshal(got, &read); err != nil || read.Profile != text {
		t.Errorf("another reader gets %q, %v", read.Profile, err)
	}
}

func TestBytesLimit(t *testing.T) {
	frame := len(`{"slug":"mem/a","value":""}`)
	fits := memory(t, "mem/a", strings.Repeat("x", MaxBody-frame))
	if got, err := fits.Bytes(); err != nil || len(got) != MaxBody {
		t.Errorf("the largest body: %d bytes, %v", len(got), err)
	}
	for name, text := range map[string]string{
		"one byte more":         strings.Repeat("x", MaxBody-frame+1),
		"one escape more":       strings.Repeat("x", MaxBody-frame-1) + "\n",
		"a longer length":       strings.Repeat("x", 70000),
		"that wraps 16 bits":    strings.Repeat("x", 65536+10),
		"a two-byte rune astir": strings.Repeat("x", MaxBody-frame-1) + "é",
	} {
		if _, err := fits.WithText(text).Bytes(); !errors.Is(err, ErrTooLarge) || !errors.Is(err, ErrBody) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p := newPair(t, 1, 2)
	ev := p.seal(fits, 1)
	if engram, err := p.open(ev); err != nil {
		t.Errorf("the largest body does not open: %v", err)
	} else if text, _ := engram.Body.Text(); len(text) != MaxBody-frame {
		t.Errorf("the largest body opens with %d bytes of text", len(text))
	}
}

func TestEditingKeepsUnknownMembers(t *testing.T) {
	const before = `{ "x" : 1.50e1, "value" : "old", "nested" : {"b": [1, 2, {"a":null}], "a":"\u00e9"},` +
		` "slug" : "mem/a", "big": 123456789012345678901234567890, "profile": 5, "Value": "V", "":true }`
	b, err := ParseBody([]byte(before))
	if err != nil {
		t.Fatal(err)
	}
	frame := func(value string) string {
		return `{"x":1.50e1,"value":` + value + `,"nested":{"b": [1, 2, {"a":null}], "a":"\u00e9"},` +
			`"slug":"mem/a","big":123456789012345678901234567890,"profile":5,"Value":"V","":true}`
	}
	for name, c := range map[string]struct {
		body Body
		want string
	}{
		"read":               {b, frame(`"old"`)},
		"edited":             {b.WithText("new\n"), frame(`"new\n"`)},
		"tombstoned":         {b.Tombstoned(), frame(`null`)},
		"tombstoned, edited": {b.Tombstoned().WithText(""), frame(`""`)},
	} {
		got, err := c.body.Bytes()
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n%s, want\n%s", name, err, got, c.want)
		}
		again, err := ParseBody(got)
		if err != nil {
			t.Errorf("%s: does not parse again: %v", name, err)
		}
		if twice, _ := again.Bytes(); string(twice) != string(got) {
			t.Errorf("%s: changes when it is read and written again", name)
		}
	}
	moved, err := b.WithSlug("mem/b")
	if err != nil || moved.Slug() != "mem/b" {
		t.Fatalf("at another slug: %v", err)
	}
	if got, err := moved.Bytes(); err != nil || string(got) != strings.Replace(frame(`"old"`), `"slug":"mem/a"`, `"slug":"mem/b"`, 1) {
		t.Errorf("at another slug: %v\n%s", err, got)
	}
	if _, err := b.WithSlug(Core); !errors.Is(err, ErrSlug) {
		t.Errorf("at core: %v", err)
	}
	if _, err := NewProfile("I").WithSlug("mem/a"); !errors.Is(err, ErrSlug) {
		t.Errorf("core elsewhere: %v", err)
	}
	if text, ok := b.Text(); text != "old" || !ok {
		t.Error("editing changed the body that was edited")
	}
}

func TestUnknownMembersAreCloned(t *testing.T) {
	raw := []byte(`{"slug":"core","keep":"this","profile":"p"}`)
	b, err := ParseBody(raw)
	if err != nil {
		t.Fatal(err)
	}
	clear(raw)
	if got, _ := b.Bytes(); string(got) != `{"slug":"core","keep":"this","profile":"p"}` {
		t.Errorf("the body lives in the caller's buffer: %s", got)
	}
}
