package daemon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	relayhttp "engramd/internal/relay/http"
	"engramd/internal/relay/logging/redact"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/websocket"
	"engramd/internal/web"
)

// openRelay makes the relay, opens the database, and puts the one with its
// policies over the other.
func (p *process) openRelay(ctx context.Context) error {
	if err := p.member.open(ctx, p.cfg); err != nil {
		return err
	}
	table, err := wiring.Table(p.cfg)
	if err != nil {
		return err
	}
	names, err := relay.NewNames(p.cfg.PublicURL, p.ports.address())
	if err != nil {
		return wiring.Usage(err)
	}
	if err := wiring.NotToItself(p.cfg, p.ports.address()); err != nil {
		return err // port 0: only now it is known
	}
	p.metrics.Sessions.SetConnectionsLimit(p.cfg.Limits.Connections)
	p.guesses = fairness.NewGuesses(time.Now)
	var vouched func(context.Context, *nostr.Event) []string
	if !p.lead.alone() { // what goes along with events to their place
		vouched = p.rules.policy.Vouched
	}
	p.relay, err = relay.New(relay.Config{
		Names: names, Info: relayInfo(p.cfg, p.version), AuthWindow: config.AuthWindow, Limits: relayLimits(p.cfg),
		Clock: p.member.now, Log: p.log, Metrics: p.metrics.Relay, Self: func() string { return p.keys.ring.PubKey() },
		Guesses: p.guesses, Latest: p.member.latest, Ephemeral: p.member.ephemeral, Vouched: vouched,
	}, table)
	if err != nil {
		return err
	}
	if err := p.openStore(ctx, table); err != nil {
		return err
	}
	if err := p.openRules(ctx); err != nil {
		return err
	}
	return p.attach(ctx)
}

// openStore opens the database, and says behind which place of the log it is.
func (p *process) openStore(ctx context.Context, table *gate.Table) error {
	live, room, err := p.measured(p.cfg)
	if err != nil {
		return err
	}
	p.rules.room = policy.NewRoom(func(ctx context.Context) (int64, error) {
		space, err := p.store.Space(ctx)
		return space.Database - space.Free, err
	}, p.member.now)
	p.rules.room.SetBounds(room)
	database := wiring.Database(p.cfg.Data)
	database.Readers, database.MaxBatch = config.StoreReaders, config.StoreMaxBatch
	database.Log, database.Observe, database.Clock = p.log, p.metrics.Store, p.member.now
	p.store, err = sqlite.Open(ctx, sqlite.Options{
		Options: database, Table: table, OnCommit: p.relay.Committed, Live: live, Sequenced: !p.lead.alone(), Admit: p.rules.admit, Changed: p.rules.changed,
		Confirmed: p.clock.Confirmed, Latest: p.member.seesTime, Arrived: p.clock.arrived(p.lead.alone()),
	})
	if errors.Is(err, engine.ErrLoss) && !p.lead.alone() {
		return fmt.Errorf("%w; other nodes have it all: engramd cluster rejoin fetches it from one, and keeps what is here", err)
	}
	if err != nil {
		return err
	}
	return p.member.join(ctx, p.cfg, p.store, &p.rules)
}

// measured is DaemonLive with the room that a configuration leaves the database.
func (p *process) measured(cfg *config.Config) (live store.Live, room policy.RoomBounds, err error) {
	if live, err = wiring.DaemonLive(cfg); err != nil {
		return live, room, err
	}
	room, tight, err := wiring.Room(cfg)
	if tight {
		p.log.Warn("hardly a tenth of the disk is free, or less: the database may grow by half of what is; make room, or set store.max_bytes", "max_bytes", room.Max)
	}
	if !room.Whole {
		live.MaxBytes = room.Max
	}
	return live, room, err
}

// openRules finds who may do what, executes what the log says under it, and finds
// the keys.
func (p *process) openRules(ctx context.Context) error {
	p.metrics.WatchSizes(p.sizes())
	p.shares.open(p.cfg, p.store)
	p.metrics.WatchReads(func() metrics.Reads { return metrics.Reads(p.store.Reads()) })
	if err := p.broker.open(p.cfg, p.relay); err != nil {
		return err
	}
	p.keys.store = p.store
	if err := p.snapshots.open(p.cfg, p.relay.Names(), p.store, &p.keys, p.broker.events); err != nil {
		return err
	}
	p.rules.relay, p.rules.store, p.rules.keys, p.rules.listed = p.relay, p.store, &p.keys, p.shares.listed
	if err := p.rules.open(ctx, p.cfg, p.snapshots.service); err != nil { // sets the policy, by which the log is executed
		return err
	}
	if err := p.member.run(ctx); err != nil {
		return err
	}
	p.clock.start(p.member.behind())
	if err := p.rules.asShared(p.cfg); err != nil {
		return err
	}
	if err := p.member.understood(); err != nil {
		return err
	}
	return p.keys.open(ctx, p.cfg)
}

