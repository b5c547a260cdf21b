package contracts

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// Transition is one move of a contract.
type Transition struct {
	Status         niptemp.Status  `json:"status"`
	PreviousStatus *niptemp.Status `json:"previous_status"` // null for the first
	// MovedBy says who made it: "poster", "worker", "arbitrator", "operator"
	// (the decider too) or "deadline".
	MovedBy       string    `json:"moved_by"`
	AuthorAgentID *string   `json:"author_agent_id"` // null without an event
	AuthorNpub    *string   `json:"author_npub"`
	Note          string    `json:"note"`
	CreatedAt     time.Time `json:"created_at"`
	ReceivedAt    time.Time `json:"received_at"`
	// N is its number in the order of arrival, for callers who may read the
	// whole thread. A move without an event has none.
	N *int64 `json:"n,omitempty"`
	// Withdrawn says that its author withdrew it. Its effect stands.
	Withdrawn    *Withdrawal `json:"withdrawn,omitempty"`
	NostrEventID *string     `json:"nostr_event_id"` // null for a move that only this relay knows of
	// Event is the signed event.
	Event json.RawMessage `json:"event,omitempty"`
}

// TransitionQuery asks for moves, in the order of arrival.
type TransitionQuery struct {
	RequesterAgentID string // the caller's, or ""
	Limit            int    // 0 for 50, 500 at most
	Offset           int
}

// TransitionPage is one page of moves.
type TransitionPage struct {
	ContractID  string       `json:"contract_id"`
	Transitions []Transition `json:"transitions"`
	Total       int          `json:"total"`
	Limit       int          `json:"limit"`
	Offset      int          `json:"offset"`
}

// Transitions returns the moves of a contract to callers who may read its
// thread. A decision made here without an event comes last, for callers who may
// see decisions.
func (th *threads) Transitions(ctx context.Context, c Caller, id string, q TransitionQuery) (TransitionPage, error) {
	limit, offset, err := page(q.Limit, q.Offset)
	if err != nil {
		return TransitionPage{}, err
	}
	v, _, err := th.reading(ctx, c, id, q.RequesterAgentID)
	if err != nil {
		return TransitionPage{}, err
	}
	out := TransitionPage{ContractID: v.Contract, Transitions: []Transition{}, Limit: limit, Offset: offset}
	rows, total, err := th.store.ContractMoves(ctx, v.ContractPair, v.whole(), limit, offset, pageBytes)
	if err != nil {
		return TransitionPage{}, err
	}
	known := th.agents.names()
	if out.Transitions, err = th.moved(ctx, v, rows, known, true); err != nil {
		return TransitionPage{}, err
	}
	last, err := th.unsigned(ctx, v)
	if err != nil {
		return TransitionPage{}, err
	}
	out.Total = total
	if last != nil {
		out.Total++
		if offset+len(rows) == total && offset <= total && len(rows) < limit {
			out.Transitions = append(out.Transitions, *last)
		}
	}
	return out, known.fail
}

// moved returns rows as the API shows them, with their events if they are
// wanted.
func (th *threads) moved(ctx context.Context, v *view, rows []store.ThreadMove, known *names, events bool) ([]Transition, error) {
	var out []Transition
	err := th.inTurn(ctx, v, rows, known, func() (err error) {
		out, err = th.parsedMoves(ctx, v, rows, known, events)
		return err
	})
	if err == nil {
		err = th.withdrawnMoves(ctx, v, rows, out)
	}
	return out, err
}

// inTurn runs fn, which parses rows, when it is the caller's turn; without rows
// there is nothing to wait for.
func (th *threads) inTurn(ctx context.Context, v *view, rows []store.ThreadMove, known *names, fn func() error) error {
	size := 0
	for i := range rows {
		size += len(rows[i].Data)
	}
	for _, key := range []string{v.Poster, v.Worker} {
		if key != "" {
			known.of(ctx, key) // it reads the database, which must not happen in a turn
		}
	}
	if len(rows) == 0 {
		return fn()
	}
	return turn(ctx, th.turns, size, fn)
}

// parsedMoves returns rows as the API shows them.
func (th *threads) parsedMoves(ctx context.Context, v *view, rows []store.ThreadMove, known *names, events bool) ([]Transition, error) {
	out := make([]Transition, 0, len(rows))
	for i := range rows {
		t, err := th.transition(ctx, v, &rows[i], known, events)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func (th *threads) transition(ctx context.Context, v *view, row *store.ThreadMove, known *names, events bool) (Transition, error) {
	ev, err := wire.ParseEvent(row.Data)
	if err != nil {
		return Transition{}, err
	}
	out := Transition{
		MovedBy: v.movedBy(ev), AuthorAgentID: new(known.of(ctx, ev.PubKey)), AuthorNpub: new(npub(ev.PubKey)), NostrEventID: new(ev.ID),
		CreatedAt: unix(int64(ev.CreatedAt)), ReceivedAt: unix(row.ArrivedAt),
	}
	if v.whole() {
		out.N = new(row.N)
	}
	if events {
		out.Event = row.Data
	}
	said, err := niptemp.ReadState(ev)
	if err != nil {
		return out, nil // stored before today's rules: only its event is shown
	}
	out.Status, out.Note = said.Status, said.Note
	if said.Previous != "" {
		out.PreviousStatus = &said.Previous
	}
	return out, nil
}

// movedBy returns the role of a move's author in the contract. Its thread has
// the moves of the two parties, and decisions by keys that the poster has
// named.
func (v *view) movedBy(ev *nostr.Event) string {
	d, decides := niptemp.DecisionOf(ev)
	switch {
	case ev.PubKey == v.Poster:
		return "poster"
	case ev.PubKey == v.Worker || !decides:
		return "worker"
	case d.Status == niptemp.Expired:
		return "deadline"
	case ev.PubKey == v.Arbitrator:
		return "arbitrator"
	}
	return "operator"
}

// unsigned returns the move that this relay decided without an event, nil if
// there is none. Only callers of whom Get would show it get it.
func (th *threads) unsigned(ctx context.Context, v *view) (*Transition, error) {
	if v.role == nobody || v.role == stranger || !v.status().Final() {
		return nil, nil
	}
	d, err := th.store.ContractDecision(ctx, v.ContractPair)
	if err != nil || d == nil || d.Status != v.Status || d.EventID != "" || d.Gone {
		return nil, err
	}
	rows, _, err := th.store.ContractMoves(ctx, v.ContractPair, true, 1, -1, pageBytes)
	if err != nil {
		return nil, err
	}
	if len(rows) > 0 {
		if last, err := th.transition(ctx, v, &rows[0], th.agents.names(), false); err != nil || last.Status == niptemp.Status(d.Status) {
			return nil, err
		}
	}
	return &Transition{
		Status: niptemp.Status(d.Status), PreviousStatus: new(niptemp.Status(d.Was)), MovedBy: d.By, Note: d.Note, CreatedAt: unix(d.At), ReceivedAt: unix(d.At),
	}, nil
}
