package policy

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
)

// hand is a clock that a test moves.
type hand struct{ at time.Time }

func (h *hand) now() time.Time { return h.at }

// from returns a context of a client.
func from(t *testing.T, who fairness.Who) context.Context { return fairness.With(t.Context(), who) }

// checkFrom is check for a client.
func checkFrom(t *testing.T, p *Policy, who fairness.Who, ev *nostr.Event, want string) {
	t.Helper()
	rejected, msg := p.RejectEvent(from(t, who), ev)
	if rejected != (want != "") || !strings.HasPrefix(msg, want) {
		t.Errorf("%+v: %v %q, want %q", who, rejected, msg, want)
	}
}

// tagged is a note with n tags that are indexed, and one that is not.
func tagged(key string, n int) *nostr.Event {
	ev := note(key)
	ev.Tags = nostr.Tags{{"alt", "no row"}, {"t"}}
	for i := range n {
		ev.Tags = append(ev.Tags, nostr.Tag{"t", fmt.Sprint(i)})
	}
	return ev
}

func TestKeyRate(t *testing.T) {
	clock := &hand{start}
	p := mustPolicy(t, Options{Rates: Rates{Key: fairness.Rate{PerSecond: 2, Burst: 3}}, Clock: clock.now})
	const limited = "rate-limited: one key may write 2 events per second, 3 at once, here"
	for range 3 {
		check(t, p, note(agentKey), "")
	}
	check(t, p, note(agentKey), limited)
	check(t, p, note(strangerKey), "")
	clock.at = clock.at.Add(500 * time.Millisecond)
	check(t, p, note(agentKey), "")
	check(t, p, note(agentKey), limited)
	clock.at = clock.at.Add(time.Hour)
	for range 3 {
		check(t, p, note(agentKey), "")
	}
	check(t, p, note(agentKey), limited)
}

// What another rule refuses costs nothing.
func TestRefusedEventsCostNothing(t *testing.T) {
	p := mustPolicy(t, Options{Rates: Rates{Key: fairness.Rate{PerSecond: 1e-9, Burst: 1}}, BannedKinds: []int{7}})
	for range 5 {
		check(t, p, withKind(7, note(agentKey)), "blocked: ")
	}
	check(t, p, note(agentKey), "")
	check(t, p, note(agentKey), "rate-limited: ")
}

func TestShareRate(t *testing.T) {
	p := mustPolicy(t, Options{Rates: Rates{Share: fairness.Rate{PerSecond: 1e-9, Burst: 1}}})
	const limited = "rate-limited: one address may write 1e-09 events per second, 1 at once, here"
	for _, step := range []struct {
		who  fairness.Who
		want string
	}{
		{fairness.Who{Share: "192.0.2.1", Conn: 1}, ""},
		{fairness.Who{Share: "192.0.2.1", Conn: 1}, limited},
		{fairness.Who{Share: "192.0.2.1", Conn: 2}, limited},
		{fairness.Who{Share: "192.0.2.2", Conn: 3}, ""},
		{fairness.Who{Share: "2001:db8:1::/48", Part: "2001:db8:1:1::/64", Conn: 4}, ""},
		{fairness.Who{Share: "2001:db8:1::/48", Part: "2001:db8:1:2::/64", Conn: 5}, limited},
		{fairness.Who{Share: "key " + agentKey, Conn: 6}, ""},
		{fairness.Who{Share: fairness.Local, Conn: 7}, ""},
		{fairness.Who{Share: fairness.Local, Conn: 8}, limited},
		{fairness.Who{Share: "127.0.0.1", Conn: 9, Exempt: true}, ""},
		{fairness.Who{Share: "127.0.0.1", Conn: 9, Exempt: true}, ""},
		{fairness.Who{}, ""}, // the relay itself
		{fairness.Who{}, ""},
	} {
		checkFrom(t, p, step.who, note(agentKey), step.want)
	}
}

// Rows of the tag index are charged to the author, whoever brings his events,
// and to who brings them, whoever wrote them.
func TestRowRate(t *testing.T) {
	clock := &hand{start}
	p := mustPolicy(t, Options{Rates: Rates{Rows: fairness.Rate{PerSecond: 10, Burst: 100}}, Clock: clock.now})
	const key, address = "rate-limited: one key may write 10 indexed tags per second, 100 at once, here", "rate-limited: one address may write 10 indexed tags"
	a, b, c := fairness.Who{Share: "192.0.2.1", Conn: 1}, fairness.Who{Share: "192.0.2.2", Conn: 2}, fairness.Who{Share: "192.0.2.3", Conn: 3}
	checkFrom(t, p, a, tagged(agentKey, 60), "")
	checkFrom(t, p, b, tagged(agentKey, 60), key)
	checkFrom(t, p, b, tagged(agentKey, 40), "")
	checkFrom(t, p, c, tagged(agentKey, 1), key)
	checkFrom(t, p, c, tagged(agentKey, 0), "") // what makes no rows
	checkFrom(t, p, a, tagged(strangerKey, 41), address)
	checkFrom(t, p, a, tagged(strangerKey, 40), "")
	checkFrom(t, p, a, tagged(strangerKey, 1), address)
	checkFrom(t, p, fairness.Who{}, tagged(agentKey, 4000), "")
	checkFrom(t, p, fairness.Who{Share: "127.0.0.1", Exempt: true}, tagged(agentKey, 4000), "")
	clock.at = clock.at.Add(time.Second)
	checkFrom(t, p, a, tagged(agentKey, 10), "")
	checkFrom(t, p, a, tagged(agentKey, 1), address)
	// An event of more than a burst is not for ever too large.
	clock.at = clock.at.Add(time.Hour)
	checkFrom(t, p, a, tagged(agentKey, 200), "")
	checkFrom(t, p, a, tagged(agentKey, 200), address)
}

