// Package relay is the one door to the store: every surface calls Submit (or
// Begin), Authorize, Stored and Count here. Policies are khatru hooks on a
// *khatru.Relay; its websocket loop, deletion, expiry and live dispatch are not
// used (docs/khatru.md says why).
//
// Committed batches reach live delivery in the order of commits (live.go). It
// never waits for a client, and the writer never waits for it: what waits in
// between is bounded, and beyond the bound every subscription is closed,
// because none may miss an event silently. Owners' attestations that come
// beside events live as long as the connection or request and are never stored
// (attest.go). For a share that has named too many contract ids that show it
// nothing, no more are looked up (guess.go). Where the relay is one of several
// nodes, a read waits until everything is here that any of them acknowledged
// before (latest.go), and ephemeral events are handed on (live.go).
package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/fiatjaf/khatru"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/metrics"
)

// Config is what a relay is made of.
type Config struct {
	Names      Names // own websocket URLs, never empty
	Info       Info
	AuthWindow time.Duration // NIP-42 created_at tolerance; 0 means 10 minutes
	Limits     Limits
	Clock      func() time.Time // nil means time.Now
	Log        *slog.Logger
	Metrics    *metrics.Relay // nil counts nothing
	// Self is the relay's own key, 64 hex digits, as NIP-11 tells it; "" for
	// none. Nil is none.
	Self func() string
	// Guesses counts contract ids that show nothing; nil counts none.
	Guesses *fairness.Guesses
	// Latest returns when everything is here that was acknowledged anywhere
	// before it was called, or fails. Nothing is read for a client before; nil
	// is for a relay that is alone.
	Latest func(ctx context.Context) error
	// Ephemeral hands an ephemeral event that was taken here over to the other
	// nodes, which call DeliverEphemeral. It must not block, and not change json;
	// nil is for a relay that is alone.
	Ephemeral func(ev *nostr.Event, json []byte)
	// Vouched returns what goes with an event to its place among those of all
	// nodes, where lists decide about it (policy.Policy.Vouched); nil is for a
	// relay that is alone.
	Vouched func(ctx context.Context, ev *nostr.Event) []string
}

// Limits bound what one request can get.
type Limits struct {
	DefaultLimit int // events for a filter without limit; 0 means 500
	MaxLimit     int // events for one filter at most; 0 means 5,000
}

func (l Limits) withDefaults() Limits {
	if l.MaxLimit <= 0 {
		l.MaxLimit = 5000
	}
	if l.DefaultLimit <= 0 {
		l.DefaultLimit = 500
	}
	l.DefaultLimit = min(l.DefaultLimit, l.MaxLimit)
	return l
}

// Relay holds the khatru relay whose hooks are the policy. The khatru object is
// a field and not embedded: its promoted ServeHTTP, AddEvent and Shutdown are
// the parts that must not run.
type Relay struct {
	Hooks *khatru.Relay
	*live

	store     Store
	table     atomic.Pointer[gate.Table]
	limits    atomic.Pointer[Limits]
	info      atomic.Pointer[Info]
	cfg       Config // but for Info and Limits, which change
	notStored atomic.Pointer[func(fairness.Who, *nostr.Event)]
}

// New makes a relay under a gate. Give its Committed method to sqlite.Options
// as OnCommit, open the store and hand it over with Attach: the store calls the
// relay, and the relay the store.
func New(cfg Config, table *gate.Table) (*Relay, error) {
	if len(cfg.Names) == 0 {
		return nil, errors.New("a relay needs at least one name of its own")
	}
	if cfg.AuthWindow <= 0 {
		cfg.AuthWindow = 10 * time.Minute
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	cfg.Log, cfg.Metrics = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)), cmp.Or(cfg.Metrics, metrics.None().Relay)
	if cfg.Vouched == nil {
		cfg.Vouched = func(context.Context, *nostr.Event) []string { return nil }
	}
	if cfg.Self == nil {
		cfg.Self = func() string { return "" }
	}
	r := &Relay{Hooks: &khatru.Relay{}, cfg: cfg}
	r.live = &live{hooks: r.Hooks, log: cfg.Log, backlog: newBacklog(), dispatched: make(chan struct{})}
	r.SetTable(table)
	r.SetLimits(cfg.Limits)
	r.SetInfo(cfg.Info)
	return r, nil
}

