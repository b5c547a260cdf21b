// Package state is what an agent's machine knows and no relay has: who
// writes here and its log, the sessions and what was shown in them, how often memories were
// used or offered, and plans that are open. Unlike the local copy it cannot be built again,
// so it is never deleted: one that cannot be used is set aside.
//
// There is one file for each pair of agent and owner, sealed under a key from
// their conversation (internal/memory/state/sealedfile), and any number of processes use it
// at once. It is bound to its place, which is machine, user and folder: a copy
// of it is not the same writer, and found elsewhere it is set aside. Once a
// method has returned without an error, what it wrote outlasts the process and a
// loss of power.
package state

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"engramd/internal/memory/state/sealedfile"
)

// Bounds. What is beyond them is dropped, the oldest first, but for open plans,
// which nobody drops in silence.
const (
	MaxSessions   = 200
	SessionsLast  = 24 * time.Hour
	MaxServers    = 400
	ServersLast   = 30 * 24 * time.Hour
	MaxFolders    = 4096
	MaxShown      = 4000     // in a session
	MaxCounters   = 20_000   // memories
	MaxTallies    = 20_000   // memories of one kind of tally
	MaxPlans      = 64       // that are open
	MaxChecked    = 100_000  // signatures that need not be checked again
	MaxMarks      = 64       // logs of one relay
	MaxMarked     = 64       // relays with marks
	MaxTakers     = 62       // relays of which is kept what they took: bits of a number
	MaxPlan       = 1 << 20  // bytes of one, or of a migration
	MaxActs       = 10_000   // requests to delete
	MaxAccepted   = 10_000   // proposals that were taken over unasked
	MaxQueued     = 1000     // writes that wait
	MaxQueuedSize = 16 << 20 // bytes of all that wait
	maxOthers     = 64       // folders of one name that are told
	maxName       = 1 << 10  // bytes of a slug, session, harness or plan's id
	maxPath       = 4 << 10  // bytes of a folder
	maxAtOnce     = 4096     // slugs that one call is about
	label         = "engramd/state/v1"
	nameLabel     = "engramd/state/name/v1"
	application   = 0x656e7374
	writerIDBytes = 16
)

// What methods fail with.
var (
	// ErrTooLarge is an argument beyond a bound.
	ErrTooLarge = errors.New("too large for the state")
	// ErrFull means that too many plans are open.
	ErrFull = errors.New("too many plans are open")
	// ErrNoPlan is a plan that is not open, or not any more.
	ErrNoPlan = errors.New("no such plan is open")
	// ErrOutboxFull means that nothing more can wait on this machine.
	ErrOutboxFull = fmt.Errorf("%d writes, or %d MiB of them, wait on this machine, and no more can: see engramctl outbox", MaxQueued, MaxQueuedSize>>20)
	// ErrOvertaken means that another process queued a write at the slug meanwhile.
	ErrOvertaken = errors.New("another write was queued at the slug")
)

// Pair says whose state it is: public keys in hex, and what the two share.
type Pair struct {
	Agent, Owner string
	Conversation [32]byte
}

// Options say where the state is.
type Options struct {
	Dir  string           // see Dir
	Warn func(string)     // takes one line when a state is set aside; nil drops it
	Now  func() time.Time // nil is the system's clock
	// Machine names this machine; nil asks the system: see Machine.
	Machine func() (string, error)
}

// State is the open state of a pair. Any number of goroutines may use it.
type State struct {
	Links    Links
	Sessions Sessions
	Folders  Folders
	Plans    Plans
	Counters Counters
	Feedback Feedback
	Tallies  Tallies
	Audit    Audit
	Heads    Heads
	Outbox   Outbox
	Turns    Turns
	Owners   Owners
	*db
}

// db is the file that the parts of a state share.
type db struct {
	file *sealedfile.File
	now  func() time.Time
}

