package activity

import (
	"math"
	"slices"
	"time"

	"engramd/internal/memory/recall"
)

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
