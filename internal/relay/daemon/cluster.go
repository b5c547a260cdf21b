package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/doctor"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/store/sqlite"
)

// member is this process as one of several nodes that execute one log. Without a
// log it is a process that is alone, and what is different where there are other
// nodes is zero.
type member struct {
	common
	dir      string           // of the data
	machine  func() time.Time // its clock
	me       membership.Identity
	name     string            // for people
	settings map[string]string // what engramd cluster doctor compares
	conn     *jetstream.Conn
	node     atomic.Pointer[cluster.Node]
	seen     atomic.Pointer[seen] // of the log's servers, nil before the first look
	leading  leadership
	lead     changes            // whether this node leads may have changed
	cancel   context.CancelFunc // ends the node
	stopped  chan struct{}      // closed when the node has ended
	end      []func()
	past     *membership.Past

	latest    func(context.Context) error // of relay.Config
	ephemeral func(*nostr.Event, []byte)  // the same
}

// now is the log's time, the machine's where there is no log.
func (m *member) now() time.Time {
	if node := m.node.Load(); node != nil {
		return node.Clock()
	}
	return m.machine()
}

// behind returns how far the log's time is behind the machine's, nil without a log.
func (m *member) behind() func() time.Duration {
	if m.leading.alone() {
		return nil
	}
	return func() time.Duration { return m.machine().Sub(m.now()) }
}

// seesTime returns when now is what a command would be given as its time.
func (m *member) seesTime(ctx context.Context) error {
	if node := m.node.Load(); node != nil {
		return node.Latest(ctx)
	}
	return nil
}

// halt ends the node, and the process.
func (m *member) halt(err error) {
	m.node.Load().Halt(err)
	m.fail(err)
}

// open connects to the log, sees that its servers are set up as they must be,
// and says to the parts above what is different from now on. It comes before the
// database is opened.
func (m *member) open(ctx context.Context, cfg *config.Config) (err error) {
	if !cfg.Cluster.Enabled {
		return nil
	}
	m.dir, m.name, m.settings = cfg.Data, membership.Name(cfg), alike(cfg)
	if m.me, err = membership.NextBoot(cfg.Data); err != nil {
		return err
	}
	o := membership.LogOptions(cfg)
	o.Log = m.log
	if clusterFaults(m.env).RefuseSoon {
		o.CheckEvery, o.Patience = leadEvery/10, leadEvery
	}
	if m.conn, err = jetstream.Open(ctx, o); err != nil {
		return err
	}
	if err := m.checked(ctx, cfg); err != nil {
		return err
	}
	if cfg.Cluster.Reads == "latest" {
		m.latest = func(ctx context.Context) error { return m.node.Load().Latest(ctx) }
	}
	m.ephemeral = func(_ *nostr.Event, json []byte) {
		if err := m.conn.Publish(context.Background(), ephemeralEvents, json); err != nil {
			m.log.Debug("an ephemeral event was not handed to other nodes", "err", err)
		}
	}
	m.leading.leads = func() bool { return m.node.Load().Leads() }
	m.leading.changed = m.lead.next
	m.leading.lease = func(ctx context.Context) context.Context { return m.node.Load().Lease(ctx) }
	return nil
}

// ephemeralEvents is the subject of events that are handed from node to node and
// not stored.
const ephemeralEvents = "ephemeral"

// catchUp is how often it is said how far a node is that catches up.
const catchUp = 10 * time.Second

// run executes what the log says from now on, and returns when everything is
// executed here that was acknowledged before. Lists and rules must be in force.
func (m *member) run(ctx context.Context) error {
	if m.leading.alone() {
		return nil
	}
	node := m.node.Load()
	if err := m.answer(node); err != nil {
		return err
	}
	inner, cancel := context.WithCancel(context.Background())
	m.cancel, m.stopped = cancel, make(chan struct{})
	go func() {
		defer close(m.stopped)
		if err := node.Run(inner); err != nil {
			m.fail(err)
		}
	}()
	if err := m.await(ctx, node); err != nil {
		return err
	}
	return m.begun(true)
}

// understood refuses a cluster whose version this program does not know.
func (m *member) understood() error {
	if m.leading.alone() {
		return nil
	}
	if version := m.node.Load().View().Version; version > membership.Version {
		return fmt.Errorf("the cluster is at version %d, and this program goes up to %d", version, membership.Version)
	}
	return nil
}

// await waits until everything is executed, however long that takes.
func (m *member) await(ctx context.Context, node *cluster.Node) error {
	said := time.Now()
	for {
		err := node.Latest(ctx)
		if !errors.Is(err, cluster.ErrUnknown) {
			return err
		}
		if time.Since(said) >= catchUp {
			v := node.View()
			m.log.Info("catching up with the log, or waiting for it", "executed", v.Applied, "of", v.Read.UTC().Format(time.RFC3339))
			said = time.Now()
		}
	}
}

// meet begins what nodes do for each other, when everything is there. setPart is
// told how many of them are live.
func (m *member) meet(r *relay.Relay, s *sqlite.Store, setPart func(nodes int)) error {
	if m.leading.alone() {
		return nil
	}
	inner := context.Background()
	stop, err := m.conn.Subscribe(ephemeralEvents, func(json []byte) { r.DeliverEphemeral(json) })
	if err != nil {
		return err
	}
	m.end = append(m.end, stop)
	silent, err := m.conn.Answer(doctor.Suffix, func(question []byte) []byte {
		database, _ := s.Sizes()
		return m.vitals(question, database)
	})
	if err != nil {
		return err
	}
	m.end = append(m.end, silent,
		begin(inner, func(ctx context.Context) { m.conn.Watch(ctx, m.looked) }),
		begin(inner, func(ctx context.Context) {
			err := m.conn.Serve(ctx, jetstream.Peer{
				Temp: m.dir, Backup: s.Backup, Full: m.conn.HalfFull,
				Hold: func() (release func()) { return cluster.Hold(m.node.Load()) },
			})
			if err != nil && ctx.Err() == nil {
				m.log.Error("no backups are given to nodes that join", "err", err)
			}
		}),
		begin(inner, func(ctx context.Context) { m.watch(ctx, setPart) }))
	return nil
}

// watch tells whoever works while this node leads when that changes.
func (m *member) watch(ctx context.Context, setPart func(nodes int)) {
	tick := time.NewTicker(leadEvery)
	defer tick.Stop()
	led := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		v := m.node.Load().View()
		if v.Leads != led {
			led = v.Leads
			m.lead.tell()
			m.log.Info("which node works for all has changed", "this", led)
		}
		setPart(max(1, v.Live))
	}
}

// leadEvery is how often it is looked whether this node leads: much less than a
// lease lasts.
const leadEvery = time.Second

// close ends the node. What waits is answered that nobody knows what became of
// it. The database must be open still.
func (m *member) close() {
	for _, end := range m.end {
		end()
	}
	m.end = nil
	if m.cancel != nil {
		m.cancel()
		<-m.stopped
	}
	if m.conn != nil {
		m.conn.Close()
	}
	if m.past != nil {
		_ = m.past.Close() // it is not synced either
	}
}