// The parts of a state, which have tables of their own.
type (
	// Links are the writer's logs and the numbers that were taken of them.
	Links struct{ *db }
	// Sessions are the sessions of the agent, what was shown in them, and who serves them.
	Sessions struct{ *db }
	// Folders are those that are known to be of a project.
	Folders struct{ *db }
	// Plans are what was prepared and is to be carried out.
	Plans struct{ *db }
	// Counters say how often memories were used.
	Counters struct{ *db }
	// Feedback is what memories were called.
	Feedback struct{ *db }
	// Tallies say how often plans did something with a memory.
	Tallies struct{ *db }
	// Audit is what was checked of events and logs.
	Audit struct{ *db }
	// Heads are the newest events that this machine knows of, by their addresses.
	Heads struct{ *db }
	// Outbox is what was written while no relay answered.
	Outbox struct{ *db }
	// Turns are what sessions were told unasked, and what was withheld from them.
	Turns struct{ *db }
	// Owners is what was taken over of the owner unasked.
	Owners struct{ *db }
)

var schema = []string{`
CREATE TABLE self (one INTEGER PRIMARY KEY CHECK (one = 1), place BLOB NOT NULL, writer BLOB NOT NULL) STRICT;
CREATE TABLE sessions (id TEXT PRIMARY KEY, harness TEXT NOT NULL, started INTEGER NOT NULL, seen INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_seen ON sessions (seen);
CREATE TABLE shown (n INTEGER PRIMARY KEY, session TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE, slug TEXT NOT NULL, hash TEXT NOT NULL,
  UNIQUE (session, slug, hash)) STRICT;
CREATE TABLE counters (slug TEXT PRIMARY KEY, recalled INTEGER NOT NULL, read INTEGER NOT NULL, last INTEGER NOT NULL,
  flushed_recalled INTEGER NOT NULL DEFAULT 0, flushed_read INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
CREATE INDEX counters_last ON counters (last);
CREATE TABLE plans (id TEXT PRIMARY KEY, data BLOB NOT NULL, expires INTEGER NOT NULL) STRICT;
`, `
ALTER TABLE sessions ADD COLUMN process TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN folder TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN project TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN follower TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN prompts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN writes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;
CREATE INDEX sessions_process ON sessions (process);
CREATE TABLE servers (process TEXT NOT NULL, folder TEXT NOT NULL, session TEXT NOT NULL, seen INTEGER NOT NULL, PRIMARY KEY (process, folder, session)) STRICT, WITHOUT ROWID;
CREATE TABLE folders (folder TEXT NOT NULL, project TEXT NOT NULL, since INTEGER NOT NULL, PRIMARY KEY (folder, project)) STRICT, WITHOUT ROWID;
`, `
CREATE TABLE tallies (kind TEXT NOT NULL, slug TEXT NOT NULL, n INTEGER NOT NULL, last INTEGER NOT NULL, PRIMARY KEY (kind, slug)) STRICT, WITHOUT ROWID;
CREATE INDEX tallies_last ON tallies (kind, last);
`, `
CREATE TABLE feedback (slug TEXT PRIMARY KEY, useful INTEGER NOT NULL, wrong INTEGER NOT NULL, last INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX feedback_last ON feedback (last);
CREATE TABLE earned (day TEXT NOT NULL, slug TEXT NOT NULL, PRIMARY KEY (day, slug)) STRICT, WITHOUT ROWID;
CREATE TABLE flushes (one INTEGER PRIMARY KEY CHECK (one = 1), at INTEGER NOT NULL) STRICT;
`, `
CREATE TABLE log (one INTEGER PRIMARY KEY CHECK (one = 1), w TEXT NOT NULL, next INTEGER NOT NULL, units INTEGER NOT NULL, first TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE TABLE links (w TEXT NOT NULL, n INTEGER NOT NULL, id BLOB NOT NULL UNIQUE, at INTEGER NOT NULL, taken INTEGER NOT NULL, fate INTEGER NOT NULL, named INTEGER, event TEXT,
  PRIMARY KEY (w, n)) STRICT, WITHOUT ROWID;
CREATE INDEX links_open ON links (w, fate, named) WHERE fate <> 1;
CREATE TABLE tree (w TEXT NOT NULL, i INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (w, i)) STRICT, WITHOUT ROWID;
`, `
CREATE TABLE checked (id BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE marks (relay TEXT NOT NULL, w TEXT NOT NULL, n INTEGER NOT NULL, id TEXT NOT NULL, d TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (relay, w)) STRICT, WITHOUT ROWID;
`, `
CREATE TABLE attested (n INTEGER PRIMARY KEY, session TEXT NOT NULL, process TEXT NOT NULL, at INTEGER NOT NULL) STRICT;
`, `
CREATE TABLE takers (bit INTEGER PRIMARY KEY, relay TEXT NOT NULL UNIQUE) STRICT;
ALTER TABLE links ADD COLUMN took INTEGER NOT NULL DEFAULT 0;
ALTER TABLE links ADD COLUMN d BLOB;
`, `
CREATE TABLE places (folder TEXT PRIMARY KEY, project TEXT NOT NULL, old TEXT NOT NULL, since INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE migrations (project TEXT PRIMARY KEY, data BLOB NOT NULL, at INTEGER NOT NULL) STRICT;
`, `
ALTER TABLE links ADD COLUMN tomb INTEGER NOT NULL DEFAULT 0;
ALTER TABLE links ADD COLUMN expires INTEGER NOT NULL DEFAULT 0;
CREATE INDEX links_newest ON links (d, at) WHERE fate = 1 AND d IS NOT NULL;
CREATE INDEX links_nowhere ON links (id) WHERE d IS NULL;
-- The newest event of an address that must be sent again from here, as it was signed:
-- no relay shows it, or the copy does not have it yet.
CREATE TABLE kept (d BLOB PRIMARY KEY, id BLOB NOT NULL, at INTEGER NOT NULL, tomb INTEGER NOT NULL, expires INTEGER NOT NULL, event TEXT NOT NULL) STRICT;
CREATE INDEX kept_id ON kept (id);
-- What the agent's key asked to be deleted (kinds 5 and 62), for ever.
CREATE TABLE acts (id BLOB PRIMARY KEY, event TEXT NOT NULL) STRICT;
-- Versions up to at of which the loss is explained (why): see Why.
CREATE TABLE losses (d BLOB NOT NULL, relay TEXT NOT NULL, at INTEGER NOT NULL, why INTEGER NOT NULL, noted INTEGER NOT NULL, PRIMARY KEY (d, relay)) STRICT, WITHOUT ROWID;
-- Numbers of a log up to n are known to be of other addresses than the core's.
CREATE TABLE accounted (w TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
-- What was written while no relay answered, in its order.
CREATE TABLE outbox (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, slug TEXT NOT NULL, data BLOB NOT NULL, size INTEGER NOT NULL, at INTEGER NOT NULL, sent TEXT NOT NULL DEFAULT '',
  reason TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX outbox_slug ON outbox (slug);
-- Folders of texts that are the agent's own, by the mark in them; '' where a person said no.
CREATE TABLE own_folders (folder TEXT PRIMARY KEY, mark TEXT NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
-- When a session began while no relay answered, until it is told that one does; 0 otherwise.
ALTER TABLE sessions ADD COLUMN mute INTEGER NOT NULL DEFAULT 0;
`, `
-- What a session was told unasked at its start (prompt 0) or at a prompt: a row without a
-- slug for each, with what is noted of it, and then one for each text.
CREATE TABLE turns (n INTEGER PRIMARY KEY, session TEXT NOT NULL, harness TEXT NOT NULL, prompt INTEGER NOT NULL, at INTEGER NOT NULL, slug TEXT NOT NULL, event TEXT NOT NULL, reason TEXT NOT NULL, withheld INTEGER NOT NULL) STRICT;
CREATE INDEX turns_at ON turns (at);
CREATE INDEX turns_session ON turns (session, n);
-- Proposals that were taken over unasked, by event id; was is the version before, told
-- whether a session was told how each is undone.
CREATE TABLE accepted (id TEXT PRIMARY KEY, slug TEXT NOT NULL, was TEXT NOT NULL, at INTEGER NOT NULL, told INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`, `
-- Of a number the expiry of its own event (expires follows what superseded it), and the last
-- of the numbers that it told the expiry of.
ALTER TABLE links ADD COLUMN tag INTEGER NOT NULL DEFAULT 0;
ALTER TABLE links ADD COLUMN told INTEGER;
UPDATE links SET tag = expires;
`}

