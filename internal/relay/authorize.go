package relay

import (
	"cmp"
	"context"
	"errors"

	"github.com/fiatjaf/khatru"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/nips/nip01"
)

// Granted is one filter of a request together with what the gate grants its
// reader for it. Only Authorize makes it, and the store is not asked without.
type Granted struct {
	Filter nostr.Filter
	Scope  gate.Scope
}

// reading is one request on its way through khatru's hooks. They answer with a
// word alone: what the gate grants or refuses is left here for who asked.
type reading struct {
	relay   *Relay
	surface gate.Surface
	reader  gate.Reader
	table   *gate.Table // the rules for all filters of the request
	fresh   bool        // Config.Latest was asked
	asked   bool        // about filter, which is decided now
	filter  nostr.Filter
	scope   gate.Scope
	err     error // the gate's refusal, or why it could not decide
}

func newReading(ctx context.Context, r *Relay, surface gate.Surface) *reading {
	return &reading{relay: r, surface: surface, reader: ReaderFrom(ctx), table: r.table.Load(), fresh: r.cfg.Latest == nil}
}

// Authorize decides on all filters of one request: khatru's OverwriteFilter
// hooks, then RejectFilter (for COUNT: RejectCountFilter), of which the gate's
// first check is the last (gateHook); then it counts guesses. If any filter is
// refused the whole request is, with a *nip01.Refusal; another error is a
// failure. What is read for the request, here or by what is granted, is as new
// as the request (Config.Latest).
func (r *Relay) Authorize(ctx context.Context, surface gate.Surface, filters []nostr.Filter) ([]Granted, error) {
	q := newReading(ctx, r, surface)
	within := context.WithValue(ctx, readingKey, q)
	granted := make([]Granted, 0, len(filters))
	for _, original := range filters {
		filter := original
		if len(r.Hooks.OverwriteFilter) > 0 {
			filter = original.Clone()
			for _, overwrite := range r.Hooks.OverwriteFilter {
				overwrite(ctx, &filter)
			}
		}
		q.asked, q.scope, q.err = false, gate.Scope{}, nil
		if err := rejects(within, r.Hooks, surface, filter); err != nil {
			return nil, cmp.Or(q.err, err)
		}
		if !q.asked || !nostr.FilterEqual(q.filter, filter) { // its hook was taken out, or asked about another filter
			q.decide(ctx, filter)
		}
		if q.err != nil { // also where the hook's word was not heeded
			return nil, q.err
		}
		granted = append(granted, Granted{Filter: filter, Scope: q.scope})
	}
	if !q.fresh {
		if err := r.Latest(ctx); err != nil {
			return nil, err
		}
	}
	if err := guessing(ctx, r, q.reader, granted); err != nil {
		return nil, err
	}
	return granted, nil
}

// gateHook returns the gate's first check as a hook of khatru: a filter that may
// not be asked on the surface is rejected there. Without Authorize around it, it
// decides about the one filter by itself.
func gateHook(r *Relay, surface gate.Surface) func(context.Context, nostr.Filter) (bool, string) {
	return func(ctx context.Context, filter nostr.Filter) (bool, string) {
		q, within := ctx.Value(readingKey).(*reading)
		switch {
		case !within:
			q = newReading(ctx, r, surface)
		case q == nil: // a question with a first check of its own
			return false, ""
		}
		q.decide(ctx, filter)
		if q.err == nil || within { // Authorize takes the error as it is
			return q.err != nil, ""
		}
		return true, RefusalOf(q.err).Error()
	}
}

// beforeOwnCheck returns the context of a question that the gate's hook leaves
// alone.
func beforeOwnCheck(ctx context.Context) context.Context {
	return context.WithValue(ctx, readingKey, (*reading)(nil))
}

// decide is the gate's first check of one filter. It is told the reader's cases
// among the contracts that the filter names.
func (q *reading) decide(ctx context.Context, filter nostr.Filter) {
	q.asked, q.filter = true, filter
	by := q.surface
	if by == gate.SurfaceReq && filter.Search != "" {
		by = gate.SurfaceSearch
	}
	named := q.table.CasesAskedFor(q.reader, filter)
	if len(named) > 0 && !q.fresh {
		if q.err = q.relay.Latest(ctx); q.err != nil {
			return
		}
		q.fresh = true
	}
	var cases []gate.Case
	if cases, q.err = casesOf(ctx, q.relay.store, q.reader, named); q.err != nil {
		return
	}
	q.scope, q.err = q.table.ScopeFor(q.reader, filter, cases...)
	if q.err == nil {
		q.relay.cfg.Metrics.GateDecision(by.String(), q.scope.Rule(), decisionGranted)
		return
	}
	var refusal *gate.Refusal
	if errors.As(q.err, &refusal) {
		q.relay.cfg.Metrics.GateDecision(by.String(), refusal.Rule, refusal.Prefix)
	}
}

// casesOf returns those of the reader among the contracts that are named. The
// gate looks at nothing that is stored: it is told.
func casesOf(ctx context.Context, s Store, reader gate.Reader, named []string) ([]gate.Case, error) {
	if len(named) == 0 {
		return nil, nil
	}
	return s.Cases(ctx, reader.Keys(), named)
}

// Decisions of the gate besides its refusals' prefixes, as metrics name them.
const (
	decisionGranted  = "granted"
	decisionWithheld = "withheld"
)

// rejects runs the hooks for a filter: the operator's own, and the gate's.
func rejects(ctx context.Context, h *khatru.Relay, surface gate.Surface, filter nostr.Filter) error {
	hooks := h.RejectFilter
	if surface == gate.SurfaceCount || surface == gate.SurfaceHTTPCount {
		hooks = h.RejectCountFilter
	}
	for _, reject := range hooks {
		if refused, message := reject(ctx, filter); refused {
			return nip01.Parse(message)
		}
	}
	return nil
}

// CanRead returns the gate's second check for one live delivery, under the
// table in force now: a subscription opened before a reload does not outlive
// the rules.
func (r *Relay) CanRead(scope gate.Scope, d *Delivery) bool {
	table := r.table.Load()
	if d.Subject.Class == gate.Open && !table.AuthRequired() {
		return true
	}
	if scope.Under(table).CanRead(d.Subject) {
		return true
	}
	r.cfg.Metrics.GateDecision(gate.SurfaceLive.String(), d.Subject.Class.String(), decisionWithheld)
	return false
}
