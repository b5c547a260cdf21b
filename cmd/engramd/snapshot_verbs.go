package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
	"engramd/internal/snapshot/operator"
)

func (c *snapshotCommand) create(ctx context.Context) error {
	agent, err := c.agent()
	if err != nil {
		return err
	}
	g := c.given
	q := operator.CreateRequest{
		Tenant: g.tenant, Agent: agent, Label: g.label, By: bundle.ByCLI, At: g.atTime, CreatedAt: g.createdTime, Parent: g.parent, Pin: g.pin,
	}
	if q.Recipients, err = g.recipients(); err != nil {
		return err
	}
	if q.Identities, err = identitiesFrom(g.identity); err != nil {
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
	if err != nil {
		return err
	}
	if made.LeftOut > 0 {
		fmt.Fprintf(c.Stderr, "%d stored events are malformed or newer than their head, and were left out\n", made.LeftOut)
	}
	return c.printOr(made, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s  %d events  %d B  %s\n", made.ID, made.Events, made.Size, made.Path)
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
		out := []operator.Created{}
		for _, info := range list {
			out = append(out, operator.Created{Info: info, Path: info.Path})
		}
		return c.printJSON(out)
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	for _, info := range list {
		fmt.Fprintf(w, "%s\t%s\t%d events\t%d B\t%s\t%s\n", info.ID, info.Agent, info.Events, info.Size, strings.Join(info.Marks(), ","), info.Label)
	}
	return w.Flush()
}

func (c *snapshotCommand) verify(ctx context.Context) error {
	g := c.given
	if (g.bundle == "") == (g.id == "") || g.id != "" && g.agent == "" {
		return usageError{errors.New("which snapshot? Give --bundle FILE, or --agent and --id")}
	}
	w, err := c.which(g.bundle + g.id)
	if err != nil {
		return err
	}
	if g.bundle != "" {
		if w.ID, w.Path = "", g.bundle; !g.tenantGiven {
			w.Tenant = "" // a file may be of any tenant
		}
	}
	w.Signers = g.signers
	s, err := c.files()
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

func (c *snapshotCommand) diff(ctx context.Context) error {
	if _, err := c.agent(); err != nil {
		return err
	}
	if len(c.operands) != 2 {
		return usageError{errors.New("name two snapshots: ids, or files")}
	}
	a, err := c.which(c.operands[0])
	if err != nil {
		return err
	}
	b, err := c.which(c.operands[1])
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

func (c *snapshotCommand) export(context.Context) error {
	agent, id, err := c.id()
	if err != nil {
		return err
	}
	if c.given.to == "" {
		return usageError{errors.New("where to? Give --to")}
	}
	s, err := c.files()
	if err != nil {
		return err
	}
	to, err := filepath.Abs(c.given.to)
	if err != nil {
		return err
	}
	return s.Export(c.given.tenant, agent, id, to)
}

func (c *snapshotCommand) remove(ctx context.Context) error {
	agent, id, err := c.id()
	if err != nil {
		return err
	}
	s, err := c.files()
	if err != nil {
		return err
	}
	if err := s.Delete(ctx, c.given.tenant, agent, id); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "%s  deleted\n", id)
	return err
}

func (c *snapshotCommand) pin(ctx context.Context) error   { return c.setPinned(ctx, true) }
func (c *snapshotCommand) unpin(ctx context.Context) error { return c.setPinned(ctx, false) }

func (c *snapshotCommand) setPinned(ctx context.Context, pinned bool) error {
	agent, id, err := c.id()
	if err != nil {
		return err
	}
	s, err := c.files()
	if err != nil {
		return err
	}
	return s.Pin(ctx, c.given.tenant, agent, id, pinned)
}

func (c *snapshotCommand) gc(ctx context.Context) error {
	s, err := c.files()
	if err != nil {
		return err
	}
	g, policy := c.given, s.Settings().Policy
	if g.keepGiven {
		policy.Keep = g.keep
	}
	if g.automaticGiven {
		policy.KeepAutomatic = g.keepAutomatic
	}
	if g.maxAgeIsGiven {
		policy.MaxAge = days(g.days)
	}
	var swept []snapshot.Swept
	if g.agent != "" {
		swept, err = s.SweepAgent(ctx, g.tenant, g.agent, policy)
	} else {
		swept, err = s.Sweep(ctx, policy)
	}
	out := struct {
		Deleted []string `json:"deleted"`
		Staging int      `json:"staging_removed"`
		Litter  int      `json:"litter_removed"`
		Agents  int      `json:"agents_visited"`
	}{Deleted: []string{}, Agents: len(swept)}
	for _, one := range swept {
		out.Deleted = append(out.Deleted, one.Deleted...)
		out.Staging += one.Staging
		out.Litter += one.Litter
	}
	printed := c.printOr(out, func(w io.Writer) error {
		for _, id := range out.Deleted {
			fmt.Fprintf(w, "%s  deleted\n", id)
		}
		_, err := fmt.Fprintf(w, "%d agents, %d deleted, %d left by dead processes removed\n", out.Agents, len(out.Deleted), out.Staging+out.Litter)
		return err
	})
	return errors.Join(printed, err)
}
