package wire

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/nbd-wtf/go-nostr"
)

// within reports whether part shares memory with whole.
func within(whole, part string) bool {
	if part == "" {
		return false
	}
	start := uintptr(unsafe.Pointer(unsafe.StringData(whole)))
	at := uintptr(unsafe.Pointer(unsafe.StringData(part)))
	return at >= start && at < start+uintptr(len(whole))
}

func TestAppendEventIsCanonical(t *testing.T) {
	ev := &nostr.Event{
		ID: testID, PubKey: testKey, Sig: testSig, Kind: 1, CreatedAt: 1700000000,
		Tags:    nostr.Tags{{"d", ""}, {"t", "a\"b"}},
		Content: "é/<>&\u2028\x7f\x01\n",
	}
	want := `{"id":"` + testID + `","pubkey":"` + testKey + `","created_at":1700000000,"kind":1,` +
		`"tags":[["d",""],["t","a\"b"]],"content":"é/<>&` + "\u2028\x7f" + `\u0001\n","sig":"` + testSig + `"}`
	got := AppendEvent([]byte("kept"), ev)
	if string(got) != "kept"+want {
		t.Errorf("got  %s\nwant kept%s", got, want)
	}
	got = got[len("kept"):]
	if string(got[IDStart:IDEnd]) != testID || string(got[PubKeyStart:PubKeyEnd]) != testKey {
		t.Error("id or pubkey is not where the store looks for it")
	}
	if IDStart != 7 || IDEnd != 71 {
		t.Error("stored events have their id at bytes 7 to 71")
	}
}

// What AppendEvent writes, ParseEvent, go-nostr and encoding/json read back,
// and the id of what is read is go-nostr's of the original.
func TestAppendEventRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		ev := randomEvent(r)
		ev.ID = ev.GetID()
		b := AppendEvent(nil, ev)
		back, err := ParseEvent(b)
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if !equalEvents(ev, back) {
			t.Fatalf("%v came back as %v", ev, back)
		}
		if again := AppendEvent(nil, back); string(again) != string(b) {
			t.Fatalf("not stable:\n%s\n%s", b, again)
		}
		if id := ID(back); id != ev.ID {
			t.Fatalf("ID %s, go-nostr says %s for %s", id, ev.ID, b)
		}
		var theirs nostr.Event
		if err := json.Unmarshal(b, &theirs); err != nil || !equalEvents(ev, &theirs) {
			t.Fatalf("go-nostr reads %s as %v (%v)", b, &theirs, err)
		}
	}
}

func TestAnswers(t *testing.T) {
	sub := "a\"b\\c\n\u2028"
	quoted := `"a\"b\\c\n` + "\u2028" + `"`
	tests := []struct{ name, got, want string }{
		{"event", string(AppendEventFrame(nil, sub, []byte(`{"id":1}`))), `["EVENT",` + quoted + `,{"id":1}]`},
		{"ok", string(AppendOK(nil, testID, true, "")), `["OK","` + testID + `",true,""]`},
		{"not ok", string(AppendOK(nil, `"`, false, "invalid: \"x\"")), `["OK","\"",false,"invalid: \"x\""]`},
		{"eose", string(AppendEOSE(nil, sub)), `["EOSE",` + quoted + `]`},
		{"eose with a hint", string(AppendEOSE(nil, "s", "finish")), `["EOSE","s",["finish"]]`},
		{"eose with hints", string(AppendEOSE(nil, "s", "more", "x")), `["EOSE","s",["more","x"]]`},
		{"closed", string(AppendClosed(nil, sub, "error: x")), `["CLOSED",` + quoted + `,"error: x"]`},
		{"negentropy", string(AppendNegErr(nil, sub, "blocked: x")), `["NEG-ERR",` + quoted + `,"blocked: x"]`},
		{"negentropy's message", string(AppendNegMsg(nil, sub, []byte{0x61, 0, 0xff})), `["NEG-MSG",` + quoted + `,"6100ff"]`},
		{"notice", string(AppendNotice(nil, "a\x00b")), `["NOTICE","a\u0000b"]`},
		{"count", string(AppendCount(nil, "s", 12)), `["COUNT","s",{"count":12}]`},
		{"auth", string(AppendAuthChallenge(nil, "c")), `["AUTH","c"]`},
		{"appends", string(AppendNotice([]byte("x"), "y")), `x["NOTICE","y"]`},
		{"mends invalid UTF-8", string(AppendNotice(nil, "a\xffb")), `["NOTICE","a` + "\uFFFD" + `b"]`},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, tt.got, tt.want)
		}
		if at := strings.IndexByte(tt.got, '['); !json.Valid([]byte(tt.got[at:])) {
			t.Errorf("%s: %s is not JSON", tt.name, tt.got)
		}
	}
}
