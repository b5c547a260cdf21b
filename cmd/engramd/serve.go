package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/admin"
	"engramd/internal/bridge"
	"engramd/internal/config"
	"engramd/internal/contracts"
	"engramd/internal/contracts/api"
	"engramd/internal/contracts/identity"
	"engramd/internal/contracts/outbox"
	"engramd/internal/contracts/vault"
	"engramd/internal/control"
	"engramd/internal/events"
	"engramd/internal/gate"
	"engramd/internal/importer"
	"engramd/internal/memory"
	"engramd/internal/metrics"
	"engramd/internal/policy"
	"engramd/internal/program"
	"engramd/internal/relay"
	"engramd/internal/relaykey"
	"engramd/internal/replay"
	"engramd/internal/replica"
	"engramd/internal/session"
	"engramd/internal/share"
	"engramd/internal/snapshot/operator"
	"engramd/internal/status"
	"engramd/internal/trace"
	"engramd/internal/web"
)

// serveCommand is `engramd serve`: it brings the parts up in Run, from the
// bottom to the top, and takes them down in shutdown (see stop.go) in the
// opposite order.
type serveCommand struct {
	*Main
	options *options
	cfg     *config.Config // what is in force; replaced by reload
	level   slog.LevelVar
	log     *slog.Logger

	lock     *folderLock
	listener net.Listener // websocket and HTTP
	scrape   net.Listener // metrics; nil when off
	metrics  *metrics.Metrics
	memory   *memory.Watch
	tags     *trace.Tags // how keys are named in the log and in `engramd status`
	store    *database
	relay    *relay.Relay
	policy   policy.Live
	program  program.Live // asked after the policy
	copies   policy.Live  // of what followed relays bring
	blocked  blocked
	shares   *share.Book
	guesses  *share.Guesses
	listed   *share.Keys // which of them have a share of their own
	vault    *vault.Vault
	keys     *relaykey.Ring     // the relay's identity
	agents   *identity.Registry // names and kept keys
	outbox   *outbox.Outbox

	replicas *replica.Set // relays that this one follows

	// What is different where there are other nodes; all of it is zero where there
	// are none.
	latest        func(context.Context) error // of relay.Config
	ephemeral     func(*nostr.Event, []byte)  // the same
	clusterStatus func() *status.Cluster      // of status.Sources
	leading       leadership
	cluster       clustered
	shared        shared
	stopFollowing func() // nil unless there are other nodes
	stopOutbox    func() // the same

	contracts     *contracts.Service
	stopContracts func() // waits for deadlines under way; nil before they are looked after
	api           *api.API

	admin    *admin.Service
	used     *replay.Memory
	changed  *replay.Journal // calls of the contract API that change something
	sessions *session.Server
	bridge   *bridge.Handler
	control  *control.Server
	servers  []*http.Server
	events   *events.Publisher // nil without a broker
	rules    policy.Hook       // of what imports and restores bring

	snapshots *operator.Service
	keeper    keeper
	failed    chan error // a server ended by itself

	mutations atomic.Bool // tell the broker of writes
	up        atomic.Bool // everything is there that a report looks at

	attached  bool // live dispatch runs
	stopped   bool // shutdown closed everything
	abandoned bool // the process must end now, whatever is still open
}

// ParseFlags reads the command line and the configuration.
func (c *serveCommand) ParseFlags(args []string) (err error) {
	c.options = newOptions("serve")
	if _, err = c.options.parse(args, 0); err != nil {
		return err
	}
	if c.cfg, err = c.options.loadToServe(c.Env); err != nil {
		return err
	}
	return serves(c.cfg) // before anything is created
}

// Run serves until a signal ends it. A first SIGTERM or SIGINT finishes what
// is under way, one that comes a second later or after that ends at once.
func (c *serveCommand) Run(ctx context.Context) error {
	c.log, c.tags = newLogger(c.Stderr, c.cfg, &c.level), trace.NewTags()
	c.failed = make(chan error, 4)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	started := make(chan error, 1)
	go func() { started <- c.start(ctx) }()
	for {
		select {
		case err := <-started:
			if err != nil {
				return err
			}
			c.ready()
			return c.wait(ctx)
		case sig := <-c.Signals:
			if sig != syscall.SIGHUP {
				cancel() // a migration or a recovery stops between two steps
				<-started
				return fmt.Errorf("ended by %v before it was ready", sig)
			}
		}
	}
}

