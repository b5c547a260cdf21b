package mcp

import (
	"context"
	"time"

	"engramd/internal/client/memory"
	recallanswer "engramd/internal/memory/recall/answer"
)

// fresh is a part of every result that a local copy may have given.
type fresh struct {
	AsOf  string `json:"as_of,omitempty" jsonschema:"when relays were last asked; left out if they never were"`
	Stale bool   `json:"stale" jsonschema:"true if not every relay has confirmed lately what is here"`
}

// view calls do with the memory at this moment: the local copy, or, where there
// is none, or one that was never whole and has nothing that fits, what the relays
// have. do returns how many things it found; it may be called again. A copy that is
// not whole yet is waited for: what is there is not final, and relays would be asked
// twice for what is on its way.
func (s *memories) view(ctx context.Context, do func(recallanswer.View) (found int, err error)) (answer, fresh, error) {
	if s.session.Source() != nil {
		var a answer
		var f fresh
		var failed error // of do: not of the copy
		lacks, unfinished := false, false
		read := func(v recallanswer.View) error {
			n, err := do(v)
			unfinished = v.State().Unfinished
			if failed = err; err == nil {
				a, f = s.answerFrom(v.State(), n), freshOf(v.State())
				lacks = n == 0 && unfinished
			}
			return err
		}
		err := s.session.Source().Read(ctx, read)
		if err == nil && unfinished {
			s.session.Settle(ctx)
			err = s.session.Source().Read(ctx, read)
		}
		switch {
		case failed != nil || ctx.Err() != nil || err == nil && !lacks:
			return a, f, err
		case err != nil:
			// The copy may be deleted at any time; the memory is at the relays.
			s.calls.log.Warn("the local copy cannot be read: relays are asked instead", "error", err)
		}
	}
	l, status, err := s.everything(ctx)
	if err != nil {
		return answer{}, fresh{}, err
	}
	source, err := recallanswer.Load(heldOf(l), recallanswer.State{AsOf: s.clock(), Stale: status.Partial, Unreadable: l.Unreadable})
	if err != nil {
		return answer{}, fresh{}, err
	}
	var f fresh
	err = source.Read(ctx, func(v recallanswer.View) error {
		f = freshOf(v.State())
		_, err := do(v)
		return err
	})
	return s.calls.answerOf(status), f, err
}

// answerFrom says how far an answer of the local copy can be trusted.
func (s *memories) answerFrom(state recallanswer.State, found int) answer {
	a := answer{Partial: state.Partial(found)}
	switch {
	case state.Unfinished:
		a.Warnings = append(a.Warnings, "the local copy of the memory is not whole yet: what is missing here may exist")
	case state.Stale:
		a.Warnings = append(a.Warnings, "not every relay has confirmed the local copy of the memory lately: what other machines wrote since as_of may be missing")
	}
	return a
}

func freshOf(state recallanswer.State) fresh {
	f := fresh{Stale: state.Stale || state.Unfinished}
	if !state.AsOf.IsZero() {
		f.AsOf = state.AsOf.UTC().Format(time.RFC3339)
	}
	return f
}

// heldOf returns the texts of a listing, core first.
func heldOf(l memory.Listing) []recallanswer.Held {
	var all []recallanswer.Held
	for _, e := range heads(l) {
		all = append(all, recallanswer.Held{Head: recallanswer.Head{Slug: string(e.Slug), Size: e.Size, UpdatedAt: e.CreatedAt}, Text: e.Text})
	}
	return all
}
