// Package retention says how long which events are kept (retention.rules), and
// which kinds neither a rule nor a deletion by the operator touches unless it
// names them. It is pure: what is kept is the store's.
package retention

import (
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// MaxKind is the highest kind there is.
const MaxKind = 65535

// MustBeNamed reports whether a kind is touched only by what names it, because
// others rest on it: not by a range, by "all kinds", or by a filter without
// kinds.
func MustBeNamed(number int) bool {
	return slices.Contains([]int{nostr.KindDeletion, kind.Vanish, niptemp.KindEntry, niptemp.KindState, nipae.Kind}, number)
}

// Range is an inclusive range of kinds.
type Range struct{ From, To int }

// Rule bounds the events of its kinds by age, by number, or by both.
type Rule struct {
	// Kinds are sorted and do not overlap. Kinds that must be named are among
	// them if they were named, ephemeral ones, which are never stored, are not.
	Kinds []Range
	Age   time.Duration // since created_at; 0: no bound
	Count int64         // of all its kinds together, the newest; 0: no bound
}

// Covers reports whether the rule is about a kind.
func (r Rule) Covers(kind int) bool {
	return slices.ContainsFunc(r.Kinds, func(k Range) bool { return k.From <= kind && kind <= k.To })
}
