package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/localcopy/follow"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/nips/nipae"
)

// The owner's word counts before the agent has answered it (proposals.Proposal.Says).
// What the owner proposes is kept on this machine as a copy of the reversed pair, which
// holds nothing but what the owner signed at an address of a proposal: prompts are
// answered from it, without a relay.

// saidBudget is how long another process may keep that copy from being opened at a prompt.
const saidBudget = 50 * time.Millisecond

// said opens that copy, which begins anew where there is none and begin says so; nil
// where it cannot be had: then nothing of it counts before it is answered.
func (c *Copies) said(ctx context.Context, begin bool) *localcopy.Copy {
	p := c.pair()
	p.Agent, p.Owner, p.Reversed = p.Owner, p.Agent, true
	o, err := c.options()
	budget := OpenBudget
	if !c.s.Memory.Writable() || c.s.Memory.Reversed() || p.Agent == p.Owner || o.NoDisk && !begin {
		return nil
	}
	if err == nil && !begin {
		begin, err = localcopy.Exists(p, o.Dir)
		budget = saidBudget
	}
	if err != nil || !begin {
		return nil
	}
	ctx, done := context.WithTimeout(ctx, c.s.allow(budget))
	defer done()
	said, err := localcopy.Open(ctx, p, o)
	if err != nil {
		c.s.detail("what the owner proposes does not count before it is answered: %v", err)
		return nil
	}
	return said
}

// hear begins to bring what the owner proposes up to date beside the memory; wait for it.
func (l *Copy) hear(ctx context.Context, a follow.Ask) (wait func()) {
	var running sync.WaitGroup
	if l.hearing != nil {
		running.Go(func() {
			defer recovered()
			_, _ = l.hearing.CatchUp(ctx, follow.Ask{Grace: a.Grace}) // what does not come does not count
		})
	}
	return running.Wait
}

// heard lays what the owner says over a source of the memory in a copy.
func heard(s *Session, below answer.Source, kept, said *localcopy.Copy, state func(context.Context) *memorystate.State) answer.Source {
	if said == nil {
		return below
	}
	return answer.Heard(below, func(ctx context.Context) map[string]func(string) answer.Word {
		words, err := wordsIn(ctx, s, said, kept, state(ctx))
		if err != nil && ctx.Err() == nil {
			s.detail("what the owner proposes does not count before it is answered: %v", err)
		}
		return words
	})
}

// wordsIn are what counts of what the owner proposes.
func wordsIn(ctx context.Context, s *Session, said, kept *localcopy.Copy, state *memorystate.State) (map[string]func(string) answer.Word, error) {
	all, err := proposed(ctx, said)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	answered, err := answeredBy(ctx, kept, state)
	words := map[string]func(string) answer.Word{}
	for slug, p := range proposals.Newest(all) {
		current := false
		if err == nil && p.Base != "" && !answered(p) {
			current, err = s.known.current(ctx, slug, kept, state)
		}
		if current {
			words[string(slug)] = p.Says
		}
	}
	return words, err
}

// proposed returns what the owner proposes, as a copy of the reversed pair has it. One
// that relays show no more, or of which they show an older version, has no Base: it does
// not count, nor does an older one for its slug. Of more than proposals.MaxShown none
// counts.
func proposed(ctx context.Context, said *localcopy.Copy) (all []proposals.Proposal, err error) {
	err = said.Read(ctx, func(v *localcopy.View) error {
		all = nil
		for h := range v.Heads(nipae.ProposalPrefix) {
			text, ok := v.Text(h.Slug)
			p, err := proposals.Parse(text)
			if !ok || err != nil { // withdrawn, or none
				continue
			}
			if p.ID, p.EventID, p.CreatedAt = h.Slug[len(nipae.ProposalPrefix):], h.ID, h.CreatedAt; h.Shown != localcopy.ShownNow || h.Doubtful > 0 {
				p.Base = ""
			}
			if all = append(all, p); len(all) > proposals.MaxShown {
				all = nil
				break
			}
		}
		return nil
	})
	return all, err
}

