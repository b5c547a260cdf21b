package importer

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/policy"
	"engramd/internal/relay"
)

// NewJudge makes the rules that hold for everybody: malformed events, foreign
// requests to vanish, expired ones and those from the future stay out, whoever
// brings them. Lists, bans and rates do not hold for the operator.
func NewJudge(names relay.Names, o policy.Options) (policy.Hook, error) {
	p, err := policy.New(policy.Options{RelayNames: names, Future: o.Future, Reader: relay.ReaderFrom, Import: true})
	if err != nil {
		return nil, err
	}
	// The operator delivers each event as its author would.
	return func(ctx context.Context, ev *nostr.Event) (bool, string) {
		return p.RejectEvent(relay.WithReader(ctx, gate.NewReader(ev.PubKey)), ev)
	}, nil
}
