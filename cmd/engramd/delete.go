package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"engramd/internal/config"
	"engramd/internal/gate"
	"engramd/internal/store"
	"engramd/internal/store/sqlite"
)

// deleteCommand is `engramd delete`: what filters match goes for good.
type deleteCommand struct {
	*Main
	cfg     *config.Config
	filters filterFlags
	yes     bool
}

// ParseFlags reads the command line and the configuration.
func (c *deleteCommand) ParseFlags(args []string) (err error) {
	o := newOptions("delete")
	o.fs.Var(&c.filters, "filter", "what a NIP-01 filter matches; may be given several times")
	o.fs.BoolVar(&c.yes, "yes", false, "do it; without it, only count")
	if _, err = o.parse(args, 0); err != nil {
		return err
	}
	if err := c.filters.name(); err != nil {
		return usageError{err}
	}
	c.cfg, err = o.load(c.Env)
	return err
}

// name wants filters that say what is meant: one without conditions is more likely a variable that was empty.
func (f filterFlags) name() error {
	if len(f.list) == 0 {
		return errors.New(`--filter is missing, such as --filter '{"kinds":[1],"until":1700000000}'`)
	}
	for _, filter := range f.list {
		if filter.IDs == nil && filter.Kinds == nil && filter.Authors == nil && filter.Since == nil && filter.Until == nil && len(filter.Tags) == 0 {
			return errors.New("--filter: an empty filter matches everything; name kinds, authors, ids, tags or times")
		}
	}
	return nil
}

// Run counts, or removes through the daemon that holds the folder, or in its place.
func (c *deleteCommand) Run(ctx context.Context) error {
	private()
	if !c.yes {
		return c.count(ctx)
	}
	done, err := c.remove(ctx)
	if total(done) > 0 || err == nil {
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
	found, err := s.CountMatching(ctx, gate.Operator(), c.filters.list)
	if err != nil {
		return err
	}
	if err := printRemoval(c.Stdout, found, "to remove"); err != nil || total(found) == 0 {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, "nothing was changed; --yes removes it for good")
	return err
}

func (c *deleteCommand) remove(ctx context.Context) (done store.Removal, err error) {
	if err := databaseThere(c.cfg); err != nil {
		return done, err
	}
	lock, err := sqlite.Lock(c.cfg.Data)
	if errors.Is(err, sqlite.ErrLocked) {
		result, askErr := askDaemon(ctx, c.cfg.Data, request{Command: "delete", Filters: &c.filters})
		if askErr != nil {
			return done, fmt.Errorf("%w: %w", err, askErr)
		}
		return done, json.Unmarshal(result, &done)
	}
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	s, err := openAlone(ctx, c.cfg)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return remove(ctx, s, c.filters)
}

// remove removes what filters match and writes to the audit table that it began, and how it ended.
func remove(ctx context.Context, s *sqlite.Store, filters filterFlags) (store.Removal, error) {
	if err := filters.name(); err != nil {
		return store.Removal{}, err
	}
	text, err := json.Marshal(filters)
	if err != nil {
		return store.Removal{}, err
	}
	params := string(text)
	// No key has called: it is the operator, at the machine.
	line := store.AdminCall{Key: store.AdminOperator, Auth: store.AdminOperator, Method: "delete", Params: &params, Digest: sha256.Sum256(text), Outcome: "begun"}
	if err := s.Administer(ctx, nil, line); err != nil {
		return store.Removal{}, err
	}
	done, err := s.RemoveMatching(ctx, gate.Operator(), filters.list)
	line.Outcome, line.Detail = "ok", strconv.FormatInt(total(done), 10)+" removed"
	if err != nil {
		line.Outcome = "error"
	}
	// How it ended is written down also for a command that did not wait.
	recorded := s.Administer(context.WithoutCancel(ctx), nil, line)
	return done, errors.Join(err, recorded)
}

func total(r store.Removal) (n int64) {
	for _, counts := range []map[int]int64{r.Events, r.Versions, r.Quarantined} {
		for _, c := range counts {
			n += c
		}
	}
	return n
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
	if _, err := fmt.Fprintf(out, "%d %s\n", total(r), what); err != nil || len(r.Spared) == 0 {
		return err
	}
	var spared []string
	for _, kind := range slices.Sorted(maps.Keys(r.Spared)) {
		spared = append(spared, fmt.Sprintf("%d of kind %d", r.Spared[kind], kind))
	}
	_, err := fmt.Fprintf(out, "left alone: %s; only a filter that names these kinds removes them\n", strings.Join(spared, ", "))
	return err
}

// Close has nothing to give back.
func (c *deleteCommand) Close() error { return nil }
