package snapshot

import (
	"context"
	"strings"

	"engramd/internal/chain"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// Chains returns what the engrams of a source tell of writers' logs, as far as the
// keys read them, as one relay's answer of that name. Engrams without a key for
// them are counted: what they tell is not known. About 500 bytes of memory are
// used for each engram.
func Chains(ctx context.Context, src bundle.Source, agent string, keys bundle.Keys, name string) (in chain.Evidence, unread int, err error) {
	in.Events = map[string]chain.Event{}
	shown := chain.Shown{URL: name}
	for _, class := range []bundle.Class{bundle.Heads, bundle.History} {
		err := src.Events(ctx, class, func(b []byte) error {
			ev, err := parse(b)
			if err != nil || ev.Kind != nipae.Kind {
				return err
			}
			e, ok := openEngram(ev, agent, keys)
			if !ok {
				unread++
				return nil
			}
			// An event's strings are parts of its JSON, which must not stay with them.
			one := chain.Event{ID: strings.Clone(ev.ID), D: strings.Clone(dOf(ev)), At: e.CreatedAt(), Slug: strings.Clone(string(e.Slug()))}
			if l, ok := chain.Of(e); ok {
				one.Link = &l
			}
			if text, live := e.Body.Text(); live && chain.IsUnit(e.Slug()) {
				if u, err := chain.ParseUnit(e.Slug(), text); err == nil {
					u.W = strings.Clone(u.W)
					for i := range u.Void {
						u.Void[i].ID = strings.Clone(u.Void[i].ID)
					}
					in.Units = append(in.Units, u)
				}
			}
			in.Events[one.ID] = one
			if class == bundle.Heads {
				shown.Heads = append(shown.Heads, one.ID)
			} else {
				shown.Past = append(shown.Past, one.ID)
			}
			return nil
		})
		if err != nil {
			return in, unread, err
		}
	}
	in.Relays = []chain.Shown{shown}
	return in, unread, nil
}
