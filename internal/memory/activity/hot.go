package activity

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
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
