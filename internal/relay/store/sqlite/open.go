package sqlite

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/identities"
)

// Options say how a store is opened.
type Options = events.Options

// Store is one open database: one writer, several readers. The methods of its
// parts are its own.
type Store struct {
	*events.Store
	*contractStore
	*identityStore
	*outboxStore
	*adminStore
	upkeep

	db         *engine.DB
	identities *identities.Writer // on the writer's goroutine
}

// upkeep is what an operator asks of the database; *engine.DB answers.
type upkeep interface {
	Older() (version int64, older bool)
	QueueLen() int
	Reads() store.Reads
	Recent(top int) store.Recent
	Sizes() (database, wal int64)
	Ready(ctx context.Context) error
	Backup(ctx context.Context, path string) error
}

// Open opens the database, creating it if there is none, applies the migrations
// that are missing, puts the events whose gate class changed into their new
// one, and starts the writer. The folder must exist; the caller holds its Lock.
//
// The error wraps engine.ErrNewer when a newer program wrote the database, engine.ErrForeign
// when it is no engramd database.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{}
	var err error
	if s.Store, s.db, err = events.Open(ctx, o, s.parts); err != nil {
		return nil, err
	}
	s.upkeep = s.db
	return s, nil
}

// Space looks at the file, on a connection of its own: it answers also when all
// readers are busy.
func (s *Store) Space(ctx context.Context) (store.Space, error) {
	space, err := s.db.Space(ctx)
	space.Max = s.MaxBytes()
	return space, err
}
