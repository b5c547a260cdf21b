// Package contracts keeps the tables of contract memory (NIP-TEMP): threads and
// their order, the states of pairs, terms and decisions, and the private entries
// of the API. It takes part in what the writer does: it is told of each event of
// contract memory before it is stored (Judge), when it is (Stored), when it is
// withdrawn (Withdrawn and its likes), and when it is gone for good (Removed);
// and it executes the commands about contracts.
//
// It writes to no table but contract_*, and asks events for what has to happen
// to others. It reads the text of an event by its seq.
package contracts

import (
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// Writer is what the writer does to these tables. It is used on the writer's
// goroutine alone.
type Writer struct {
	*owners
	forgetting bool            // contract_forgetting may have rows
	done       store.FinalPair // see Prune
}

// tables are what all below writes to, by the transaction under way.
type tables struct {
	*engine.Writer
	c      *engine.Conn
	events Events
}

// parties are keys, and the hashes that stand for those who are forgotten.
type parties struct{ *tables }

// threads are what stands in the thread of two keys, in which order.
type threads struct{ *parties }

// states are where pairs of keys stand, by what was said and decided.
type states struct{ *threads }

// owners are those whose contracts these are, and who may write in them.
type owners struct {
	*states
	live func() *store.Live
}

// Events is what contracts ask of events.
type Events interface {
	// NextSeq is the number that what is judged gets when it is stored.
	NextSeq() int64
	// SomeVanished reports whether anybody asked to vanish, and EverVanished
	// whether a key did, at whatever time.
	SomeVanished() bool
	EverVanished(key []byte) (bool, error)
	// RemoveBetween removes what history holds of a contract by one key that is
	// addressed to another.
	RemoveBetween(contract string, from, to []byte) error
}

// NewWriter returns the part of w that is about these tables. Call Open before
// anything else. live are the options in force.
func NewWriter(w *engine.Writer, events Events, live func() *store.Live) *Writer {
	t := &tables{Writer: w, c: w.Conn(), events: events}
	return &Writer{owners: &owners{&states{&threads{&parties{t}}}, live}}
}

// Store reads these tables, and has the commands executed that are about them.
type Store struct {
	db       *engine.DB
	orders   store.Orders
	requests Withdrawals
}

// Withdrawals reads the signed request by which something of a contract was
// withdrawn, if everything that it names is of this contract; nil otherwise.
type Withdrawals func(c *engine.Conn, contract string, request []byte) (json []byte, err error)

// NewStore returns the contracts of a database.
func NewStore(db *engine.DB, orders store.Orders, requests Withdrawals) *Store {
	return &Store{db, orders, requests}
}

// record is an event of contract memory, with its keys as they lie in
// the database.
type record struct {
	ev         *nostr.Event
	id, pubkey []byte
	created    int64
}

func newRecord(ev *nostr.Event) (*record, error) {
	id, ok1 := column.Hex32(ev.ID)
	pubkey, ok2 := column.Hex32(ev.PubKey)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("contract memory of kind %d has no id or no pubkey", ev.Kind)
	}
	return &record{ev, id, pubkey, int64(ev.CreatedAt)}, nil
}
