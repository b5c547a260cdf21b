package niptemp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// chain makes the steps of a contract's life. Each text is who, previous,
// status and created_at; an id is the number of the step.
func chain(texts ...string) (steps []Step) {
	keys := map[string][2]string{
		"P": {posterKey, workerKey}, "W": {workerKey, posterKey}, "self": {posterKey, posterKey},
		"S": {strangerKey, posterKey}, "PS": {posterKey, strangerKey}, "selfS": {strangerKey, strangerKey},
	}
	for i, text := range texts {
		var who, previous, status string
		var at int64
		if n, err := fmt.Sscan(text, &who, &previous, &status, &at); n != 4 || err != nil {
			panic(text)
		}
		steps = append(steps, Step{
			Contract: contract, ID: fmt.Sprintf("%064x", i), Author: keys[who][0], To: keys[who][1],
			Status: Status(status), Previous: Status(strings.Trim(previous, "-")), CreatedAt: at,
		})
	}
	return steps
}

func TestFold(t *testing.T) {
	tests := []struct {
		name   string
		steps  []Step
		owner  string
		status Status // "" for no state
		poster string
		follow string // the numbers of the steps that follow
		unsure bool
	}{
		{name: "nothing"},
		{name: "an offer alone", steps: chain("self - open 1")},
		{name: "a whole life", steps: chain("P - open 1", "W open accepted 2", "W accepted submitted 3", "P submitted accepted 4", "W accepted submitted 5", "P submitted completed 6"),
			status: Completed, poster: posterKey, follow: "012345"},
		{name: "an accepted offer", steps: chain("self - open 1", "W open accepted 2"), status: Accepted, poster: posterKey, follow: "1"},
		{name: "an offer withdrawn before", steps: chain("self - open 1", "self open cancelled 2", "W open accepted 3")},
		{name: "an offer withdrawn too late", steps: chain("self - open 1", "W open accepted 2", "self open cancelled 3"), status: Accepted, poster: posterKey, follow: "1"},
		{name: "a named worker", steps: chain("self - open 1", "P open open 2", "W open accepted 3"), status: Accepted, poster: posterKey, follow: "12"},
		{name: "a clock that is behind", steps: chain("P - open 1", "W open accepted 100", "W accepted submitted 101", "P submitted accepted 95", "P accepted disputed 96"),
			status: Disputed, poster: posterKey, follow: "01234"},
		{name: "too far behind", steps: chain("P - open 1", "W open accepted 100", "W accepted submitted 101", "P submitted completed 40"), status: Submitted, poster: posterKey, follow: "012"},
		{name: "as far as may be", steps: chain("P - open 1", "W open accepted 100", "W accepted submitted 101", "P submitted completed 41"), status: Completed, poster: posterKey, follow: "0123"},
		{name: "the author's own second", steps: chain("P - open 1", "W open accepted 2", "W accepted submitted 2"), status: Accepted, poster: posterKey, follow: "01"},
		{name: "one is missing", steps: chain("P - open 1", "W accepted submitted 3", "P submitted completed 4"), status: Open, poster: posterKey, follow: "0"},
		{name: "not his to do", steps: chain("P - open 1", "P open accepted 2", "W open accepted 3"), status: Accepted, poster: posterKey, follow: "02"},
		{name: "both end it: the first", steps: chain("P - open 1", "P open cancelled 2", "W open accepted 3"), status: Cancelled, poster: posterKey, follow: "01"},
		{name: "no open", steps: chain("W open accepted 2", "P submitted completed 4"), status: Completed, poster: posterKey, unsure: true},
		{name: "no open, the worker's", steps: chain("W accepted submitted 3"), status: Submitted, poster: posterKey, unsure: true},
		{name: "no open, a dispute under an owner", steps: chain("W accepted disputed 3"), owner: posterKey, status: Disputed, poster: posterKey, unsure: true},
		{name: "two opens, none owns", steps: chain("P - open 2", "W - open 1"), status: Open, poster: workerKey, follow: "1"},
		{name: "two opens, one owns", steps: chain("P - open 2", "W - open 1", "W open accepted 3"), owner: posterKey, status: Accepted, poster: posterKey, follow: "02"},
		{name: "an open to the owner", steps: chain("W - open 1", "P open accepted 2"), owner: posterKey, status: Accepted, poster: workerKey, follow: "01"},
		{name: "an open to the owner, who has an offer", steps: chain("W - open 1", "self - open 2"), owner: posterKey, status: Open, poster: workerKey, follow: "0"},
		{name: "an open to the owner, whose offer is taken up", steps: chain("W - open 1", "self - open 2", "W open accepted 3"), owner: posterKey, status: Accepted, poster: posterKey, follow: "2"},
		{name: "others' steps", steps: chain("P - open 1", "S open accepted 2", "selfS - open 0", "PS - open 1", "W open accepted 4"), status: Accepted, poster: posterKey, follow: "04"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, ok := Fold(workerKey, posterKey, tt.owner, tt.steps)
			if ok != (tt.status != "") || f.State.Status != tt.status || f.State.Poster != tt.poster || f.Unproven != tt.unsure {
				t.Fatalf("got %+v, %v", f, ok)
			}
			got := ""
			for _, id := range f.Chain {
				got += id[63:]
			}
			if got != tt.follow {
				t.Errorf("%q follow, want %q", got, tt.follow)
			}
		})
	}
	f, ok := Fold(posterKey, posterKey, "", chain("self - open 1", "self open cancelled 2"))
	if !ok || f.State.Status != Cancelled || f.State.Worker != "" || len(f.Chain) != 2 {
		t.Errorf("an offer of its own: %+v", f)
	}
}

