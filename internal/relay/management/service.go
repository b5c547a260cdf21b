package management

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"engramd/internal/relay/metrics"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// Store keeps the API's lists and its audit table.
type Store interface {
	Administer(ctx context.Context, change *store.AdminEntry, call store.AdminCall) error
	AdminLists(ctx context.Context) ([]store.AdminEntry, error)
}

// Prepare prepares rules and returns the function that puts them into force,
// which cannot fail. Both are called by one goroutine at a time.
type Prepare func(Rules) (apply func(), err error)

// Options configure a Service. Store is required.
type Options struct {
	Store     Store
	Snapshots Snapshots      // nil: there are no snapshot methods
	Log       *slog.Logger   // nil means none
	Metrics   *metrics.Admin // nil counts nothing
	// Shared says that other nodes change the lists too: then every change, also
	// that of a call here, takes effect by Applied and by nothing else.
	Shared bool
}

// Service executes calls. Make one with New, then Configure it.
type Service struct {
	store     Store
	snapshots Snapshots
	log       *slog.Logger
	metrics   *metrics.Admin
	methods   []method
	keys      atomic.Pointer[[]string]
	shared    bool

	calls sync.Mutex // over a changing call, while it waits for its place; taken before mu

	// Whoever waits for the store must not hold mu if other nodes change the lists:
	// Applied takes it where the store's answer comes from.
	mu      sync.Mutex // over everything below, and over what Prepare returns
	config  Config
	prepare Prepare
	lists   lists
}

// New returns a Service with the database's lists. It accepts no calls before
// Configure.
func New(ctx context.Context, o Options) (*Service, error) {
	entries, err := o.Store.AdminLists(ctx)
	if err != nil {
		return nil, err
	}
	s := &Service{
		store: o.Store, snapshots: o.Snapshots, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)), metrics: cmp.Or(o.Metrics, metrics.None().Admin),
		shared: o.Shared, methods: methods(), lists: newLists(entries),
	}
	s.keys.Store(&[]string{})
	return s, nil
}

// Configure unites the configuration with the lists and puts the rules into
// force with prepare, which is also used for the calls that follow. After an
// error nothing has changed.
func (s *Service) Configure(cfg Config, prepare Prepare) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	apply, err := prepare(s.lists.rules(cfg))
	if err != nil {
		return err
	}
	apply()
	s.config, s.prepare = cfg, prepare
	s.keys.Store(&cfg.Keys)
	return nil
}

// Manages reports whether a key (64 lower-case hex digits) may call.
func (s *Service) Manages(key string) bool { return slices.Contains(*s.keys.Load(), key) }

// Call is one call with a valid signature that was not used before.
type Call struct {
	Key  string     // who signed it; Manages is true for it
	Auth string     // id of the NIP-98 event
	Addr netip.Addr // the client's; invalid when unknown
	Body []byte
}

// Do executes a call and returns the value of "result". Every call leaves its
// line in the audit table, refused ones too; a call that cannot be recorded
// there is not executed. The error is a *nip01.Refusal.
func (s *Service) Do(ctx context.Context, c Call) (result any, err error) {
	line := store.AdminCall{Key: c.Key, Auth: c.Auth, Digest: sha256.Sum256(c.Body)}
	if c.Addr.IsValid() {
		line.Address = c.Addr.String()
	}
	m, a, err := s.understand(c.Body, &line)
	switch {
	case err != nil:
	case m.snapshot != nil:
		result, err = s.snapshotCall(ctx, m, a, line)
	case m.change != nil:
		result, err = true, s.changeCall(ctx, m, &c, a, line)
	default:
		if err = s.record(ctx, line, nil); err == nil {
			s.mu.Lock()
			result = m.list(s)
			s.mu.Unlock()
		}
	}
	if refusal := new(nip01.Refusal); errors.As(err, &refusal) && refusal.Prefix != "error" && (m == nil || m.snapshot == nil) {
		if failed := s.record(ctx, line, err); failed != nil {
			err = failed
		}
	}
	s.metrics.AdminCall(line.Method, outcome(err))
	s.log.Info("management", "method", line.Method, "outcome", outcome(err))
	if err != nil {
		return nil, err
	}
	return result, nil
}

// Manage calls Do with the parts of a Call, as the HTTP side has them.
func (s *Service) Manage(ctx context.Context, key, auth string, addr netip.Addr, body []byte) (result any, err error) {
	return s.Do(ctx, Call{key, auth, addr, body})
}

