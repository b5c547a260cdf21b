package wire

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

const (
	testID  = "00000000000000000000000000000000000000000000000000000000000000aa"
	testKey = "00000000000000000000000000000000000000000000000000000000000000bb"
	testSig = testID + testKey
)

// members are those of a good event, in wire order, for tests to spoil.
func members() []string {
	return []string{
		`"id":"` + testID + `"`, `"pubkey":"` + testKey + `"`, `"created_at":1700000000`, `"kind":1`,
		`"tags":[["d","x"],["t","a","b"]]`, `"content":"hello"`, `"sig":"` + testSig + `"`,
	}
}

func object(members ...string) string { return "{" + strings.Join(members, ",") + "}" }

// with is the good event with its member i replaced.
func with(i int, member string) string {
	m := members()
	m[i] = member
	return object(m...)
}

// A tag is read as one of an event is, and nothing may follow it.
func TestParseTag(t *testing.T) {
	for in, want := range map[string]nostr.Tag{
		` [ "auth" , "\u0061", "" ] `: {"auth", "a", ""},
		`[]`:                          nil,
		`["d"]`:                       {"d"},
	} {
		got, err := ParseTag([]byte(in))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s read as %q, %v", in, got, err)
		}
	}
	for _, in := range []string{``, `x`, `"auth"`, `{}`, `null`, `["auth"`, `["auth",]`, `["auth",null]`, `["auth",1]`, `["auth",["a"]]`, `["auth"]x`,
		`["auth"]["auth"]`, "[\"\xff\"]", `["\ud800"]`, "[\"\n\"]"} {
		got, err := ParseTag([]byte(in))
		var shape *ShapeError
		if !errors.As(err, &shape) || got != nil {
			t.Errorf("%q read as %q, %v", in, got, err)
		}
	}
}

func TestParseEventAccepts(t *testing.T) {
	good := object(members()...)
	tests := []struct{ name, in string }{
		{"plain", good},
		{"white space", strings.NewReplacer(":", " : ", ",", "\t,\r\n ").Replace(good) + " \n"},
		{"other order", object(members()[6], members()[3], members()[5], members()[0], members()[4], members()[2], members()[1])},
		{"unknown members", object(append(members(), `"relays":["wss://a"]`, `"x":{"y":[null,true,-1.5e+3,{"y":1,"z":2}]}`)...)},
		{"escaped name", with(0, `"\u0069d":"`+testID+`"`)},
		{"name differing in case is another name", object(append(members(), `"ID":"x"`, `"Kind":null`)...)},
		{"escapes", with(5, `"content":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u0000"`)},
		{"greatest kind", with(3, `"kind":65535`)},
		{"kind 0", with(3, `"kind":0`)},
		{"created_at 0", with(2, `"created_at":0`)},
		{"greatest created_at", with(2, `"created_at":9223372036854775807`)},
		{"no tags", with(4, `"tags":[]`)},
		{"empty strings in tags", with(4, `"tags":[["d",""],[""],["e"]]`)},
		{"empty content", with(5, `"content":""`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev, err := ParseEvent([]byte(tt.in))
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			if ev.ID != testID || ev.PubKey != testKey || ev.Sig != testSig || ev.Tags == nil {
				t.Errorf("read %+v", ev)
			}
			checkAgainstOracle(t, []byte(tt.in))
		})
	}
}

func TestParseEventReadsEscapes(t *testing.T) {
	ev, err := ParseEvent([]byte(with(5, `"content":"a\"\\\/\b\f\n\r\t\u00e9\uD83D\ude00\u0000z"`)))
	if err != nil {
		t.Fatal(err)
	}
	if want := "a\"\\/\b\f\n\r\té😀\x00z"; ev.Content != want {
		t.Errorf("content %q, want %q", ev.Content, want)
	}
}

func TestParseEventTagsDoNotShareCapacity(t *testing.T) {
	ev, err := ParseEvent([]byte(object(members()...)))
	if err != nil {
		t.Fatal(err)
	}
	_ = append(ev.Tags[0], "appended")
	if ev.Tags[1][0] != "t" {
		t.Errorf("appending to one tag changed the next: %v", ev.Tags)
	}
}

