package outbox

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/nip01"
)

var bob = storetest.NewKey("bob")

// give publishes an event of a contract by a key; its content contains text.
func (r *rig) give(k storetest.Key, kind int, contract, text string, p string, local bool) *nostr.Event {
	r.t.Helper()
	r.timers.clock.Add(time.Second)
	ev := k.Sign(kind, r.timers.clock.Now().Unix()-storetest.Start.Unix(), text, nostr.Tag{"d", contract}, nostr.Tag{"p", p})
	if err := r.box.Publish(r.t.Context(), ev, local); err != nil {
		r.t.Fatal(err)
	}
	return ev
}

// starting returns the contents that start with one of the prefixes, in order.
func starting(contents []string, with ...string) (out []string) {
	for _, c := range contents {
		if slices.ContainsFunc(with, func(w string) bool { return strings.HasPrefix(c, w) }) {
			out = append(out, c)
		}
	}
	return out
}

// noted returns the refusals of an event, as TARGET REASON.
func (r *rig) noted(ev *nostr.Event) (out []string) {
	r.t.Helper()
	id, err := hex.DecodeString(ev.ID)
	if err != nil {
		r.t.Fatal(err)
	}
	all, err := r.store.ContractRefusals(r.t.Context(), [][]byte{id})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, x := range all[0] {
		out = append(out, fmt.Sprint(strings.Replace(x.Target, "ws://127.0.0.1", "north", 1)[:min(5, len(x.Target))], " ", x.Reason, " ", x.Final))
	}
	return out
}

// TestOnePartyHoldsUpNobodyElse: a relay that refuses one party's events gets
// all of the other's, here and elsewhere, and later those that it refused, each
// author's in order and once.
func TestOnePartyHoldsUpNobodyElse(t *testing.T) {
	for _, here := range []bool{true, false} {
		t.Run(fmt.Sprint("here ", here), func(t *testing.T) {
			north := startRelay(t)
			r := newRig(t, north.url())
			if here {
				r.ours.set(func(ev *nostr.Event) relay.Answer {
					return map[bool]relay.Answer{true: {Why: nip01.Parse("rate-limited: slow down"), Outcome: "refused"}}[ev.PubKey == bob.Pub]
				})
			} else {
				north.refuse = func(ev *nostr.Event) string {
					return map[bool]string{true: "restricted: not you"}[ev.PubKey == bob.Pub]
				}
			}
			r.start()
			first := r.give(bob, 30090, "c", "b1", author.Pub, here)
			var want []string
			for i := range 5 {
				text := fmt.Sprintf("a%d", i)
				r.give(author, 30090, "c", text, bob.Pub, here)
				r.give(bob, 30090, "c", fmt.Sprintf("b%d", i+2), author.Pub, here)
				want = append(want, text)
			}
			until(t, north, "the other party's entries", func() bool { return len(north.got) == 5 })
			wantGot(t, "the relay", north.contents(), want...)
			r.timers.paused(t, 1)
			wantGot(t, "the first refusal", r.noted(first), map[bool]string{true: " rate-limited false", false: "north restricted false"}[here])
			r.ours.set(nil)
			north.set(func() { north.refuse = nil })
			r.empty()
			wantGot(t, "the relay", starting(north.contents(), "b"), "b1", "b2", "b3", "b4", "b5", "b6")
			if n := len(north.contents()); n != 11 {
				t.Errorf("it has %d", n)
			}
			wantGot(t, "refusals after delivery", r.noted(first))
		})
	}
}

// TestMovesKeepTheirOrder: a state waits for those it builds on, of either
// party; entries do not wait for a state that is refused, and a stranger's
// states under the same id delay nobody.
func TestMovesKeepTheirOrder(t *testing.T) {
	north, eve := startRelay(t), storetest.NewKey("eve")
	refuses := func(texts ...string) func() {
		return func() {
			north.refuse = func(ev *nostr.Event) string {
				return map[bool]string{true: "blocked: not that"}[slices.Contains(texts, ev.Content)]
			}
		}
	}
	r := newRig(t, north.url())
	north.set(refuses("s0 open", "s2 accepted"))
	r.start()
	r.give(eve, 30091, "c", "s0 open", bob.Pub, false)
	r.give(author, 30091, "c", "s1 open", author.Pub, false)
	r.give(bob, 30091, "c", "s2 accepted", author.Pub, false)
	r.give(bob, 30090, "c", "b1", author.Pub, false)
	r.give(author, 30091, "c", "s3 disputed", bob.Pub, false)
	r.give(author, 30090, "c", "a1", bob.Pub, false)
	r.give(eve, 30091, "c", "s4 cancelled", bob.Pub, false)
	until(t, north, "what builds on nothing refused", func() bool { return len(north.got) == 3 })
	wantGot(t, "the relay", north.contents(), "s1 open", "b1", "a1")
	north.set(refuses("s1 open", "s0 open"))
	r.timers.paused(t, 1)
	r.timers.pass(maxPause)
	r.until(north, "the moves", func() bool { return len(north.got) == 5 })
	wantGot(t, "the relay", north.contents(), "s1 open", "b1", "a1", "s2 accepted", "s3 disputed")
	north.set(refuses())
	r.empty()
	wantGot(t, "the stranger's", starting(north.contents(), "s0", "s4"), "s0 open", "s4 cancelled")
}

