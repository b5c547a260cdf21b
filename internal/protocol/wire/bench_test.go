package wire

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// noteEvent is an ordinary event of about 500 bytes.
func noteEvent(b testing.TB) *nostr.Event {
	return mustSign(b, &nostr.Event{
		Kind: 1, CreatedAt: 1700000000, Content: strings.Repeat("words ", 10),
		Tags: nostr.Tags{{"p", testKey}, {"t", "nostr"}},
	})
}

// engramEvent is one of the largest body.
func engramEvent(b *testing.B) *nostr.Event {
	return mustSign(b, &nostr.Event{
		Kind: 30174, CreatedAt: 1700000000, Content: strings.Repeat("AgAA", 21868),
		Tags: nostr.Tags{{"d", testID}, {"p", testKey}},
	})
}

// maxParseAllocs is how often ParseEvent may allocate for an event without
// escapes: the copy of the frame, the event, its tags, and their strings.
const maxParseAllocs = 4

func TestParseEventAllocations(t *testing.T) {
	in := []byte(object(members()...))
	if n := testing.AllocsPerRun(100, func() {
		if _, err := ParseEvent(in); err != nil {
			t.Fatal(err)
		}
	}); n > maxParseAllocs {
		t.Errorf("ParseEvent allocates %v times, at most %d are needed", n, maxParseAllocs)
	}
}

func BenchmarkParseEvent(b *testing.B) {
	for name, ev := range map[string]*nostr.Event{"note": noteEvent(b), "engram": engramEvent(b)} {
		in := AppendEvent(nil, ev)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ParseEvent(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseFrameReq(b *testing.B) {
	in := []byte(`["REQ","sub",{"kinds":[30174],"authors":["` + testKey + `"],"#d":["` + testID + `"],"#p":["` + testKey + `"]}]`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseFrame(in, Limits{Filters: 16, FilterValues: 2000}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendEvent(b *testing.B) {
	for name, ev := range map[string]*nostr.Event{"note": noteEvent(b), "engram": engramEvent(b)} {
		buf := AppendEvent(nil, ev)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				buf = AppendEvent(buf[:0], ev)
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	for name, ev := range map[string]*nostr.Event{"note": noteEvent(b), "engram": engramEvent(b)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := Verify(ev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
