package contracts

import (
	"context"
	"time"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// Bounds of a page.
const (
	defaultPage = 50
	maxPage     = 500
	maxOffset   = 1 << 30
	// A page ends early, after the entry or the contract whose events bring the
	// bytes read for the page to this bound.
	pageBytes = 512 << 10
	listBytes = 4 << 20
)

// page checks the bounds that a request asks for.
func page(limit, offset int) (int, int, error) {
	if limit < 0 || limit > maxPage {
		return 0, 0, Wrong("limit", "must be 1 to %d", maxPage)
	}
	if offset < 0 || offset > maxOffset {
		return 0, 0, Wrong("offset", "must be 0 or more")
	}
	if limit == 0 {
		limit = defaultPage
	}
	return limit, offset, nil
}

// List returns the contracts of which the caller is a party or the arbitrator,
// newest first, and then those of which only entries are known. A page may hold
// fewer than the limit.
func (rg *register) List(ctx context.Context, c Caller, q ContractQuery) (ContractPage, error) {
	if c.PubKey == "" {
		return ContractPage{}, errNobody()
	}
	if q.Status != "" && !q.Status.Valid() {
		return ContractPage{}, Wrong("status", "is none of the seven")
	}
	limit, offset, err := page(q.Limit, q.Offset)
	if err != nil {
		return ContractPage{}, err
	}
	pairs, total, err := rg.store.Contracts(ctx, c.PubKey, string(q.Status), limit, offset)
	if err != nil {
		return ContractPage{}, err
	}
	if q.Status == "" { // contracts without a state come after all others
		talks, more, err := rg.store.ContractTalks(ctx, c.PubKey, limit-len(pairs), max(0, offset-total))
		if err != nil {
			return ContractPage{}, err
		}
		pairs, total = append(pairs, talks...), total+more
	}
	out := ContractPage{Contracts: []Contract{}, Total: total, Limit: limit, Offset: offset}
	known, size := rg.agents.names(), 0
	for i := range pairs {
		p := &pairs[i]
		if rg.mover.isDue(p) {
			if p, err = rg.mover.expire(ctx, p); err != nil {
				return ContractPage{}, err
			}
			if q.Status != "" && p.Status != string(q.Status) {
				out.Total--
				continue
			}
		}
		contract, bytes, err := rg.described(ctx, p, known)
		if err != nil {
			return ContractPage{}, err
		}
		out.Contracts = append(out.Contracts, contract)
		if size += bytes; size >= listBytes {
			break
		}
	}
	return out, nil
}

// Get returns one contract to its parties, its arbitrator and the operator, and
// an offer that names no worker to whoever names its id.
func (rg *register) Get(ctx context.Context, c Caller, id string) (Contract, error) {
	if c.Nobody() {
		return Contract{}, errNobody()
	}
	v, err := rg.find(ctx, c, id)
	if err != nil {
		return Contract{}, err
	}
	if v.role == stranger && !v.open() {
		return Contract{}, errNotFound("contract")
	}
	return rg.contract(ctx, v.ContractPair, rg.agents.names())
}

// contract returns a pair's state with what its events say.
func (rg *register) contract(ctx context.Context, p *store.ContractPair, known *names) (Contract, error) {
	out, _, err := rg.described(ctx, p, known)
	return out, err
}

// described returns what contract does, and the size of its events in bytes.
func (rg *register) described(ctx context.Context, p *store.ContractPair, known *names) (out Contract, size int, err error) {
	out = Contract{
		ContractID: p.Contract, Status: niptemp.Status(p.Status),
		PosterAgentID: known.of(ctx, p.Poster), PosterNpub: npub(p.Poster), PosterPubKey: p.Poster,
		CreatedAt: unix(p.At), UpdatedAt: unix(p.MovedAt), Unproven: p.Unproven,
	}
	if p.Worker != "" {
		out.WorkerAgentID, out.WorkerNpub, out.WorkerPubKey = new(known.of(ctx, p.Worker)), new(npub(p.Worker)), new(p.Worker)
	}
	if p.Arbitrator != "" {
		out.ArbitratorAgentID, out.ArbitratorNpub = new(known.of(ctx, p.Arbitrator)), new(npub(p.Arbitrator))
	}
	out.Deadline = unixOrNil(p.Deadline)
	terms, size, err := rg.mover.terms(ctx, p)
	if err != nil {
		return Contract{}, 0, err
	}
	out.AmountSats, out.Description = terms.AmountSats, terms.Description
	offered, agreed, err := rg.store.TermsOf(ctx, p)
	if err != nil {
		return Contract{}, 0, err
	}
	out.Offered, out.Agreed = shownTerms(offered), shownTerms(agreed)
	d, err := rg.store.ContractDecision(ctx, p)
	if err != nil {
		return Contract{}, 0, err
	}
	if d != nil && d.Status == p.Status {
		out.Decided = &Decision{By: d.By, Status: niptemp.Status(d.Status), Note: d.Note, At: unix(d.At)}
		if d.EventID != "" {
			out.Decided.NostrEventID = &d.EventID
		}
	}
	return out, size, known.fail
}

// terms returns what the poster's newest open says, or their newest state if no
// open is left; without either it is empty. size is the number of bytes read
// for that.
func (m *mover) terms(ctx context.Context, p *store.ContractPair) (best niptemp.StateText, size int, err error) {
	states, err := m.store.ContractStates(ctx, p.Contract, p.Poster)
	if err != nil {
		return best, 0, err
	}
	for _, json := range states {
		size += len(json)
	}
	newest, isOpen := int64(-1), false
	err = turn(ctx, m.turns, size, func() error {
		for _, json := range states {
			ev, err := wire.ParseEvent(json)
			if err != nil {
				continue
			}
			t, err := niptemp.ReadState(ev)
			if err != nil || t.To != p.Worker && t.To != p.Poster {
				continue
			}
			at, open := int64(ev.CreatedAt), t.Status == niptemp.Open
			if open && !isOpen || open == isOpen && at > newest {
				best, newest, isOpen = t, at, open
			}
		}
		return nil
	})
	return best, size, err
}

// deadlineOf returns a time in Unix seconds, 0 for nil.
func deadlineOf(at *time.Time) int64 {
	if at == nil {
		return 0
	}
	return at.Unix()
}
