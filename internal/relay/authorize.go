package relay

import (
	"context"
	"errors"

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

// Authorize decides on all filters of one request: khatru's OverwriteFilter
// hooks, then RejectFilter (for COUNT: RejectCountFilter), then the gate's
// first check, which is told the reader's cases among the contracts that a
// filter names; then it counts guesses. If any filter is refused the whole
// request is, with a *nip01.Refusal; another error is a failure. What is read
// for the request, here or by what is granted, is as new as the request
// (Config.Latest).
func (r *Relay) Authorize(ctx context.Context, surface gate.Surface, filters []nostr.Filter) ([]Granted, error) {
	reader := ReaderFrom(ctx)
	table, fresh := r.table.Load(), r.latest == nil
	granted := make([]Granted, 0, len(filters))
	for _, original := range filters {
		filter := original
		if len(r.Hooks.OverwriteFilter) > 0 {
			filter = original.Clone()
			for _, overwrite := range r.Hooks.OverwriteFilter {
				overwrite(ctx, &filter)
			}
		}
		if err := r.rejects(ctx, surface, filter); err != nil {
			return nil, err
		}
		by := surface
		if by == gate.SurfaceReq && filter.Search != "" {
			by = gate.SurfaceSearch
		}
		named := table.CasesAskedFor(reader, filter)
		if len(named) > 0 && !fresh {
			if err := r.Latest(ctx); err != nil {
				return nil, err
			}
			fresh = true
		}
		cases, err := r.cases(ctx, reader, named)
		if err != nil {
			return nil, err
		}
		scope, err := table.ScopeFor(reader, filter, cases...)
		if err != nil {
			var refusal *gate.Refusal
			if errors.As(err, &refusal) {
				r.metrics.GateDecision(by.String(), refusal.Rule, refusal.Prefix)
			}
			return nil, err
		}
		r.metrics.GateDecision(by.String(), scope.Rule(), decisionGranted)
		granted = append(granted, Granted{Filter: filter, Scope: scope})
	}
	if !fresh {
		if err := r.Latest(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.guessing(ctx, reader, granted); err != nil {
		return nil, err
	}
	return granted, nil
}

// cases returns those of the reader among the contracts that are named. The
// gate looks at nothing that is stored: it is told.
func (r *Relay) cases(ctx context.Context, reader gate.Reader, named []string) ([]gate.Case, error) {
	if len(named) == 0 {
		return nil, nil
	}
	return r.store.Cases(ctx, reader.Keys(), named)
}

// Decisions of the gate besides its refusals' prefixes, as metrics name them.
const (
	decisionGranted  = "granted"
	decisionWithheld = "withheld"
)

// rejects runs the operator's own hooks. The gate is not among them: what they
// let pass still needs a scope.
func (r *Relay) rejects(ctx context.Context, surface gate.Surface, filter nostr.Filter) error {
	hooks := r.Hooks.RejectFilter
	if surface == gate.SurfaceCount || surface == gate.SurfaceHTTPCount {
		hooks = r.Hooks.RejectCountFilter
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
	r.metrics.GateDecision(gate.SurfaceLive.String(), d.Subject.Class.String(), decisionWithheld)
	return false
}
