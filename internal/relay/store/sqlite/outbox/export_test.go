package outbox

import "engramd/internal/relay/store/sqlite/engine"

// opened is a store that is put together by somebody else.
type opened interface{ inside() *Store }

func (s *Store) inside() *Store { return s }

// DB is the database of a store.
func DB(o opened) *engine.DB { return o.inside().db }