func TestParseEventRefuses(t *testing.T) {
	upper := strings.ToUpper(testID)
	tests := []struct{ name, in, says string }{
		{"nothing", ``, "must be a JSON object"},
		{"null", `null`, "must be a JSON object"},
		{"array", `[]`, "must be a JSON object"},
		{"empty object", `{}`, `"id" is missing`},
		{"upper-case id", with(0, `"id":"`+upper+`"`), `"id": must be 64 lower-case hex`},
		{"short id", with(0, `"id":"`+testID[:63]+`"`), `"id": must be 64`},
		{"long pubkey", with(1, `"pubkey":"`+testKey+`00"`), `"pubkey": must be 64`},
		{"odd sig", with(6, `"sig":"`+testSig[1:]+`"`), `"sig": must be 128`},
		{"long sig", with(6, `"sig":"`+testSig+`00"`), `"sig": must be 128`},
		{"id no string", with(0, `"id":7`), `"id": must be a string`},
		{"kind too great", with(3, `"kind":65536`), `"kind": must be between`},
		{"kind negative", with(3, `"kind":-1`), `"kind": must not be negative`},
		{"kind minus zero", with(3, `"kind":-0`), `"kind": must not be negative`},
		{"kind 1e0", with(3, `"kind":1e0`), `"kind": must be an integer`},
		{"kind 1.0", with(3, `"kind":1.0`), `"kind": must be an integer`},
		{"kind 01", with(3, `"kind":01`), `"kind": must not have leading zeros`},
		{"kind string", with(3, `"kind":"1"`), `"kind": must be an integer`},
		{"kind null", with(3, `"kind":null`), `"kind": must be an integer`},
		{"created_at 1e10", with(2, `"created_at":1e10`), `"created_at": must be an integer`},
		{"created_at fraction", with(2, `"created_at":1.5`), `"created_at": must be an integer`},
		{"created_at negative", with(2, `"created_at":-5`), `"created_at": must not be negative`},
		{"created_at overflow", with(2, `"created_at":9223372036854775808`), `"created_at": is out of range`},
		{"tags null", with(4, `"tags":null`), `"tags": must be an array`},
		{"tag null", with(4, `"tags":[null]`), "a tag must be an array"},
		{"tag object", with(4, `"tags":[{}]`), "a tag must be an array"},
		{"tag empty", with(4, `"tags":[["a","b"],[]]`), "must not be empty"},
		{"tag item null", with(4, `"tags":[["a",null]]`), "strings only"},
		{"tag item number", with(4, `"tags":[["a",1]]`), "strings only"},
		{"tag nested", with(4, `"tags":[["a",["b"]]]`), "strings only"},
		{"bare d tag", with(4, `"tags":[["d"]]`), "d tag must have a value"},
		{"content null", with(5, `"content":null`), `"content": must be a string`},
		{"content lone high surrogate", with(5, `"content":"\ud83d"`), "lone surrogate"},
		{"content lone low surrogate", with(5, `"content":"\ude00\ud83d"`), "lone surrogate"},
		{"content two high surrogates", with(5, `"content":"\ud83d\ud83d"`), "lone surrogate"},
		{"content invalid UTF-8", with(5, "\"content\":\"\xff\""), "invalid UTF-8"},
		{"content UTF-8 surrogate", with(5, "\"content\":\"\xed\xa0\x80\""), "invalid UTF-8"},
		{"content overlong", with(5, "\"content\":\"\xc0\xaf\\n\""), "invalid UTF-8"},
		{"content raw newline", with(5, "\"content\":\"\n\""), "control character"},
		{"content raw control after an escape", with(5, "\"content\":\"\\n\x01\""), "control character"},
		{"unknown escape", with(5, `"content":"\x41"`), "unknown escape"},
		{"short unicode escape", with(5, `"content":"\u00"`), `bad \u escape`},
		{"duplicate id", object(append(members(), `"id":"`+testID+`"`)...), `duplicate member "id"`},
		{"duplicate by escape", object(append(members(), `"\u0069d":"`+testID+`"`)...), `duplicate member "id"`},
		{"duplicate unknown", object(append(members(), `"x":1`, `"\u0078":2`)...), `duplicate member "x"`},
		{"member missing", object(members()[:6]...), `"sig" is missing`},
		{"misspelt member", with(2, `"createdAt":1`), `"created_at" is missing`},
		{"trailing garbage", object(members()...) + "x", "trailing data"},
		{"two events", object(members()...) + object(members()...), "trailing data"},
		{"trailing NUL", object(members()...) + "\x00", "trailing data"},
		{"trailing comma", "{" + strings.Join(members(), ",") + ",}", "expected a member name"},
		{"trailing comma in tags", with(4, `"tags":[["a"],]`), "expected a value"},
		{"leading comma in tags", with(4, `"tags":[,["a"]]`), "a tag must be an array"},
		{"no comma", strings.Replace(object(members()...), ",", " ", 1), "expected a comma"},
		{"no colon", strings.Replace(object(members()...), ":", " ", 1), "expected a colon"},
		{"name unquoted", with(0, `id:"`+testID+`"`), "expected a member name"},
		{"cut off", object(members()...)[:300], "ends inside a string"},
		{"cut off in an escape", object(members()...)[:300] + `\`, "ends inside a string"},
		{"cut off in a later escape", object(members()...)[:300] + `\n\`, "ends inside a string"},
		{"cut off after an escape", object(members()...)[:300] + `\n`, "ends inside a string"},
		{"byte order mark", "\ufeff" + object(members()...), "must be a JSON object"},
		{"comment", "/**/" + object(members()...), "must be a JSON object"},
		{"unknown member malformed", object(append(members(), `"x":tru`)...), "expected a value"},
		{"unknown number malformed", object(append(members(), `"x":1.`)...), "expected a digit"},
		{"unknown number 01", object(append(members(), `"x":01`)...), "expected a comma"},
		{"unknown number +1", object(append(members(), `"x":+1`)...), "expected a value"},
		{"unknown exponent", object(append(members(), `"x":1e`)...), "expected a digit"},
		{"unknown member invalid UTF-8", object(append(members(), "\"x\":\"\xff\"")...), "invalid UTF-8"},
		{"unknown member NaN", object(append(members(), `"x":NaN`)...), "expected a value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseEvent([]byte(tt.in))
			var shape *ShapeError
			if !errors.As(err, &shape) {
				t.Fatalf("got %v, want a ShapeError", err)
			}
			if !strings.Contains(shape.Reason, tt.says) {
				t.Errorf("reason %q does not say %q", shape.Reason, tt.says)
			}
			checkAgainstOracle(t, []byte(tt.in))
		})
	}
}

func TestParseEventNamesTheRefused(t *testing.T) {
	tests := []struct{ name, in, id string }{
		{"fault after the id", with(6, `"sig":"no"`), testID},
		{"fault before the id", object(`"kind":-1`, members()[0]), testID},
		{"invalid UTF-8 elsewhere", object("\"content\":\"\xff\"", members()[0]), ""},
		{"invalid UTF-8 after the id", object(members()[0], "\"content\":\"\xff\""), testID},
		{"an id of the wrong shape is still the client's name for it", object(`"id":"ABC"`), "ABC"},
		{"id twice", object(members()[0], `"id":"other"`), testID},
		{"id no string", object(`"id":1`), ""},
		{"id too long to repeat", object(`"id":"` + strings.Repeat("a", 129) + `"`), ""},
		{"no object", `[1]`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseEvent([]byte(tt.in))
			var shape *ShapeError
			if !errors.As(err, &shape) {
				t.Fatalf("got %v, want a ShapeError", err)
			}
			if shape.ID != tt.id {
				t.Errorf("ID %q, want %q", shape.ID, tt.id)
			}
		})
	}
}

func TestParseEventBoundsDepth(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		deep := object(append(members(), `"x":`+strings.Repeat(open, 100_000))...)
		if _, err := ParseEvent([]byte(deep)); err == nil || !strings.Contains(err.Error(), "nested too deeply") {
			t.Errorf("%s…: %v", open, err)
		}
	}
}

// Unknown members are dropped, however many; finding duplicates among them must
// not take quadratic time.
func TestParseEventManyUnknownMembers(t *testing.T) {
	m := members()
	for i := range 20_000 {
		m = append(m, fmt.Sprintf(`"x%d":1`, i))
	}
	if _, err := ParseEvent([]byte(object(m...))); err != nil {
		t.Error(err)
	}
	m = append(m, `"x5":1`)
	if _, err := ParseEvent([]byte(object(m...))); err == nil {
		t.Error("a duplicate among many was not found")
	}
}

// A small event in a large frame must not keep the frame alive.
func TestParseEventLetsGoOfPadding(t *testing.T) {
	s := newScanner([]byte(object(members()...) + strings.Repeat(" ", 100_000)))
	ev, err := s.event()
	if err != nil {
		t.Fatal(err)
	}
	if within(s.src, ev.ID) || within(s.src, ev.Tags[0][1]) || within(s.src, ev.Content) {
		t.Error("the event is still part of its frame")
	}
	if ev.ID != testID || ev.Content != "hello" || len(ev.Tags) != 2 {
		t.Errorf("the copy differs: %v", ev)
	}
}

func TestParseEventMatchesOracleOnMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		b := AppendEvent(nil, randomEvent(r))
		for range r.IntN(3) {
			switch i := r.IntN(len(b)); r.IntN(3) {
			case 0:
				b[i] = byte(r.IntN(256))
			case 1:
				b = append(b[:i], b[i+1:]...)
			default:
				b = append(b[:i], append([]byte{`"\{}[],:0u`[r.IntN(10)]}, b[i:]...)...)
			}
		}
		checkAgainstOracle(t, b)
	}
}

func mustSign(t testing.TB, ev *nostr.Event) *nostr.Event {
	t.Helper()
	if err := ev.Sign("0000000000000000000000000000000000000000000000000000000000000001"); err != nil {
		t.Fatal(err)
	}
	return ev
}
