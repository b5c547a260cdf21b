package snapshot

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// Sort says how a record differs between two instants.
type Sort string

// The sorts of changes. Without a key a tombstone cannot be told from any other
// version, and is Changed or Added.
const (
	Added      Sort = "added"
	Changed    Sort = "changed"
	Removed    Sort = "removed"
	Tombstoned Sort = "tombstoned"
)

// Change is one record that differs.
type Change struct {
	Sort   Sort       `json:"change"`
	Kind   int        `json:"kind"`
	D      string     `json:"d,omitempty"`
	Slug   nipae.Slug `json:"slug,omitempty"` // with a key
	Before *Head      `json:"before,omitempty"`
	After  *Head      `json:"after,omitempty"`
	// Lines is a unified diff of the texts, if AddLines was called.
	Lines string `json:"lines,omitempty"`
}

// Diff returns what differs from a to b, by slug where there is one, then by
// address.
func Diff(a, b Heads) []Change {
	var changes []Change
	for addr, after := range b {
		before, ok := a[addr]
		if ok && before.ID == after.ID {
			continue
		}
		c := Change{Kind: addr.Kind, D: addr.D, Slug: after.Slug, After: &after, Sort: Changed}
		if ok {
			c.Before = &before
		}
		switch {
		case after.Tombstone && (c.Before.live() || !ok):
			c.Sort = Tombstoned
		case !ok, before.Tombstone && !after.Tombstone:
			c.Sort = Added
		}
		changes = append(changes, c)
	}
	for addr, before := range a {
		if _, ok := b[addr]; !ok {
			changes = append(changes, Change{Kind: addr.Kind, D: addr.D, Slug: before.Slug, Before: &before, Sort: Removed})
		}
	}
	slices.SortFunc(changes, func(x, y Change) int {
		return cmp.Or(compareSlugs(x.Slug, y.Slug), cmp.Compare(x.Kind, y.Kind), strings.Compare(x.D, y.D), strings.Compare(x.someID(), y.someID()))
	})
	return changes
}

func (c Change) someID() string {
	if c.After != nil {
		return c.After.ID
	}
	return c.Before.ID
}

// compareSlugs orders core first, then slugs, then records without one.
func compareSlugs(a, b nipae.Slug) int {
	rank := func(s nipae.Slug) int {
		switch s {
		case nipae.Core:
			return 0
		case "":
			return 2
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(string(a), string(b)))
}

// AddLines gives every change of readable engrams the line diff of its texts,
// which it reads from the sources of the two sides. Errors are those of Texts.
func AddLines(ctx context.Context, changes []Change, a, b bundle.Source, agent string, keys bundle.Keys) error {
	before, after := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		if c.Before != nil && c.Before.Readable() {
			before[c.Before.ID] = true
		}
		if c.After != nil && c.After.Readable() {
			after[c.After.ID] = true
		}
	}
	olds, err := Texts(ctx, a, agent, keys, before)
	if err != nil {
		return err
	}
	news, err := Texts(ctx, b, agent, keys, after)
	if err != nil {
		return err
	}
	for i := range changes {
		c := &changes[i]
		var was, is string
		if c.Before != nil {
			was = olds[c.Before.ID]
		}
		if c.After != nil {
			is = news[c.After.ID]
		}
		c.Lines = Unified(was, is)
	}
	return nil
}

// WriteChanges writes the changes for a person: a line for each, its line diff
// below it.
func WriteChanges(w io.Writer, changes []Change) error {
	var b strings.Builder
	count := map[Sort]int{}
	for _, c := range changes {
		count[c.Sort]++
		fmt.Fprintf(&b, "%-10s  %s\n", c.Sort, nameOf(c.Slug, c.Kind, c.D))
		b.WriteString(Printable(c.Lines))
	}
	for _, s := range slices.Sorted(maps.Keys(count)) {
		fmt.Fprintf(&b, "%d %s\n", count[s], s)
	}
	if len(changes) == 0 {
		b.WriteString("no difference\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// nameOf names a record by its slug, else by kind and d.
func nameOf(slug nipae.Slug, kind int, d string) string {
	if slug != "" {
		return string(slug)
	}
	return strings.TrimSuffix(fmt.Sprintf("%d:%s", kind, strings.Trim(fmt.Sprintf("%.100q", d), `"`)), ":")
}

// Printable keeps control characters of texts off a terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, s)
}
