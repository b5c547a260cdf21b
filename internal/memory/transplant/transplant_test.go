package transplant

import (
	"bytes"
	"crypto/rand"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/testkeys"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

var ana, anasOwner, bo = testkeys.New("ana"), testkeys.New("ana's owner"), testkeys.New("bo")

func conversation(t testing.TB) nipae.ConversationKey {
	t.Helper()
	k, err := nipae.DeriveConversationKey(ana.Secret, anasOwner.Pub)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// written is an engram of Ana's.
func written(t testing.TB, slug nipae.Slug, text string) *nostr.Event {
	t.Helper()
	body, err := nipae.NewMemory(slug, text)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := nipae.Seal(conversation(t), body, nipae.Sealing{Secret: ana.Secret, Owner: anasOwner.Pub, CreatedAt: 1_700_000_000, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// TestOrigin: what is passed on proves who wrote the text, where, when and for whom.
func TestOrigin(t *testing.T) {
	ev := written(t, "mem/tea", "---\nderived_from: [mem/own]\nsupersedes: [mem/other]\ntags: [tea]\n---\ngreen tea")
	o, u, err := Of(conversation(t), ev)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseOrigin(o.JSON())
	if err != nil {
		t.Fatal(err)
	}
	got, err := again.Open()
	if err != nil || got != u || u.Slug != "mem/tea" || u.Author != ana.Pub || u.Owner != anasOwner.Pub || u.ID != ev.ID || u.CreatedAt != 1_700_000_000 || !strings.HasSuffix(u.Text, "green tea") {
		t.Errorf("%+v, %+v, %v", u, got, err)
	}
	text, err := u.Planted()
	d := frontmatter.Parse(text)
	from, _ := d.Value("derived_from")
	if err != nil || !reflect.DeepEqual(from.Items(), []string{ev.ID}) || strings.Contains(text, "mem/own") || strings.Contains(text, "mem/other") || len(d.Fields().Tags) != 1 || d.Body() != "green tea" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestFalseOrigins: nothing that was changed, or is another's, is taken for what the
// agent signed.
func TestFalseOrigins(t *testing.T) {
	good, _, err := Of(conversation(t), written(t, "mem/tea", "green tea"))
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := Of(conversation(t), written(t, "mem/tea", "black tea"))
	if err != nil {
		t.Fatal(err)
	}
	change := func(do func(*nostr.Event)) Origin {
		ev := *good.Event
		do(&ev)
		return Origin{&ev, good.Keys}
	}
	stranger := change(func(ev *nostr.Event) { ev.PubKey = bo.Pub; ev.ID = ev.GetID() })
	for name, o := range map[string]Origin{
		"another's keys":    {good.Event, other.Keys},
		"another's content": change(func(ev *nostr.Event) { ev.Content = other.Event.Content }),
		"that with its id":  change(func(ev *nostr.Event) { ev.Content = other.Event.Content; ev.ID = ev.GetID() }),
		"another author":    stranger,
		"another time":      change(func(ev *nostr.Event) { ev.CreatedAt++; ev.ID = ev.GetID() }),
		"another kind":      change(func(ev *nostr.Event) { ev.Kind = 1; ev.ID = ev.GetID() }),
	} {
		if u, err := o.Open(); !errors.Is(err, ErrOrigin) {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
		if u, err := mustParse(t, o).Open(); !errors.Is(err, ErrOrigin) {
			t.Errorf("%s, parsed: %+v, %v", name, u, err)
		}
	}
	gone, err := nipae.NewTombstone("mem/tea")
	if err != nil {
		t.Fatal(err)
	}
	removed, err := nipae.Seal(conversation(t), gone, nipae.Sealing{Secret: ana.Secret, Owner: anasOwner.Pub, CreatedAt: 1_700_000_000, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Of(conversation(t), removed); !errors.Is(err, ErrOrigin) {
		t.Error("a removal is given:", err)
	}
	for name, text := range map[string]string{
		"nothing": "", "a list": "[]", "no keys": `{"event":{}}`, "more": strings.Replace(string(good.JSON()), `{"event"`, `{"x":1,"event"`, 1),
		"twice": strings.Replace(string(good.JSON()), `{"event"`, `{"message_keys":"00","event"`, 1), "long": strings.Repeat(" ", MaxOrigin) + string(good.JSON()),
		"short keys": strings.Replace(string(good.JSON()), good.Keys.Hex(), good.Keys.Hex()[2:], 1),
	} {
		if o, err := ParseOrigin([]byte(text)); !errors.Is(err, ErrOrigin) {
			t.Errorf("%s: %+v, %v", name, o.Event, err)
		}
	}
}

func mustParse(t *testing.T, o Origin) Origin {
	t.Helper()
	again, err := ParseOrigin(o.JSON())
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func packed(t testing.TB, texts ...string) []byte {
	t.Helper()
	p := Package{Giver: ana.Pub, To: bo.Pub, CreatedAt: 1_700_000_001}
	for _, text := range texts {
		o, _, err := Of(conversation(t), written(t, "mem/tea", text))
		if err != nil {
			t.Fatal(err)
		}
		p.Origins = append(p.Origins, o)
	}
	var b bytes.Buffer
	if err := p.Write(&b, func(ev *nostr.Event) error { return ev.Sign(ana.Secret) }); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPackage: a file is whole or refused, and only for whom it is.
func TestPackage(t *testing.T) {
	file := packed(t, "one", "two", strings.Repeat("x", 30_000))
	p, err := Read(bytes.NewReader(file), bo.Pub)
	if err != nil || p.Giver != ana.Pub || len(p.Origins) != 3 || p.CreatedAt != 1_700_000_001 {
		t.Fatalf("%d, %v", len(p.Origins), err)
	}
	if _, err := Read(bytes.NewReader(file), anasOwner.Pub); !errors.Is(err, ErrAddressee) {
		t.Error(err)
	}
	lines := bytes.SplitAfter(file, []byte("\n"))
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, b := range map[string][]byte{
		"empty": nil, "cut": file[:len(file)-9], "one less": join(lines[0], lines[1], lines[2]), "one more": join(file, lines[1]),
		"in another order": join(lines[0], lines[2], lines[1], lines[3]), "without the first line": join(lines[1:]...),
		"another's": join(packed(t, "x")[:bytes.IndexByte(packed(t, "x"), '\n')+1], lines[1]),
		"a number":  bytes.Replace(file, []byte(`["n","3"]`), []byte(`["n","2"]`), 1),
	} {
		if _, err := Read(bytes.NewReader(b), bo.Pub); !errors.Is(err, ErrPackage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Package{}).Write(&bytes.Buffer{}, nil); !errors.Is(err, ErrPackage) {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(packed(f, "one", "two"))
	f.Add([]byte("{}\n{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Read(bytes.NewReader(b), bo.Pub)
		if err != nil {
			return
		}
		for _, o := range p.Origins {
			if again, err := ParseOrigin(o.JSON()); err != nil || again.Event.ID != o.Event.ID {
				t.Error(err)
			}
			_, _ = o.Open()
		}
	})
}

// TestFrom: what came from an agent is found with all that derives from it, however
// far, and nothing else.
func TestFrom(t *testing.T) {
	source := Source(ana.Pub)
	all := []Kept{
		{"mem/from/ana/tea", "01", "---\nsource: \"" + source + "\"\n---\ntea"},
		{"mem/from/ana/said", "02", "---\nsource: \"agent:" + strings.TrimPrefix(source, "transplant:") + "\"\n---\nsaid"},
		{"mem/from/ana/old", "03", "---\nsource: \"" + source + "\"\nstate: archived\n---\nold"},
		{"mem/from/bo/tea", "04", "---\nsource: \"" + Source(bo.Pub) + "\"\n---\ntea"},
		{"mem/a", "05", "---\nderived_from: [mem/from/ana/tea, mem/x]\n---\na"},
		{"mem/b", "06", "---\nderived_from: [mem/a]\n---\nb"},
		{"mem/c", "07", "---\nderived_from: [mem/b, mem/a]\nstate: archived\n---\nc"},
		{"mem/d", "08", "---\nderived_from: [mem/c]\n---\nd"},
		{"mem/e", "09", "---\nsupports: [mem/from/ana/tea]\n---\ne"},
		{"mem/f", "10", "---\nderived_from: [mem/from/ana/old]\n---\nf"},
		{"mem/g", "11", "mem/from/ana/tea"},
		{"mem/from/ana/passed-on", "12", "---\nsource: \"" + Source(bo.Pub) + "\"\n---\nby bo"},
		{"mem/from/ana/mine", "13", "---\nsource: \"engramctl:me\"\n---\nmy own"},
		{"mem/h", "14", "---\nderived_from: [mem/from/ana/passed-on]\n---\nh"},
	}
	came, derived := From(all, ana.Pub)
	if !reflect.DeepEqual(came, []string{"mem/from/ana/said", "mem/from/ana/tea"}) || !reflect.DeepEqual(derived, []string{"mem/a", "mem/b", "mem/d", "mem/f"}) {
		t.Errorf("%v, %v", came, derived)
	}
	// With her place: also what she passed on, and not what is the receiver's own.
	came, derived = From(all, ana.Pub, "mem/from/ana/", "mem/from/0a/")
	if !reflect.DeepEqual(came, []string{"mem/from/ana/passed-on", "mem/from/ana/said", "mem/from/ana/tea"}) || !reflect.DeepEqual(derived, []string{"mem/a", "mem/b", "mem/d", "mem/f", "mem/h"}) {
		t.Errorf("at her place: %v, %v", came, derived)
	}
}
