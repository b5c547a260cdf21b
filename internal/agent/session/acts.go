package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/memory/state"
	"engramd/internal/protocol/wire"
	"engramd/nips/kind"
	"engramd/nips/nipae"
)

// Acted implements client.Known.
func (k *known) Acted(ctx context.Context, missing []client.Newest, acts []*nostr.Event, relays []string) (map[string]bool, error) {
	heads, err := k.heads(ctx)
	if err != nil {
		return nil, err
	}
	if heads != nil {
		texts := map[string][]byte{}
		for _, ev := range acts {
			if text, err := json.Marshal(ev); err == nil {
				texts[ev.ID] = text
			}
		}
		if err := heads.AddActs(ctx, texts); err != nil {
			return nil, err
		}
		kept, err := heads.Acts(ctx)
		if err != nil {
			return nil, err
		}
		for _, text := range kept {
			if ev, err := wire.ParseEvent(text); err == nil {
				acts = append(acts, ev)
			}
		}
	}
	explained := map[string]bool{}
	for _, m := range missing {
		if !slices.ContainsFunc(acts, func(act *nostr.Event) bool { return k.ends(act, m, relays) }) {
			continue
		}
		explained[m.ID] = true
		if k.s.o.Client.Named {
			continue // others may have it, where a request to vanish does not name them
		}
		if err := k.gone(ctx, heads, m); err != nil {
			return nil, err
		}
	}
	return explained, nil
}

// gone forgets a version that the agent's key had deleted.
func (k *known) gone(ctx context.Context, heads *state.Heads, m client.Newest) error {
	if heads != nil {
		if err := heads.Lose(ctx, m.D, state.Loss{At: m.At, Why: state.Deleted}); err != nil {
			return err
		}
	}
	if kept := k.kept(ctx); kept != nil {
		if _, err := kept.Drop(ctx, m.ID); err != nil {
			return fmt.Errorf("the local copy: %w", err)
		}
	}
	return nil
}

// ends reports whether a request of the agent's key ends a version: it names its id or
// its address (NIP-09), or all relays that are asked (NIP-62).
func (k *known) ends(act *nostr.Event, m client.Newest, relays []string) bool {
	if act.PubKey != k.s.Memory.Agent() {
		return false
	}
	covers := int64(act.CreatedAt) >= m.At
	if act.Kind == kind.Vanish {
		return covers && len(relays) > 0 && !slices.ContainsFunc(relays, func(url string) bool { return !vanishesAt(act, url) })
	}
	address := strconv.Itoa(nipae.Kind) + ":" + act.PubKey + ":" + m.D
	return act.Kind == nostr.KindDeletion && slices.ContainsFunc(act.Tags, func(tag nostr.Tag) bool {
		return len(tag) > 1 && (tag[0] == "e" && tag[1] == m.ID || tag[0] == "a" && tag[1] == address && covers)
	})
}

// vanishesAt reports whether a request to vanish names a relay (NIP-62).
func vanishesAt(act *nostr.Event, url string) bool {
	return slices.ContainsFunc(act.Tags, func(tag nostr.Tag) bool {
		return len(tag) > 1 && tag[0] == "relay" && (tag[1] == "ALL_RELAYS" || canonicalURL(tag[1]) == canonicalURL(url))
	})
}

func canonicalURL(url string) string {
	if c, err := nipae.CanonicalRelayURL(url); err == nil {
		return c
	}
	return url
}

// Removed implements client.Known.
func (k *known) Removed(ctx context.Context, at client.Newest, relay string) error {
	heads, err := k.heads(ctx)
	if heads != nil {
		return heads.Lose(ctx, at.D, state.Loss{Relay: relay, At: at.At, Why: state.Removed})
	}
	return err
}