// Whatever a relay took move by move is found again, in any order of arrival
// and with the clocks of the parties apart.
func TestFoldFindsWhatWasTaken(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for round := range 3000 {
		var s *State
		var taken []Step
		last, clock := map[string]int64{}, int64(1000)
		behind := map[string]int64{posterKey: r.Int64N(50), workerKey: r.Int64N(50)}
		self := r.IntN(3) == 0
		for range 1 + r.IntN(12) {
			clock += r.Int64N(5)
			for range 40 {
				p := Step{Contract: contract, ID: fmt.Sprintf("%064x", r.Uint64()), Author: posterKey, To: workerKey, Status: Statuses()[r.IntN(7)]}
				if r.IntN(2) == 0 {
					p.Author, p.To = p.To, p.Author
				}
				if s == nil {
					p.Status, p.Author, p.To = Open, posterKey, workerKey
					if self {
						p.To = posterKey
					}
				} else {
					p.Previous = s.Status
					if s.Worker == "" && p.Status == Cancelled {
						continue // to a worker who has not accepted: not what agents do
					}
				}
				p.CreatedAt = max(clock-behind[p.Author], last[p.Author]+1)
				next, err := s.next(p)
				if err != nil || s.CheckTime(p.CreatedAt, last[p.Author]) != nil {
					continue
				}
				s, last[p.Author], taken = &next, p.CreatedAt, append(taken, p)
				break
			}
		}
		a, b := posterKey, workerKey
		if s.Worker == "" {
			b = a
		}
		mixed := slices.Clone(taken)
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		f, ok := Fold(a, b, "", mixed)
		if !ok || f.State != *s || f.Unproven {
			t.Fatalf("round %d: %+v led to %+v, want %+v", round, taken, f, *s)
		}
	}
}

func TestCheckTime(t *testing.T) {
	for _, tt := range []struct {
		at, last int64
		says     string // "" for none
	}{
		{1001, 0, ""}, {940, 0, ""}, {940, 939, ""}, {939, 0, "60 seconds earlier"},
		{1000, 1000, "wait a second"}, {999, 1000, "later than"}, {1001, 1000, ""},
	} {
		err := stateIn(Accepted).CheckTime(tt.at, tt.last)
		if tt.says == "" && err != nil {
			t.Errorf("%+v: %v", tt, err)
		} else if tt.says != "" {
			checkRefusal(t, err, "invalid", tt.says)
		}
	}
	var unknown *State
	if err := unknown.CheckTime(1, 0); err != nil {
		t.Errorf("the first of a contract: %v", err)
	}
}

// Thousands of steps that go nowhere cost about as much as there are.
func TestFoldOfManyIsBounded(t *testing.T) {
	steps := chain("P - open 1", "W open accepted 2")
	for i := range 20_000 {
		texts := []string{"W open accepted", "P accepted accepted", "W accepted open", "P submitted open"}
		p := chain(fmt.Sprintf("%s %d", texts[i%4], i+3))[0]
		p.ID = fmt.Sprintf("%064x", 1000+i)
		steps = append(steps, p)
	}
	f, ok := Fold(posterKey, workerKey, "", steps)
	if !ok || f.State.Status != Accepted || len(f.Chain) != 2 {
		t.Errorf("got %+v", f)
	}
}
