// Package daemon is the running relay: it brings the parts up, puts a reloaded
// configuration into force, and takes the parts down.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"engramd/internal/platform/journal"
	"engramd/internal/relay"
	"engramd/internal/relay/config"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/ingest"
	"engramd/internal/relay/logging/redact"
	"engramd/internal/relay/memlimit"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// Options are what Serve is given.
type Options struct {
	Version string
	Env     []string                       // "NAME=value"
	Stderr  io.Writer                      // takes the log
	Signals <-chan os.Signal               // SIGTERM and SIGINT end, SIGHUP reloads
	Config  *config.Config                 // that serves (wiring.Serves)
	Reload  func() (*config.Config, error) // reads the configuration again
}

// Serve runs a relay until a signal ends it. A first SIGTERM or SIGINT finishes
// what is under way, one that comes a second later or after that ends at once. A node
// of several that may not go on stays up, halted, until it is recovered.
func Serve(ctx context.Context, o Options) error {
	for {
		h, err := haltedBefore(o)
		if err != nil {
			return err
		}
		if h.why == nil {
			var going bool
			if going, h.why, err = once(ctx, o); !going && h.why == nil {
				return err
			}
		}
		if h.why != nil {
			if again, err := h.stay(ctx); !again {
				return err
			}
		}
		if o.Config, err = o.Reload(); err != nil {
			return err
		}
	}
}

// once runs it until its end. going says that it is to run again, as a node that has
// joined again; halted is why it stays up and does not run, until it is recovered.
func once(ctx context.Context, o Options) (going bool, halted, err error) {
	p := newProcess(o)
	for _, r := range o.Config.Removed() {
		p.log.Warn("removed option", "key", r.Key, "value", r.Value, "origin", r.Origin, "holds", r.Holds)
	}
	err = errors.Join(p.run(ctx), p.close())
	switch {
	case p.abandoned || ctx.Err() != nil:
		return false, nil, err
	case halts(err):
		return false, err, nil
	case !p.member.struck(err):
		return false, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if e := p.unless(cancel, func() error { return again(ctx, &p.common, p.cfg) }); e != nil {
		return false, nil, fmt.Errorf("%w: it does not join again by itself: %w", err, e)
	}
	return true, nil, nil
}

// common is what every part of the running relay has.
type common struct {
	version string
	env     []string
	log     *slog.Logger
	metrics *metrics.Metrics
	member  *member     // this process as one of several nodes
	lead    *leadership // of these nodes
	clock   *timekeeper
	fail    func(error) // has the process end: it cannot go on
}

// process is the running relay: start brings its parts up, from the bottom to the
// top, and stop takes them down in the opposite order.
type process struct {
	common
	signals <-chan os.Signal
	read    func() (*config.Config, error)
	cfg     *config.Config // what is in force; replaced by reload
	level   slog.LevelVar
	failed  chan error // a part cannot go on

	lock      *engine.DirLock
	memory    *memlimit.Watch
	ports     ports
	relay     *relay.Relay
	store     *sqlite.Store
	guesses   *fairness.Guesses
	shares    shares
	rules     rules
	broker    broker
	keys      ownKeys
	contracts contractMemory
	snapshots snapshotKeeper
	replicas  following
	surfaces  surfaces
	control   *control.Server

	up        atomic.Bool // everything is there that a report looks at
	attached  bool        // live dispatch runs
	stopped   bool        // shutdown closed everything
	abandoned bool        // the process must end now, whatever is still open
}

func newProcess(o Options) *process {
	p := &process{signals: o.Signals, read: o.Reload, cfg: o.Config, failed: make(chan error, 4)}
	c := common{version: o.Version, env: o.Env, log: newLogger(o.Stderr, o.Config, &p.level), metrics: metrics.New(o.Version), member: &member{machine: machineClock(o.Env)}, fail: p.fail}
	c.lead = &c.member.leading
	c.clock = newTimekeeper(c, o.Config)
	p.common, c.member.common = c, c
	p.shares.log, p.rules.common, p.broker.common, p.keys.common, p.contracts.common = c.log, c, c, c, c
	p.snapshots.common, p.replicas.common = c, c
	p.surfaces.tags = redact.NewTags()
	return p
}

// fail has the process end: it cannot go on as the other nodes do.
func (p *process) fail(err error) {
	select {
	case p.failed <- err:
	default:
		p.log.Error("this node ends", "err", err)
	}
}

// run serves until a signal ends it.
func (p *process) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := p.unless(cancel, func() error { return p.start(ctx) }); err != nil {
		return err
	}
	p.ready()
	return p.wait(ctx)
}

