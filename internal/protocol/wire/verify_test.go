package wire

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/schnorr"
	"engramd/internal/protocol/schnorr/batch"
)

func TestVerify(t *testing.T) {
	fresh := func() *nostr.Event {
		return mustSign(t, &nostr.Event{Kind: 1, CreatedAt: 1700000000, Content: "a \"b\"\n\x01é", Tags: nostr.Tags{{"t", "\\"}}})
	}
	tests := []struct {
		name  string
		spoil func(ev *nostr.Event)
		want  error
	}{
		{"good", func(*nostr.Event) {}, nil},
		{"content changed", func(ev *nostr.Event) { ev.Content += "x" }, ErrID},
		{"tag changed", func(ev *nostr.Event) { ev.Tags[0][1] = "y" }, ErrID},
		{"other id", func(ev *nostr.Event) { ev.ID = testID }, ErrID},
		{"upper-case id", func(ev *nostr.Event) { ev.ID = strings.ToUpper(ev.ID) }, ErrID},
		{"id missing", func(ev *nostr.Event) { ev.ID = "" }, ErrID},
		{"other signature", func(ev *nostr.Event) { ev.Sig = testSig }, ErrSignature},
		{"signature changed", func(ev *nostr.Event) { ev.Sig = flip(ev.Sig) }, ErrSignature},
		{"upper-case signature", func(ev *nostr.Event) { ev.Sig = "AB" + ev.Sig[2:] }, ErrSignature},
		{"key not on the curve", func(ev *nostr.Event) { ev.PubKey = strings.Repeat("f", 64); ev.ID = ev.GetID() }, ErrSignature},
		{"signed by another", func(ev *nostr.Event) {
			ev.PubKey = "c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
			ev.ID = ev.GetID()
		}, ErrSignature},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev := fresh()
			tt.spoil(ev)
			if err := Verify(ev); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	if err := Verify(nil); !errors.Is(err, ErrID) {
		t.Errorf("no event: %v", err)
	}
}

// Whatever is wrong with some of them, each event gets the answer that it gets
// alone, in a number that is checked one by one, and in one that is not.
func TestVerifyAllAgreesWithVerify(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	good := make([]*nostr.Event, 305)
	for i := range good {
		good[i] = mustSign(t, &nostr.Event{Kind: 1, CreatedAt: 1700000000, Content: strconv.Itoa(i), Tags: nostr.Tags{}})
	}
	spoils := []func(ev *nostr.Event){
		func(ev *nostr.Event) { ev.Content += "x" },
		func(ev *nostr.Event) { ev.Sig = flip(ev.Sig) },
		func(ev *nostr.Event) { ev.Sig = ev.Sig[1:] },
		func(ev *nostr.Event) { ev.ID = "" },
		func(ev *nostr.Event) { ev.PubKey = strings.Repeat("f", 64); ev.ID = ev.GetID() },
	}
	for _, n := range []int{0, 1, 5, 300, len(good)} {
		for _, wrong := range []int{0, 1, 4, n} {
			events := slices.Clone(good[:n])
			for k := range min(wrong, n) {
				ev := *events[k]
				spoils[(k+r.IntN(len(spoils)))%len(spoils)](&ev)
				events[k] = &ev
			}
			r.Shuffle(n, func(i, j int) { events[i], events[j] = events[j], events[i] })
			if n > 3 {
				events[3] = nil
			}
			var v Verifier
			for _, atOnce := range []func([]schnorr.Signed) bool{batch.Hold, nil} {
				for i, err := range v.VerifyAll(events, atOnce) {
					if want := Verify(events[i]); fmt.Sprint(err) != fmt.Sprint(want) {
						t.Errorf("%d events, %d wrong: event %d: %v, want %v", n, wrong, i, err, want)
					}
				}
			}
		}
	}
}

func flip(sig string) string {
	if sig[127] == '0' {
		return sig[:127] + "1"
	}
	return sig[:127] + "0"
}

func TestVerifyAgreesWithGoNostr(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		ev := randomEvent(r)
		mustSign(t, ev)
		if err := Verify(ev); err != nil {
			t.Fatalf("%v: %v", ev, err)
		}
	}
}

// The tests below are named after faults of khatru 0.19.1 and go-nostr 0.52.3
// that would reach the relay through this package.

