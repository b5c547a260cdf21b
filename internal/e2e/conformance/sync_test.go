package conformance

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip77"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// held is a client's own events.
type held struct {
	mu     sync.Mutex
	events map[string]*nostr.Event
}

func (h *held) Publish(_ context.Context, ev nostr.Event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events[ev.ID] = &ev
	return nil
}

func (h *held) QuerySync(_ context.Context, f nostr.Filter) (found []*nostr.Event, _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ev := range h.events {
		if f.Matches(ev) {
			found = append(found, ev)
		}
	}
	return found, nil
}

func (h *held) QueryEvents(ctx context.Context, f nostr.Filter) (chan *nostr.Event, error) {
	found, err := h.QuerySync(ctx, f)
	ch := make(chan *nostr.Event, len(found))
	for _, ev := range found {
		ch <- ev
	}
	close(ch)
	return ch, err
}

// TestSyncWithGoNostr: go-nostr's NIP-77 client and the relay end with the same
// events, when each has some that the other lacks.
func TestSyncWithGoNostr(t *testing.T) {
	relay := rig.Start(t, rig.Exclude)
	p := rig.Dial(t, relay)
	k := relaytest.NewKey(7701)
	mine := &held{events: map[string]*nostr.Event{}}
	var want []string
	for i := range 400 {
		ev := relaytest.Note(k, rig.Now()-int64(i/3), string(rune('a'+i%26)), rig.Tag("n", string(rune('0'+i/26))))
		want = append(want, ev.ID)
		if i%10 != 0 {
			mine.events[ev.ID] = ev
		}
		if i%7 != 0 || i%10 == 0 {
			p.Store(ev)
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	filter := nostr.Filter{Kinds: []int{relaytest.KindNote}, Authors: []string{k.Pub}}
	ctx, cancel := context.WithTimeout(t.Context(), relaytest.Patience)
	defer cancel()
	if err := nip77.NegentropySync(ctx, mine, relay.URL, filter, nip77.Both); err != nil {
		t.Fatal(err)
	}
	for _, id := range want {
		if mine.events[id] == nil {
			t.Errorf("the client lacks %s", id)
		}
	}
	var stored []string
	for _, ev := range p.MustQuery(relaytest.Filter{"kinds": []int{relaytest.KindNote}, "authors": []string{k.Pub}}).Events {
		stored = append(stored, ev.ID)
	}
	if slices.Sort(stored); !slices.Equal(stored, want) {
		t.Errorf("the relay has %d of %d events", len(stored), len(want))
	}
}
