package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/snapshots"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

func (c *snapshotCommand) create(ctx context.Context) error {
	agent, err := c.given.needAgent()
	if err != nil {
		return err
	}
	g := c.given
	q := snapshots.CreateRequest{
		Tenant: g.tenant, Agent: agent, Label: g.label, By: bundle.ByCLI, At: g.atTime, CreatedAt: g.createdTime, Parent: g.parent, Pin: g.pin,
		AllowEmpty: g.allowEmpty,
	}
	if q.Recipients, err = g.recipients(); err != nil {
		return err
	}
	if q.Identities, err = wiring.IdentitiesFrom(g.identity); err != nil {
		return err
	}
	secret, err := g.secret()
	if err != nil {
		return err
	}
	if secret.hex != "" {
		if q.Sign, err = bundle.NewSigner(secret.hex); err != nil {
			return err
		}
		if secret.public == agent {
			if q.Keys, err = bundle.KeysOf(secret.hex, agent); err != nil {
				return err
			}
		}
	}
	s, err := c.reading(ctx)
	if err != nil {
		return err
	}
	if g.incremental && q.Parent == "" {
		list, err := s.List(g.tenant, agent)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return errors.New("there is no snapshot to add to: make the first one without --incremental")
		}
		q.Parent = list[0].ID
	}
	made, err := s.Create(ctx, q)
	if errors.Is(err, bundle.ErrEmpty) {
		return fmt.Errorf("agent %s: %w: is it the right agent? --allow-empty makes one all the same", agent, err)
	}
	if err != nil {
		return err
	}
	if c.unsigned != nil && q.Sign == nil {
		fmt.Fprintf(c.Stderr, "it is not signed, so that a restore will want --allow-unsigned: %v\n", c.unsigned)
	}
	if !g.atTime.IsZero() {
		fmt.Fprintf(c.Stderr, "as of %s, by when things arrived at this relay\n", g.atTime.UTC().Format(timeLayout))
	}
	if made.LeftOut > 0 {
		fmt.Fprintf(c.Stderr, "%d stored events are malformed or newer than their head, and were left out\n", made.LeftOut)
	}
	return c.printOr(made, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s  %d events  %d B  %s  %s\n", made.ID, made.Events, made.Size, made.Kind, made.Path)
		return err
	})
}

func (c *snapshotCommand) list(context.Context) error {
	s, err := c.files()
	if err != nil {
		return err
	}
	list, err := s.List(c.given.tenant, c.given.agent)
	if err != nil {
		return err
	}
	if c.given.json {
		out := []snapshots.Created{}
		for _, info := range list {
			out = append(out, snapshots.Created{Info: info, Path: info.Path})
		}
		return printJSON(c.Stdout, struct {
			Snapshots []snapshots.Created `json:"snapshots"`
		}{out})
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Stderr, "no snapshots")
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	for _, info := range list {
		fmt.Fprintf(w, "%s\t%s\t%d events\t%d B\t%s\t%s\n", info.ID, info.Agent, info.Events, info.Size, strings.Join(info.Marks(), ","), info.Label)
	}
	return w.Flush()
}

func (c *snapshotCommand) verify(ctx context.Context) error {
	g := c.given
	if len(c.operands) > 0 && g.bundle == "" { // what is no id is a file
		g.bundle = c.operands[0]
	}
	if (g.bundle == "") == (g.id == "") || g.id != "" && g.agent == "" {
		return wiring.Usage(errors.New("which snapshot? Give --bundle FILE, or --agent and its id"))
	}
	w, err := c.given.which(g.bundle + g.id)
	if err != nil {
		return err
	}
	if g.bundle != "" {
		if w.ID, w.Path = "", g.bundle; !g.tenantGiven {
			w.Tenant = "" // a file may be of any tenant
		}
	}
	s, err := c.trusting(ctx)
	if err != nil {
		return err
	}
	report, err := s.Verify(ctx, w)
	if err != nil {
		return err
	}
	err = c.printOr(report, report.WriteText)
	return errors.Join(err, report.Err())
}

// show shows one record of a snapshot, or which there are.
func (c *snapshotCommand) show(ctx context.Context) error {
	agent, err := c.given.needAgent()
	if err != nil {
		return err
	}
	name, rest := c.given.id, c.operands
	if name == "" && len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}
	if name == "" {
		return wiring.Usage(errors.New("which snapshot? Give its id, or a file, and then the record"))
	}
	w, err := c.given.which(name)
	if err != nil {
		return err
	}
	s, err := c.files()
	if err != nil {
		return err
	}
	b, heads, err := s.Heads(ctx, w)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return c.printOr(struct {
			ID      string          `json:"id"`
			Records []snapshot.Head `json:"records"`
		}{b.ID, heads.Sorted()}, func(out io.Writer) error { return snapshot.WriteHeads(out, heads.Sorted()) })
	}
	head, err := heads.Named(rest[0])
	if err != nil {
		return err
	}
	shown, err := snapshot.Show(ctx, b, agent, w.Keys, head)
	if err != nil {
		return err
	}
	return c.printOr(shown, func(out io.Writer) error {
		if shown.Text != nil {
			_, err := fmt.Fprintln(out, snapshot.Printable(*shown.Text))
			return err
		}
		_, err := fmt.Fprintf(out, "%s\n", shown.Event)
		return err
	})
}

