package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/mind"
	clisnapshot "engramd/internal/cli/snapshot"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
	"engramd/internal/snapshot/bundle"
)

const (
	// archivedBytes and archivedMost bound what one plan archives, so that its
	// record has room for all texts.
	archivedBytes = 180 << 10
	archivedMost  = 300
)

// archiveCandidates is metabolism --commit, and --cold without it.
func archiveCandidates(ctx context.Context, env *cliutil.Env, f metabolismFlags) error {
	return mind.WithPlans(ctx, env, func(ctx context.Context, p mind.Thinking) error {
		state := p.S.StateIfKept(ctx, env.NoteLine)
		if state == nil {
			return errors.New("the agent's state cannot be opened")
		}
		defer state.Close()
		used, err := session.UsedHere(ctx, state)
		if err != nil {
			return err
		}
		out, all, err := f.look(ctx, p.Copy.Source(), used)
		if err != nil {
			return err
		}
		if f.commit {
			all = roomFor(all, archivedBytes)
		}
		if len(all) == 0 {
			return printMetabolism(env, out, f.asJSON)
		}
		if f.commit {
			if out.Snapshot, err = snapshotFirst(ctx, env, p, f); err != nil {
				return err
			}
		}
		if f.cold != "" {
			if err := f.writeCold(env.Path(f.cold), all); err != nil {
				return err
			}
			out.Cold = f.cold
			env.Note("%s written to %s", cliutil.Counted(len(all), "memory", "memories"), f.cold)
		}
		if !f.commit {
			return printMetabolism(env, out, f.asJSON)
		}
		r, err := archiveAll(ctx, env, p, all, out, f.now)
		if err != nil {
			return mind.UnderstoodPlan(err)
		}
		if !f.asJSON {
			if err := mind.PrintCommitted(env, r, false); err != nil {
				return err
			}
			if rest := len(out.Candidates) - len(r.Changes); rest > 0 {
				env.Note("%d more could be archived: run it again", rest)
			}
			return nil
		}
		done := mind.CommittedOf(r)
		out.Committed = &done
		return env.PrintJSON(out)
	})
}

// roomFor returns the first of all that one plan has room for.
func roomFor(all []candidate, room int) []candidate {
	for i, c := range all {
		if room -= len(c.text); i == archivedMost || room < 0 && i > 0 {
			return all[:i]
		}
	}
	return all
}

// snapshotFirst makes a snapshot where a folder for them is configured.
func snapshotFirst(ctx context.Context, env *cliutil.Env, p mind.Thinking, f metabolismFlags) (string, error) {
	if cmp.Or(f.root, env.Vars["ENGRAM_SNAPSHOTS"]) == "" {
		return "", nil
	}
	flags := &clisnapshot.Options{Root: f.root, Tenant: bundle.DefaultTenant, LockTimeout: time.Minute}
	made, err := clisnapshot.Taker(env, p.S.Client, flags)(ctx, "before archiving")
	if errors.Is(err, session.ErrNothing) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("a snapshot before archiving: %w; nothing was archived", err)
	}
	env.Note("snapshot %s", made.ID)
	return made.ID, nil
}

// archiveAll archives candidates as one plan. Texts that take more room in the
// record than expected halve it.
func archiveAll(ctx context.Context, env *cliutil.Env, p mind.Thinking, all []candidate, out metabolismOut, now time.Time) (plans.Result, error) {
	for {
		plan := consolidation.Plan{Kind: consolidation.Archive, Made: now.UTC(), Stale: out.Stale}
		var ops []consolidation.Op
		for _, c := range all {
			plan.Units = append(plan.Units, consolidation.Shown{Slug: c.Slug, Hash: consolidation.Hash(c.text), Role: consolidation.Stale})
			ops = append(ops, consolidation.Op{Op: consolidation.OpArchive, Slug: c.Slug, Why: fmt.Sprintf("activation %.2f, %d tokens: %s", c.Activation, c.Tokens, c.why)})
		}
		plan = plan.Identify()
		if err := p.Keep(ctx, plan); err != nil {
			return plans.Result{}, err
		}
		r, err := p.Commit(ctx, plan.ID, ops)
		if !errors.Is(err, plans.ErrTooLarge) || len(all) == 1 {
			return r, err
		}
		all = all[:len(all)/2]
	}
}
