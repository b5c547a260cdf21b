package conformance

import (
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// wantStale publishes an event that must lose to the head.
func wantStale(t *testing.T, c *rig.Peer, what string, ev *nostr.Event) {
	t.Helper()
	if ok := c.MustPublish(ev); ok.True || ok.Message != rig.Stale {
		t.Errorf("%s: OK %v %q, want false %q", what, ok.True, ok.Message, rig.Stale)
	}
}

// wantDeleted publishes an event that must be refused because it was deleted.
func wantDeleted(t *testing.T, c *rig.Peer, what string, ev *nostr.Event) {
	t.Helper()
	if ok := c.MustPublish(ev); ok.True || ok.Message != rig.Deleted {
		t.Errorf("%s: OK %v %q, want false %q", what, ok.True, ok.Message, rig.Deleted)
	}
}

func conformReplaceable(t *testing.T, relay *relaytest.Child) {
	k, other := relaytest.NewKey(331), relaytest.NewKey(332)
	c := rig.Dial(t, relay)
	base := rig.Now() - 7200
	for _, kind := range []int{0, 3, 10003, 19999} {
		older := relaytest.Sign(k, kind, base, "older")
		newer := relaytest.Sign(k, kind, base+60, "newer", rig.Tag("t", "x"))
		others := relaytest.Sign(other, kind, base-60, "somebody else's")
		head := relaytest.Filter{"kinds": []int{kind}, "authors": []string{k.Pub, other.Pub}}
		c.Store(older, others, newer)
		what := fmt.Sprintf("kind %d", kind)
		rig.WantIDs(t, what+": the newer replaces the older of its author", c.MustQuery(head).IDs(), rig.IDs(newer, others))
		rig.WantIDs(t, what+": a replaced event is not there by id", c.MustQuery(rig.ByID(older)).IDs(), nil)
		wantStale(t, c, what+": the older again", older)
		wantStale(t, c, what+": one that was never seen and is older", relaytest.Sign(k, kind, base+30, "between"))
		rig.WantIDs(t, what+": after refusals", c.MustQuery(head).IDs(), rig.IDs(newer, others))
		if ok := c.MustPublish(newer); !ok.True || !rig.HasPrefix(ok.Message, "duplicate: ") {
			t.Errorf("%s: the head again: OK %v %q", what, ok.True, ok.Message)
		}
	}
	// Replacement in the other order of arrival, and ties.
	late := relaytest.Sign(k, 10004, base, "late")
	head := relaytest.Sign(k, 10004, base+1, "head")
	c.Store(head)
	wantStale(t, c, "an older one that arrives late", late)
	low, high := tie(k, 10005, base)
	c.Store(high, low)
	rig.WantIDs(t, "at the same time the lower id wins", c.MustQuery(rig.ByID(low, high)).IDs(), rig.IDs(low))
	wantStale(t, c, "the higher id at the same time", high)
	low, high = tie(k, 10006, base)
	c.Store(low)
	wantStale(t, c, "the higher id, second", high)
}

// tie returns two events of one address and time, the lower id first.
func tie(k relaytest.Key, kind int, at int64, tags ...nostr.Tag) (low, high *nostr.Event) {
	low = relaytest.Sign(k, kind, at, "one", tags...)
	high = relaytest.Sign(k, kind, at, "other", tags...)
	if low.ID > high.ID {
		low, high = high, low
	}
	return low, high
}

func conformAddressable(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(341)
	c := rig.Dial(t, relay)
	base := rig.Now() - 7200
	older := relaytest.Sign(k, 30000, base, "older", rig.Tag("d", "1"))
	newer := relaytest.Sign(k, 30000, base+60, "newer", rig.Tag("d", "1"))
	second := relaytest.Sign(k, 30000, base+30, "another address", rig.Tag("d", "2"))
	empty := relaytest.Sign(k, 30000, base+20, "no d", rig.Tag("t", "x"))
	c.Store(older, newer, second, empty)
	mine := relaytest.Filter{"kinds": []int{30000}, "authors": []string{k.Pub}}
	rig.WantIDs(t, "one head for each address", c.MustQuery(mine).IDs(), rig.IDs(newer, second, empty))
	rig.WantIDs(t, "by d", c.MustQuery(relaytest.Filter{"kinds": []int{30000}, "authors": []string{k.Pub}, "#d": []string{"1"}}).IDs(), rig.IDs(newer))
	wantStale(t, c, "the older version again", older)
	wantStale(t, c, "an older one never seen", relaytest.Sign(k, 30000, base+59, "between", rig.Tag("d", "1")))
	wantStale(t, c, "an empty d is the address without d", relaytest.Sign(k, 30000, base+19, "", rig.Tag("d", "")))
	low, high := tie(k, 30001, base, rig.Tag("d", "tie"))
	c.Store(high, low)
	rig.WantIDs(t, "at the same time the lower id wins", c.MustQuery(rig.ByID(low, high)).IDs(), rig.IDs(low))
	first := relaytest.Sign(k, 30002, base, "the first d counts", rig.Tag("d", "x"), rig.Tag("d", "y"))
	c.Store(first, relaytest.Sign(k, 30002, base+1, "newer", rig.Tag("d", "y")))
	rig.WantIDs(t, "the first d is the address", c.MustQuery(rig.ByID(first)).IDs(), rig.IDs(first))
	// Ids are 64 hex digits and d may look like one: values must not be mixed up.
	hex, upper := k.Pub, "ABCDEF"+k.Pub[6:]
	c.Store(relaytest.Sign(k, 30003, base, "", rig.Tag("d", hex)), relaytest.Sign(k, 30003, base, "", rig.Tag("d", upper)))
	if n := c.MustCount(relaytest.Filter{"kinds": []int{30003}, "authors": []string{k.Pub}, "#d": []string{hex}}); n != 1 {
		t.Errorf("a d that is hex: %d events", n)
	}
	if n := c.MustCount(relaytest.Filter{"kinds": []int{30003}, "authors": []string{k.Pub}}); n != 2 {
		t.Errorf("d values that differ in case: %d events", n)
	}
}
