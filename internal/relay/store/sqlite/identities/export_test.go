package identities

import "engramd/internal/relay/store/sqlite/engine"

// SetMaxAgents changes how many identities there may be, until the end of a
// test.
func SetMaxAgents(t interface{ Cleanup(func()) }, most int64) {
	was := maxAgents
	maxAgents = most
	t.Cleanup(func() { maxAgents = was })
}

// opened is a store that is put together by somebody else.
type opened interface{ inside() *Store }

func (s *Store) inside() *Store { return s }

// DB is the database of a store.
func DB(o opened) *engine.DB { return o.inside().db }
