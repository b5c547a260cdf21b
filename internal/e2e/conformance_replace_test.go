package e2e

import (
	"fmt"
	"testing"

	"engramd/internal/e2e/relaytest"

	"github.com/nbd-wtf/go-nostr"
)

// The messages of 40-relay-behaviour, EVENT, word by word.
const (
	duplicate = "duplicate: already have this event"
	stale     = "duplicate: a newer version is stored"
	deleted   = "blocked: deleted by its author"
)

// wantStale publishes an event that must lose to the head.
func wantStale(t *testing.T, c *peer, what string, ev *nostr.Event) {
	t.Helper()
	if ok := c.publish(ev); ok.True || ok.Message != stale {
		t.Errorf("%s: OK %v %q, want false %q", what, ok.True, ok.Message, stale)
	}
}

// wantDeleted publishes an event that must be refused because it was deleted.
func wantDeleted(t *testing.T, c *peer, what string, ev *nostr.Event) {
	t.Helper()
	if ok := c.publish(ev); ok.True || ok.Message != deleted {
		t.Errorf("%s: OK %v %q, want false %q", what, ok.True, ok.Message, deleted)
	}
}

func conformReplaceable(t *testing.T, relay *relaytest.Child) {
	k, other := relaytest.NewKey(331), relaytest.NewKey(332)
	c := dial(t, relay)
	base := now() - 7200
	for _, kind := range []int{0, 3, 10003, 19999} {
		older := relaytest.Sign(k, kind, base, "older")
		newer := relaytest.Sign(k, kind, base+60, "newer", tag("t", "x"))
		others := relaytest.Sign(other, kind, base-60, "somebody else's")
		head := relaytest.Filter{"kinds": []int{kind}, "authors": []string{k.Pub, other.Pub}}
		c.store(older, others, newer)
		what := fmt.Sprintf("kind %d", kind)
		wantIDs(t, what+": the newer replaces the older of its author", c.query(head).IDs(), ids(newer, others))
		wantIDs(t, what+": a replaced event is not there by id", c.query(byID(older)).IDs(), nil)
		wantStale(t, c, what+": the older again", older)
		wantStale(t, c, what+": one that was never seen and is older", relaytest.Sign(k, kind, base+30, "between"))
		wantIDs(t, what+": after refusals", c.query(head).IDs(), ids(newer, others))
		if ok := c.publish(newer); !ok.True || !hasPrefix(ok.Message, "duplicate: ") {
			t.Errorf("%s: the head again: OK %v %q", what, ok.True, ok.Message)
		}
	}
	// Replacement in the other order of arrival, and the tie.
	late := relaytest.Sign(k, 10004, base, "late")
	head := relaytest.Sign(k, 10004, base+1, "head")
	c.store(head)
	wantStale(t, c, "an older one that arrives late", late)
	low, high := tie(k, 10005, base)
	c.store(high, low)
	wantIDs(t, "at the same time the lower id wins", c.query(byID(low, high)).IDs(), ids(low))
	wantStale(t, c, "the higher id at the same time", high)
	low, high = tie(k, 10006, base)
	c.store(low)
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
	c := dial(t, relay)
	base := now() - 7200
	older := relaytest.Sign(k, 30000, base, "older", tag("d", "1"))
	newer := relaytest.Sign(k, 30000, base+60, "newer", tag("d", "1"))
	second := relaytest.Sign(k, 30000, base+30, "another address", tag("d", "2"))
	empty := relaytest.Sign(k, 30000, base+20, "no d", tag("t", "x"))
	c.store(older, newer, second, empty)
	mine := relaytest.Filter{"kinds": []int{30000}, "authors": []string{k.Pub}}
	wantIDs(t, "one head for each address", c.query(mine).IDs(), ids(newer, second, empty))
	wantIDs(t, "by d", c.query(relaytest.Filter{"kinds": []int{30000}, "authors": []string{k.Pub}, "#d": []string{"1"}}).IDs(), ids(newer))
	wantStale(t, c, "the older version again", older)
	wantStale(t, c, "an older one never seen", relaytest.Sign(k, 30000, base+59, "between", tag("d", "1")))
	wantStale(t, c, "an empty d is the address without d", relaytest.Sign(k, 30000, base+19, "", tag("d", "")))
	low, high := tie(k, 30001, base, tag("d", "tie"))
	c.store(high, low)
	wantIDs(t, "at the same time the lower id wins", c.query(byID(low, high)).IDs(), ids(low))
	first := relaytest.Sign(k, 30002, base, "the first d counts", tag("d", "x"), tag("d", "y"))
	c.store(first, relaytest.Sign(k, 30002, base+1, "newer", tag("d", "y")))
	wantIDs(t, "the first d is the address", c.query(byID(first)).IDs(), ids(first))
	// Ids are 64 hex digits and d may look like one: values must not be mixed up.
	hex, upper := k.Pub, "ABCDEF"+k.Pub[6:]
	c.store(relaytest.Sign(k, 30003, base, "", tag("d", hex)), relaytest.Sign(k, 30003, base, "", tag("d", upper)))
	if n := c.count(relaytest.Filter{"kinds": []int{30003}, "authors": []string{k.Pub}, "#d": []string{hex}}); n != 1 {
		t.Errorf("a d that is hex: %d events", n)
	}
	if n := c.count(relaytest.Filter{"kinds": []int{30003}, "authors": []string{k.Pub}}); n != 2 {
		t.Errorf("d values that differ in case: %d events", n)
	}
}
