package fairness

import "container/list"

// Recent is a map of bounded size that drops what was not used for longest. It
// is not safe for concurrent use.
type Recent[K comparable, V any] struct {
	most    int
	order   *list.List // of recentEntry, latest use in front
	entries map[K]*list.Element
}

type recentEntry[K comparable, V any] struct {
	key   K
	value V
}

// NewRecent makes an empty map of up to most entries.
func NewRecent[K comparable, V any](most int) *Recent[K, V] {
	return &Recent[K, V]{most: most, order: list.New(), entries: make(map[K]*list.Element)}
}

// Get returns the value under key and counts as a use of it.
func (r *Recent[K, V]) Get(key K) (value V, ok bool) {
	el, ok := r.entries[key]
	if !ok {
		return value, false
	}
	r.order.MoveToFront(el)
	return el.Value.(recentEntry[K, V]).value, true
}

// Put sets the value under key, and drops the least recently used entry if
// there are too many.
func (r *Recent[K, V]) Put(key K, value V) {
	entry := recentEntry[K, V]{key, value}
	if el, ok := r.entries[key]; ok {
		el.Value = entry
		r.order.MoveToFront(el)
		return
	}
	r.entries[key] = r.order.PushFront(entry)
	if r.order.Len() > r.most {
		last := r.order.Back()
		delete(r.entries, last.Value.(recentEntry[K, V]).key)
		r.order.Remove(last)
	}
}

// Len returns how many entries there are.
func (r *Recent[K, V]) Len() int { return r.order.Len() }