// TestOpenToNobodyComesFirst: an offer to anybody is delivered before the
// acceptance that builds on it.
func TestOpenToNobodyComesFirst(t *testing.T) {
	north := startRelay(t)
	north.refuse = func(ev *nostr.Event) string { return map[string]string{"s1 open": "blocked: no"}[ev.Content] }
	r := newRig(t, north.url())
	r.start()
	r.give(author, 30091, "c", "s1 open", author.Pub, false)
	r.give(bob, 30091, "c", "s2 accepted", author.Pub, false)
	r.give(author, 30090, "d", "elsewhere", bob.Pub, false)
	until(t, north, "the other contract", func() bool { return len(north.got) == 1 })
	r.timers.paused(t, 1)
	if north.tried != 2 {
		t.Errorf("%d attempts: the acceptance was sent before its offer", north.tried)
	}
	north.set(func() { north.refuse = nil })
	r.empty()
	wantGot(t, "the relay", north.contents(), "elsewhere", "s1 open", "s2 accepted")
}

// TestInvalidIsGivenUp: an event that a further relay calls invalid for an hour
// is no longer sent there, and the next one is; its author can be told. No
// other refusal is final.
func TestInvalidIsGivenUp(t *testing.T) {
	north := startRelay(t)
	north.refuse = func(ev *nostr.Event) string {
		return map[string]string{"a1": "invalid: too long for us", "b1": "blocked: no"}[ev.Content]
	}
	r := newRig(t, north.url())
	r.start()
	bad, blocked := r.give(author, 30090, "c", "a1", bob.Pub, false), r.give(bob, 30090, "c", "b1", author.Pub, false)
	r.give(author, 30090, "c", "a2", bob.Pub, false)
	until(t, north, "an attempt of each", func() bool { return north.tried == 2 })
	r.timers.paused(t, 1)
	r.timers.pass(giveUp - time.Minute)
	r.until(north, "an attempt within the hour", func() bool { return north.tried >= 4 })
	wantGot(t, "the relay within the hour", north.contents())
	r.timers.pass(maxPause)
	r.until(north, "the next entry", func() bool { return len(north.got) == 1 })
	wantGot(t, "the relay", north.contents(), "a2")
	wantGot(t, "noted of the invalid one", r.noted(bad), "north invalid true")
	wantGot(t, "noted of the blocked one", r.noted(blocked), "north blocked false")
	if r.counts.of("1 abandoned") != 1 {
		t.Errorf("counted %v", r.counts.n)
	}
	north.set(func() { north.refuse = nil })
	r.empty()
	wantGot(t, "the relay", north.contents(), "a2", "b1")
}

// counting counts the rows that the outbox reads.
type counting struct {
	*sqlite.Store
	rows atomic.Int64
}

func (c *counting) Outbox(ctx context.Context, target string, after int64, limit int) ([]store.OutboxItem, error) {
	items, err := c.Store.Outbox(ctx, target, after, limit)
	c.rows.Add(int64(len(items)))
	return items, err
}

// TestLongWaitCostsNobodyElse: a write does not wait for the reading of all
// events that a refused author has queued.
func TestLongWaitCostsNobodyElse(t *testing.T) {
	north := startRelay(t)
	north.refuse = func(ev *nostr.Event) string { return map[bool]string{true: "blocked: no"}[ev.PubKey == bob.Pub] }
	r := newRig(t, north.url())
	count := &counting{Store: r.store}
	r.o.Store = count
	r.start()
	for i := range 300 {
		r.give(bob, 30090, "c", fmt.Sprint("b", i), author.Pub, false)
	}
	r.timers.paused(t, 1)
	r.give(author, 30090, "c", "a", bob.Pub, false)
	until(t, north, "the other party", func() bool { return len(north.got) == 1 })
	before := count.rows.Load()
	for i := range 20 {
		r.give(author, 30090, "d", fmt.Sprint("a", i), bob.Pub, false)
		until(t, north, "the others", func() bool { return len(north.got) == i+2 })
	}
	if n := count.rows.Load() - before; n > 100 {
		t.Errorf("%d rows were read for 20 entries", n)
	}
}
