package relay

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// PastQuery asks for everybody's superseded versions.
type PastQuery struct {
	After    int64  // the number behind which to go on
	Kinds    []int  // nil: all
	Since    *int64 // no contract memory, and nothing that was superseded before
	Arrivals bool   // as of HistoryQuery
	Limit    int    // versions at most; 0 means the default limit of a filter
}

// Past gives everybody's superseded versions page by page, in the order of
// their numbers. Between pages it holds nothing open.
type Past struct {
	relay    *Relay
	from     Instant
	scope    gate.Scope
	ask      store.HistoryAfter
	position int64
	left     int
	more     bool
}

// Past authorizes a question for everybody's superseded versions. They are for
// keys of gate.replicas alone: anybody else is refused, whether or not there is
// anything. A limit over the relay's maximum is cut down to it.
func (r *Relay) Past(ctx context.Context, q PastQuery) (*Past, error) {
	reader, table := ReaderFrom(ctx), r.table.Load()
	if !table.Replicates(reader) {
		refusal := &gate.Refusal{Refusal: nip01.Refusal{
			Prefix: nip01.PrefixRestricted, Text: "superseded versions of everybody are for this relay's replicas; name an author",
		}, Rule: gate.RuleWildcard}
		if reader.Empty() {
			refusal.Prefix, refusal.Text = nip01.PrefixAuthRequired, refusal.Text+"; authenticate first"
		}
		r.cfg.Metrics.GateDecision(gate.SurfacePast.String(), refusal.Rule, refusal.Prefix)
		return nil, refusal
	}
	if err := rejects(beforeOwnCheck(ctx), r.Hooks, gate.SurfacePast, nostr.Filter{Kinds: q.Kinds, Limit: q.Limit}); err != nil {
		return nil, err
	}
	if err := r.Latest(ctx); err != nil {
		return nil, err
	}
	r.cfg.Metrics.GateDecision(gate.SurfacePast.String(), gate.RuleWildcard, decisionGranted)
	limits := r.limits.Load()
	limit := q.Limit
	if limit <= 0 {
		limit = limits.DefaultLimit
	}
	return &Past{
		relay: r, from: r.Now(), scope: gate.Party(table.PartiesOnly(), reader), position: r.store.LastSeq(),
		ask:  store.HistoryAfter{After: q.After, Kinds: q.Kinds, Since: q.Since, Arrivals: q.Arrivals},
		left: min(limit, limits.MaxLimit),
	}, nil
}

// Position is the number of the last event or version that was stored when the
// question was asked: after the last page, nothing up to it is missing but what
// is a head now.
func (p *Past) Position() int64 { return p.position }

// Next returns up to maxRows versions of about maxBytes of JSON together. A
// page may be empty. After done nothing follows. An error means that the answer
// is incomplete and must be said to be.
func (p *Past) Next(ctx context.Context, maxRows, maxBytes int) (rows []store.Row, done bool, err error) {
	p.ask.Limit, p.ask.MaxBytes = min(maxRows, p.left+1), maxBytes // one more tells whether the limit kept any back
	rows, to, err := p.relay.store.HistoryAfter(ctx, p.scope, p.ask)
	if err != nil {
		return nil, false, err
	}
	if err := p.from.unrestored(ctx, p.relay.store); err != nil {
		return nil, false, err
	}
	ended := to == p.ask.After || to >= p.position
	if p.more = len(rows) > p.left; p.more {
		return rows[:p.left], true, nil
	}
	p.ask.After, p.left = to, p.left-len(rows)
	return rows, ended, nil
}

// More reports, after the last page, that the limit kept versions back.
func (p *Past) More() bool { return p.more }
