package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/management"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
)

// deleteCommand is `engramd delete`: what filters match goes for good.
type deleteCommand struct {
	base
	filters management.Filters
	yes     bool
}

func (c *deleteCommand) flags(fs *flag.FlagSet) int {
	fs.Var(&c.filters, "filter", "what a NIP-01 filter matches; may be given several times")
	fs.BoolVar(&c.yes, "yes", false, "do it; without it, only count")
	return 0
}

func (c *deleteCommand) check() error { return c.filters.Named() }

// Run counts, or removes through the daemon that holds the folder, or in its
// place.
func (c *deleteCommand) Run(ctx context.Context) error {
	wiring.Private()
	if !c.yes {
		return c.count(ctx)
	}
	done, err := c.remove(ctx)
	if management.Total(done) > 0 || err == nil {
		if printErr := printRemoval(c.Stdout, done, "removed"); printErr != nil && err == nil {
			err = printErr
		}
	}
	if err != nil {
		return fmt.Errorf("%w; what is removed is removed: count again, and run it again", err)
	}
	return nil
}

// count reads beside a daemon or without one.
func (c *deleteCommand) count(ctx context.Context) (err error) {
	s, err := openBeside(ctx, c.cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	found, err := s.CountMatching(ctx, gate.Operator(), c.filters.List())
	if err != nil {
		return err
	}
	if err := printRemoval(c.Stdout, found, "to remove"); err != nil || management.Total(found) == 0 {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, "nothing was changed; --yes removes it for good")
	return err
}

func (c *deleteCommand) remove(ctx context.Context) (done store.Removal, err error) {
	if err := databaseThere(c.cfg); err != nil {
		return done, err
	}
	err = order(ctx, c.cfg, orders.Delete, orders.DeleteArgs{Filters: &c.filters}, &done, nil, func(s *sqlite.Store) (err error) {
		done, err = wiring.Remove(ctx, s, &c.filters)
		return err
	})
	return done, err
}

// printRemoval prints how many of which kinds, and nothing of what they say.
func printRemoval(out io.Writer, r store.Removal, what string) error {
	kinds := map[int]bool{}
	for _, counts := range []map[int]int64{r.Events, r.Versions, r.Quarantined} {
		for kind := range counts {
			kinds[kind] = true
		}
	}
	if len(kinds) > 0 {
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(w, "kind\tevents\tsuperseded\tin quarantine\t")
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			fmt.Fprintf(w, "%d\t%d\t%d\t%d\t\n", kind, r.Events[kind], r.Versions[kind], r.Quarantined[kind])
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(out, "%d %s\n", management.Total(r), what); err != nil || len(r.Spared) == 0 {
		return err
	}
	var spared []string
	for _, kind := range slices.Sorted(maps.Keys(r.Spared)) {
		spared = append(spared, fmt.Sprintf("%d of kind %d", r.Spared[kind], kind))
	}
	_, err := fmt.Fprintf(out, "left alone: %s; only a filter that names these kinds removes them\n", strings.Join(spared, ", "))
	return err
}
