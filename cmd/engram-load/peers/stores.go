package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/dgraph-io/badger/v4"
	"github.com/fiatjaf/eventstore"
	badgerstore "github.com/fiatjaf/eventstore/badger"
	"github.com/fiatjaf/eventstore/lmdb"
	"github.com/fiatjaf/eventstore/sqlite3"
)

const (
	// maxLimit is the most events for one filter, as in engramd's defaults.
	maxLimit = 5000
	// mapSize of LMDB's file, which is sparse: room for 10⁶ events many times.
	mapSize = 64 << 30
	// sqliteConns bounds the connections to SQLite: khatru runs each message in a
	// goroutine of its own, and hundreds of connections wait for one lock longer.
	sqliteConns = 16
)

// store is what khatru needs of a store, and counting.
type store interface {
	eventstore.Store
	eventstore.Counter
}

// safety says whether a write that has returned must outlive a loss of power.
type safety bool

const (
	durable safety = true
	hasty   safety = false // for filling: the store is copied when it is whole
)

// open opens, or makes, the store that o names. What the eventstore does by
// default stays, but for the limits, and for durability: badger and SQLite get
// the settings that make a returned write durable. LMDB always is.
func open(o options, s safety) (store, error) {
	var opened store
	switch o.store {
	case "null":
		return newMemory(), nil
	case "lmdb":
		opened = &lmdb.LMDBBackend{Path: o.data, MaxLimit: maxLimit, MapSize: mapSize}
	case "badger":
		opened = &badgerstore.BadgerBackend{Path: o.data, MaxLimit: maxLimit, BadgerOptionsModifier: func(b badger.Options) badger.Options {
			return b.WithSyncWrites(bool(s)).WithLoggingLevel(badger.ERROR)
		}}
	case "sqlite3":
		opened = newSQLite(o.data, s)
	default:
		return nil, fmt.Errorf("%w: no store is called %q", errUsage, o.store)
	}
	if err := os.MkdirAll(o.data, 0o700); err != nil {
		return nil, err
	}
	if err := opened.Init(); err != nil {
		return nil, fmt.Errorf("%s in %s: %w", o.store, o.data, err)
	}
	if b, ok := opened.(*sqlite3.SQLite3Backend); ok {
		b.SetMaxOpenConns(sqliteConns)
		b.SetMaxIdleConns(sqliteConns)
	}
	return opened, nil
}

func newSQLite(dir string, s safety) *sqlite3.SQLite3Backend {
	level := "OFF"
	if s == durable {
		level = "FULL"
	}
	return &sqlite3.SQLite3Backend{
		DatabaseURL: "file:" + filepath.Join(dir, "events.sqlite") + "?_journal_mode=WAL&_busy_timeout=60000&_synchronous=" + level,
		QueryLimit:  maxLimit,
	}
}