// unless does work that a signal to end cancels: a migration or a recovery stops between
// two steps.
func (p *process) unless(cancel context.CancelFunc, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- work() }()
	for {
		select {
		case err := <-done:
			return err
		case sig := <-p.signals:
			if sig != syscall.SIGHUP {
				cancel()
				<-done
				return fmt.Errorf("ended by %v before it was ready", sig)
			}
		}
	}
}

// start brings everything up. Connections are taken when it returns.
func (p *process) start(ctx context.Context) (err error) {
	wiring.Private()
	wiring.CollectLess(p.env)
	fairness.Beside(engine.ThreadsInC(config.StoreReaders))
	p.memory = memlimit.New(p.cfg.Limits.Memory, memlimit.Options{Fixed: wiring.IsSet(p.env, "GOMEMLIMIT")})
	go p.memory.Run(ctx)
	if p.lock, err = takeFolder(p.cfg.Data); err != nil {
		return err
	}
	if done, err := journal.Finish(p.cfg.Data, membership.Serving); err != nil {
		return err
	} else if done != nil {
		p.log.Info("what was interrupted is finished", "command", done.Command)
	}
	if err := p.ports.listen(ctx, p.cfg); err != nil {
		return err
	}
	if err := p.openRelay(ctx); err != nil {
		return err
	}
	var files unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &files) == nil {
		filesAtOnce(p.log, files.Cur, p.cfg.Bounds().Connections)
	}
	if p.control, err = control.Listen(ctx, control.Options{
		Dir: p.cfg.Data, Importer: ingest.New(p.store, p.snapshots.imports), Snapshots: p.snapshots.service, Log: p.log,
		Orders: slices.Concat(p.snapshots.orders(), p.keys.orders(p.contracts.outbox), p.clock.orders(), p.contracts.orders(), p.member.orders(), p.orders()),
	}); errors.Is(err, control.ErrNoSocket) {
		p.log.Warn("commands that ask the running relay do not reach it", "err", err)
	} else if err != nil {
		return err
	}
	p.openSurfaces()
	if err := p.replicas.open(p.cfg, p.following()); err != nil {
		return err
	}
	p.up.Store(true) // orders look at what is made above
	p.snapshots.start()
	return nil
}

// takeFolder takes the data folder for this process.
func takeFolder(dir string) (*engine.DirLock, error) {
	if err := engine.PrepareDir(dir); err != nil {
		return nil, err
	}
	lock, err := engine.Lock(dir)
	if err != nil {
		return nil, err
	}
	return lock, engine.SweepScratch(dir)
}

// ready logs the line that operators and tests wait for.
func (p *process) ready() {
	url, metricsURL := "ws://"+p.ports.public.Addr().String(), "off"
	if p.ports.scrape != nil {
		metricsURL = "http://" + p.ports.scrape.Addr().String() + "/metrics"
	}
	message := "ready"
	if p.cfg.Log.Format == "json" { // the same words can be searched for
		message = "ready url=" + url + " metrics=" + metricsURL
	}
	if !p.store.SearchEnabled() {
		p.log.Warn("built without full-text search: NIP-50 is not offered (build tag sqlite_fts5)")
	}
	p.log.Info(message, "url", url, "metrics", metricsURL, "version", p.version, "data", p.cfg.Data, "pid", os.Getpid())
}

// wait handles signals until one ends the daemon, or a part of it fails.
func (p *process) wait(ctx context.Context) error {
	for {
		select {
		case sig := <-p.signals:
			if sig == syscall.SIGHUP {
				p.reload(ctx)
				continue
			}
			p.log.Info("shutting down", "signal", sig.String(), "within", p.cfg.Timeouts.Shutdown.String())
			return p.shutdown(Ending{time.Now()})
		case err := <-p.failed:
			return errors.Join(err, p.shutdown(Ending{}))
		case <-ctx.Done():
			return p.shutdown(Ending{})
		}
	}
}

// sizes are read at every scrape.
func (p *process) sizes() metrics.Sizes {
	dir := p.cfg.Data // p.cfg belongs to the goroutine that handles signals
	return metrics.Sizes{
		Database:    func() int64 { database, _ := p.store.Sizes(); return database },
		WAL:         func() int64 { _, wal := p.store.Sizes(); return wal },
		Free:        func() int64 { return freeBytes(dir) },
		Room:        func() int64 { return p.rules.room.Bounds().Max },
		Reserve:     func() int64 { return p.rules.room.Bounds().Reserve },
		MemoryLimit: p.memory.Limit, MemoryNeeded: p.memory.Needed,
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
