package outbox

import (
	"context"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// TestOneOfSeveralDelivers: events that are queued while this node does not
// deliver wait, whoever queued them, and are sent in order once it does; those
// that other nodes delivered meanwhile are not.
func TestOneOfSeveralDelivers(t *testing.T) {
	r := newRig(t)
	r.box = New(r.o)
	other := New(r.o) // of another node, which has the same rows
	t.Cleanup(other.Close)
	tell := func(_ context.Context, ev *nostr.Event) error { r.told <- ev.Content; return nil }
	run := func(b *Outbox) (end func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); b.Run(ctx, tell) }()
		return func() { cancel(); <-ended }
	}
	r.say("c", 1, true)
	r.say("c", 2, true)
	wantGot(t, "this relay, which does not deliver,", r.ours.contents())
	end := run(r.box)
	r.empty()
	end()
	wantGot(t, "this relay", r.ours.contents(), "c1", "c2")
	r.say("c", 3, true)
	wantGot(t, "this relay, which delivers no more,", r.ours.contents(), "c1", "c2")
	end = run(other)
	r.empty()
	end()
	r.say("c", 4, true)
	end = run(r.box)
	r.empty()
	end()
	wantGot(t, "this relay", r.ours.contents(), "c1", "c2", "c3", "c4")
	if len(r.told) != 4 {
		t.Errorf("told of %d deliveries", len(r.told))
	}
}
