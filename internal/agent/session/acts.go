package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	k.acting.Lock()
	defer k.acting.Unlock()
	if err := k.acts.add(ctx, k.s.Memory.Agent(), heads, acts); err != nil {
		return nil, err
	}
	explained := map[string]bool{}
	var gone []client.Newest
	vanished := k.acts.vanishedAt(relays)
	for _, m := range missing {
		if until, ok := k.acts.until[m.D]; ok && until >= m.At || k.acts.ids[m.ID] || vanished >= m.At {
			explained[m.ID], gone = true, append(gone, m)
		}
	}
	if k.s.o.Client.Named {
		return explained, nil // others may have it, where a request to vanish does not name them
	}
	return explained, k.gone(ctx, heads, gone)
}

// gone forgets versions that the agent's key had deleted.
func (k *known) gone(ctx context.Context, heads *state.Heads, all []client.Newest) error {
	if len(all) == 0 {
		return nil
	}
	ids, losses := make([]string, len(all)), map[string]state.Loss{}
	for i, m := range all {
		ids[i], losses[m.D] = m.ID, state.Loss{At: m.At, Why: state.Deleted}
	}
	if heads != nil {
		if err := heads.LoseThose(ctx, losses); err != nil {
			return err
		}
	}
	if kept, _ := k.kept(ctx); kept != nil {
		if _, err := kept.Drop(ctx, ids...); err != nil {
			return fmt.Errorf("the local copy: %w", err)
		}
	}
	return nil
}

// acts are requests of the agent's key, by what they end.
type acts struct {
	there    map[string]bool  // ids of those that are here
	stored   int              // how many the state had when it was read
	ids      map[string]bool  // ended by id (NIP-09)
	until    map[string]int64 // ended by address, with the time up to which
	vanished []*nostr.Event   // NIP-62
}

// add takes requests in, and keeps them in the state; nil is none.
func (a *acts) add(ctx context.Context, agent string, heads *state.Heads, events []*nostr.Event) error {
	texts := map[string][]byte{}
	for _, ev := range events {
		if a.there[ev.ID] {
			continue
		}
		if text, err := json.Marshal(ev); err == nil {
			texts[ev.ID] = text
		}
		a.take(agent, ev)
	}
	if heads == nil {
		return nil
	}
	if err := heads.AddActs(ctx, texts); err != nil {
		return err
	}
	if n, err := heads.CountActs(ctx); err != nil || n == a.stored {
		return err
	}
	kept, err := heads.Acts(ctx)
	if err != nil {
		return err
	}
	for _, text := range kept {
		if ev, err := wire.ParseEvent(text); err == nil && !a.there[ev.ID] {
			a.take(agent, ev)
		}
	}
	a.stored = len(kept)
	return nil
}

func (a *acts) take(agent string, act *nostr.Event) {
	if a.there == nil {
		a.there, a.ids, a.until = map[string]bool{}, map[string]bool{}, map[string]int64{}
	}
	a.there[act.ID] = true
	switch {
	case act.PubKey != agent:
		return
	case act.Kind == kind.Vanish:
		a.vanished = append(a.vanished, act)
		return
	case act.Kind != nostr.KindDeletion:
		return
	}
	for _, tag := range act.Tags {
		switch {
		case len(tag) < 2:
		case tag[0] == "e":
			a.ids[tag[1]] = true
		case tag[0] == "a":
			if d, ok := strings.CutPrefix(tag[1], strconv.Itoa(nipae.Kind)+":"+agent+":"); ok {
				a.until[d] = max(a.until[d], int64(act.CreatedAt))
			}
		}
	}
}

// vanishedAt is the time up to which requests end everything at all relays that are asked;
// -1 for none.
func (a *acts) vanishedAt(relays []string) int64 {
	until := int64(-1)
	for _, act := range a.vanished {
		if len(relays) > 0 && !slices.ContainsFunc(relays, func(url string) bool { return !vanishesAt(act, url) }) {
			until = max(until, int64(act.CreatedAt))
		}
	}
	return until
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
func (k *known) Removed(ctx context.Context, at client.Newest, by client.Removal) error {
	heads, err := k.heads(ctx)
	if heads != nil {
		why := state.Removed
		if by.Expired {
			why = state.Expired
		}
		return heads.Lose(ctx, at.D, state.Loss{Relay: by.Relay, At: at.At, Why: why})
	}
	return err
}
