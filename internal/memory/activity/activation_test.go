package activity

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/quick"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

const day = 24 * time.Hour

func TestActivation(t *testing.T) {
	old := now.Add(-90 * day)
	for name, tt := range map[string]struct {
		unit Unit
		want float64
	}{
		"nothing is known":                  {Unit{}, 0.5},
		"old":                               {Unit{Created: old}, 0.5 / math.Sqrt2},
		"of a time to come":                 {Unit{Created: now.Add(90 * day)}, 0.5},
		"says much":                         {Unit{Created: old, Information: 1.2}, 1.2 + 0.5/math.Sqrt2},
		"a salience that was set":           {Unit{Created: now, Salience: 0.9}, 1.4},
		"a salience that is none":           {Unit{Created: now, Salience: math.NaN()}, 0.5},
		"used now":                          {Unit{Created: now, Uses: Use{3, now}}, 2 + 0.5},
		"used long ago":                     {Unit{Created: old, Uses: Use{1, old}}, math.Log2(1+1/math.Sqrt2) + 0.5/math.Sqrt2},
		"uses between the first and now":    {Unit{Created: old, Uses: Use{3, now}}, math.Log2(1+1+2*2/(1+math.Sqrt2)) + 0.5/math.Sqrt2},
		"useful":                            {Unit{Created: now, Feedback: Feedback{Useful: 3}}, 2.5},
		"wrong":                             {Unit{Created: now, Feedback: Feedback{Wrong: 3}}, -1.5},
		"counts that nobody can have found": {Unit{Created: now, Uses: Use{-5, now}, Feedback: Feedback{-1, -1}}, 0.5},
	} {
		if got := tt.unit.Activation(now); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, not %v", name, got, tt.want)
		}
	}
}

// TestNewerUsesCountMore: of two units that were used as often, the one that was
// used later is more active.
func TestNewerUsesCountMore(t *testing.T) {
	created := now.Add(-300 * day)
	before := math.Inf(-1)
	for _, ago := range []int{300, 200, 90, 30, 1, 0} {
		a := Unit{Created: created, Uses: Use{5, now.Add(-time.Duration(ago) * day)}}.Activation(now)
		if a <= before {
			t.Errorf("last used %d days ago: %v, after %v", ago, a, before)
		}
		before = a
	}
}