// Attach gives the relay its store, sets the gate behind the policies among
// khatru's hooks for filters, and starts live dispatch. It refuses hooks that
// nothing here would call, so that no policy is silently ignored.
func (r *Relay) Attach(s Store) error {
	if err := unsupported(r.Hooks); err != nil {
		return err
	}
	r.Hooks.RejectFilter = append(r.Hooks.RejectFilter, gateHook(r, gate.SurfaceReq))
	r.Hooks.RejectCountFilter = append(r.Hooks.RejectCountFilter, gateHook(r, gate.SurfaceCount))
	r.store = s
	go r.dispatch()
	return nil
}

// SetTable, SetLimits and SetInfo take effect for the next request, delivery
// and document; nothing is dropped.
func (r *Relay) SetTable(t *gate.Table) { r.table.Store(t) }

// Table returns the read rules in force.
func (r *Relay) Table() *gate.Table { return r.table.Load() }

// SetLimits replaces the result limits.
func (r *Relay) SetLimits(l Limits) {
	l = l.withDefaults()
	r.limits.Store(&l)
}

// limited returns how many rows a request gets that asks for so many, 0 or less
// for no number.
func (r *Relay) limited(asked int) int {
	limits := r.limits.Load()
	if asked <= 0 {
		asked = limits.DefaultLimit
	}
	return min(asked, limits.MaxLimit)
}

// Names returns the relay's own websocket URLs, canonical.
func (r *Relay) Names() Names { return r.cfg.Names }

// Ready reports whether the database takes writes, and, where there are other
// nodes, whether this one has what they have.
func (r *Relay) Ready(ctx context.Context) error {
	if err := r.store.Ready(ctx); err != nil {
		return err
	}
	return r.Latest(ctx)
}

// RejectsConnection runs khatru's RejectConnection hooks.
func (r *Relay) RejectsConnection(req *http.Request) bool {
	for _, reject := range r.Hooks.RejectConnection {
		if reject(req) {
			return true
		}
	}
	return false
}

// Connected runs khatru's OnConnect hooks.
func (r *Relay) Connected(ctx context.Context) {
	for _, hook := range r.Hooks.OnConnect {
		hook(ctx)
	}
}

// Disconnected runs khatru's OnDisconnect hooks; the session calls it once.
func (r *Relay) Disconnected(ctx context.Context) {
	for _, hook := range r.Hooks.OnDisconnect {
		hook(ctx)
	}
}

// unsupported names the hooks of khatru that have no meaning here.
func unsupported(h *khatru.Relay) error {
	for name, n := range map[string]int{
		"OverwriteDeletionOutcome": len(h.OverwriteDeletionOutcome),
		"StoreEvent":               len(h.StoreEvent),
		"ReplaceEvent":             len(h.ReplaceEvent),
		"DeleteEvent":              len(h.DeleteEvent),
		"QueryEvents":              len(h.QueryEvents),
		"CountEvents":              len(h.CountEvents),
		"CountEventsHLL":           len(h.CountEventsHLL),
		"OverwriteResponseEvent":   len(h.OverwriteResponseEvent),
		"PreventBroadcast":         len(h.PreventBroadcast),
	} {
		if n > 0 {
			return fmt.Errorf("khatru hook %s is set, which this relay does not call", name)
		}
	}
	if h.Negentropy {
		return errors.New("khatru's negentropy is set, which this relay does not serve")
	}
	return nil
}

// Reject adds a policy in khatru's signature behind those that are there.
func (r *Relay) Reject(hooks ...func(context.Context, *nostr.Event) (bool, string)) {
	r.Hooks.RejectEvent = append(r.Hooks.RejectEvent, hooks...)
}
