package transplant

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/proposal"
	"engramd/internal/cli/settings"
	clisnapshot "engramd/internal/cli/snapshot"
	"engramd/internal/client/memory"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/transplant"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// takeOptions say what is taken.
type takeOptions struct {
	file     string
	identity clisnapshot.Options
	dryRun   bool
	o        proposals.AcceptOptions
}

func newTake(env *cliutil.Env) *cobra.Command {
	var t takeOptions
	c := env.Command(&cobra.Command{
		Use:   "take [ID...] [--file FILE --decrypt-identity FILE] [--dry-run] [--allow-secret] [--json]",
		Short: "Take memories that another agent gives",
		Long: `Take memories that another agent gives: proposals with the event that it signed, those
named by ID or all that are open, or a file. Of each is checked that this text was
signed by that agent; who gives must be the owner or listed in the profile
(proposals.from).

They are written below mem/from/ and this agent's name for the giver, external, with
source transplant:npub… and derived_from the event. What is there already stays: another
memory at the same place is a conflict, and is left. A later version of what was taken,
which the same agent signed at the same address, is shown as open if nothing was changed
in what is there: it takes its place if it is named by ID, with --file too. Accepting a
proposal answers it.

Exit code 6 if some of it is not what an agent has signed; what was right is taken.`,
		Example: `  engramctl transplant take --dry-run
  engramctl transplant take 4f1c22ab
  engramctl transplant take --file boats.age --decrypt-identity age.key`,
		Args: cobra.ArbitraryArgs,
	}, func(ctx context.Context, args []string) error { return runTake(ctx, env, t, args) })
	c.Flags().StringVar(&t.file, "file", "", "`file` that transplant give has written")
	clisnapshot.IdentityFlag(c, &t.identity)
	c.Flags().BoolVar(&t.dryRun, "dry-run", false, "show what is given, and take nothing")
	cliutil.SecretFlag(c, &t.o.AllowSecret)
	return c
}

func runTake(ctx context.Context, env *cliutil.Env, t takeOptions, ids []string) error {
	var packed *transplant.Package
	return proposal.WithInbox(ctx, env, func(ctx context.Context, m *session.Memory, b *proposals.Box) (err error) {
		var out []plantedOut
		var wrong error // of what was no memory that somebody signed
		if t.file != "" {
			if packed, err = unpacked(env, t, m.Agent()); err != nil {
				return err
			}
			out, wrong, err = takeFile(ctx, env, b, t, packed, ids)
		} else {
			out, wrong, err = takeOpen(ctx, env, b, t, ids)
		}
		if err != nil && len(out) == 0 {
			return err
		}
		if wrong == nil && env.Flags.Strict && slices.ContainsFunc(out, func(p plantedOut) bool { return p.Uncommitted }) {
			wrong = fmt.Errorf("%w: opened, not committed (--strict)", exit.ErrEvidence)
		}
		return cliutil.FirstOf(printTaken(env, t, out), err, wrong)
	})
}

// unpacked reads a file that is for an agent.
func unpacked(env *cliutil.Env, t takeOptions, agent string) (*transplant.Package, error) {
	ids, err := clisnapshot.Identities(env, &t.identity)
	if err != nil {
		return nil, err
	}
	if ids.Empty() {
		return nil, exit.Usagef("the file is encrypted: --decrypt-identity names the key that opens it")
	}
	file, err := os.Open(env.Path(t.file))
	if err != nil {
		return nil, exit.BadUsage(err)
	}
	defer file.Close()
	plain, err := ids.Decrypt(file)
	switch {
	case errors.Is(err, bundle.ErrIdentity):
		return nil, exit.BadUsage(err)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", transplant.ErrPackage, err)
	}
	p, err := transplant.Read(plain, agent)
	if errors.Is(err, transplant.ErrAddressee) {
		return nil, exit.BadUsage(err)
	}
	return &p, err
}