// TestNothingIsPricedOutForAge: whatever the unit, a thousand years take less
// than 0.5 of its activation when it was never used, and its tokens do not grow:
// what there is room for stays hot, and what is held or fits the budget is never
// proposed for archiving.
func TestNothingIsPricedOutForAge(t *testing.T) {
	check := func(seed uint64) bool {
		rnd := rand.New(rand.NewPCG(seed, 94))
		units := make([]Unit, 1+rnd.IntN(40))
		aged := make([]Unit, len(units))
		for i := range units {
			u := Unit{Slug: string(rune('a' + i)), Tokens: 1 + rnd.IntN(5000), Information: 1.45*rnd.Float64() - 0.3, Salience: rnd.Float64(),
				Created: now.Add(-time.Duration(rnd.IntN(1000)) * day)}
			units[i], aged[i] = u, u
			aged[i].Created = now.AddDate(-rnd.IntN(250), 0, 0)
			lost := u.Activation(u.Created) - aged[i].Activation(now)
			if lost < 0 || lost >= freshness || aged[i].Activation(now) <= u.Information+u.Salience {
				return false
			}
		}
		budget := Total(units)
		if Total(aged) != budget || Candidates(aged, budget, now) != nil {
			return false
		}
		return len(HotSet(aged, budget, now)) == len(units)
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
}

// What says more than 0.5 more is before what says less, however old it is.
func TestAgeNeverOutweighsWhatIsSaid(t *testing.T) {
	units := []Unit{{Slug: "new", Tokens: 50, Created: now, Information: 0.2}, {Slug: "old", Tokens: 50, Created: now.AddDate(-40, 0, 0), Information: 0.71}}
	if hot := HotSet(units, 50, now); len(hot) != 1 || hot[0].Slug != "old" {
		t.Errorf("%+v", hot)
	}
}

func TestHotSet(t *testing.T) {
	units := []Unit{
		{Slug: "small", Tokens: 10, Created: now, Information: 0.5}, {Slug: "same", Tokens: 10, Created: now, Information: 0.5},
		{Slug: "large", Tokens: 1000, Created: now, Information: 1.2}, {Slug: "middle", Tokens: 100, Created: now, Information: 0.9},
		{Slug: "wrong", Tokens: 10, Created: now, Feedback: Feedback{Wrong: 7}}, {Slug: "empty", Created: now, Information: -0.3},
	}
	for budget, want := range map[int][]string{0: nil, 10: {"same"}, 21: {"same", "small", "empty"}, 121: {"same", "small", "middle", "empty"},
		1_000_000: {"same", "small", "middle", "large", "empty", "wrong"}} {
		var got []string
		used := 0
		for _, u := range HotSet(units, budget, now) {
			got = append(got, u.Slug)
			used += u.Tokens
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || used > budget {
			t.Errorf("%d: %v (%d tokens), not %v", budget, got, used, want)
		}
	}
}

func TestCandidates(t *testing.T) {
	units := []Unit{
		{Slug: "held", Tokens: 9000, Created: now, Held: "pinned"}, {Slug: "large", Tokens: 5000, Created: now},
		{Slug: "used", Tokens: 5000, Created: now, Uses: Use{100, now}}, {Slug: "small", Tokens: 10, Created: now},
	}
	for budget, want := range map[int][]string{19_010: nil, 19_009: {"large"}, 14_010: {"large"}, 0: {"large", "used", "small"}} {
		var got []string
		for _, u := range Candidates(units, budget, now) {
			got = append(got, u.Slug)
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%d: %v, not %v", budget, got, want)
		}
	}
}

func TestInformations(t *testing.T) {
	var said []recall.Said
	for i := range 100 {
		said = append(said, recall.Said{Slug: string(rune(200 + i)), Mass: float64(i + 1)})
	}
	said = append(said, recall.Said{Slug: "asks", Mass: 48, Asks: true}, recall.Said{Slug: "timely", Mass: 48, Timely: true}, recall.Said{Slug: "long", Mass: 1e6})
	all := Informations(said)
	if all["long"] != 1.2 || math.Abs(all["timely"]-all["asks"]-0.55) > 1e-9 || all[string(rune(200))] <= 0 {
		t.Errorf("%v %v %v", all["long"], all["timely"], all["asks"])
	}
	if got := Informations(nil); len(got) != 0 {
		t.Error(got)
	}
}

// What may not be archived is held, and says why.
func TestReader(t *testing.T) {
	r := NewReader(Known{Uses: map[string]Use{"mem/a": {N: 2}}}, map[string]float64{"mem/a": 0.7}, "I am. [[mem/linked]]")
	for slug, tt := range map[string]struct{ head, held string }{
		"core": {"", "core"}, "mem/pinned": {"pin: true", "pinned"}, "mem/n": {"type: narrative", "narrative"}, "mem/linked": {"", "linked from core"},
		"mem/i": {"type: prospective", "an intention that is not done"}, "mem/t": {"trust: told", "told"}, "mem/a": {"salience: 0.2", ""},
	} {
		text := "---\ntags: [x]\n" + tt.head + "\n---\nwords"
		u, ok := r.Unit(Text{Slug: slug, Text: text, Written: now})
		if !ok || u.Held != tt.held || u.Tokens != len(text)/4 || !u.Created.Equal(now) {
			t.Errorf("%s: %+v", slug, u)
		}
		if slug == "mem/a" && (u.Salience != 0.2 || u.Uses.N != 2 || u.Information != 0.7) {
			t.Errorf("%+v", u)
		}
	}
	for _, state := range []frontmatter.State{frontmatter.Archived, frontmatter.Superseded, frontmatter.Done} {
		if _, ok := r.Unit(Text{Slug: "mem/a", Text: "---\nstate: " + string(state) + "\n---\nx"}); ok {
			t.Errorf("%s is active", state)
		}
	}
}
