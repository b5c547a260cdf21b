package snapshot

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"engramd/nips/nipae"
)

// Mode is one of the three things that a restore can be.
type Mode string

// The modes.
const (
	// Repair adds to a relay what it lacks; a newer head is never replaced.
	Repair Mode = "repair"
	// Rollback makes a relay's engram heads those of the bundle; newer ones go
	// to quarantine.
	Rollback Mode = "rollback"
	// Revert writes old bodies again as new versions, with the agent's key.
	Revert Mode = "revert"
)

// Op is what a restore does at one address.
type Op string

// A restore does one of these at an address. Addresses at which nothing is to
// be done are not in a plan, but for Keep.
const (
	// Keep leaves what is there although the bundle has something else; the
	// reason says why.
	Keep Op = "keep"
	// Add puts the bundle's event where there is none.
	Add Op = "add"
	// Replace puts the bundle's event in the place of another, which becomes
	// history if it is older, and goes to quarantine if it is newer.
	Replace Op = "replace"
	// Quarantine takes the head away: the bundle has nothing there.
	Quarantine Op = "quarantine"
	// Write writes the bundle's body as a new version.
	Write Op = "write"
	// Tombstone writes that there is nothing at the slug.
	Tombstone Op = "tombstone"
)

// Action is one step of a plan.
type Action struct {
	Op     Op         `json:"action"`
	Kind   int        `json:"kind"`
	D      string     `json:"d,omitempty"`
	Slug   nipae.Slug `json:"slug,omitempty"` // with a key
	Bundle *Head      `json:"bundle,omitempty"`
	Now    *Head      `json:"now,omitempty"`
	Reason string     `json:"reason,omitempty"`
	// Lines is a unified diff from what is there to what will be, if it was
	// added.
	Lines string `json:"lines,omitempty"`
}

// ErrUnreadable means that a revert has no key for an engram, whose slug it
// would have to know.
var ErrUnreadable = errors.New("an engram cannot be read with this key")

// Plan returns what a restore of the mode does to make, or mend, now from the
// bundle, in the order in which to do it: by slug or address; in a revert core
// comes last. Repair is about all heads, rollback and revert about engrams. A
// revert needs both sides read with the agent's key, else it is ErrUnreadable.
func Plan(mode Mode, from, now Heads) ([]Action, error) {
	var actions []Action
	for addr, then := range from {
		is, ok := now[addr]
		if ok && is.ID == then.ID || mode != Repair && addr.Kind != nipae.Kind {
			continue
		}
		a := Action{Kind: addr.Kind, D: addr.D, Slug: cmp.Or(then.Slug, is.Slug), Bundle: &then}
		if ok {
			a.Now = &is
		}
		if err := a.decide(mode); err != nil {
			return nil, err
		}
		actions = append(actions, a)
	}
	for addr, is := range now {
		if _, ok := from[addr]; ok || mode == Repair || addr.Kind != nipae.Kind {
			continue
		}
		a := Action{Kind: addr.Kind, D: addr.D, Slug: is.Slug, Now: &is}
		if err := a.decide(mode); err != nil {
			return nil, err
		}
		actions = append(actions, a)
	}
	actions = slices.DeleteFunc(actions, func(a Action) bool { return a.Op == "" })
	slices.SortFunc(actions, func(x, y Action) int {
		if mode == Revert && x.Slug.IsCore() != y.Slug.IsCore() {
			if x.Slug.IsCore() {
				return 1
			}
			return -1
		}
		return cmp.Or(compareSlugs(x.Slug, y.Slug), compareAddress(x.address(), y.address()))
	})
	return actions, nil
}

func (a Action) address() Address {
	if a.Bundle != nil {
		return a.Bundle.address()
	}
	return a.Now.address()
}

// decide sets what to do; nothing leaves Op empty.
func (a *Action) decide(mode Mode) error {
	switch mode {
	case Repair:
		a.decideRepair()
	case Rollback:
		a.decideRollback()
	case Revert:
		return a.decideRevert()
	default:
		return fmt.Errorf("mode %.40q is unknown", mode)
	}
	return nil
}

func (a *Action) decideRepair() {
	switch {
	case a.Now == nil:
		a.Op = Add
	case a.Now.newer(*a.Bundle):
		a.Op, a.Reason = Keep, "what is there is newer"
	default:
		a.Op, a.Reason = Replace, "what is there is older and becomes history"
	}
}

func (a *Action) decideRollback() {
	switch {
	case a.Now == nil:
		a.Op = Add
	case a.Bundle == nil:
		a.Op, a.Reason = Quarantine, "the snapshot has nothing there"
	case a.Now.newer(*a.Bundle):
		a.Op, a.Reason = Replace, "what is there is newer and goes to quarantine"
	default:
		a.Op, a.Reason = Replace, "what is there is older and becomes history"
	}
}

// untouched begin the slugs that a revert leaves as they are: they are not the
// agent's own account of things, but what was agreed about it and what its
// program notes.
var untouched = []string{"mem/sys/", "mem/proposals/", "mem/proposals-answers/"}

func (a *Action) decideRevert() error {
	for _, h := range []*Head{a.Bundle, a.Now} {
		if h != nil && !h.Readable() {
			return fmt.Errorf("event %s: %w", h.ID, ErrUnreadable)
		}
	}
	switch was, is := a.Bundle.live(), a.Now.live(); {
	case was && is && a.Bundle.body == a.Now.body, !was && !is:
		return nil
	case slices.ContainsFunc(untouched, func(p string) bool { return strings.HasPrefix(string(a.Slug), p) }):
		a.Op, a.Reason = Keep, "a restore leaves it as it is"
	case was:
		if a.Op = Write; a.Bundle.Expires > 0 && a.Now != nil && a.Now.Expires == 0 {
			a.Reason = "without its expiry: what is there has none"
		}
	case a.Slug.IsCore():
		a.Op, a.Reason = Keep, "core cannot be tombstoned"
	default:
		a.Op = Tombstone
	}
	return nil
}

// Changes returns the plan's actions that change something as changes, from
// what is there to what will be, for AddLines.
func Changes(actions []Action) []Change {
	var changes []Change
	for _, a := range actions {
		if a.Op == Keep {
			continue
		}
		c := Change{Sort: Changed, Kind: a.Kind, D: a.D, Slug: a.Slug, Before: a.Now, After: a.Bundle}
		switch {
		case a.Op == Tombstone:
			c.Sort = Tombstoned
		case a.Now == nil || !a.Now.live():
			c.Sort = Added
		case a.Bundle == nil:
			c.Sort = Removed
		}
		changes = append(changes, c)
	}
	return changes
}

// AddPlanLines gives the actions the line diffs of their Changes.
func AddPlanLines(actions []Action, changes []Change) {
	i := 0
	for j := range actions {
		if actions[j].Op != Keep {
			actions[j].Lines = changes[i].Lines
			i++
		}
	}
}

// WritePlan writes a plan for a person: a line for each action, its line diff
// below it.
func WritePlan(w io.Writer, mode Mode, actions []Action) error {
	var b strings.Builder
	for _, a := range actions {
		fmt.Fprintf(&b, "%-10s  %s", a.Op, nameOf(a.Slug, a.Kind, a.D))
		if a.Reason != "" {
			fmt.Fprintf(&b, "  (%s)", a.Reason)
		}
		b.WriteByte('\n')
		b.WriteString(Printable(a.Lines))
	}
	if !slices.ContainsFunc(actions, func(a Action) bool { return a.Op != Keep }) {
		fmt.Fprintf(&b, "%s: nothing to do\n", mode)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
