package answer

import (
	"context"

	"engramd/internal/memory/localcopy"
)

// Local makes a source of a local copy. relays are those that are asked now:
// what they confirmed is how fresh an answer is; whole says that all of them are
// known.
func Local(m *localcopy.Copy, relays func() (urls []string, whole bool)) Source {
	return &local{m, relays}
}

type local struct {
	mirror *localcopy.Copy
	relays func() ([]string, bool)
}

func (l *local) Read(ctx context.Context, do func(View) error) error {
	urls, whole := l.relays()
	return l.mirror.Read(ctx, func(v *localcopy.View) error {
		f := v.Freshness(urls)
		state := State{AsOf: f.AsOf, Stale: f.Stale || !whole, Unfinished: f.Unfinished}
		for range v.Unreadable() {
			state.Unreadable++
		}
		return do(&localView{v, state})
	})
}

// localView is one state of a local copy.
type localView struct {
	*localcopy.View
	state State
}

func (v *localView) State() State { return v.state }

func (v *localView) Head(slug string) (Head, bool) {
	h, ok := v.View.Head(slug)
	if !ok || h.Tombstone || h.Unreadable != "" {
		return Head{}, false
	}
	return headOf(h), true
}

func (v *localView) Heads() []Head { return v.Under("") }

func (v *localView) Under(prefix string) []Head {
	var all []Head
	for h := range v.View.Heads(prefix) {
		if !h.Tombstone {
			all = append(all, headOf(h))
		}
	}
	return all
}

func headOf(h localcopy.Head) Head { return Head{Slug: h.Slug, Size: h.Size, UpdatedAt: h.CreatedAt} }
