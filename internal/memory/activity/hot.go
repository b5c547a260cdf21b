package activity

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/recall"
)

// Active is a unit with how active it is.
type Active struct {
	Unit
	Activation float64
	worth      float64 // activation for what it takes
}

// Ranked returns units with the most worth first: activation for each token^0.3.
// The order of those that are worth the same is that of their slugs.
func Ranked(units []Unit, now time.Time) []Active {
	all := make([]Active, len(units))
	for i, u := range units {
		u.Tokens = max(1, u.Tokens)
		a := u.Activation(now)
		all[i] = Active{Unit: u, Activation: a, worth: Worth(a, u.Tokens)}
	}
	slices.SortFunc(all, func(a, b Active) int { return cmp.Or(cmp.Compare(b.worth, a.worth), strings.Compare(a.Slug, b.Slug)) })
	return all
}

// Worth is an activation for what it takes: for each token^0.3. One below 0 is worse
// the longer the text is.
func Worth(activation float64, tokens int) float64 {
	weight := math.Pow(float64(tokens), tokenPower)
	if activation < 0 {
		return activation * weight
	}
	return activation / weight
}

// HotSet returns the units that may come unasked into a context of so many
// tokens, most worth first: a knapsack, filled greedily. One that has no room
// left leaves it to smaller ones.
func HotSet(units []Unit, budget int, now time.Time) []Active {
	var hot []Active
	for _, u := range Ranked(units, now) {
		if u.Tokens <= budget {
			budget -= u.Tokens
			hot = append(hot, u)
		}
	}
	return hot
}

// Candidates returns the units that could be archived so that the rest fit into
// so many tokens, the largest and least active first; none if all do. What is
// held is never one of them, so that the rest may still be too much. A correction
// follows all that would be found in its place, or is none of them.
func Candidates(units []Unit, budget int, now time.Time) []Active {
	total := Total(units)
	if total <= budget {
		return nil
	}
	ranked := Ranked(units, now)
	there := make(map[string]bool, len(ranked))
	for _, u := range ranked {
		there[u.Slug] = true
	}
	var all []Active
	waits := map[string][]Active{} // by what has to go first
	var take func(u Active)
	take = func(u Active) {
		if total <= budget || !there[u.Slug] || slices.ContainsFunc(u.After, func(s string) bool { return there[s] }) {
			return
		}
		there[u.Slug] = false
		total -= u.Tokens
		all = append(all, u)
		for _, w := range waits[u.Slug] {
			take(w)
		}
	}
	for _, u := range slices.Backward(ranked) {
		if u.Held != "" {
			continue
		}
		for _, s := range u.After {
			waits[s] = append(waits[s], u)
		}
		take(u)
	}
	return all
}

// Total is how many tokens units have.
func Total(units []Unit) int {
	n := 0
	for _, u := range units {
		n += max(1, u.Tokens)
	}
	return n
}

const (
	// slow is the age at which a use, or being new, counts 30 % less.
	slow = 90 * 24 * time.Hour
	// freshness is what being new adds at most.
	freshness = 0.5
	// mostInformation caps what a long text says, in 95th percentiles.
	mostInformation = 1.2
	timelyAdds      = 0.25
	questionTakes   = 0.3
	percentile      = 0.95
	// tokenPower weighs length: a text ten times as long must be twice as active.
	tokenPower = 0.3
	tokenBytes = 4
)

// Unit is a memory as its activation needs it. The zero value of a field says
// nothing.
type Unit struct {
	Slug    string
	Tokens  int // see Tokens
	Created time.Time
	Uses    Use
	// Information is how much it says: see Informations.
	Information float64
	// Salience is one that was set, 0 to 1; 0 where none was.
	Salience float64
	Feedback Feedback
	// Held says why it may never be archived; "" where it may.
	Held string
	// Corrects are superseded units in whose place it stands: it is as active as they
	// are.
	Corrects []Unit
	// After are slugs that are archived before it or not without it: what would be
	// found in its place.
	After []string
}

// Use says how often a memory was used, and when last.
type Use struct {
	N    int64
	Last time.Time
}

// Feedback says how often a memory was called useful, and how often wrong.
type Feedback struct{ Useful, Wrong int64 }

// Tokens is how many tokens so many bytes are taken for: a quarter, at least one.
func Tokens(bytes int) int { return max(1, bytes/tokenBytes) }

// Activation says how likely a unit is to be needed: what it was used, what it
// says, and a little for being new; or what it corrects, if that is more.
func (u Unit) Activation(now time.Time) float64 {
	most := u.own(now)
	for _, c := range u.Corrects {
		most = max(most, c.own(now))
	}
	return most
}

func (u Unit) own(now time.Time) float64 {
	return math.Log2(1+u.used(now)) + u.Information + share(u.Salience) + u.Feedback.bias() + freshness*faded(age(u.Created, now))
}

// used is the number of uses, each newer one counting more. Of most only the
// number is known: they are taken to lie evenly between the unit's beginning and
// the last one.
func (u Unit) used(now time.Time) float64 {
	n := float64(max(0, u.Uses.N))
	if n == 0 {
		return 0
	}
	last := age(u.Uses.Last, now)
	first := max(last, age(u.Created, now))
	if first-last < 1 {
		return n * faded(last)
	}
	x, y := math.Sqrt(1+last/slow.Hours()), math.Sqrt(1+first/slow.Hours())
	return faded(last) + (n-1)*2/(x+y) // the mean of faded between both
}

// bias is what being called useful or wrong adds or takes.
func (f Feedback) bias() float64 {
	return math.Log2(1+float64(max(0, f.Useful))) - math.Log2(1+float64(max(0, f.Wrong)))
}

// age is in hours; what has no time, or one to come, is of now.
func age(t, now time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return max(0, now.Sub(t).Hours())
}

// faded is 1 for what is of now, and falls slowly towards 0, which it never
// reaches.
func faded(hours float64) float64 { return 1 / math.Sqrt(1+hours/slow.Hours()) }

func share(f float64) float64 {
	if !(f > 0) {
		return 0
	}
	return min(f, 1)
}

// Informations returns how much each document says, by its slug: the weight of
// its stems against the 95th percentile of all, more with an expression of time,
// less for a question. It is a salience without a model.
func Informations(said []recall.Said) map[string]float64 {
	masses := make([]float64, 0, len(said))
	for _, s := range said {
		masses = append(masses, s.Mass)
	}
	slices.Sort(masses)
	high := 0.
	if n := len(masses); n > 0 {
		high = masses[min(n-1, int(percentile*float64(n)))]
	}
	all := make(map[string]float64, len(said))
	for _, s := range said {
		v := 0.
		if high > 0 {
			v = min(s.Mass/high, mostInformation)
		}
		if s.Timely {
			v += timelyAdds
		}
		if s.Asks {
			v -= questionTakes
		}
		all[s.Slug] = v
	}
	return all
}

const (
	// DefaultBudget is how many tokens a memory may have before archiving is
	// proposed.
	DefaultBudget = 2_000_000
	// Earns is what a unit adds to the budget that was useful, once on a day, and
	// maxEarned all of them together.
	Earns     = 50_000
	maxEarned = 500_000
)

// Budget is how many tokens a memory may have: the owner's figure, or
// DefaultBudget for 0, and what was earned by so many days of use.
func Budget(own, earned int) int {
	if own <= 0 {
		own = DefaultBudget
	}
	return own + min(max(0, earned), maxEarned/Earns)*Earns
}