func TestRatesAreOffByDefault(t *testing.T) {
	p := mustPolicy(t, Options{})
	for range 5000 {
		checkFrom(t, p, fairness.Who{Share: "192.0.2.1", Conn: 1}, note(agentKey), "")
	}
	if len(p.hooks) != 11 {
		t.Error("budgets are looked at that nothing limits")
	}
}

func TestReloadKeepsWhatWasUsedUp(t *testing.T) {
	clock := &hand{start}
	o := Options{Rates: Rates{Key: fairness.Rate{PerSecond: 1, Burst: 2}}, Clock: clock.now}
	p := mustPolicy(t, o)
	check(t, p, note(agentKey), "")
	check(t, p, note(agentKey), "")
	again, err := p.Reload(o)
	if err != nil {
		t.Fatal(err)
	}
	check(t, again, note(agentKey), "rate-limited: ")
	o.Rates.Key = fairness.Rate{PerSecond: 10, Burst: 5}
	faster, err := again.Reload(o)
	if err != nil {
		t.Fatal(err)
	}
	check(t, faster, note(agentKey), "rate-limited: one key may write 10 events")
	clock.at = clock.at.Add(time.Second)
	for range 5 {
		check(t, faster, note(agentKey), "")
	}
	check(t, faster, note(agentKey), "rate-limited: ")
}

// Whoever has an author's event may send it again and again: that must not use
// up what the author may write.
func TestSendingAnotherOnesEventAgainCostsTheSender(t *testing.T) {
	p := mustPolicy(t, Options{Rates: Rates{Rows: fairness.Rate{PerSecond: 1e-9, Burst: 100}, Key: fairness.Rate{PerSecond: 1e-9, Burst: 2}}})
	author, stranger := fairness.Who{Share: "192.0.2.1", Conn: 1}, fairness.Who{Share: "192.0.2.2", Conn: 2}
	ev := tagged(agentKey, 50)
	checkFrom(t, p, author, ev, "")
	for range 2 {
		checkFrom(t, p, stranger, ev, "")
		p.NotStored(stranger, ev) // a duplicate
	}
	checkFrom(t, p, stranger, ev, "rate-limited: one address")
	checkFrom(t, p, author, tagged(agentKey, 50), "")
	checkFrom(t, p, author, note(agentKey), "rate-limited: one key may write 1e-09 events")
}

// What is not stored makes no rows.
func TestEphemeralEventsMakeNoRows(t *testing.T) {
	p := mustPolicy(t, Options{Rates: Rates{Rows: fairness.Rate{PerSecond: 1e-9, Burst: 10}}})
	for range 5 {
		checkFrom(t, p, fairness.Who{Share: "192.0.2.1", Conn: 1}, withKind(20001, tagged(agentKey, 10)), "")
	}
}

// Ephemeral events that somebody else sends once more do not use up what their
// author may write.
func TestSendingAnEphemeralEventAgainCostsTheSender(t *testing.T) {
	author, stranger := fairness.Who{Share: "192.0.2.1", Conn: 1}, fairness.Who{Share: "192.0.2.2", Conn: 2}
	reader := gate.Reader{}
	p := mustPolicy(t, Options{
		Rates:  Rates{Key: fairness.Rate{PerSecond: 1e-9, Burst: 2}},
		Reader: func(context.Context) gate.Reader { return reader },
	})
	const limited = "rate-limited: one key may write 1e-09 events"
	ev := withKind(20001, note(agentKey))
	for range 2 {
		checkFrom(t, p, stranger, ev, "")
	}
	checkFrom(t, p, stranger, ev, limited)
	reader = gate.NewReader(strangerKey) // another key gives no right to the author's budget
	checkFrom(t, p, stranger, ev, limited)
	reader = gate.Reader{}
	// The author, from an address of his own and without a proof, has what an
	// address has, and all else is his.
	for range 2 {
		checkFrom(t, p, author, ev, "")
	}
	checkFrom(t, p, author, ev, limited)
	checkFrom(t, p, author, note(agentKey), "")
	// With a proof he has what is left of his own, even where a stranger has
	// used up the address.
	reader = gate.NewReader(agentKey)
	checkFrom(t, p, stranger, ev, "")
	checkFrom(t, p, stranger, ev, limited)
	checkFrom(t, p, fairness.Who{}, ev, limited) // the relay's own work has no address
}

// TestRatesOfOneNodeOfSeveral: the policy's rates are divided, and those of the
// policy that takes its place.
func TestRatesOfOneNodeOfSeveral(t *testing.T) {
	o := Options{Rates: Rates{Key: fairness.Rate{PerSecond: 0.001, Burst: 6}}}
	p := mustPolicy(t, o)
	p.SetPart(3)
	for range 2 {
		check(t, p, note(agentKey), "")
	}
	check(t, p, note(agentKey), "rate-limited:")
	next, err := p.Reload(Options{Rates: o.Rates, Clock: clockAt(start)})
	if err != nil {
		t.Fatal(err)
	}
	var live Live
	live.SetPart(2) // nothing yet
	live.Set(next)
	check(t, &live, note(strangerKey), "")
	check(t, &live, note(strangerKey), "")
	check(t, &live, note(strangerKey), "rate-limited:")
	live.SetPart(1)
	for range 6 {
		check(t, &live, note(ownerKey), "")
	}
	check(t, &live, note(ownerKey), "rate-limited:")
}
