package niptemp

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

func entryTime(at int64) nostr.Timestamp { return nostr.Timestamp(at) }

func TestAdopt(t *testing.T) {
	low, high := strings.Repeat("0", 64), strings.Repeat("f", 64)
	own := &State{Contract: contract, Poster: posterKey, Status: Open, CreatedAt: 1000, EventID: high}
	with := func(ev *nostr.Event, id string) *nostr.Event { ev.ID = id; return ev }
	tests := []struct {
		name    string
		current *State
		ev      *nostr.Event
		want    State
		changed bool
	}{
		{"nothing known, open", nil, with(stateEvent(posterKey, workerKey, "", Open, 5), high),
			State{contract, posterKey, workerKey, Open, 5, high}, true},
		{"nothing known, open to himself", nil, with(stateEvent(posterKey, posterKey, "", Open, 5), high),
			State{contract, posterKey, "", Open, 5, high}, true},
		{"nothing known, a worker's move", nil, with(stateEvent(workerKey, posterKey, Accepted, Submitted, 5), high),
			State{contract, posterKey, workerKey, Submitted, 5, high}, true},
		{"nothing known, a poster's move", nil, with(stateEvent(posterKey, workerKey, Submitted, Completed, 5), high),
			State{contract, posterKey, workerKey, Completed, 5, high}, true},
		{"newer wins, against the lifecycle", stateIn(Completed), with(stateEvent(workerKey, posterKey, Open, Accepted, 1001), high),
			State{contract, posterKey, workerKey, Accepted, 1001, high}, true},
		{"older loses", stateIn(Completed), with(stateEvent(workerKey, posterKey, Open, Accepted, 999), high), *stateIn(Completed), false},
		{"equal time, lower id wins", stateIn(Submitted), with(stateEvent(posterKey, workerKey, Submitted, Completed, 1000), low),
			State{contract, posterKey, workerKey, Completed, 1000, low}, true},
		{"equal time, same id", stateIn(Submitted), with(stateEvent(workerKey, posterKey, Accepted, Submitted, 1000), high), *stateIn(Submitted), false},
		{"older open says who the poster is", stateIn(Disputed), with(stateEvent(workerKey, posterKey, "", Open, 1), high),
			State{contract, workerKey, posterKey, Disputed, 1000, high}, true},
		{"accepting an open addressed to himself", own, with(stateEvent(workerKey, posterKey, Open, Accepted, 1001), high),
			State{contract, posterKey, workerKey, Accepted, 1001, high}, true},
		{"the same, arriving late", own, with(stateEvent(workerKey, posterKey, Open, Accepted, 900), high),
			State{contract, posterKey, workerKey, Accepted, 900, high}, true},
		{"the poster's later move on it", own, with(stateEvent(posterKey, workerKey, Submitted, Completed, 1001), high),
			State{contract, posterKey, workerKey, Completed, 1001, high}, true},
		{"his own pair", own, with(stateEvent(posterKey, posterKey, Open, Cancelled, 1001), high),
			State{contract, posterKey, "", Cancelled, 1001, high}, true},
		{"other contract", &State{Contract: "other"}, stateEvent(posterKey, workerKey, "", Open, 5), State{Contract: "other"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, changed := Adopt(tt.current, tt.ev)
			if got != tt.want || changed != tt.changed {
				t.Errorf("got %+v, %v\nwant %+v, %v", got, changed, tt.want, tt.changed)
			}
		})
	}
	bad := stateEvent(posterKey, workerKey, "", Open, 5)
	bad.Content = "{}"
	if got, changed := Adopt(nil, bad); changed || got != (State{}) {
		t.Errorf("a malformed event led to %+v", got)
	}
	if got, changed := Adopt(stateIn(Open), bad); changed || got != *stateIn(Open) {
		t.Errorf("a malformed event led to %+v", got)
	}
}

// An import may bring a contract's states in any order: they lead to the same.
func TestAdoptInAnyOrder(t *testing.T) {
	life := []*nostr.Event{
		stateEvent(posterKey, workerKey, "", Open, 1),
		stateEvent(workerKey, posterKey, Open, Accepted, 2),
		stateEvent(workerKey, posterKey, Accepted, Submitted, 3),
		stateEvent(posterKey, workerKey, Submitted, Accepted, 4),
		stateEvent(workerKey, posterKey, Accepted, Submitted, 5),
		stateEvent(workerKey, posterKey, Submitted, Disputed, 6),
		stateEvent(posterKey, workerKey, Disputed, Completed, 7),
	}
	for i, ev := range life {
		ev.ID = strings.Repeat("0", 63) + string(rune('1'+i))
	}
	r := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		r.Shuffle(len(life), func(i, j int) { life[i], life[j] = life[j], life[i] })
		var current *State
		for _, ev := range life {
			if next, changed := Adopt(current, ev); changed {
				current = &next
			}
		}
		if want := (State{contract, posterKey, workerKey, Completed, 7, strings.Repeat("0", 63) + "7"}); *current != want {
			t.Fatalf("got %+v", *current)
		}
	}
}
