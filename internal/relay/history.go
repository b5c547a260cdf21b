package relay

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
	"engramd/nips/niptemp"
)

// HistoryQuery asks for the superseded versions of one author and kind.
type HistoryQuery struct {
	Kind   int
	Author string           // 64 lower-case hex digits
	D      *string          // one address; nil is all of them
	Until  *nostr.Timestamp // newest created_at, inclusive; nil is no bound
	Before string           // of one address of contract memory: the id of the version to go on behind, in the order of arrival
	// Arrivals adds to contract memory what the relay knows of its arrival,
	// behind the members of the event.
	Arrivals bool
	Limit    int // versions at most; 0 means the default limit of a filter
}

// Versions gives superseded versions page by page, newest first, ties by
// lowest id. Between pages it holds nothing open.
type Versions struct {
	relay *Relay
	from  Instant
	scope gate.Scope
	ask   store.HistoryQuery
	left  int
	more  bool
	lacks []store.Damaged
}

// History authorizes a question for superseded versions. They are for parties
// only, and for the arbitrator of a contract that is asked for by its d:
// neither an id nor the name of a contract is a key, and no option makes them
// public. A reader who has proved nothing is refused, a RejectFilter hook may
// refuse (*nip01.Refusal), and a stranger finds nothing, whether or not there
// is anything. A limit over the relay's maximum is cut down to it.
func (r *Relay) History(ctx context.Context, q HistoryQuery) (*Versions, error) {
	reader, table := ReaderFrom(ctx), r.table.Load()
	surface, rule := gate.SurfaceHistory.String(), table.RuleOf(q.Kind).String()
	if reader.Empty() {
		r.cfg.Metrics.GateDecision(surface, rule, nip01.PrefixAuthRequired)
		return nil, &gate.Refusal{
			Refusal: nip01.Refusal{Prefix: nip01.PrefixAuthRequired, Text: "superseded versions are for their parties; authenticate first"}, Rule: rule,
		}
	}
	if err := rejects(beforeOwnCheck(ctx), r.Hooks, gate.SurfaceHistory, q.filter()); err != nil {
		return nil, err
	}
	if err := r.Latest(ctx); err != nil {
		return nil, err
	}
	var cases []gate.Case
	if q.D != nil && (q.Kind == niptemp.KindEntry || q.Kind == niptemp.KindState) {
		var err error
		if cases, err = casesOf(ctx, r.store, reader, []string{*q.D}); err != nil {
			return nil, err
		}
	}
	r.cfg.Metrics.GateDecision(surface, rule, decisionGranted)
	v := &Versions{
		relay: r,
		from:  r.Now(),
		scope: gate.Party(table.PartiesOnly(), reader, cases...),
		ask:   store.HistoryQuery{Kind: q.Kind, Author: q.Author, D: q.D, Before: q.Before, Arrivals: q.Arrivals},
		left:  r.limited(q.Limit),
	}
	if q.Before != "" && !v.ask.ByArrival() {
		return nil, nip01.Refuse(nip01.PrefixInvalid, "before goes with d and a kind of contract memory")
	}
	if q.Until != nil {
		until := int64(*q.Until)
		v.ask.Until = &until
	}
	return v, nil
}

// filter returns the question as hooks see it.
func (q HistoryQuery) filter() nostr.Filter {
	f := nostr.Filter{Kinds: []int{q.Kind}, Authors: []string{q.Author}, Until: q.Until, Limit: q.Limit}
	if q.D != nil {
		f.Tags = nostr.TagMap{"d": {*q.D}}
	}
	return f
}

// Next returns up to maxRows versions of about maxBytes of JSON together, at
// least one unless that was all. After done nothing follows. An error means
// that the answer is incomplete and must be said to be.
func (v *Versions) Next(ctx context.Context, maxRows, maxBytes int) (rows []store.Row, done bool, err error) {
	v.ask.Limit, v.ask.MaxBytes = min(maxRows, v.left), maxBytes
	rows, more, err := v.relay.store.History(ctx, v.scope, v.ask)
	if d := store.PartOf(err); d != nil {
		v.lacks, err = addDamaged(v.lacks, d), nil
	}
	if err != nil {
		return nil, false, err
	}
	if err := v.from.unrestored(ctx, v.relay.store); err != nil {
		return nil, false, err
	}
	v.left -= len(rows)
	if n := len(rows); n > 0 {
		v.ask.Before, v.ask.Below = "", rows[n-1].Seq
		v.ask.After = &store.Position{CreatedAt: rows[n-1].CreatedAt, ID: rows[n-1].ID}
	}
	v.more = more && v.left == 0
	return rows, !more || v.left == 0, nil
}

// More reports, after the last page, that the limit kept versions back, or that
// some are damaged.
func (v *Versions) More() bool { return v.more || len(v.lacks) > 0 }

// Damaged lists versions that were left out because they are damaged.
func (v *Versions) Damaged() []store.Damaged { return v.lacks }

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
	lacks    []store.Damaged
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
	return &Past{
		relay: r, from: r.Now(), scope: gate.Party(table.PartiesOnly(), reader), position: r.store.LastSeq(),
		ask:  store.HistoryAfter{After: q.After, Kinds: q.Kinds, Since: q.Since, Arrivals: q.Arrivals},
		left: r.limited(q.Limit),
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
	if d := store.PartOf(err); d != nil {
		p.lacks, err = addDamaged(p.lacks, d), nil
	}
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

// Damaged lists versions that were left out because they are damaged: a replica
// may have them already, and is not held up.
func (p *Past) Damaged() []store.Damaged { return p.lacks }
