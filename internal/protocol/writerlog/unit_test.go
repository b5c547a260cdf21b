package writerlog

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

func TestUnitRoundTrip(t *testing.T) {
	id, _ := ParseID(someID)
	full := Unit{W: "0a1b2c3d", First: 2 * UnitSize}
	for range UnitSize {
		full.IDs = append(full.IDs, id)
	}
	void := Unit{W: "0a1b2c3d", First: 7}
	for n := range int64(UnitSize) {
		void.Void = append(void.Void, Num{7 + n, otherID})
	}
	for slug, u := range map[nipae.Slug]Unit{UnitSlug("0a1b2c3d", 2): full, VoidSlug("0a1b2c3d", 7): void} {
		got, err := ParseUnit(slug, u.Text())
		if err != nil || !reflect.DeepEqual(got, u) {
			t.Errorf("%s: %v", slug, err)
		}
		if !IsUnit(slug) {
			t.Errorf("%s is no unit", slug)
		}
		if len(u.Text()) > 60_000 {
			t.Errorf("%s takes %d bytes", slug, len(u.Text()))
		}
	}
}

func TestWrongUnits(t *testing.T) {
	slug := UnitSlug("0a1b2c3d", 1)
	good := "engramd log 1\nwriter 0a1b2c3d\nfirst 512\n" + someID + "\n"
	if _, err := ParseUnit(slug, good); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nothing": "", "another form": strings.Replace(good, "log 1", "log 2", 1),
		"another's": strings.Replace(good, "0a1b", "ffff", 1), "elsewhere": strings.Replace(good, "512", "1024", 1),
		"in the middle": strings.Replace(good, "512", "513", 1), "empty": good[:strings.Index(good, someID)],
		"a line": good + "x\n", "void behind ids": good + "void 1 " + someID + "\n",
		"no number": strings.Replace(good, "512", "0512", 1), "too many": good + strings.Repeat(someID+"\n", UnitSize),
		"much text": good + strings.Repeat("\n", 4*UnitSize),
	} {
		if _, err := ParseUnit(slug, text); !errors.Is(err, ErrUnit) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnitAddresses: a unit with addresses fits into an event, is read with them, and
// its text follows the rules of programs that do not know them.
func TestUnitAddresses(t *testing.T) {
	hash := func(n int) (h Hash) {
		h[0], h[31] = byte(n), byte(n>>8)
		return h
	}
	full := Unit{W: "0a1b2c3d"}
	for n := range UnitSize {
		full.IDs, full.Ds = append(full.IDs, hash(n+1)), append(full.Ds, hash(n))
	}
	engram := func(addresses string) nipae.Engram {
		body, err := nipae.NewMemory(UnitSlug(full.W, 0), full.Text())
		if addresses != "" && err == nil {
			body, err = body.WithMember(UnitMember, []byte(addresses))
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := body.Bytes()
		if err != nil {
			t.Fatalf("%d bytes: %v", len(b), err)
		}
		if body, err = nipae.ParseBody(b); err != nil {
			t.Fatal(err)
		}
		return nipae.Engram{Body: body}
	}
	got, err := UnitOf(engram(string(full.Addresses())))
	if err != nil || !reflect.DeepEqual(got, full) {
		t.Errorf("it is read as %d ids, %d addresses, %v", len(got.IDs), len(got.Ds), err)
	}
	older := regexp.MustCompile(`^engramd log 1\nwriter [0-9a-f]{8}\nfirst (0|[1-9][0-9]*)\n(void (0|[1-9][0-9]*) [0-9a-f]{64}\n)*([0-9a-f]{64}\n)*$`)
	if !older.MatchString(full.Text()) || strings.Count(full.Text(), "\n") > 3+2*UnitSize {
		t.Errorf("an older program refuses %.200q", full.Text())
	}
	for name, addresses := range map[string]string{"none": "", "no text": `{}`, "a list": `[1,2]`, "too few": `"AAAA"`, "no base64": `"*"`,
		"one too many": string(Unit{Ds: append(full.Ds[:UnitSize:UnitSize], Hash{})}.Addresses())} {
		if u, err := UnitOf(engram(addresses)); err != nil || u.Ds != nil || len(u.IDs) != UnitSize {
			t.Errorf("%s: %d ids, %d addresses, %v", name, len(u.IDs), len(u.Ds), err)
		}
	}
	note, err := nipae.NewMemory("mem/a", full.Text())
	if _, unitErr := UnitOf(nipae.Engram{Body: note}); err != nil || !errors.Is(unitErr, ErrUnit) {
		t.Error(err, unitErr)
	}
}

func FuzzParseUnit(f *testing.F) {
	f.Add("mem/sys/log/0a1b2c3d/1", "engramd log 1\nwriter 0a1b2c3d\nfirst 512\n"+someID+"\n", "")
	f.Add("mem/sys/log/0a1b2c3d/1", "engramd log 1\nwriter 0a1b2c3d\nfirst 512\n"+someID+"\n"+otherID+"\n", `"`+strings.Repeat("A", 43)+`AAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg=="`)
	f.Add("mem/sys/log/0a1b2c3d/void-3", "engramd log 1\nwriter 0a1b2c3d\nfirst 3\nvoid 3 "+someID+"\n", `""`)
	f.Fuzz(func(t *testing.T, slug, text, addresses string) {
		u, err := ParseUnit(nipae.Slug(slug), text)
		if err != nil {
			return
		}
		again, err := ParseUnit(nipae.Slug(slug), u.Text())
		if err != nil || !reflect.DeepEqual(again, u) {
			t.Errorf("%+v is read again as %+v, %v", u, again, err)
		}
		if u.Ds = parseAddresses([]byte(addresses), len(u.IDs)); u.Ds != nil {
			if got := parseAddresses(u.Addresses(), len(u.IDs)); !reflect.DeepEqual(got, u.Ds) {
				t.Errorf("%v is read again as %v", u.Ds, got)
			}
		}
	})
}

// TestEnding: what goes with another version is read from its unit alone, and of two units
// the sooner counts.
func TestEnding(t *testing.T) {
	id, _ := ParseID(someID)
	engram := func(slug nipae.Slug, text string) nipae.Engram {
		body, err := nipae.NewMemory(slug, text)
		if err != nil {
			t.Fatal(err)
		}
		return nipae.Engram{Event: &nostr.Event{ID: otherID}, Body: body}
	}
	ending := Ending{At: 90, IDs: slices.Repeat([]Hash{id}, UnitSize)}
	var in Evidence
	in.Events = map[string]Event{}
	in.Add(engram(EndingSlug(otherID, 0), ending.Text()))
	in.Add(engram(EndingSlug(someID, 1), Ending{At: 60, IDs: ending.IDs[:1]}.Text()))
	in.Add(engram("mem/sys/log/0a1b2c3d/0", Ending{At: 30, IDs: ending.IDs[:1]}.Text()))
	if len(in.Ends) != 1 || in.Ends[someID] != 60 || len(in.Units) > 0 {
		t.Errorf("%v, %d units", in.Ends, len(in.Units))
	}
	for _, text := range []string{"", "engramd ends 1\nat 5\n", "engramd ends 1\nat 0\n" + someID, "engramd ends 1\nat -5\n" + someID, "engramd ends 1\nat 5\n" + someID + "\nx",
		"engramd ends 2\nat 5\n" + someID, ending.Text() + someID} {
		if e, err := parseEnding(text); !errors.Is(err, ErrUnit) {
			t.Errorf("%.60q is read as %v, %v", text, e, err)
		}
	}
}

func FuzzParseEnding(f *testing.F) {
	f.Add("engramd ends 1\nat 1700000000\n" + someID + "\n")
	f.Add("engramd ends 1\nat 01\n" + someID + "\n" + otherID)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseEnding(text)
		if err != nil {
			return
		}
		if again, err := parseEnding(e.Text()); err != nil || !reflect.DeepEqual(again, e) || len(e.IDs) > UnitSize {
			t.Errorf("%+v is read again as %+v, %v", e, again, err)
		}
	})
}
