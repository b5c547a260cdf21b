package plans

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"engramd/internal/memory/consolidation"
	recallanswer "engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
)

// PrepareOptions say what a plan may show.
type PrepareOptions struct {
	MaxEpisodes, MaxBytes int    // see consolidation.PrepareOptions
	Seed                  uint64 // of a dream; 0 draws one
}

// Prepare makes a plan and keeps it for a commit. The text is for whoever thinks.
// Nothing is written to the memory. A plan without units has nothing to think about,
// and is not kept. consolidation.ErrDreamless says that there is nothing to dream of.
//
// Plans of archiving are made by who counts uses: see Keep.
func (p *Plans) Prepare(ctx context.Context, kind consolidation.Kind, o PrepareOptions) (consolidation.Plan, string, error) {
	prepare := p.consolidation
	switch kind {
	case consolidation.Consolidate:
	case consolidation.Dream:
		prepare = p.dream
	default:
		return consolidation.Plan{}, "", fmt.Errorf("plans of the kind %q are made elsewhere", kind)
	}
	from, err := prepare(ctx, o)
	if err != nil {
		return consolidation.Plan{}, "", err
	}
	var plan consolidation.Plan
	var text string
	err = p.Source.Read(ctx, func(v recallanswer.View) error {
		if plan, err = from(v); err == nil {
			text = plan.Text(v.Text)
		}
		return err
	})
	if err != nil || len(plan.Units) == 0 {
		return plan, text, err
	}
	if err := p.Keep(ctx, plan); err != nil {
		return plan, text, err
	}
	var drawn []string
	for _, u := range plan.Units {
		if u.Role == consolidation.Drawn {
			drawn = append(drawn, u.Slug)
		}
	}
	if err := p.Tallies.Add(ctx, memorystate.Dreamt, drawn...); err != nil || kind == consolidation.Dream {
		return plan, text, err
	}
	return plan, text, p.turned(ctx, plan)
}

// maker makes a plan of a memory.
type maker func(recallanswer.View) (consolidation.Plan, error)

func (p *Plans) consolidation(ctx context.Context, o PrepareOptions) (maker, error) {
	tallies, err := p.Tallies.Of(ctx, memorystate.Offered)
	if err != nil {
		return nil, err
	}
	offered := map[string]int{}
	for slug, t := range tallies {
		offered[slug] = int(t.N)
	}
	turn, over, err := p.turn(ctx)
	if err != nil {
		return nil, err
	}
	if over && turn != "" {
		turn = turn.Other()
	}
	return func(v recallanswer.View) (consolidation.Plan, error) {
		return consolidation.Prepare(v, consolidation.PrepareOptions{Now: p.now(), Offered: offered, Turn: turn, MaxEpisodes: o.MaxEpisodes, MaxBytes: o.MaxBytes})
	}, nil
}

func (p *Plans) dream(ctx context.Context, o PrepareOptions) (maker, error) {
	tallies, err := p.Tallies.Of(ctx, memorystate.Dreamt)
	if err != nil {
		return nil, err
	}
	dreamt := map[string]consolidation.Dreamt{}
	for slug, t := range tallies {
		dreamt[slug] = consolidation.Dreamt{Times: t.N, Last: t.Last}
	}
	seed := o.Seed
	for seed == 0 {
		seed = rand.Uint64()
	}
	return func(v recallanswer.View) (consolidation.Plan, error) {
		return consolidation.PrepareDream(v, consolidation.DreamOptions{Now: p.now(), Seed: seed, Dreamt: dreamt})
	}, nil
}

// Keep keeps a plan that somebody else made and showed, so that it can be committed.
// When there is no room, the one that expires first makes it.
func (p *Plans) Keep(ctx context.Context, plan consolidation.Plan) error {
	if !consolidation.IsID(plan.ID) {
		return ErrID
	}
	data, err := json.Marshal(plan)
	if err != nil {
		return fmt.Errorf("keep the plan: %w", err)
	}
	return p.put(ctx, memorystate.Plan{ID: plan.ID, Data: data, Expires: p.now().Add(Lasts)}, "")
}

// put has the state keep something. When there is no room, the plan that expires
// first makes it, but for one that is needed.
func (p *Plans) put(ctx context.Context, one memorystate.Plan, needed string) error {
	err := p.Open.Put(ctx, one)
	if !errors.Is(err, memorystate.ErrFull) {
		return err
	}
	all, err := p.Open.All(ctx)
	if err != nil {
		return err
	}
	for _, old := range all {
		if !strings.HasPrefix(old.ID, openPrefix) && old.ID != needed {
			if err := p.close(ctx, old.ID); err != nil {
				return err
			}
			break
		}
	}
	return p.Open.Put(ctx, one)
}

// kept returns a plan that was shown here.
func (p *Plans) kept(ctx context.Context, id string) (plan consolidation.Plan, err error) {
	if !consolidation.IsID(id) {
		return plan, ErrID
	}
	one, err := p.Open.Get(ctx, id)
	if errors.Is(err, memorystate.ErrNoPlan) {
		return plan, ErrNoPlan
	}
	if err == nil {
		err = json.Unmarshal(one.Data, &plan)
	}
	return plan, err
}

// close ends what the state has, if it has it.
func (p *Plans) close(ctx context.Context, id string) error {
	if err := p.Open.Close(ctx, id); err != nil && !errors.Is(err, memorystate.ErrNoPlan) {
		return err
	}
	return nil
}

// settle notes in the state that an answer to a plan was taken: which episodes it
// named, and that nobody waits for another one.
func (p *Plans) settle(ctx context.Context, plan consolidation.Plan, ops []consolidation.Op) error {
	named := namedBy(ops)
	var did, ignored []string
	for _, u := range plan.Units {
		if u.Role != consolidation.Episode {
			continue
		}
		if named[u.Slug] {
			did = append(did, u.Slug)
		} else {
			ignored = append(ignored, u.Slug)
		}
	}
	if err := p.Tallies.Forget(ctx, memorystate.Offered, did...); err != nil {
		return err
	}
	if err := p.Tallies.Add(ctx, memorystate.Offered, ignored...); err != nil {
		return err
	}
	if plan.Kind == consolidation.Consolidate {
		if err := p.hadTurn(ctx, plan.Whose(), answered); err != nil {
			return err
		}
	}
	return p.close(ctx, plan.ID)
}
