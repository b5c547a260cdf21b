package daemon

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/httpauth"
	"engramd/internal/relay/management"
	"engramd/internal/relay/plugin"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/snapshots"
	"engramd/internal/relay/snapshots/managed"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/nips/nip01"
)

// rules say who may do what: what the configuration, the management API (NIP-86)
// and the log of a cluster say together.
type rules struct {
	common
	relay   *relay.Relay
	store   *sqlite.Store
	keys    *ownKeys       // found later than the first rules, and before anybody writes
	listed  *fairness.Keys // which keys have a share of their own
	room    *policy.Room
	admin   *management.Service
	used    *httpauth.Guard // signatures of calls
	policy  policy.Live
	program plugin.Live // asked after the policy
	copies  policy.Live // of what followed relays bring
	blocked blocked
	shared  shared
}

// Bounds of what is remembered against replays: calls within twice
// config.HTTPWindow, of all keys and of one.
const (
	usedCalls       = 1 << 16
	usedCallsPerKey = 1 << 14
)

// open brings the management API up, with the signatures that calls have used
// before the daemon was started, and sets the policy.
func (r *rules) open(ctx context.Context, cfg *config.Config, s *snapshots.Service) (err error) {
	clock := r.member.now
	r.used = httpauth.New(config.HTTPWindow, usedCalls, usedCallsPerKey, clock)
	since := clock().Add(-r.used.Keep() - time.Second)
	err = r.store.AdminUsed(ctx, since.Unix(), func(id, key string, at int64) { r.used.Seed(id, key, time.Unix(at+1, 0)) })
	if err != nil {
		return err
	}
	r.admin, err = management.New(ctx, management.Options{Store: r.store, Snapshots: managed.New(s, time.After), Log: r.log, Metrics: r.metrics.Admin, Shared: !r.lead.alone()})
	if err != nil {
		return err
	}
	if shared, _ := r.shared.now(); shared != nil {
		cfg = shared
	}
	if err := r.configure(cfg); err != nil {
		return wiring.Usage(err)
	}
	return nil
}

// configure puts the lists of a configuration into force.
func (r *rules) configure(cfg *config.Config) error {
	return r.admin.Configure(wiring.AdminConfig(cfg), r.ruling(cfg))
}

// ruling compiles rules under a configuration, for the reload that brings it
// and for the calls that come until the next one.
func (r *rules) ruling(cfg *config.Config) management.Prepare {
	return func(lists management.Rules) (func(), error) {
		o := wiring.PolicyOptions(cfg, r.relay.Names(), r.store.Approved)
		o.Authors, o.BannedAuthors, o.Kinds, o.BannedKinds = lists.Authors, lists.BanAuthors, lists.Kinds, lists.BanKinds
		o.Own = func(key string) bool { return r.keys.ring.Holds(key) }
		o.Clock, o.Confirmed = r.member.now, r.clock.Confirmed
		o.Room, o.Known = r.room, r.listed.Known
		o.BannedEvents, o.AllowedEvents = lists.BannedEvents, lists.AllowedEvents
		o.Provisioned = func(ctx context.Context, key string) (bool, error) { return r.keys.agents.Provisioned(ctx, key) }
		compile := policy.New
		if now := r.policy.Current(); now != nil {
			compile = now.Reload
		}
		writes, err := compile(o)
		if err != nil {
			return nil, err
		}
		copies, err := wiring.CopyPolicy(r.relay.Names(), o, lists)
		if err != nil {
			return nil, err
		}
		info := relayInfo(cfg, r.version)
		doc := &info.Document
		doc.Name, doc.Description, doc.Icon = cmp.Or(lists.Name, doc.Name), cmp.Or(lists.Description, doc.Description), cmp.Or(lists.Icon, doc.Icon)
		return func() {
			r.policy.Set(writes)
			r.copies.Set(copies)
			r.listed.List(lists.Authors, cfg.Write.Owners, cfg.Admin.Keys, cfg.Gate.Replicas)
			r.relay.SetInfo(info)
			r.blocked.set(lists.Blocked)
		}, nil
	}
}

// guard has the relay ask the rules.
func (r *rules) guard(cfg *config.Config, doubts func(context.Context, *nostr.Event) (bool, string)) {
	r.program.Set(r.programOptions(cfg))
	rejects := r.policy.RejectEvent
	if !r.lead.alone() && !bansAtOrigin(r.env) {
		rejects = r.policy.AtOrigin // what lists decide is decided at the event's place
	}
	r.relay.Reject(rejects, doubts, r.askProgram)
	r.relay.OnNotStored(r.policy.NotStored)
	r.relay.Hooks.RejectConnection = append(r.relay.Hooks.RejectConnection, r.blocked.rejects)
}

// admit is the store's: what the lists say of an event at its place.
func (r *rules) admit(ev *nostr.Event, vouched []string, ask store.Admitting) (*nip01.Refusal, error) {
	if bansAtOrigin(r.env) {
		return nil, nil
	}
	return r.policy.AtPlace(ev, vouched, ask)
}

// changed is the store's: a change of the operator's lists was executed.
func (r *rules) changed(cmd store.Command) {
	a, ok := cmd.(store.Administer)
	if !ok || r.admin == nil {
		return
	}
	if err := r.admin.Applied(a.Change); err != nil {
		r.member.halt(err)
	}
}

// blocked is the blocked addresses at this moment; the zero value blocks none.
// The log of a cluster changes them from the first moment on.
type blocked struct {
	at atomic.Pointer[func(netip.Addr) bool]

	mu   sync.Mutex
	tell func(func(netip.Addr) bool) // of each change, nil for nobody
}

func (b *blocked) set(match func(netip.Addr) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at.Store(&match)
	if b.tell != nil {
		b.tell(match)
	}
}

// watch has tell called with what is blocked now, and with each change.
func (b *blocked) watch(tell func(func(netip.Addr) bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tell = tell
	tell(b.current())
}

// current returns nil when nobody is blocked.
func (b *blocked) current() func(netip.Addr) bool {
	if match := b.at.Load(); match != nil {
		return *match
	}
	return nil
}

// rejects is khatru's RejectConnection: for upgrades and for signed requests.
func (b *blocked) rejects(r *http.Request) bool {
	match := b.current()
	return match != nil && match(relay.AddrFrom(r.Context()))
}
