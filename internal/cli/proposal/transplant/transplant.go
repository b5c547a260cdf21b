// Package transplant has the commands that give memories to another agent, and take
// them: engramctl transplant.
package transplant

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/transplant"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// New returns the command transplant.
func New(env *cliutil.Env) *cobra.Command {
	return cliutil.PairFlags(env, cliutil.Group(&cobra.Command{
		Use:   "transplant",
		Short: "Give memories to another agent, or take them",
		Long: `Give memories to another agent, or take them, with proof of where they are from: each is
the event that the giver's key signed, with what opens it and nothing else. Whoever
gets it can check that this text was signed by that agent, at that time, also when the
giver's relay is gone.

What is taken is external, lies below mem/from/ and the receiver's name for the giver,
and never takes the place of the receiver's own memories.`,
		Example: `  engramctl transplant give --to npub1… projects/atlas
  engramctl transplant take
  engramctl transplant forget npub1…`,
	}, newGive(env), newTake(env), newForget(env)))
}

// plantedOut is one memory that was taken, in JSON.
type plantedOut struct {
	From   string `json:"from"` // npub of who wrote it
	Was    string `json:"was"`  // its slug there
	Event  string `json:"event"`
	Time   string `json:"time"`
	Slug   string `json:"slug,omitempty"` // here
	Again  bool   `json:"again,omitempty"`
	Error  string `json:"error,omitempty"`
	ID     string `json:"id,omitempty"` // of the proposal
	Status string `json:"status"`       // "taken", "open" or "left"
	// Uncommitted says that nothing its author signed rules out another text.
	Uncommitted bool `json:"uncommitted,omitempty"`
	// Corrects says that what is there is an earlier version: it is replaced if this
	// one is named.
	Corrects bool `json:"corrects,omitempty"`
}

func plantedFor(u transplant.Unit) plantedOut {
	return plantedOut{From: settings.Npub(u.Author), Was: string(u.Slug), Event: u.ID, Time: cliutil.Stamp(u.CreatedAt), Uncommitted: !u.Committed}
}

func (p plantedOut) line() string {
	from := p.Was + " of " + p.From
	if p.Uncommitted {
		from += " (opened, not committed)"
	}
	switch {
	case p.Status == "left":
		return fmt.Sprintf("left  %s: %s", from, p.Error)
	case p.Again:
		return fmt.Sprintf("%s  there already, from %s", p.Slug, from)
	case p.Corrects:
		return fmt.Sprintf("%s  open: corrects what is there, from %s  id %s", p.Slug, from, p.ID[:cliutil.ShortID])
	case p.Status == "open":
		return fmt.Sprintf("%s  open, from %s  id %s", p.Slug, from, p.ID[:cliutil.ShortID])
	}
	return fmt.Sprintf("%s  taken, from %s", p.Slug, from)
}

// leftWhy is why one memory was not taken, for a person: one that cannot be is no
// reason to take no other.
func leftWhy(err error) string {
	switch {
	case errors.Is(err, client.ErrConflict):
		return "there is another memory at its place"
	case errors.Is(err, proposals.ErrRefused):
		return err.Error() + " (--allow-secret)"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}

type forgetOptions struct{ derived, dryRun bool }

func newForget(env *cliutil.Env) *cobra.Command {
	var o forgetOptions
	c := env.Command(&cobra.Command{
		Use:   "forget PUBKEY [--derived] [--dry-run] [--json]",
		Short: "Archive what came from another agent",
		Long: `Archive what came from another agent, by transplant or by proposal, also what others
wrote and it passed on (below mem/from/ and its name in the profile): it is recalled no
more. What derives from it (derived_from), directly or not, is listed; --derived
archives that too. Nothing is deleted: mem unarchive brings it back.`,
		Example: `  engramctl transplant forget npub1… --dry-run
  engramctl transplant forget npub1… --derived`,
	}, func(ctx context.Context, args []string) error {
		key, err := settings.PublicKey("PUBKEY", "", args[0])
		if err != nil || key == "" {
			return exit.Usagef("whose? Name a public key (npub or hex)")
		}
		return cliutil.WithOwnMemory(ctx, env, func(ctx context.Context, m *session.Memory) error { return forget(ctx, env, m, o, key) })
	})
	c.Flags().BoolVar(&o.derived, "derived", false, "archive also what derives from it")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "show what would be archived, and change nothing")
	return c
}

// forgottenOut is one memory of `transplant forget`, in JSON.
type forgottenOut struct {
	Slug     string `json:"slug"`
	Derived  bool   `json:"derived,omitempty"`
	Archived bool   `json:"archived"`
	Error    string `json:"error,omitempty"`
}

// placesOf returns below which slugs lies what a key has given: its name in the
// profile, and that of a key without one, which it may have had before.
func placesOf(env *cliutil.Env, key string) ([]string, error) {
	s, err := env.Settings()
	places := []string{proposals.FromPrefix + proposals.NameOf(key) + "/"}
	for _, l := range s.Proposals.Listed {
		if l.Key == key && l.Name != "" {
			places = append(places, proposals.FromPrefix+l.Name+"/")
		}
	}
	return places, err
}

func forget(ctx context.Context, env *cliutil.Env, m *session.Memory, o forgetOptions, key string) error {
	l, status, err := m.ListAll(ctx)
	if err := env.Report(status, err); err != nil {
		return err
	}
	all := make([]transplant.Kept, 0, len(l.Memories))
	for _, e := range l.Memories {
		if !write.Reserved(e.Slug) {
			all = append(all, transplant.Kept{Slug: string(e.Slug), ID: e.ID, Text: e.Text})
		}
	}
	places, err := placesOf(env, key)
	if err != nil {
		return err
	}
	came, uses := transplant.From(all, key, places...)
	out := []forgottenOut{}
	var failed error
	one := func(slug string, isDerived bool) error {
		f := forgottenOut{Slug: slug, Derived: isDerived}
		if !o.dryRun && (!isDerived || o.derived) {
			w := m.Writer(ctx)
			w.Holds = nil // all that came from there goes
			r, err := w.Mark(ctx, nipae.Slug(slug), write.Archive, memory.SetOptions{})
			if stops(err) {
				return env.Report(r.Status, err)
			}
			if f.Archived = err == nil; err != nil { // pinned, say: the others are archived all the same
				f.Error, failed = err.Error(), fmt.Errorf("%s: %w", slug, err)
			}
		}
		out = append(out, f)
		return nil
	}
	for _, slug := range came {
		if err := one(slug, false); err != nil {
			return err
		}
	}
	for _, slug := range uses {
		if err := one(slug, true); err != nil {
			return err
		}
	}
	if len(out) == 0 {
		env.Note("nothing that is active came from %s", settings.Npub(key))
	}
	if env.Flags.JSON {
		return cliutil.FirstOf(env.PrintJSON(struct {
			Memories []forgottenOut `json:"memories"`
		}{out}), failed)
	}
	for _, f := range out {
		what := "archived"
		switch {
		case f.Error != "":
			what = "left: " + f.Error
		case !f.Archived && f.Derived:
			what = "derives from it"
		case !f.Archived:
			what = "would be archived"
		}
		if err := env.Print("%s  %s\n", f.Slug, what); err != nil {
			return err
		}
	}
	return failed
}