// start brings everything up. Connections are taken when it returns.
func (c *serveCommand) start(ctx context.Context) (err error) {
	private()
	collectLess(c.Env)
	share.Beside(storeThreads(c.cfg.Store.Readers))
	c.memory = memory.New(c.cfg.Limits.Memory, memory.Options{Fixed: isSet(c.Env, "GOMEMLIMIT")})
	go c.memory.Run(ctx)
	if err := c.openFolder(); err != nil {
		return err
	}
	if err := c.listen(ctx); err != nil {
		return err
	}
	if err := c.openRelay(ctx); err != nil {
		return err
	}
	if c.control, err = control.Listen(ctx, control.Options{
		Dir: c.cfg.Data, Importer: importer.New(c.store, c.rules), Snapshots: c.snapshots, Log: c.log,
		Orders: slices.Concat(c.snapshotOrders(), c.deleteOrders(), c.keyOrders(), c.masterKeyOrders(), c.outboxOrders(), c.statusOrders(), c.syncOrders(), c.clusterOrders()),
	}); err != nil {
		return err
	}
	c.openSurfaces()
	if err := c.openReplicas(); err != nil {
		return err
	}
	c.up.Store(true) // orders look at what is made above
	c.startKeeper()
	return nil
}

func (c *serveCommand) openFolder() (err error) {
	if err = prepareFolder(c.cfg.Data); err != nil {
		return err
	}
	if c.lock, err = lockFolder(c.cfg.Data); err != nil {
		return err
	}
	return sweepScratch(c.cfg.Data)
}

// listen takes the ports before the database is opened: with port 0, the
// relay's own names depend on what it got.
func (c *serveCommand) listen(ctx context.Context) (err error) {
	var lc net.ListenConfig
	if c.listener, err = lc.Listen(ctx, "tcp", c.cfg.Listen); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if c.cfg.MetricsListen == "" {
		return nil
	}
	if c.scrape, err = lc.Listen(ctx, "tcp", c.cfg.MetricsListen); err != nil {
		return fmt.Errorf("metrics_listen: %w", err)
	}
	return nil
}

// openRelay opens the database and puts the relay with its policies over it.
func (c *serveCommand) openRelay(ctx context.Context) error {
	if err := c.openLog(ctx); err != nil {
		return err
	}
	table, err := newTable(c.cfg)
	if err != nil {
		return err
	}
	names, err := relay.NewNames(c.cfg.PublicURL, listening(c.listener))
	if err != nil {
		return usageError{err}
	}
	if err := notToItself(c.cfg, listening(c.listener)); err != nil {
		return err // port 0: only now it is known
	}
	c.metrics = metrics.New(version)
	c.metrics.SetConnectionsLimit(c.cfg.Limits.Connections)
	c.guesses = share.NewGuesses(time.Now)
	c.relay, err = relay.New(relay.Config{
		Names: names, Info: relayInfo(c.cfg), AuthWindow: c.cfg.Auth.Window, Limits: relayLimits(c.cfg),
		Clock: c.now, Log: c.log, Metrics: c.metrics, Self: func() string { return c.keys.PubKey() },
		Guesses: c.guesses, Latest: c.latest, Ephemeral: c.ephemeral, Vouched: c.vouched(),
	}, table)
	if err != nil {
		return err
	}
	live, err := daemonLive(c.cfg)
	if err != nil {
		return err
	}
	c.store, err = openDatabase(ctx, databaseOptions{
		Path: databaseFile(c.cfg.Data), Readers: c.cfg.Store.Readers, Table: table,
		MaxBatch: c.cfg.Store.MaxBatch, Log: c.log, Observe: c.metrics, OnCommit: c.relay.Committed, Live: live,
		Clock: c.now, Sequenced: c.clustered(), Admit: c.admit, Changed: c.listsChanged,
	})
	if err != nil {
		return err
	}
	if err := c.joinLog(ctx); err != nil {
		return err
	}
	c.metrics.WatchSizes(c.sizes())
	c.metrics.WatchMemory(c.memory.Limit, c.memory.Needed)
	c.openShares()
	c.metrics.WatchReads(func() metrics.Reads { return metrics.Reads(c.store.Reads()) })
	if err := c.openBroker(); err != nil {
		return err
	}
	if err := c.openSnapshots(); err != nil {
		return err
	}
	if err := c.openAdmin(ctx); err != nil { // sets the policy, by which the log is executed
		return err
	}
	if err := c.runLog(ctx); err != nil {
		return err
	}
	if err := c.openKeys(ctx); err != nil {
		return err
	}
	c.program.Set(c.programOptions(c.cfg))
	rejects := c.policy.RejectEvent
	if !c.leading.alone() && !bansAtOrigin(c.Env) {
		rejects = c.policy.AtOrigin // what lists decide is decided at the event's place
	}
	c.relay.Reject(rejects, c.askProgram)
	c.relay.OnNotStored(c.policy.NotStored)
	c.relay.Hooks.RejectConnection = append(c.relay.Hooks.RejectConnection, c.blocked.rejects)
	c.leading.watch(c.relay)
	if err := c.relay.Attach(c.store); err != nil {
		return err
	}
	c.attached = true
	c.openOutbox()
	if err := c.openContracts(ctx); err != nil {
		return err
	}
	if err := c.startOutbox(ctx); err != nil {
		return err
	}
	c.runContracts()
	return c.meetNodes()
}

