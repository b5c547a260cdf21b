package mcp

import (
	"sync"

	"engramd/internal/memory/intentions"
)

const (
	// maxComing is how many intentions come with one answer.
	maxComing = 5
	// maxKeys is how many are known as shown, where the server is all that there is
	// of a session.
	maxKeys = 4096
)

// shownIntentions are those that a server has shown, for one that knows no session.
type shownIntentions struct {
	mu   sync.Mutex
	keys map[string][]string // by slug
	n    int
}

// fresh returns the first items that were not shown before, at most that many, and
// notes them.
func (s *shownIntentions) fresh(items []intentions.Item, most int) []intentions.Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keys == nil || s.n > maxKeys {
		s.keys, s.n = map[string][]string{}, 0
	}
	var all []intentions.Item
	for _, i := range items {
		if len(all) == most || intentions.Seen(s.keys[i.Slug], i.Key) {
			continue
		}
		s.keys[i.Slug] = append(s.keys[i.Slug], i.Key)
		s.n++
		all = append(all, i)
	}
	return all
}
