package ingest

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/policy"
)

// NewRules returns the rules that hold for everybody: they refuse malformed
// events, foreign requests to vanish, expired events and those from the future,
// whoever brings them. Lists, bans and rates do not apply to the operator.
func NewRules(names relay.Names, o policy.Options) (policy.Hook, error) {
	p, err := policy.New(policy.Options{RelayNames: names, Future: o.Future, Reader: relay.ReaderFrom, Import: true})
	if err != nil {
		return nil, err
	}
	// The operator delivers each event as its author would.
	return func(ctx context.Context, ev *nostr.Event) (bool, string) {
		return p.RejectEvent(relay.WithReader(ctx, gate.NewReader(ev.PubKey)), ev)
	}, nil
}