// understand finds the method and reads its parameters. Only what was
// understood is recorded.
func (s *Service) understand(body []byte, line *store.AdminCall) (*method, *args, error) {
	r, err := parse(body)
	if err != nil {
		return nil, nil, err
	}
	if plausible(r.Method) {
		line.Method = r.Method
	}
	i := slices.IndexFunc(s.methods, func(m method) bool { return m.name == r.Method })
	if i < 0 || s.methods[i].snapshot != nil && s.snapshots == nil {
		return nil, nil, Invalid("this relay has no such method; supportedmethods lists those it has")
	}
	m, a := &s.methods[i], &args{recall: []any{}}
	a.at = &SnapshotParams{Tenant: "default"} // listsnapshots may come without
	if len(r.Params) < m.need || len(r.Params) > len(m.params) {
		return nil, nil, Invalid(m.arity())
	}
	for n, raw := range r.Params {
		if err := m.params[n](a, raw); err != nil {
			return nil, nil, numbered(n, err)
		}
	}
	text, err := json.Marshal(a.recall)
	if err != nil {
		return nil, nil, errFailed
	}
	recalled := string(text)
	line.Params = &recalled
	return m, a, nil
}

// changeCall makes a change: prepared first, then durable, then in force. Where
// several nodes execute it, it is prepared to see that it can be.
func (s *Service) changeCall(ctx context.Context, m *method, c *Call, a *args, line store.AdminCall) error {
	s.calls.Lock()
	defer s.calls.Unlock()
	s.mu.Lock()
	entry, next, apply, err := s.prepared(m, c, a)
	if s.shared {
		s.mu.Unlock()
	} else {
		defer s.mu.Unlock()
	}
	if err != nil {
		return err
	}
	line.Outcome = outcome(nil)
	if err := s.store.Administer(ctx, entry, line); err != nil {
		return s.failure(m.name, err)
	}
	if !s.shared { // else Applied did, before Administer returned
		s.lists = next
		apply()
	}
	return nil
}

// prepared returns a call's change, nil for none, and the lists after it with
// what puts them into force. mu must be held.
func (s *Service) prepared(m *method, c *Call, a *args) (entry *store.AdminEntry, next lists, apply func(), err error) {
	if entry, err = m.change(s, c, a); err != nil {
		return nil, nil, nil, err
	}
	next, apply = s.lists.with(entry), func() {}
	if entry == nil {
		return entry, next, apply, nil
	}
	if apply, err = s.prepare(next.rules(s.config)); err != nil {
		s.log.Error("management: a change could not be prepared", "method", m.name, "err", err)
		return nil, nil, nil, errFailed
	}
	return entry, next, apply, nil
}

// snapshotCall records that the work begins, does it, and records how it ended.
func (s *Service) snapshotCall(ctx context.Context, m *method, a *args, line store.AdminCall) (any, error) {
	line.Outcome = "begun"
	if err := s.store.Administer(ctx, nil, line); err != nil {
		return nil, s.failure(m.name, err)
	}
	result, err := m.snapshot(s.snapshots, ctx, *a.at)
	if own := new(nip01.Refusal); err != nil && !errors.As(err, &own) {
		s.log.Error("management: a snapshot call failed", "method", m.name, "err", err)
		err = nip01.Refuse(nip01.PrefixError, "the relay could not carry out the call; its log says why")
	} else if err != nil {
		err = own
	}
	// The end is recorded even if the caller did not wait.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if failed := s.record(ctx, line, err); failed != nil && err == nil {
		return nil, nip01.Refuse(nip01.PrefixError, "the call was carried out, but its end is not in the audit table")
	}
	return result, err
}

// recordTime bounds the wait for a line of the audit table.
const recordTime = 10 * time.Second

// record writes the audit line of a call that changes no list.
func (s *Service) record(ctx context.Context, line store.AdminCall, why error) error {
	line.Outcome = outcome(why)
	if why != nil {
		line.Detail = why.Error()
	}
	if err := s.store.Administer(ctx, nil, line); err != nil {
		return s.failure(line.Method, err)
	}
	return nil
}

// failure logs an error of the store and returns the error for the caller.
func (s *Service) failure(method string, err error) error {
	if errors.Is(err, store.ErrAdminFull) {
		return Restricted("this list has as many entries as it may")
	}
	s.log.Error("management: the database failed", "method", method, "err", err)
	return errFailed
}
