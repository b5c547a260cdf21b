package writerlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

const (
	someID  = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	otherID = "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
)

func TestLinkRoundTrip(t *testing.T) {
	root, _ := ParseID(otherID)
	for name, l := range map[string]Link{
		"the first":    {W: "0a1b2c3d", T: 1_700_000_000, Root: (&Tree{}).Root(0), After: []Head{{"ffffffff", 9, someID}}},
		"one behind":   {W: "0a1b2c3d", N: 17, T: 1_700_000_000, Prev: someID, Root: root},
		"with void":    {W: "0a1b2c3d", N: 17, T: 1, Prev: someID, Root: root, Void: []Num{{3, otherID}, {16, someID}}},
		"with open":    {W: "0a1b2c3d", N: 17, T: 1, Prev: someID, Root: root, Open: []Span{{0, 0}, {4, 16}}},
		"a far number": {W: "0a1b2c3d", N: maxN, T: 1, Prev: someID, Root: root},
	} {
		got, err := Parse(l.JSON())
		if err != nil || !reflect.DeepEqual(got, l) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, l)
		}
	}
	// A link takes 182 bytes, with its name in the body.
	l := Link{W: "0a1b2c3d", N: 17, T: 1_700_000_000, Prev: someID, Root: root}
	if n := len(`"chain":`) + len(l.JSON()); n > 205 {
		t.Errorf("a link takes %d bytes", n)
	}
}

func TestWrongLinks(t *testing.T) {
	good := Link{W: "0a1b2c3d", N: 17, T: 1, Prev: someID, Root: Hash{1}}
	change := func(old, new string) string { return strings.Replace(string(good.JSON()), old, new, 1) }
	many := strings.TrimSuffix(strings.Repeat(`[1,"`+someID+`"],`, MaxVoid+1), ",")
	for name, text := range map[string]string{
		"nothing": "", "a list": "[]", "a text": `"chain"`, "cut off": string(good.JSON()[:40]),
		"no number":          change(`"n":17,`, ""),
		"a negative number":  change(`"n":17`, `"n":-1`),
		"too great a number": change(`"n":17`, `"n":9007199254740993`),
		"half a number":      change(`"n":17`, `"n":1.5`),
		"a long log":         change(`"w":"0a1b2c3d"`, `"w":"0a1b2c3d0"`),
		"an upper-case log":  change(`"w":"0a1b2c3d"`, `"w":"0A1b2c3d"`),
		"no root":            change(`"root":"01`, `"root":"0x`),
		"no prev":            change(`"prev":"`+someID+`",`, ""),
		"prev of the first":  change(`"n":17`, `"n":0`),
		"void ahead":         change(`"root"`, `"void":[[17,"`+someID+`"]],"root"`),
		"void without id":    change(`"root"`, `"void":[[1]],"root"`),
		"much void":          change(`"root"`, `"void":[`+many+`],"root"`),
		"after, not first":   change(`"root"`, `"after":[{"w":"ffffffff","n":1,"id":"`+someID+`"}],"root"`),
		"open ahead":         change(`"root"`, `"open":[[3,17]],"root"`),
		"open backwards":     change(`"root"`, `"open":[[3,2]],"root"`),
		"open twice":         change(`"root"`, `"open":[[1,3],[3,4]],"root"`),
	} {
		if l, err := Parse([]byte(text)); !errors.Is(err, ErrLink) {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	if _, err := Parse([]byte(change(`"root"`, `"later":{"x":1},"root"`))); err != nil {
		t.Errorf("a member that is not known: %v", err)
	}
}

// TestOf: a link is of the event that it was made for; one that another program
// copied into a later version is none, nor is one that cannot be read.
func TestOf(t *testing.T) {
	l := Link{W: "0a1b2c3d", N: 17, T: 1_700_000_000, Prev: someID, Root: Hash{1}}
	body, err := nipae.NewMemory("mem/a", "x")
	if err != nil {
		t.Fatal(err)
	}
	with := func(value string) nipae.Body {
		t.Helper()
		b, err := body.WithMember(Member, []byte(value))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, c := range map[string]struct {
		body nipae.Body
		at   int64
		want bool
	}{
		"its own":    {with(string(l.JSON())), l.T, true},
		"a copy":     {with(string(l.JSON())), l.T + 1, false},
		"none":       {body, l.T, false},
		"not a link": {with(`{"w":"x"}`), l.T, false},
	} {
		e := nipae.Engram{Event: &nostr.Event{CreatedAt: nostr.Timestamp(c.at)}, Body: c.body}
		if got, ok := Of(e); ok != c.want || ok && !reflect.DeepEqual(got, l) {
			t.Errorf("%s: %+v, %v", name, got, ok)
		}
	}
}

// TestNewest: of each log the last number, the newest logs first, and not more than
// a link names.
func TestNewest(t *testing.T) {
	var seen []nipae.Engram
	for i := range 2 * MaxAfter {
		for n := range int64(3) {
			l := Link{W: fmt.Sprintf("%08x", i), N: 2 - n, T: 1_700_000_000 + 10*int64(i) - n, Root: Hash{1}}
			if l.N > 0 {
				l.Prev = someID
			}
			body, err := nipae.NewMemory("mem/a", "x")
			if err == nil {
				body, err = body.WithMember(Member, l.JSON())
			}
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, nipae.Engram{Event: &nostr.Event{ID: fmt.Sprint(i, " ", l.N), CreatedAt: nostr.Timestamp(l.T)}, Body: body})
		}
	}
	got := Newest(seen)
	if len(got) != MaxAfter {
		t.Fatalf("%d heads", len(got))
	}
	for i, h := range got {
		if k := 2*MaxAfter - 1 - i; h != (Head{W: fmt.Sprintf("%08x", k), N: 2, ID: fmt.Sprint(k, " ", 2)}) {
			t.Errorf("head %d is %+v", i, h)
		}
	}
}

func TestSpans(t *testing.T) {
	if got := Spans([]int64{1, 2, 3, 7, 9, 10}); !reflect.DeepEqual(got, []Span{{1, 3}, {7, 7}, {9, 10}}) {
		t.Errorf("%v", got)
	}
	var scattered []int64
	for n := range int64(60) {
		scattered = append(scattered, 3*n)
	}
	got := Spans(scattered)
	l := Link{Open: got}
	for _, n := range scattered {
		if !l.IsOpen(n) {
			t.Errorf("%d is not in %v", n, got)
		}
	}
	if len(got) != MaxOpen || l.IsOpen(176) {
		t.Errorf("%v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add((Link{W: "0a1b2c3d", N: 17, Prev: someID, Void: []Num{{3, otherID}}, Open: []Span{{4, 16}}}).JSON())
	f.Add((Link{W: "0a1b2c3d", After: []Head{{"ffffffff", 9, someID}}}).JSON())
	f.Add([]byte(`{"w":"00000000","n":1e3,"root":null,"open":[[]]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := Parse(b)
		if err != nil {
			return
		}
		again, err := Parse(l.JSON())
		if err != nil || !reflect.DeepEqual(again, l) {
			t.Errorf("%+v is read again as %+v, %v", l, again, err)
		}
		if !json.Valid(l.JSON()) || len(l.Void) > MaxVoid || len(l.After) > MaxAfter || len(l.Open) > MaxOpen {
			t.Errorf("%+v", l)
		}
	})
}
