package contracts

import (
	"context"
	"slices"

	"engramd/internal/relay/store"
)

// A summary has the newest notes: those among so many moves, as far as they
// fit.
const (
	summaryMoves = 50
	summaryNotes = 10
	summaryBytes = 64 << 10
)

// addMoves adds to a summary how many moves there are, and the newest notes.
func (th *threads) addMoves(ctx context.Context, v *view, known *names, out *Summary) error {
	rows, total, err := th.store.ContractMoves(ctx, v.ContractPair, v.whole(), summaryMoves, -summaryMoves, listBytes)
	if err != nil {
		return err
	}
	moves, err := th.moved(ctx, v, rows, known, false)
	if err != nil {
		return err
	}
	last, err := th.unsigned(ctx, v)
	if err != nil {
		return err
	}
	out.TotalTransitions, out.Notes = total, []Transition{}
	if last != nil {
		out.TotalTransitions, moves = total+1, append(moves, *last)
	}
	bytes := 0
	for _, m := range slices.Backward(moves) {
		if bytes += len(m.Note); len(out.Notes) == summaryNotes || bytes > summaryBytes && len(out.Notes) > 0 {
			break
		}
		if m.Note != "" {
			out.Notes = append(out.Notes, m)
		}
	}
	slices.Reverse(out.Notes)
	return nil
}

// searchMoves adds the moves whose note has every word, beginning at p.moves,
// until a page is full or the bounds are reached. It sets p.moves to where the
// next call begins, -1 after the last move.
func (p *searching) searchMoves(ctx context.Context, known *names) error {
	for p.entries > 0 && p.bytes > 0 {
		rows, total, err := p.th.store.ContractMoves(ctx, p.v.ContractPair, p.v.whole(), min(turnEntries, p.entries), p.moves, min(turnBytes, p.bytes))
		if err != nil {
			return err
		}
		err = p.th.inTurn(ctx, p.v, rows, known, func() error {
			moves, err := p.th.parsedMoves(ctx, p.v, rows, known, false)
			if err == nil {
				p.note(moves, rows)
			}
			return err
		})
		if err != nil {
			return err
		}
		if p.moves >= total || len(rows) == 0 {
			p.moves = -1
			return p.searchUnsigned(ctx)
		}
		if len(p.out.Transitions) >= p.out.Limit {
			return nil
		}
	}
	return nil
}

// note adds those moves whose notes have every word, until a page is full.
func (p *searching) note(moves []Transition, rows []store.ThreadMove) {
	for i, m := range moves {
		if len(p.out.Transitions) >= p.out.Limit {
			return
		}
		p.bytes -= len(rows[i].Data)
		p.entries--
		p.looked++
		p.moves++
		if m.Note != "" && p.find.has(m.Note) {
			p.out.Transitions = append(p.out.Transitions, m)
			p.noted = append(p.noted, rows[i])
		}
	}
}

// searchUnsigned searches the note of a decision without an event.
func (p *searching) searchUnsigned(ctx context.Context) error {
	last, err := p.th.unsigned(ctx, p.v)
	if err == nil && last != nil && last.Note != "" && p.find.has(last.Note) {
		p.out.Transitions = append(p.out.Transitions, *last)
	}
	return err
}
