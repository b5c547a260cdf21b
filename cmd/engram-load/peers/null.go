package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/fiatjaf/eventstore"
	"github.com/nbd-wtf/go-nostr"
)

// memory keeps nothing that it is sent and answers from events held in memory,
// found through maps: what a relay over it costs is the framework's cost. It is
// filled before it is used, and only read from then on.
type memory struct {
	all     []*nostr.Event            // newest first, as all lists here
	ids     map[string][]*nostr.Event // one event each
	authors map[authored][]*nostr.Event
	tags    map[tagged][]*nostr.Event
	kinds   map[int][]*nostr.Event
}

type authored struct {
	pubkey string
	kind   int
}

type tagged struct{ name, value string }

var (
	_ eventstore.Store   = (*memory)(nil)
	_ eventstore.Counter = (*memory)(nil)
)

func newMemory() *memory {
	return &memory{
		ids:     make(map[string][]*nostr.Event),
		authors: make(map[authored][]*nostr.Event),
		tags:    make(map[tagged][]*nostr.Event),
		kinds:   make(map[int][]*nostr.Event),
	}
}

// index takes over events, each of which it has not seen before.
func (m *memory) index(events []*nostr.Event) {
	slices.SortFunc(events, newestFirst)
	m.all = events
	for _, e := range events {
		m.ids[e.ID] = []*nostr.Event{e}
		m.kinds[e.Kind] = append(m.kinds[e.Kind], e)
		author := authored{e.PubKey, e.Kind}
		m.authors[author] = append(m.authors[author], e)
		for i, t := range e.Tags {
			if len(t) < 2 || len(t[0]) != 1 || repeated(e.Tags[:i], t) {
				continue
			}
			tag := tagged{t[0], t[1]}
			m.tags[tag] = append(m.tags[tag], e)
		}
	}
}

func repeated(before nostr.Tags, t nostr.Tag) bool {
	return slices.ContainsFunc(before, func(b nostr.Tag) bool { return len(b) > 1 && b[0] == t[0] && b[1] == t[1] })
}

// newestFirst is the order of answers; the lowest id decides a tie.
func newestFirst(a, b *nostr.Event) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(a.ID, b.ID))
}

// lists returns lists that hold all that can match the filter, no event twice.
func (m *memory) lists(f nostr.Filter) [][]*nostr.Event {
	switch tag, values := narrowest(f.Tags); {
	case len(f.IDs) > 0:
		return found(m.ids, f.IDs)
	case tag == "d" || len(values) == 1 && len(f.Authors) == 0:
		keys := make([]tagged, 0, len(values))
		for _, v := range values {
			keys = append(keys, tagged{tag, v})
		}
		return [][]*nostr.Event{merge(found(m.tags, keys))}
	case len(f.Authors) > 0 && len(f.Kinds) > 0:
		keys := make([]authored, 0, len(f.Authors)*len(f.Kinds))
		for _, a := range f.Authors {
			for _, k := range f.Kinds {
				keys = append(keys, authored{a, k})
			}
		}
		return found(m.authors, keys)
	case len(f.Kinds) > 0:
		return found(m.kinds, f.Kinds)
	}
	return [][]*nostr.Event{m.all}
}

// narrowest picks the tag to look events up by: d before any other.
func narrowest(tags nostr.TagMap) (string, []string) {
	if values, ok := tags["d"]; ok {
		return "d", values
	}
	best := ""
	for name, values := range tags {
		if best == "" || len(values) < len(tags[best]) {
			best = name
		}
	}
	return best, tags[best]
}

func found[K comparable](by map[K][]*nostr.Event, keys []K) [][]*nostr.Event {
	lists := make([][]*nostr.Event, 0, len(keys))
	for i, k := range keys {
		if list := by[k]; len(list) > 0 && !slices.Contains(keys[:i], k) {
			lists = append(lists, list)
		}
	}
	return lists
}

// merge makes one list without repetitions, newest first. A list alone is taken
// as it is.
func merge(lists [][]*nostr.Event) []*nostr.Event {
	if len(lists) == 1 {
		return lists[0]
	}
	all := slices.Concat(lists...)
	slices.SortFunc(all, newestFirst)
	return slices.Compact(all)
}

// QueryEvents returns a closed channel that holds the answer, newest first.
func (m *memory) QueryEvents(_ context.Context, f nostr.Filter) (chan *nostr.Event, error) {
	limit := f.Limit
	if limit <= 0 || limit > maxLimit {
		limit = maxLimit
	}
	var answer []*nostr.Event
	for _, e := range merge(m.lists(f)) {
		if len(answer) == limit {
			break
		}
		if matches(f, e) {
			answer = append(answer, e)
		}
	}
	c := make(chan *nostr.Event, len(answer))
	for _, e := range answer {
		c <- e
	}
	close(c)
	return c, nil
}

// CountEvents counts all that match.
func (m *memory) CountEvents(_ context.Context, f nostr.Filter) (int64, error) {
	var n int64
	for _, e := range merge(m.lists(f)) {
		if matches(f, e) {
			n++
		}
	}
	return n, nil
}

// matches is go-nostr's rule, and for searches the words of the content.
func matches(f nostr.Filter, e *nostr.Event) bool {
	return f.Matches(e) && (f.Search == "" || strings.Contains(e.Content, f.Search))
}

// Init and Close have nothing to do.
func (m *memory) Init() error { return nil }
func (m *memory) Close()      {}

// SaveEvent, ReplaceEvent and DeleteEvent keep nothing.
func (m *memory) SaveEvent(context.Context, *nostr.Event) error    { return nil }
func (m *memory) ReplaceEvent(context.Context, *nostr.Event) error { return nil }
func (m *memory) DeleteEvent(context.Context, *nostr.Event) error  { return nil }
