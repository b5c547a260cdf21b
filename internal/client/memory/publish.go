package memory

import (
	"context"
	"errors"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

// Publish is Client.Publish of an event that Compose made of the pair. What is in no
// log (Unchained) opens none.
func (m *Memory) Publish(ctx context.Context, ev *nostr.Event) ([]client.PublishStatus, error) {
	ctx, cancel := m.c.Operation(ctx)
	defer cancel()
	published, err := m.c.PublishThose(ctx, m.c.WriteTargets(), ev, nil)
	if len(published) > 0 {
		m.sent(ctx, ev, published)
	}
	return published, err
}

// publishToOthers is publish to the relays that no decision was asked of, with
// what those said that were. Once a relay has decided, or taken it, the event
// is published, whatever the others say.
func publishToOthers(ctx context.Context, c *client.Client, to []client.Target, ev *nostr.Event, slow map[string]bool, d client.Decision) ([]client.PublishStatus, error) {
	others := slices.DeleteFunc(slices.Clone(to), func(t client.Target) bool {
		return slices.ContainsFunc(d.Published, func(s client.PublishStatus) bool { return s.URL == t.URL })
	})
	if len(d.Published) == 0 {
		return c.PublishThose(ctx, to, ev, slow)
	}
	if len(others) == 0 {
		return d.Published, nil
	}
	published, err := c.PublishThose(ctx, others, ev, slow)
	if len(published) == 0 {
		return d.Published, err
	}
	return append(d.Published, published...), nil
}

// withoutSilent are targets of which those that let an event time out are not
// to be asked any more.
func withoutSilent(targets []client.Target, published []client.PublishStatus) []client.Target {
	out := slices.Clone(targets)
	for _, s := range published {
		for i := range out {
			if out[i].URL == s.URL && errors.Is(s.Err, client.ErrTimeout) {
				out[i].Err = s.Err
			}
		}
	}
	return out
}
