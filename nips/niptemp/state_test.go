package niptemp

import (
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

func entryTime(at int64) nostr.Timestamp { return nostr.Timestamp(at) }

// moves is what NIP-TEMP allows, written down once more: from, to, by whom.
var moves = map[[2]Status]string{
	{Open, Accepted}:       "worker",
	{Open, Cancelled}:      "poster",
	{Open, Expired}:        "poster worker",
	{Accepted, Submitted}:  "worker",
	{Accepted, Disputed}:   "poster worker",
	{Accepted, Cancelled}:  "worker",
	{Accepted, Expired}:    "poster worker",
	{Submitted, Accepted}:  "poster",
	{Submitted, Completed}: "poster",
	{Submitted, Disputed}:  "poster worker",
	{Disputed, Completed}:  "poster",
	{Disputed, Cancelled}:  "worker",
}

var parties = map[string][2]string{ // author and p
	"poster":   {posterKey, workerKey},
	"worker":   {workerKey, posterKey},
	"stranger": {strangerKey, posterKey},
}

func stateIn(s Status) *State {
	return &State{Contract: contract, Poster: posterKey, Worker: workerKey, Status: s, CreatedAt: 1000, EventID: strings.Repeat("f", 64)}
}

// Every pair of statuses, by every party, with the right and with every wrong
// previous status, later and not later than the current state.
func TestNextAllMoves(t *testing.T) {
	for _, from := range Statuses() {
		for _, to := range Statuses() {
			for who, keys := range parties {
				for _, previous := range append(Statuses(), "") {
					for _, at := range []int64{999, 1000, 1001} {
						current := stateIn(from)
						ev := stateEvent(keys[0], keys[1], previous, to, at)
						got, err := Next(current, ev)
						want := strings.Contains(moves[[2]Status{from, to}], who) && previous == from // when is CheckTime's to judge
						if (err == nil) != want {
							t.Errorf("%s→%s by %s, previous %q, at %d: %v", from, to, who, previous, at, err)
							continue
						}
						if err != nil {
							checkRefusal(t, err, "invalid", "")
						} else if wanted := (State{contract, posterKey, workerKey, to, at, ev.ID}); got != wanted {
							t.Errorf("%s→%s by %s led to %+v", from, to, who, got)
						}
						if *current != *stateIn(from) {
							t.Fatalf("the current state was changed")
						}
					}
				}
			}
		}
	}
}

func TestFinal(t *testing.T) {
	for _, s := range Statuses() {
		final := s == Completed || s == Cancelled || s == Expired
		leaves := false
		for move := range moves {
			leaves = leaves || move[0] == s
		}
		if s.Final() != final || leaves == final || !s.Valid() {
			t.Errorf("%s: final %v, can be left %v", s, s.Final(), leaves)
		}
	}
	if Status("").Valid() || Status("Open").Valid() {
		t.Error("unknown statuses are valid")
	}
}

func TestNextBegins(t *testing.T) {
	for _, status := range Statuses() {
		for _, previous := range append(Statuses(), "") {
			ev := stateEvent(posterKey, workerKey, previous, status, 5)
			got, err := Next(nil, ev)
			if want := status == Open && previous == ""; (err == nil) != want {
				t.Errorf("%q→%s: %v", previous, status, err)
			} else if wanted := (State{contract, posterKey, workerKey, Open, 5, ev.ID}); want && got != wanted {
				t.Errorf("began as %+v", got)
			}
		}
	}
	got, err := Next(nil, stateEvent(posterKey, posterKey, "", Open, 5))
	if err != nil || got.Worker != "" || got.Poster != posterKey {
		t.Errorf("addressed to himself: %+v, %v", got, err)
	}
	bad := stateEvent(posterKey, workerKey, "", Open, 5)
	bad.Content = "{}"
	_, err = Next(nil, bad)
	checkRefusal(t, err, "invalid", "contract_id")
}

// The poster's open addressed to himself is seen by everybody who comes.
func TestNextFromOwnOpen(t *testing.T) {
	own := func() *State {
		return &State{Contract: contract, Poster: posterKey, Status: Open, CreatedAt: 1000, EventID: strings.Repeat("f", 64)}
	}
	cancelled := func() *State { s := own(); s.Status = Cancelled; return s }
	tests := []struct {
		name             string
		current          *State
		author, to       string
		previous, status Status
		want             string // the worker after it; "-" where it is refused
	}{
		{"a worker accepts", own(), workerKey, posterKey, Open, Accepted, workerKey},
		{"a second worker accepts, which concerns his pair", own(), strangerKey, posterKey, Open, Accepted, strangerKey},
		{"the poster names a worker in an open", own(), posterKey, workerKey, "", Open, workerKey},
		{"the poster names a worker, saying it was open", own(), posterKey, workerKey, Open, Open, workerKey},
		{"the poster takes it back", own(), posterKey, posterKey, Open, Cancelled, ""},
		{"the poster lets it expire", own(), posterKey, posterKey, Open, Expired, ""},
		{"the poster takes it back from a worker", own(), posterKey, workerKey, Open, Cancelled, workerKey},
		{"the poster opens it again for himself", own(), posterKey, posterKey, Open, Open, "-"},
		{"the poster accepts in a worker's place", own(), posterKey, workerKey, Open, Accepted, "-"},
		{"the poster accepts himself", own(), posterKey, posterKey, Open, Accepted, "-"},
		{"a stranger cancels", own(), strangerKey, posterKey, Open, Cancelled, "-"},
		{"a stranger lets it expire", own(), strangerKey, posterKey, Open, Expired, "-"},
		{"a stranger submits", own(), strangerKey, posterKey, Open, Submitted, "-"},
		{"a stranger opens it for the poster", own(), strangerKey, posterKey, "", Open, "-"},
		{"two strangers", own(), strangerKey, workerKey, Open, Accepted, "-"},
		{"a worker accepts without a previous status", own(), workerKey, posterKey, Submitted, Accepted, "-"},
		{"a worker accepts what was taken back", cancelled(), workerKey, posterKey, Open, Accepted, "-"},
		{"the poster offers what was taken back", cancelled(), posterKey, workerKey, "", Open, "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev := stateEvent(tt.author, tt.to, tt.previous, tt.status, 1001)
			got, err := Next(tt.current, ev)
			if tt.want == "-" {
				checkRefusal(t, err, "invalid", "")
				return
			}
			if want := (State{contract, posterKey, tt.want, tt.status, 1001, ev.ID}); err != nil || got != want {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		})
	}
}

func TestNextRefusesOtherContractsAndPairs(t *testing.T) {
	other := stateIn(Open)
	other.Contract = "another"
	_, err := Next(other, stateEvent(workerKey, posterKey, Open, Accepted, 1001))
	checkRefusal(t, err, "invalid", "another contract")
	_, err = Next(stateIn(Open), stateEvent(workerKey, strangerKey, Open, Accepted, 1001))
	checkRefusal(t, err, "invalid", "other keys")
	_, err = Next(stateIn(Accepted), stateEvent(posterKey, posterKey, Accepted, Expired, 1001))
	checkRefusal(t, err, "invalid", "other keys")
}

// Every status, by every party, before, at and after the state's time.
func TestCheckEntryLifecycle(t *testing.T) {
	for _, status := range Statuses() {
		for who, keys := range parties {
			for _, at := range []int64{999, 1000, 1001} {
				ev := entry(`{"type":"message","content":"x"}`)
				ev.PubKey, ev.Tags[2][1], ev.CreatedAt = keys[0], keys[1], 0
				ev.CreatedAt = entryTime(at)
				err := stateIn(status).CheckEntry(ev)
				want := who == "poster" && status == Open || status.Final() && at <= 1000 ||
					who != "stranger" && (status == Accepted || status == Submitted || status == Disputed)
				if (err == nil) != want {
					t.Errorf("%s, by %s at %d: %v", status, who, at, err)
				}
				if err != nil {
					checkRefusal(t, err, "blocked", "contract "+contract+" is ")
				}
				if err != nil && status.Final() && err.Error() != "blocked: contract "+contract+" is "+string(status) {
					t.Errorf("%s: %q", status, err)
				}
			}
		}
	}
}

func TestCheckEntryOfUnknownPair(t *testing.T) {
	var unknown *State
	if err := unknown.CheckEntry(entry(`{}`)); err != nil {
		t.Errorf("an unknown pair: %v", err)
	}
	own := &State{Contract: contract, Poster: posterKey, Status: Open, CreatedAt: 1000}
	ev := entry(`{}`)
	if err := own.CheckEntry(ev); err != nil {
		t.Errorf("the poster of an open addressed to himself: %v", err)
	}
	ev.PubKey = workerKey
	checkRefusal(t, own.CheckEntry(ev), "blocked", "only its poster writes")
}