// Open opens the state of a pair, or begins it.
func Open(ctx context.Context, p Pair, o Options) (*State, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Machine == nil {
		o.Machine = Machine
	}
	if !filepath.IsAbs(o.Dir) {
		return nil, errors.New("the agent's state has no place: neither HOME nor XDG_STATE_HOME names a folder")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("the state: %w", err)
	}
	path, key, err := p.file(o.Dir)
	if err != nil {
		return nil, err
	}
	place, err := placeOf(path, o.Machine)
	if err != nil {
		return nil, fmt.Errorf("the state: %w", err)
	}
	d := &db{now: o.Now}
	d.file, err = sealedfile.Open(ctx, path, key, sealedfile.Options{What: "the agent's state", Application: application, Schema: schema,
		Durable: true, RefuseNewer: true, Warn: o.Warn, Now: o.Now,
		Check: func(tx *sealedfile.Tx) error {
			const over = " FROM kept WHERE expires > 0 AND expires <= ?"
			if now := o.Now().Unix(); tx.Has("SELECT 1"+over, now) {
				tx.Exec("DELETE"+over, now) // it is sent nowhere again
			}
			return settle(tx, place)
		}})
	if err != nil {
		return nil, err
	}
	return &State{Links{d}, Sessions{d}, Folders{d}, Plans{d}, Counters{d}, Feedback{d}, Tallies{d}, Audit{d}, Heads{d}, Outbox{d}, Turns{d}, Owners{d}, d}, nil
}

