package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/client"
	"engramd/internal/recollect"
)

// viewOut stands in every JSON answer about the memory as a whole.
type viewOut struct {
	answerOut
	AsOf  string `json:"as_of,omitempty"` // when relays were last asked
	Stale bool   `json:"stale"`           // not every relay has confirmed lately what is here
}

// seen is what a command makes of a view: how much it found, and how to print
// it.
type seen struct {
	found int
	print func(out viewOut) error
}

// withView has a command look at the whole memory, and prints what it found.
func (a *app) withView(ctx context.Context, look func(recollect.View) (seen, error)) error {
	return a.withMemory(ctx, func(ctx context.Context, m *client.Memory) error {
		l, status, err := m.ListAll(ctx)
		if err == nil && len(l.Memories) == 0 && l.Core == nil {
			err = emptiness(l, status)
		}
		if err := a.report(status, err); err != nil {
			return err
		}
		state := recollect.State{AsOf: time.Now(), Stale: status.Partial, Unreadable: l.Unreadable}
		source, err := recollect.Load("", heldOf(l), state)
		if err != nil {
			return err
		}
		return source.Read(ctx, func(v recollect.View) error { return a.showView(v, answerOf(m, status), look) })
	})
}

// showView has a command look at a view and prints what it found. Nothing is
// "nothing there" if the view may lack something.
func (a *app) showView(v recollect.View, answer answerOut, look func(recollect.View) (seen, error)) error {
	s, err := look(v)
	if err != nil {
		return usageError{err}
	}
	state := v.State()
	if s.found == 0 && state.Partial(0) {
		return fmt.Errorf("%w, and what is here has nothing that fits", client.ErrPartial)
	}
	if state.Unreadable > 0 {
		a.note("%s cannot be read; the slugs are unknown", counted(state.Unreadable, "memory", "memories"))
	}
	out := viewOut{answerOut: answer, Stale: state.Stale || state.Unfinished}
	out.Partial = out.Partial || state.Partial(s.found)
	if !state.AsOf.IsZero() {
		out.AsOf = state.AsOf.UTC().Format(time.RFC3339)
	}
	return s.print(out)
}

// heldOf returns the texts of a listing, core first.
func heldOf(l client.Listing) []recollect.Held {
	var all []recollect.Held
	add := func(e client.Entry) {
		all = append(all, recollect.Held{Head: recollect.Head{Slug: string(e.Slug), Size: e.Size, UpdatedAt: e.CreatedAt}, Text: e.Text})
	}
	if l.Core != nil {
		add(*l.Core)
	}
	for _, e := range l.Memories {
		add(e)
	}
	return all
}

// filterFlags are the flags that say which memories may be found.
func filterFlags(c *cobra.Command, q *recollect.Query) {
	f := c.Flags()
	f.StringSliceVar(&q.Types, "type", nil, "only memories of a `TYPE`: episodic, semantic, procedural, insight, prospective, narrative")
	f.StringSliceVar(&q.Tags, "tag", nil, "only those with the `TAG`, with all if given again")
	f.StringSliceVar(&q.States, "state", nil, "those in a `STATE`: active (default), archived, superseded, done, all")
	f.StringVar(&q.Since, "since", "", "only those of a `time` or later: 2026-11-20, last week, 3 days ago")
	f.StringVar(&q.Until, "until", "", "only those until the end of a `time`")
	f.StringVar(&q.MinTrust, "min-trust", "", "only those of at least that `TRUST`: external, derived, observed, told")
	f.StringVar(&q.Prefix, "prefix", "", "only slugs that begin with `PREFIX`")
}

// emotions reads --emotion.
func emotions(given map[string]string) (map[string]float64, error) {
	all := map[string]float64{}
	for name, text := range given {
		share, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, usagef("--emotion: %q is no number", text)
		}
		all[name] = share
	}
	return all, nil
}

// question reads a query from a command line.
func question(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("QUERY is missing")
	}
	return nil
}

func queryOf(args []string) string { return strings.Join(args, " ") }
