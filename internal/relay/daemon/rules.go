package daemon

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/httpauth"
	"engramd/internal/relay/management"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/snapshots/managed"
)

// This file puts into force what the configuration and the management API
// (NIP-86) say together.

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

// ruling compiles rules under a configuration, for the reload that brings it
// and for the calls that come until the next one.
func (c *process) ruling(cfg *config.Config) management.Prepare {
	return func(r management.Rules) (func(), error) {
		o := wiring.PolicyOptions(cfg, c.relay.Names(), c.store.Approved)
		o.Authors, o.BannedAuthors, o.Kinds, o.BannedKinds = r.Authors, r.BanAuthors, r.Kinds, r.BanKinds
		// The keys are found later than the first rules, and before anybody writes.
		o.Own = func(key string) bool { return c.keys.Holds(key) }
		o.Clock = c.now
		o.BannedEvents, o.AllowedEvents, o.Provisioned = r.BannedEvents, r.AllowedEvents, c.provisioned
		compile := policy.New
		if now := c.policy.Current(); now != nil {
			compile = now.Reload
		}
		writes, err := compile(o)
		if err != nil {
			return nil, err
		}
		copies, err := wiring.CopyPolicy(c.relay.Names(), o, r)
		if err != nil {
			return nil, err
		}
		info := relayInfo(cfg, c.Version)
		override(&info.Name, r.Name)
		override(&info.Description, r.Description)
		override(&info.Icon, r.Icon)
		return func() {
			c.policy.Set(writes)
			c.copies.Set(copies)
			c.listed.List(r.Authors, cfg.Write.Owners, cfg.Admin.Keys, cfg.Gate.Replicas)
			c.relay.SetInfo(info)
			c.blocked.set(r.Blocked)
		}, nil
	}
}

// provisioned reports whether the operator had a key made for an agent.
func (c *process) provisioned(ctx context.Context, key string) (bool, error) {
	return c.agents.Provisioned(ctx, key)
}

func override(text *string, by string) {
	if by != "" {
		*text = by
	}
}

// Bounds of what is remembered against replays: calls within twice
// auth.http_window, of all keys and of one.
const (
	usedCalls       = 1 << 16
	usedCallsPerKey = 1 << 14
)

// openAdmin brings the management API up, with the signatures that calls have
// used before the daemon was started.
func (c *process) openAdmin(ctx context.Context) (err error) {
	c.used = httpauth.New(c.cfg.Auth.HTTPWindow, usedCalls, usedCallsPerKey, c.now)
	since := c.now().Add(-c.used.Keep() - time.Second)
	err = c.store.AdminUsed(ctx, since.Unix(), func(id, key string, at int64) { c.used.Seed(id, key, time.Unix(at+1, 0)) })
	if err != nil {
		return err
	}
	c.admin, err = management.New(ctx, management.Options{Store: c.store, Snapshots: managed.New(c.snapshots, time.After), Log: c.log, Metrics: c.metrics.Admin, Shared: !c.leading.alone()})
	if err != nil {
		return err
	}
	if err := c.admin.Configure(wiring.AdminConfig(c.inForce()), c.ruling(c.inForce())); err != nil {
		return wiring.Usage(err)
	}
	return nil
}
