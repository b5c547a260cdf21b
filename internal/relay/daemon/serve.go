// Package daemon is the running relay: it brings the parts up, puts a reloaded
// configuration into force, and takes the parts down.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/contracts"
	"engramd/internal/relay/contracts/api"
	"engramd/internal/relay/contracts/identity"
	"engramd/internal/relay/contracts/outbox"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/http"
	"engramd/internal/relay/httpauth"
	"engramd/internal/relay/ingest"
	relaykeys "engramd/internal/relay/keys"
	"engramd/internal/relay/logging/redact"
	"engramd/internal/relay/management"
	"engramd/internal/relay/memlimit"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/notify"
	"engramd/internal/relay/plugin"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/replica"
	relaysnapshots "engramd/internal/relay/snapshots"
	"engramd/internal/relay/status"
	"engramd/internal/relay/websocket"
)

// Options are what Serve is given.
type Options struct {
	Version string
	Env     []string                       // "NAME=value"
	Stderr  io.Writer                      // takes the log
	Signals <-chan os.Signal               // SIGTERM and SIGINT end, SIGHUP reloads
	Config  *config.Config                 // that serves (Serves)
	Reload  func() (*config.Config, error) // reads the configuration again
}

// Serve runs a relay until a signal ends it. A first SIGTERM or SIGINT finishes
// what is under way, one that comes a second later or after that ends at once.
func Serve(ctx context.Context, o Options) error {
	c := &process{Options: o, cfg: o.Config}
	return errors.Join(c.run(ctx), c.Close())
}

// process is the running relay: it brings the parts up in run, from the bottom to
// the top, and takes them down in shutdown (see stop.go) in the opposite order.
type process struct {
	Options
	cfg   *config.Config // what is in force; replaced by reload
	level slog.LevelVar
	log   *slog.Logger

	lock     *wiring.FolderLock
	listener net.Listener // websocket and HTTP
	scrape   net.Listener // metrics; nil when off
	metrics  *metrics.Metrics
	memory   *memlimit.Watch
	tags     *redact.Tags // how keys are named in the log and in `engramd status`
	store    *wiring.Database
	relay    *relay.Relay
	policy   policy.Live
	program  plugin.Live // asked after the policy
	copies   policy.Live // of what followed relays bring
	blocked  blocked
	shares   *fairness.Shares
	guesses  *fairness.Guesses
	listed   *fairness.Keys // which of them have a share of their own
	vault    *vault.Vault
	keys     *relaykeys.Ring    // the relay's identity
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

	admin    *management.Service
	used     *httpauth.Memory
	changed  *httpauth.Journal // calls of the contract API that change something
	sessions *websocket.Server
	bridge   *relayhttp.Handler
	control  *control.Server
	servers  []*http.Server
	events   *notify.Publisher // nil without a broker
	rules    policy.Hook       // of what imports and restores bring

	snapshots *relaysnapshots.Service
	keeper    keeper
	failed    chan error // a server ended by itself

	mutations atomic.Bool // tell the broker of writes
	up        atomic.Bool // everything is there that a report looks at

	attached  bool // live dispatch runs
	stopped   bool // shutdown closed everything
	abandoned bool // the process must end now, whatever is still open
}

// run serves until a signal ends it.
func (c *process) run(ctx context.Context) error {
	c.log, c.tags = newLogger(c.Stderr, c.cfg, &c.level), redact.NewTags()
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
func (c *process) start(ctx context.Context) (err error) {
	wiring.Private()
	wiring.CollectLess(c.Env)
	fairness.Beside(wiring.StoreThreads(c.cfg.Store.Readers))
	c.memory = memlimit.New(c.cfg.Limits.Memory, memlimit.Options{Fixed: wiring.IsSet(c.Env, "GOMEMLIMIT")})
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
		Dir: c.cfg.Data, Importer: ingest.New(c.store, c.rules), Snapshots: c.snapshots, Log: c.log,
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

func (c *process) openFolder() (err error) {
	if err = wiring.PrepareFolder(c.cfg.Data); err != nil {
		return err
	}
	if c.lock, err = wiring.LockFolder(c.cfg.Data); err != nil {
		return err
	}
	return wiring.SweepScratch(c.cfg.Data)
}

// listen takes the ports before the database is opened: with port 0, the
// relay's own names depend on what it got.
func (c *process) listen(ctx context.Context) (err error) {
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

// ready logs the line that operators and tests wait for.
func (c *process) ready() {
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
	c.log.Info(message, "url", url, "metrics", metricsURL, "version", c.Version, "data", c.cfg.Data, "pid", os.Getpid())
}

// wait handles signals until one ends the daemon, or a server fails.
func (c *process) wait(ctx context.Context) error {
	for {
		select {
		case sig := <-c.Signals:
			if sig == syscall.SIGHUP {
				c.reload(ctx)
				continue
			}
			c.log.Info("shutting down", "signal", sig.String(), "within", c.cfg.Timeouts.Shutdown.String())
			return c.shutdown(Ending{time.Now()})
		case err := <-c.failed:
			return errors.Join(err, c.shutdown(Ending{}))
		case <-ctx.Done():
			return c.shutdown(Ending{})
		}
	}
}

// sizes are read at every scrape.
func (c *process) sizes() metrics.Sizes {
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