// attach puts the relay over the database, and contract memory over both.
func (p *process) attach(ctx context.Context) error {
	p.rules.guard(p.cfg, p.doubts)
	p.lead.watch(p.relay)
	if err := p.relay.Attach(p.store); err != nil {
		return err
	}
	p.attached = true
	p.contracts.store, p.contracts.relay, p.contracts.keys = p.store, p.relay, &p.keys
	if err := p.contracts.open(ctx, p.cfg, &p.rules, p.guesses, p.ports.urls(p.cfg)[0]); err != nil {
		return err
	}
	if err := p.contracts.start(ctx); err != nil {
		return err
	}
	return p.member.meet(p.relay, p.store, p.setPart)
}

// setPart has this process use one of n parts of every budget that clients have:
// of so many live nodes together they use no more than of one. It may be called
// again at any time; bounds of what a process holds, such as connections, are
// each node's own.
func (p *process) setPart(nodes int) {
	p.rules.policy.SetPart(nodes)
	p.guesses.SetPart(nodes)
	p.rules.used.SetPart(nodes)
	p.contracts.used.SetPart(nodes)
	p.contracts.service.SetPart(nodes)
}

// following are the parts of the running daemon.
func (p *process) following() wiring.Following {
	return wiring.Following{Store: p.store, Table: p.relay.Table, Judge: wiring.AsAuthor(p.judgeCopy), Log: p.log, Observe: p.metrics.Replicas.ReplicaEvent}
}

// surfaces are what clients talk to.
type surfaces struct {
	tags     *redact.Tags // how keys are named in the log and in `engramd status`
	sessions *websocket.Server
	bridge   *relayhttp.Handler
}

// openSurfaces starts the sessions, the public port and the metrics port.
func (p *process) openSurfaces() {
	s, cfg := &p.surfaces, p.cfg
	s.sessions = websocket.New(p.relay, websocket.Options{
		Limits: cfg.Bounds(),
		Addr:   func(r *http.Request) netip.Addr { return relay.AddrFrom(r.Context()) }, // the bridge resolved it
		Shares: p.shares.all, Pressed: p.memory.Pressed, Metrics: p.metrics.Sessions, Log: p.log,
		Tags: s.tags, Access: cfg.Log.Access,
		Replica: func(r gate.Reader) bool { return p.relay.Table().Replicates(r) }, Waits: p.member.latest != nil,
	})
	p.rules.blocked.watch(s.sessions.SetBlocked)
	var page relayhttp.Web // the owner's; nil if it is not to be served
	if cfg.Web.Enabled {
		page = web.New(web.About{URLs: p.ports.urls(cfg), Version: p.version})
	}
	sessions, err := p.member.sessions(cfg, p.keys.ring.Key())
	if err != nil {
		p.fail(err)
	}
	s.bridge = relayhttp.New(relayhttp.Options{
		Relay: p.relay, Socket: s.sessions, URLs: p.ports.urls(cfg), Proxy: proxyOf(cfg), Local: cfg.Local(),
		Backend: relayhttp.Over(p.relay), Names: p.relay.Names(), Clock: p.member.now, Late: p.clock.late, Ails: p.member.ails, Limits: bridgeLimits(cfg.Bounds()),
		Management: p.rules.admin, Used: p.rules.used, UsedElsewhere: p.contracts.usedElsewhere(), API: p.contracts.api, Web: page, Shares: p.shares.all, Pressed: p.memory.Pressed,
		Sessions: sessions, Log: p.log, Metrics: p.metrics, Tags: s.tags, Access: cfg.Log.Access,
	})
	p.metrics.WatchReady(func() bool { return s.bridge.Ready(context.Background()) == nil })
	p.ports.serve(relayhttp.NewServer(s.bridge, config.HandshakeTime, p.log), p.ports.public, p.failed)
	if p.ports.scrape != nil {
		p.ports.serve(p.metrics.Server(cfg.MetricsPprof), p.ports.scrape, p.failed)
	}
}
