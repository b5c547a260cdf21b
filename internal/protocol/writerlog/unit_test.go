package writerlog

import (
	"errors"
	"reflect"
	"strings"
	"testing"

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

func FuzzParseUnit(f *testing.F) {
	f.Add("mem/sys/log/0a1b2c3d/1", "engramd log 1\nwriter 0a1b2c3d\nfirst 512\n"+someID+"\n")
	f.Add("mem/sys/log/0a1b2c3d/void-3", "engramd log 1\nwriter 0a1b2c3d\nfirst 3\nvoid 3 "+someID+"\n")
	f.Fuzz(func(t *testing.T, slug, text string) {
		u, err := ParseUnit(nipae.Slug(slug), text)
		if err != nil {
			return
		}
		again, err := ParseUnit(nipae.Slug(slug), u.Text())
		if err != nil || !reflect.DeepEqual(again, u) {
			t.Errorf("%+v is read again as %+v, %v", u, again, err)
		}
	})
}