// takeFile writes what a file has, or of that what is named by ids of events.
func takeFile(ctx context.Context, env *cliutil.Env, b *proposals.Box, t takeOptions, p *transplant.Package, ids []string) (out []plantedOut, wrong, err error) {
	name := b.NameOf(p.Giver)
	if name == "" {
		return nil, nil, exit.Usagef("%s is neither the owner nor listed (proposals.from): nothing of it is taken", settings.Npub(p.Giver))
	}
	names := func(id string) bool {
		return slices.ContainsFunc(ids, func(part string) bool { return len(part) >= proposals.MinID && strings.HasPrefix(id, part) })
	}
	for _, o := range p.Origins {
		if len(ids) > 0 && !names(o.Event.ID) {
			continue
		}
		u, err := o.Open()
		if err != nil {
			wrong = err
			out = append(out, plantedOut{Was: "a memory", From: settings.Npub(o.Event.PubKey), Event: o.Event.ID, Status: "left", Error: leftWhy(err)})
			continue
		}
		one := plantedFor(u)
		slug, err := nipae.ParseSlug(proposals.FromPrefix + name + "/" + transplant.Rest(u.Slug))
		given := proposals.Proposal{Proposer: p.Giver, Act: proposals.Write, Slug: slug, Base: memory.BaseNone, Origin: o.JSON(), CreatedAt: p.CreatedAt}
		if err == nil && len(ids) == 0 {
			one.Corrects, err = b.Corrects(ctx, b.Item(given))
		}
		if err == nil && one.Corrects {
			one.Slug, one.Status, one.ID = string(slug), "open", u.ID
		} else if err == nil && t.dryRun {
			one.Slug, one.Status = string(slug), "taken"
		} else if err == nil {
			var done proposals.Accepted
			done, err = b.Take(ctx, given, t.o)
			one.Slug, one.Again, one.Status = string(done.Slug), done.Again, "taken"
		}
		if stops(err) {
			return out, wrong, err
		}
		if err != nil {
			one.Status, one.Error = "left", leftWhy(err)
		}
		out = append(out, one)
	}
	if len(out) == 0 {
		return nil, nil, exit.Usagef("the file has no memory with such an id (8 digits or more)")
	}
	return out, wrong, nil
}

// takeOpen accepts proposals with an origin: those named, or all.
func takeOpen(ctx context.Context, env *cliutil.Env, b *proposals.Box, t takeOptions, ids []string) (out []plantedOut, wrong, err error) {
	inbox, status, err := b.List(ctx)
	if err := env.Report(status, err); err != nil {
		return nil, nil, err
	}
	var items []proposals.Item
	for _, id := range ids {
		item, status, err := b.Get(ctx, id)
		if err := env.Report(status, proposal.AboutProposal(id, cliutil.Explained(err))); err != nil {
			return nil, nil, err
		}
		if item.Origin == nil {
			return nil, nil, exit.Usagef("proposal %s is no transplant: proposals accept takes it", id)
		}
		items = append(items, item)
	}
	for _, item := range inbox.Items {
		if len(ids) == 0 && item.Origin != nil {
			items = append(items, item)
		}
	}
	if len(items) == 0 {
		env.Note("nothing is given that is open")
	}
	for _, item := range items {
		_, u, err := proposal.OriginOf(item.Proposal)
		one := plantedFor(u)
		one.ID = item.EventID
		if err != nil {
			wrong = err
			one.Was, one.From, one.Time = string(item.Slug), settings.Npub(item.Proposer), cliutil.Stamp(item.CreatedAt)
		} else if slug, targetErr := item.Target(); targetErr != nil || t.dryRun {
			one.Slug, one.Status, err = string(slug), "open", targetErr
		} else if one.Corrects, err = b.Corrects(ctx, item); len(ids) == 0 && err == nil && one.Corrects {
			one.Slug, one.Status = string(slug), "open"
		} else if err == nil {
			one.Corrects = false
			var done proposals.Accepted
			done, err = b.AcceptItem(ctx, item, t.o)
			one.Slug, one.Again, one.Status = string(done.Slug), done.Again, "taken"
		}
		if stops(err) {
			return out, wrong, err
		}
		if err != nil {
			one.Status, one.Error = "left", leftWhy(err)
		}
		out = append(out, one)
	}
	return out, wrong, nil
}

// stops reports whether an error is about the relays, and not about one memory.
func stops(err error) bool {
	code := exit.CodeOf(err)
	return err != nil && (code == exit.Relay || code == exit.Auth) && !errors.Is(err, transplant.ErrOrigin)
}

func printTaken(env *cliutil.Env, t takeOptions, out []plantedOut) error {
	if env.Flags.JSON {
		if out == nil {
			out = []plantedOut{}
		}
		return env.PrintJSON(struct {
			Taken []plantedOut `json:"memories"`
		}{out})
	}
	return cliutil.Each(env, out, plantedOut.line)
}
