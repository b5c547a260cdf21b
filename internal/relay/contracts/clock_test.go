package contracts

import (
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/niptemp"
)

// A clock that is ahead and not confirmed lets no contract expire, whoever asks.
// What the parties do meanwhile is refused for now, and taken by the right clock.
func TestNoDeadlineGoesByAClockThatIsNotConfirmed(t *testing.T) {
	for _, ahead := range []time.Duration{60 * 24 * time.Hour, 400 * 24 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			w := newWorld(t)
			posts, works := w.provision("anna", anna), w.provision("will", will)
			ids := map[niptemp.Status]string{}
			for _, s := range []niptemp.Status{niptemp.Open, niptemp.Accepted, niptemp.Submitted} {
				ids[s] = w.in(posts, works, s)
			}
			const offer = "offer-to-anybody-1"
			terms := w.agreement(w.clock.Now().Add(time.Hour).Unix())
			w.mustPut(w.saysAs(anna, contractID, niptemp.Open, "", []string{will.Pub}, terms...))
			w.mustPut(w.saysAs(will, contractID, niptemp.Accepted, niptemp.Open, []string{anna.Pub}, terms...))
			w.mustPut(w.saysAs(anna, offer, niptemp.Open, "", []string{anna.Pub}, terms...))
			submits := w.saysAs(will, contractID, niptemp.Submitted, niptemp.Accepted, []string{anna.Pub})
			accepts := w.saysAs(mara, offer, niptemp.Accepted, niptemp.Open, []string{anna.Pub}, terms...)
			decides := w.saysAs(w.self, contractID, niptemp.Expired, niptemp.Accepted, []string{anna.Pub, will.Pub})
			strange := w.saysAs(mara, contractID, niptemp.Expired, niptemp.Accepted, []string{anna.Pub, will.Pub})
			begins := w.saysAs(anna, "another", niptemp.Open, "", []string{will.Pub})
			talks := w.entryOf(will, contractID, anna.Pub, "message", "x")

			believed := true
			w.mover.confirmed = func() bool { return believed }
			undecided := func(want bool, events ...*nostr.Event) {
				t.Helper()
				for _, ev := range events {
					if got, err := w.Undecided(t.Context(), ev); err != nil || got != want {
						t.Errorf("undecided is %v, %v: %s", got, err, ev.Content)
					}
				}
			}
			undecided(false, submits, accepts, decides, begins, talks)
			believed = false
			undecided(false, submits, accepts, decides, begins, talks) // no deadline is over
			w.clock.Add(ahead)
			undecided(true, submits, accepts, decides)
			undecided(false, begins, talks, strange) // a stranger learns nothing
			if next := must[time.Duration](t)(w.Expire(t.Context())); next != longestWait {
				t.Errorf("it comes again in %v", next)
			}
			must[ContractPage](t)(w.List(t.Context(), posts, ContractQuery{}))
			for was, id := range ids {
				if got := must[Contract](t)(w.Get(t.Context(), posts, id)); got.Status != was || got.Decided != nil {
					t.Errorf("%s became %s", was, got.Status)
				}
			}
			wantCode(t, "a move past the deadline", w.move(works, ids[niptemp.Accepted], niptemp.Submitted), Unavailable)
			wantCode(t, "a move that no deadline ends", w.move(posts, ids[niptemp.Submitted], niptemp.Completed), 0)

			w.clock.Add(-ahead)
			believed = true
			w.mustPut(submits)
			w.mustPut(accepts)
			if err := w.move(works, ids[niptemp.Accepted], niptemp.Submitted); err != nil {
				t.Errorf("by the right clock: %v", err)
			}
			w.clock.Add(2 * time.Hour)
			must[time.Duration](t)(w.Expire(t.Context()))
			if got := must[Contract](t)(w.Get(t.Context(), posts, ids[niptemp.Open])); got.Status != niptemp.Expired {
				t.Errorf("after its deadline it is %s", got.Status)
			}
		})
	}
}