func TestKhatruFault_LongPubkeyPanics(t *testing.T) {
	for _, digits := range []int{0, 2, 62, 63, 65, 66, 128, 4096} {
		key := strings.Repeat("a", digits)
		if _, err := ParseEvent([]byte(with(1, `"pubkey":"`+key+`"`))); err == nil {
			t.Errorf("a pubkey of %d digits was parsed", digits)
		}
		// An event that never was JSON: Verify has to protect itself.
		ev := &nostr.Event{PubKey: key, Sig: testSig, Kind: 1}
		ev.ID = ev.GetID()
		if err := Verify(ev); !errors.Is(err, ErrSignature) {
			t.Errorf("a pubkey of %d digits: %v", digits, err)
		}
	}
}

func TestKhatruFault_LongSignaturePanics(t *testing.T) {
	for _, digits := range []int{0, 2, 126, 127, 129, 130, 256, 4096} {
		sig := strings.Repeat("a", digits)
		if _, err := ParseEvent([]byte(with(6, `"sig":"`+sig+`"`))); err == nil {
			t.Errorf("a signature of %d digits was parsed", digits)
		}
		ev := &nostr.Event{PubKey: testKey, Sig: sig, Kind: 1}
		ev.ID = ev.GetID()
		if err := Verify(ev); !errors.Is(err, ErrSignature) {
			t.Errorf("a signature of %d digits: %v", digits, err)
		}
	}
}

func TestKhatruFault_LongPubkeyPanicsInAuth(t *testing.T) {
	for _, i := range []int{1, 6} {
		bad := with(i, strings.Replace(members()[i], `:"`, `:"00`, 1))
		if _, err := ParseFrame([]byte(`["AUTH",`+bad+`]`), Limits{}); err == nil {
			t.Errorf("member %d was taken with two digits too many", i)
		}
	}
}

func TestKhatruFault_BareDTagPanics(t *testing.T) {
	for _, tags := range []string{`[["d"]]`, `[["e","x"],["d"]]`, `[["d","x"],["d"]]`} {
		if _, err := ParseEvent([]byte(with(4, `"tags":`+tags))); err == nil {
			t.Errorf("tags %s were taken", tags)
		}
	}
}

func TestKhatruFault_MalformedEventsAccepted(t *testing.T) {
	for name, in := range map[string]string{
		"upper-case hex":    with(1, `"pubkey":"`+strings.ToUpper(testKey)+`"`),
		"odd length hex":    with(0, `"id":"`+testID[1:]+`"`),
		"kind out of range": with(3, `"kind":65536`),
		"kind negative":     with(3, `"kind":-1`),
		"null tags":         with(4, `"tags":null`),
		"null in a tag":     with(4, `"tags":[["e",null]]`),
		"invalid UTF-8":     with(5, "\"content\":\"\xc3\x28\""),
	} {
		if _, err := ParseEvent([]byte(in)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestKhatruFault_MisspeltFilterKeyMatchesEverything(t *testing.T) {
	for _, in := range []string{`{"author":["x"]}`, `{"kind":[1]}`, `{"KINDS":[1]}`, `{"#pp":["x"]}`, `{"tags":{}}`} {
		if _, err := ParseFilter([]byte(in), Limits{}); err == nil {
			t.Errorf("%s was taken", in)
		}
	}
}

func TestKhatruFault_NullKindsIsNoConstraint(t *testing.T) {
	for _, key := range []string{"ids", "authors", "kinds", "#p", "since", "until", "limit", "search"} {
		if _, err := ParseFilter([]byte(`{"`+key+`":null}`), Limits{}); err == nil {
			t.Errorf("%s: null was taken", key)
		}
	}
}

func TestKhatruFault_EmptyListMeansAll(t *testing.T) {
	f, err := ParseFilter([]byte(`{"ids":[],"authors":[],"kinds":[],"#p":[]}`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if f.IDs == nil || f.Authors == nil || f.Kinds == nil || f.Tags["p"] == nil {
		t.Errorf("an empty list came out as none: %#v", f)
	}
}

func TestKhatruFault_SubIDEchoedUnescaped(t *testing.T) {
	sub := `x","EVIL`
	for _, got := range []string{
		string(AppendEOSE(nil, sub)), string(AppendClosed(nil, sub, "m")), string(AppendCount(nil, sub, 1)),
		string(AppendEventFrame(nil, sub, []byte("{}"))),
	} {
		if !strings.Contains(got, `"x\",\"EVIL"`) {
			t.Errorf("not escaped: %s", got)
		}
	}
}
