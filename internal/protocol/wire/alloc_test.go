package wire

import "testing"

// maxFrameAllocs is how often ParseFrame may allocate for an EVENT without
// escapes: the scanner, the copy of the frame, the event, its tags, and their
// strings. Checking the event and answering into a buffer that is there
// allocate nothing.
const maxFrameAllocs = 5

func TestFrameAllocations(t *testing.T) {
	in := []byte(`["EVENT",` + object(members()...) + `]`)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := ParseFrame(in, Limits{}); err != nil {
			t.Fatal(err)
		}
	}); n > maxFrameAllocs {
		t.Errorf("ParseFrame allocates %v times for an EVENT, at most %d are needed", n, maxFrameAllocs)
	}
}

func TestVerifyAllocations(t *testing.T) {
	var v Verifier
	ev := noteEvent(t)
	if n := testing.AllocsPerRun(100, func() {
		if err := v.Verify(ev); err != nil {
			t.Fatal(err)
		}
	}); n > maxVerifyAllocs {
		t.Errorf("Verify allocates %v times, at most %d are needed", n, maxVerifyAllocs)
	}
}

func TestAnswerAllocations(t *testing.T) {
	buf := make([]byte, 0, 1<<10)
	if n := testing.AllocsPerRun(100, func() {
		buf = AppendOK(buf[:0], testID, true, "duplicate: have it")
		buf = AppendEOSE(buf[:0], "sub", "finish")
	}); n != 0 {
		t.Errorf("answers allocate %v times", n)
	}
}

// BenchmarkFrameIn is what an EVENT costs from its bytes to its being known as
// good, by an author who is known.
func BenchmarkFrameIn(b *testing.B) {
	var v Verifier
	in := append(append([]byte(`["EVENT",`), AppendEvent(nil, noteEvent(b))...), ']')
	b.ReportAllocs()
	for b.Loop() {
		f, err := ParseFrame(in, Limits{})
		if err == nil {
			err = v.Verify(f.Event)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