// answeredBy returns what says whether a proposal was answered: by the memory, whatever
// relays show by now, or by what was taken over unasked.
func answeredBy(ctx context.Context, kept *localcopy.Copy, state *memorystate.State) (func(proposals.Proposal) bool, error) {
	var taken []memorystate.TakenOver
	var err error
	if state != nil {
		taken, err = state.Owners.All(ctx)
	}
	return func(p proposals.Proposal) bool {
		yes := slices.ContainsFunc(taken, func(t memorystate.TakenOver) bool { return t.ID == p.EventID })
		err := kept.Read(ctx, func(v *localcopy.View) error {
			text, ok := v.Text(nipae.AnswerPrefix + p.ID)
			a, err := proposals.ParseAnswer(text)
			yes = yes || ok && (err != nil || a.Proposal == p.EventID)
			return nil
		})
		return yes || err != nil
	}, err
}

// current reports whether a copy has the newest that this machine knows at a slug, and
// relays show it.
func (k *known) current(ctx context.Context, slug nipae.Slug, kept *localcopy.Copy, state *memorystate.State) (bool, error) {
	d := k.s.Memory.Conversation().Address(slug)
	last, ok, err := kept.At(ctx, d)
	var at memorystate.Address
	if err == nil && ok && state != nil {
		at, err = state.Heads.At(ctx, d)
	}
	newest := k.newest(at, last)
	return err == nil && ok && last.Shown == localcopy.ShownNow && newest.ID == last.ID && newest.Removed == (client.Removal{}) && len(newest.Open) == 0, err
}

// used reports whether anything ever stood at a slug, as far as this machine or relays
// know; also where that cannot be told.
func (k *known) used(ctx context.Context, slug nipae.Slug, state *memorystate.State) bool {
	at, err := state.Heads.At(ctx, k.s.Memory.Conversation().Address(slug))
	if err != nil || at.Head.ID != "" || len(at.Losses)+len(at.Open) > 0 {
		return true
	}
	_, status, err := k.s.Memory.Log(ctx, slug)
	return !errors.Is(err, client.ErrNotFound) || status.Partial
}

// acceptedAtStart is how many of the owner's proposals are taken over at once.
const acceptedAtStart = 20

// acceptOwners takes over what the owner proposes, as far as that may be done unasked
// (proposals.Box.AcceptOwners), and notes it in the state: it is taken over once,
// whatever relays show later. Where no state is kept nothing is.
func acceptOwners(ctx context.Context, s *Session, box *proposals.Box, kept *localcopy.Copy, state *memorystate.State) (accepted, left int, err error) {
	if state == nil {
		return 0, 0, nil
	}
	answered, err := answeredBy(ctx, kept, state)
	if err != nil {
		return 0, 0, err
	}
	all, errs, err := box.AcceptOwners(ctx, acceptedAtStart, func(ctx context.Context, i proposals.Item) error {
		if answered(i.Proposal) || i.Base == memory.BaseNone && s.known.used(ctx, i.Slug, state) {
			return proposals.ErrUnasked
		}
		return nil
	})
	for _, a := range all {
		if !a.Again {
			err = errors.Join(err, state.Owners.Keep(ctx, memorystate.TakenOver{ID: a.EventID, Slug: string(a.Slug), Was: a.Was}))
		}
	}
	return len(all), len(errs), err
}

// AcceptOwners takes over what the owner proposes once the session was told: the next one
// is told of that.
func (w *Brief) AcceptOwners(box *proposals.Box) {
	if w.kept == nil || w.Core.Kept { // no relay answered
		return
	}
	ctx, done := context.WithTimeout(context.Background(), w.s.allow(Tidy))
	defer done()
	if _, _, err := acceptOwners(ctx, w.s, box, w.kept.Copy, w.State); err != nil && ctx.Err() == nil {
		w.s.note("what the owner proposes is not accepted yet: %v", err)
	}
}

// took is what was taken over unasked that no session was told of, with what undoes it.
func (w *Brief) took(ctx context.Context) hook.Section {
	if w.State == nil {
		return hook.Section{}
	}
	all, _ := w.State.Owners.All(ctx) // what cannot be read is told another time
	lines := ""
	for _, t := range all {
		undoes := fmt.Sprintf("is as your owner proposed: engramctl mem restore %s --at %.16s", t.Slug, t.Was)
		if t.Was == "" {
			undoes = "is new: engramctl mem rm " + t.Slug
		}
		if !t.Told {
			t.Told = true
			lines, w.taken = lines+t.Slug+" "+undoes+"\n", append(w.taken, t)
		}
	}
	return hook.Took(lines)
}