// file returns the path and the key of a pair's file. The name tells nobody
// whose it is.
func (p Pair) file(dir string) (path string, key [32]byte, err error) {
	if key, err = sealedfile.Key(p.Conversation, label); err != nil {
		return "", key, err
	}
	naming, err := sealedfile.Key(p.Conversation, nameLabel)
	if err != nil {
		return "", key, err
	}
	// Two agents who own each other share a conversation.
	name := hmac.New(sha256.New, naming[:])
	fmt.Fprintf(name, "%s|%s", p.Agent, p.Owner)
	return filepath.Join(dir, hex.EncodeToString(name.Sum(nil)[:16])+".state"), key, nil
}

// settle makes a new state one of this place, and refuses one of another.
func settle(tx *sealedfile.Tx, place []byte) error {
	var at, writer []byte
	found := false
	for r := range tx.Rows("SELECT place, writer FROM self") {
		found, at, writer = true, r.Blob(0), r.Blob(1)
	}
	if found && (!hmac.Equal(at, place) || len(writer) != writerIDBytes) {
		return fmt.Errorf("%w: it was copied from another machine, user or folder", sealedfile.ErrForeign)
	}
	if found {
		return nil
	}
	writer = make([]byte, writerIDBytes)
	_, _ = rand.Read(writer)
	return tx.Exec("INSERT INTO self VALUES (1, ?, ?)", place, writer)
}

// Writer returns the id of this installation as a writer of the pair: random,
// and made with the state.
func (s *State) Writer(ctx context.Context) (id [writerIDBytes]byte, err error) {
	err = s.read(ctx, func(tx *sealedfile.Tx) error {
		for r := range tx.Rows("SELECT writer FROM self") {
			copy(id[:], r.Raw(0))
		}
		return nil
	})
	return id, err
}

// closePatience is how long Close looks whether something waits.
const closePatience = time.Second

// Close ends the use of the state.
func (s *State) Close() error {
	ctx, done := context.WithTimeout(context.Background(), closePatience)
	defer done()
	waits := false
	err := s.file.Read(ctx, func(tx *sealedfile.Tx) error {
		waits = tx.Has("SELECT 1 FROM outbox")
		return nil
	})
	if err == nil && waits {
		return s.file.CloseSettled() // a write that waits is nowhere else
	}
	return s.file.Close()
}

func (d *db) read(ctx context.Context, do func(*sealedfile.Tx) error) error {
	return d.file.Mended(ctx, func() error { return d.file.Read(ctx, do) })
}

func (d *db) write(ctx context.Context, do func(*sealedfile.Tx) error) error {
	return d.file.Mended(ctx, func() error { return d.file.Write(ctx, do) })
}

// list reads rows.
func list[T any](ctx context.Context, d *db, of func(sealedfile.Row) T, query string, args ...any) (all []T, err error) {
	err = d.read(ctx, func(tx *sealedfile.Tx) error {
		all = nil
		for r := range tx.Rows(query, args...) {
			all = append(all, of(r))
		}
		return nil
	})
	return all, err
}

// fits refuses names beyond the bound.
func fits(names ...string) error {
	for _, n := range names {
		if n == "" || len(n) > maxName {
			return fmt.Errorf("%w: a name of %d bytes, of 1 to %d", ErrTooLarge, len(n), maxName)
		}
	}
	return nil
}
