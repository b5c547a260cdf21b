package snapshots

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/notify"
	"engramd/internal/relay/store"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

var (
	// ErrNotAllowed means that the configuration allows no rollback.
	ErrNotAllowed = errors.New("taking newer heads away is allowed only with ENGRAMD_RESTORE_ALLOW=true in the environment of the process that does it")
	// ErrEmpty means that a bundle holds no engram, so that a rollback takes all
	// away.
	ErrEmpty = errors.New("the snapshot holds no memory: a rollback to it takes all away (--allow-empty)")
	// ErrFuture means that an instant to rebuild has not come yet.
	ErrFuture = errors.New("that time has not come yet")
	// ErrPartial means that a bundle holds only a part of the agent's memory, so
	// that nothing can be taken away by it.
	ErrPartial = errors.New("the snapshot holds only what one owner may read, or what those relays had that answered: it can repair, and not roll back")
	// ErrClock means that retention waits for a clock that is confirmed.
	ErrClock = errors.New("clock not confirmed: no snapshot is removed until it is (engramd clock accept)")
	// ErrNotHere means that the request cannot be told from another's snapshots.
	ErrNotHere = errors.New("which snapshot? An id or a file is needed")
)

// Settings are what may change while a daemon runs.
type Settings struct {
	Recipients   bundle.Recipients // of bundles, unless a request says otherwise
	Identities   bundle.Identities // tried for encrypted bundles beside those of a request
	Trusted      []string          // pubkeys whose signatures are believed beside the relay's own
	RestoreAllow bool
	Policy       snapshot.Policy
	GCInterval   time.Duration // between sweeps; 0 is never
	Every        time.Duration // between scheduled bundles; 0 is never
	Agents       []string      // of the schedule; empty: all with engrams
}

// Rules reports whether the relay refuses an event, whoever brings it, and why.
// It has the signature of khatru's RejectEvent.
type Rules = func(ctx context.Context, ev *nostr.Event) (reject bool, reason string)

// Options configure a Service. Bundles is required; Store is for everything
// that reads or writes the database, Rules for everything that writes.
type Options struct {
	Bundles *snapshot.Store
	Store   Store
	Rules   Rules
	Sign    bundle.Signer // by the relay's identity; nil: only requests that bring a Signer make signed bundles
	// Trusted are the relay's own keys, present and former; nil: none is known.
	Trusted  func(ctx context.Context) ([]string, error)
	Process  string // what this process is, in "… of the process that does it: Process"
	Settings Settings
	Software string             // "engramd 1.2.3", for manifests
	Events   *notify.Publisher  // nil tells nobody
	Metrics  *metrics.Snapshots // nil counts nothing
	Log      *slog.Logger       // nil logs nothing
	Clock    func() time.Time   // nil means time.Now
	// Confirmed reports whether the clock may be gone by: until it may, retention
	// removes nothing. nil means that it may.
	Confirmed func() bool
}

// Service executes operations on snapshots. Its methods may be called
// concurrently; those on the same agent take turns by the agent's lock, also
// across processes, and fail with a *snapshot.HeldError if that takes too long.
type Service struct {
	shelf
	store    Store
	rules    Rules
	sign     bundle.Signer
	process  string
	changed  chan struct{} // wakes the Worker
	software string
	events   *notify.Publisher
	metrics  *metrics.Snapshots
	log      *slog.Logger
	clock    func() time.Time

	confirmed func() bool
}

// New returns a Service.
func New(o Options) *Service {
	s := &Service{
		shelf: shelf{bundles: o.Bundles, trusted: o.Trusted}, store: o.Store, rules: o.Rules, software: o.Software, sign: o.Sign, process: o.Process,
		events: o.Events, metrics: cmp.Or(o.Metrics, metrics.None().Snapshots), log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), clock: o.Clock,
		changed: make(chan struct{}, 1), confirmed: o.Confirmed,
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.confirmed == nil {
		s.confirmed = func() bool { return true }
	}
	s.settings.Store(&o.Settings)
	return s
}

// Configure replaces the settings, for operations that begin from now on.
func (s *Service) Configure(n Settings) {
	s.settings.Store(&n)
	s.wakeWorker()
}

// wakeWorker has the worker look at what it is to do.
func (s *Service) wakeWorker() {
	select {
	case s.changed <- struct{}{}:
	default: // it has not yet looked at the settings before
	}
}

// counted counts an operation that began at a time.
func (s *Service) counted(operation string, began time.Time, err error) {
	now := s.clock()
	s.metrics.SnapshotDone(operation, outcome(err), now, now.Sub(began))
}

// outcome returns an error's name in the metrics.
func outcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, errUnchanged), errors.Is(err, bundle.ErrEmpty):
		return "unchanged"
	case errors.Is(err, bundle.ErrInvalid), errors.Is(err, bundle.ErrChanged):
		return "invalid"
	case errors.Is(err, snapshot.ErrHeld), errors.Is(err, ErrClock):
		return "busy"
	}
	return "failed"
}

// freeMemory hands what a step used back to the system. The next one fills the
// database's own cache, and both together are what a host must have.
func freeMemory() { debug.FreeOSMemory() }

// Store is the database that snapshots are made of and restored into;
// *sqlite.Store is one.
type Store interface {
	// Agents lists the pubkeys (hex, sorted) that have engrams as heads.
	Agents(ctx context.Context, scope gate.Scope) (out []string, err error)
	// Capture calls fn with the agent's memory at one instant: everything fn
	// reads is of one read transaction, which holds no client up.
	Capture(ctx context.Context, scope gate.Scope, q store.CaptureQuery, fn func(store.View) error) error
	// BeginRestore starts staging.
	BeginRestore(o store.RestoreOptions) (store.Restoration, error)
	// Quarantines lists what rollbacks took away, newest first.
	Quarantines(ctx context.Context, scope gate.Scope) (out []store.Quarantine, err error)
	// ReleaseQuarantine brings back what a rollback took away, in one
	// transaction: heads where nothing newer is here by now, else, as all
	// others, history.
	ReleaseQuarantine(ctx context.Context, name string) (store.Restored, error)
	// DropQuarantine forgets for good what a rollback took away, but for the ids.
	DropQuarantine(ctx context.Context, name string) error
	// SchemaVersion is the number of the last migration that the open database
	// has.
	SchemaVersion(ctx context.Context) (version int64, err error)
}
