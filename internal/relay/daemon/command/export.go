package command

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/keys"
	"engramd/internal/relay/management"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// exportCommand is `engramd export`: every event under the operator's own
// scope, gated ones included.
type exportCommand struct {
	base
	history bool
	filters management.Filters
}

func (c *exportCommand) flags(fs *flag.FlagSet) int {
	fs.BoolVar(&c.history, "history", false, "superseded versions too")
	fs.Var(&c.filters, "filter", "only what a NIP-01 filter matches; may be given several times")
	return 0
}

// Run streams one event per line, in the order in which they arrived. An error
// means that the output is not whole.
func (c *exportCommand) Run(ctx context.Context) (err error) {
	s, err := openAnyVersion(ctx, c.cfg, c.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	out := bufio.NewWriterSize(c.Stdout, 1<<20)
	n := 0
	err = s.Export(ctx, gate.Operator(), c.history, c.filters.List(), func(json []byte) error {
		n++
		if _, err := out.Write(json); err != nil {
			return err
		}
		return out.WriteByte('\n')
	})
	damaged := store.PartOf(err)
	if damaged != nil {
		err = nil
	}
	if err = errors.Join(err, out.Flush()); err != nil {
		return fmt.Errorf("after %d events: %w", n, err)
	}
	fmt.Fprintf(c.Stderr, "export: %d events\n", n)
	if damaged != nil {
		return damagedEvents(c.Stderr, damaged.Events)
	}
	return nil
}

// checkCommand is `engramd check [--accept-loss WORD]`.
type checkCommand struct {
	base
	word string
}

func (c *checkCommand) flags(fs *flag.FlagSet) int {
	fs.StringVar(&c.word, "accept-loss", "", "the word that the refusal of what is lost has")
	return 0
}

// acceptLoss has what the database lacks forgotten, so that it opens as it is.
func (c *checkCommand) acceptLoss(ctx context.Context) (err error) {
	wiring.Private()
	if err := engine.PrepareDir(c.cfg.Data); err != nil {
		return err
	}
	lock, err := engine.Lock(c.cfg.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	s, err := openAlone(ctx, c.cfg, c.word)
	if err != nil {
		return err
	}
	fmt.Fprintln(c.Stdout, "the loss is accepted: the database is taken as it is")
	return s.Close()
}

// errDamaged makes the command exit with 1 after a report of problems.
var errDamaged = errors.New("the data folder is not as it should be")

// Run checks the database, beside a daemon that runs or without one, and
// prints what is wrong and what to do about it. It changes nothing, except where a
// loss is accepted.
func (c *checkCommand) Run(ctx context.Context) (err error) {
	if c.word != "" {
		if err := c.acceptLoss(ctx); err != nil {
			return err
		}
	}
	s, err := openAnyVersion(ctx, c.cfg, c.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	report, err := s.Check(ctx)
	if err != nil {
		return fmt.Errorf("the check could not be made to its end: %w", err)
	}
	fmt.Fprintf(c.Stdout, "%d events and %d superseded versions looked at\n", report.Events, report.History)
	for _, a := range report.Above {
		fmt.Fprintf(c.Stdout, "above the default quota, which does not hold it: author %s keeps %d events, %d bytes (limits.author_events and limits.author_bytes hold everybody once they are set)\n", a.Author, a.Events, a.Bytes)
	}
	for _, d := range report.Displaced {
		fmt.Fprintf(c.Stdout, "another's contract id: %s is also used by poster %s; its parties reach that contract with ?poster= over the contract API\n", d.Contract, d.Poster)
	}
	for _, a := range report.Astray {
		fmt.Fprintf(c.Stdout, "does not follow: state %s of contract %s; it is tried again when one of that contract is adopted\n", a.EventID, a.Contract)
	}
	for _, a := range report.Vain {
		fmt.Fprintf(c.Stdout, "does not hold: decision %s on contract %s, by the states and the agreed keys that are known; it is tried again with every state of that contract\n", a.EventID, a.Contract)
	}
	for _, names := range report.SameNames {
		fmt.Fprintf(c.Stdout, "names that look the same, from before such were refused: %s (engramctl identity delete frees one)\n", strings.Join(names, ", "))
	}
	_, rotten, err := s.Verify(ctx)
	if err != nil {
		return fmt.Errorf("the check could not be made to its end: %w", err)
	}
	bad := damagedEvents(c.Stdout, rotten)
	if bad != nil {
		fmt.Fprintf(c.Stdout, "what to do: %s\n", store.AdviceHeal)
	}
	unfit, unseen, err := c.keys(ctx, s)
	if err != nil {
		return err
	}
	for _, err := range unseen {
		fmt.Fprintf(c.Stdout, "not checked: %v here\n", err)
	}
	if report.OK() && len(unfit) == 0 && bad == nil {
		fmt.Fprintln(c.Stdout, "ok: integrity, indexes, sums, ids and signatures, gate classes, tags, heads, contract states and keys")
		return c.readable()
	}
	for _, err := range unfit {
		fmt.Fprintf(c.Stdout, "keys: %v\n", err)
	}
	var advice []string
	for _, p := range report.Problems {
		fmt.Fprintf(c.Stdout, "%s: %s\n", p.Check, p.Detail)
		if !slices.Contains(advice, p.Advice) {
			advice = append(advice, p.Advice)
		}
	}
	for _, a := range advice {
		fmt.Fprintf(c.Stdout, "what to do: %s\n", a)
	}
	return errDamaged
}

// readable takes the mark of a page that could not be read away: all of them were now.
func (c *checkCommand) readable() error {
	err := os.Remove(engine.Unread(engine.File(c.cfg.Data)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		fmt.Fprintln(c.Stdout, "every page can be read again: the next start maps the database as before")
	}
	return err
}

// keys reports whether the secret keys that the database needs are where the
// configuration says. What is in an environment variable that this process does
// not have is not seen.
func (c *checkCommand) keys(ctx context.Context, s *sqlite.Store) (unfit, unseen []error, err error) {
	relayKeys, err := s.RelayKeys(ctx)
	if err != nil {
		return nil, nil, err
	}
	known := ""
	if len(relayKeys) > 0 {
		known = relayKeys[0].PubKey
	}
	sealed, err := wiring.VaultOptions(ctx, c.cfg, c.Env, s)
	if err != nil {
		return nil, nil, err
	}
	for _, err := range []error{keys.Look(wiring.RelayKeyOptions(c.cfg, c.Env), known), vault.Look(sealed)} {
		switch {
		case errors.Is(err, keys.ErrUnset) || errors.Is(err, vault.ErrUnset):
			unseen = append(unseen, err)
		case err != nil:
			unfit = append(unfit, err)
		}
	}
	return unfit, unseen, nil
}
