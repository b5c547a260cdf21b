package memory

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

// fakeLinks takes numbers without a state.
type fakeLinks struct {
	next int64
	took [][]string // of each event that was sent, the relays
}

func (f *fakeLinks) Ready(context.Context) {}

func (f *fakeLinks) Take(_ context.Context, count int, seal func(int, writerlog.Link) (client.Sealed, error)) (bool, error) {
	for i := range count {
		l := writerlog.Link{W: "0a1b2c3d", N: f.next}
		if l.N > 0 {
			l.Prev = strings.Repeat("0f", 32)
		}
		ev, err := seal(i, l)
		if err != nil {
			return false, err
		}
		if ev.Event != nil {
			f.next++
		}
	}
	return true, nil
}

func (f *fakeLinks) Sent(_ context.Context, _ *nostr.Event, _ client.Fate, took []string) {
	f.took = append(f.took, took)
}

// TestTooLargeForALink: a text that fits alone but not with a link is written
// without one and takes no number, and the next write continues the log. The
// relays that accepted an event are reported.
func TestTooLargeForALink(t *testing.T) {
	at := []string{gated(t)}
	log := &fakeLinks{}
	m := agentOf(t, "agent", "owner", at, func(o *client.Options) { o.Links = func(*client.Client, string) client.Links { return log } })
	full := strings.Repeat("x", nipae.MaxBody-100)
	for i, text := range []string{"one", full, "two"} {
		if _, _, err := m.Set(t.Context(), "mem/a", text, SetOptions{}); err != nil {
			t.Fatal(err)
		}
		reading, _, err := m.reading(t.Context(), "mem/a")
		if err != nil {
			t.Fatal(err)
		}
		link, chained := writerlog.Of(*reading.Head)
		if got, _ := reading.Head.Body.Text(); got != text || chained != (text != full) || chained && link.N != int64(i/2) {
			t.Errorf("write %d: %d bytes, chained %v as %+v", i, len(got), chained, link)
		}
	}
	if log.next != 2 {
		t.Errorf("%d numbers are taken", log.next)
	}
	for _, took := range log.took {
		if !slices.Equal(took, at) {
			t.Errorf("taken by %v", took)
		}
	}
	// A log unit has its addresses beside its text.
	if _, _, err := m.Unchained().Set(t.Context(), "mem/sys/log/0a1b2c3d/0", "unit", SetOptions{Addresses: []byte(`["AA"]`)}); err != nil {
		t.Fatal(err)
	}
	if reading, _, err := m.reading(t.Context(), "mem/sys/log/0a1b2c3d/0"); err != nil {
		t.Error(err)
	} else if got, _ := reading.Head.Body.Member(writerlog.UnitMember); string(got) != `["AA"]` {
		t.Errorf("its addresses are %s", got)
	}
	// An event without a link begins no log.
	sent := len(log.took)
	body, err := nipae.NewMemory("mem/b", "x")
	if err != nil {
		t.Fatal(err)
	}
	unchained := m.Unchained()
	events, err := unchained.Compose(t.Context(), []Draft{{Body: body, At: 1_700_000_000}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unchained.Publish(t.Context(), events[0]); err != nil || len(log.took) != sent || log.next != 2 {
		t.Errorf("%v, %d numbers, %d sent", err, log.next, len(log.took))
	}
}