func (c *snapshotCommand) diff(ctx context.Context) error {
	if _, err := c.given.needAgent(); err != nil {
		return err
	}
	if len(c.operands) != 2 {
		return wiring.Usage(errors.New("name two snapshots: ids, or files"))
	}
	a, err := c.given.which(c.operands[0])
	if err != nil {
		return err
	}
	b, err := c.given.which(c.operands[1])
	if err != nil {
		return err
	}
	s, err := c.files()
	if err != nil {
		return err
	}
	changes, err := s.Diff(ctx, a, b)
	if err != nil {
		return err
	}
	return c.printOr(append([]snapshot.Change{}, changes...), func(w io.Writer) error { return snapshot.WriteChanges(w, changes) })
}

// withOne does something with the one snapshot that is named, and says that it
// did.
func (c *snapshotCommand) withOne(done string, do func(s *snapshots.Service, agent, id string) error) error {
	agent, id, err := c.given.needID()
	if err != nil {
		return err
	}
	s, err := c.files()
	if err != nil {
		return err
	}
	if err := do(s, agent, id); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "%s  %s\n", id, done)
	return err
}

func (c *snapshotCommand) export(context.Context) error {
	to, err := filepath.Abs(c.given.to)
	if err != nil {
		return err
	}
	return c.withOne("exported to "+to, func(s *snapshots.Service, agent, id string) error {
		if c.given.to == "" {
			return wiring.Usage(errors.New("where to? Give --to"))
		}
		return s.Export(c.given.tenant, agent, id, to)
	})
}

func (c *snapshotCommand) remove(ctx context.Context) error {
	return c.withOne("deleted", func(s *snapshots.Service, agent, id string) error {
		return s.Delete(ctx, c.given.tenant, agent, id, snapshot.Deletion{Force: c.given.force})
	})
}

func (c *snapshotCommand) pin(ctx context.Context) error {
	return c.withOne("pinned", func(s *snapshots.Service, agent, id string) error { return s.Pin(ctx, c.given.tenant, agent, id, true) })
}

func (c *snapshotCommand) unpin(ctx context.Context) error {
	return c.withOne("unpinned", func(s *snapshots.Service, agent, id string) error {
		return s.Pin(ctx, c.given.tenant, agent, id, false)
	})
}

func (c *snapshotCommand) gc(ctx context.Context) error {
	s, err := c.files()
	if err != nil {
		return err
	}
	g, policy := c.given, s.Settings().Policy
	if g.keep != nil {
		policy.Keep = *g.keep
	}
	if g.keepAutomatic != nil {
		policy.KeepAutomatic = *g.keepAutomatic
	}
	if g.days != nil {
		policy.MaxAge = wiring.Days(*g.days)
	}
	var swept []snapshot.Swept
	if g.agent != "" {
		swept, err = s.SweepAgent(ctx, g.tenant, g.agent, policy)
	} else {
		swept, err = s.Sweep(ctx, policy)
	}
	out := struct {
		Deleted []string `json:"deleted"`
		Damaged []string `json:"damaged"` // other files than were verified
		Staging int      `json:"staging_removed"`
		Litter  int      `json:"litter_removed"`
		Agents  int      `json:"agents_visited"`
	}{Deleted: []string{}, Damaged: []string{}, Agents: len(swept)}
	for _, one := range swept {
		out.Deleted = append(out.Deleted, one.Deleted...)
		out.Damaged = append(out.Damaged, one.Damaged...)
		out.Staging += one.Staging
		out.Litter += one.Litter
	}
	printed := c.printOr(out, func(w io.Writer) error {
		for _, id := range out.Damaged {
			fmt.Fprintf(w, "%s  damaged: it, or what it rests on, is another file than was verified; the one before it counts instead\n", id)
		}
		for _, id := range out.Deleted {
			fmt.Fprintf(w, "%s  deleted\n", id)
		}
		_, err := fmt.Fprintf(w, "%d agents, %d deleted, %d left by dead processes removed\n", out.Agents, len(out.Deleted), out.Staging+out.Litter)
		return err
	})
	return errors.Join(printed, err)
}