// vouched is what goes along with events to their place, nil without other nodes.
func (c *serveCommand) vouched() func(context.Context, *nostr.Event) []string {
	if c.leading.alone() {
		return nil
	}
	return c.policy.Vouched
}

// openSurfaces starts the sessions, the public port and the metrics port.
func (c *serveCommand) openSurfaces() {
	c.sessions = session.New(c.relay, session.Options{
		Limits: sessionLimits(c.cfg), Compression: c.cfg.Compression, EOSEHints: c.cfg.Req.EOSEHints,
		Addr:   func(r *http.Request) netip.Addr { return relay.AddrFrom(r.Context()) }, // the bridge resolved it
		Shares: c.shares, Pressed: c.memory.Pressed, Metrics: c.metrics, Log: c.log,
		Tags: c.tags, Access: c.cfg.Log.Access,
		Replica: func(r gate.Reader) bool { return c.relay.Table().Replicates(r) }, Waits: c.latest != nil,
	})
	c.blocked.tell(c.sessions)
	c.bridge = bridge.New(bridge.Options{
		Relay: c.relay, Socket: c.sessions, URLs: c.urls(), Proxy: proxyOf(c.cfg), Pending: pendingLimits(c.cfg),
		Backend: bridge.Over(c.relay), Names: c.relay.Names(), Clock: c.now, HTTPWindow: c.cfg.Auth.HTTPWindow, Limits: bridgeLimits(c.cfg),
		Management: c.admin, Used: c.used, UsedElsewhere: c.usedElsewhere(), API: c.api, Web: c.web(), Shares: c.shares, Pressed: c.memory.Pressed,
		Log: c.log, Metrics: c.metrics, Tags: c.tags, Access: c.cfg.Log.Access,
	})
	c.metrics.WatchReady(func() bool { return c.bridge.Ready(context.Background()) == nil })
	c.serveHTTP(bridge.NewServer(c.bridge, c.cfg.Timeouts.Handshake, c.log), c.listener)
	if c.scrape != nil {
		c.serveHTTP(c.metrics.Server(c.cfg.MetricsPprof), c.scrape)
	}
}

func (c *serveCommand) serveHTTP(srv *http.Server, l net.Listener) {
	c.servers = append(c.servers, srv)
	go func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			c.failed <- fmt.Errorf("serve %s: %w", l.Addr(), err)
		}
	}()
}

// urls returns the addresses that the relay's page tells people.
func (c *serveCommand) urls() []string {
	if len(c.cfg.PublicURL) > 0 {
		return c.cfg.PublicURL
	}
	return []string{"ws://" + c.listener.Addr().String()}
}

// web returns the owner's page, nil if it is not to be served.
func (c *serveCommand) web() bridge.Web {
	if !c.cfg.Web.Enabled {
		return nil
	}
	return web.New(c.urls(), version)
}

// ready logs the line that operators and tests wait for.
func (c *serveCommand) ready() {
	url, metricsURL := "ws://"+c.listener.Addr().String(), "off"
	if c.scrape != nil {
		metricsURL = "http://" + c.scrape.Addr().String() + "/metrics"
	}
	message := "ready"
	if c.cfg.Log.Format == "json" { // the same words can be searched for
		message = "ready url=" + url + " metrics=" + metricsURL
	}
	if !c.store.SearchEnabled() {
		c.log.Warn("built without full-text search: NIP-50 is not offered (build tag sqlite_fts5)")
	}
	c.log.Info(message, "url", url, "metrics", metricsURL, "version", version, "data", c.cfg.Data, "pid", os.Getpid())
}

// wait handles signals until one ends the daemon, or a server fails.
func (c *serveCommand) wait(ctx context.Context) error {
	for {
		select {
		case sig := <-c.Signals:
			if sig == syscall.SIGHUP {
				c.reload(ctx)
				continue
			}
			c.log.Info("shutting down", "signal", sig.String(), "within", c.cfg.Timeouts.Shutdown.String())
			return c.shutdown(ending{time.Now()})
		case err := <-c.failed:
			return errors.Join(err, c.shutdown(ending{}))
		case <-ctx.Done():
			return c.shutdown(ending{})
		}
	}
}

// sizes are read at every scrape.
func (c *serveCommand) sizes() metrics.Sizes {
	dir := c.cfg.Data // c.cfg belongs to the goroutine that handles signals
	return metrics.Sizes{
		Database: func() int64 { database, _ := c.store.Sizes(); return database },
		WAL:      func() int64 { _, wal := c.store.Sizes(); return wal },
		Free:     func() int64 { return freeBytes(dir) },
	}
}

// freeBytes returns what a user without privileges may still write on the file
// system of a folder; 0 when it cannot be told.
func freeBytes(dir string) int64 {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return 0
	}
	return int64(fs.Bavail) * int64(fs.Bsize)
}
