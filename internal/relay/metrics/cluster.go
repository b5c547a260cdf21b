package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Cluster says where this node stands among those that execute the same log.
type Cluster struct {
	Applied      float64 // number of the last message of the log that was executed here
	Commands     float64 // that were executed here
	HashCompared float64 // of these, up to which a majority of the members had the same outcomes
	Differing    float64 // members that have read another log than the majority
	Members      float64
	LiveMembers  float64 // that were heard lately
	Leads        bool    // this node does what one of them does for all

	ServersUnknown  float64 // servers that keep the log, of which it is not known whether they sync
	ServersUnsynced float64 // those that are known not to
	Refuses         bool    // so that this node takes no writes
}

// ClusterLog is what a node's messages tell.
type ClusterLog struct {
	appends  prometheus.Histogram
	failures prometheus.Counter
	again    prometheus.Counter
	void     prometheus.Counter
	*queues

	mu      sync.Mutex
	end     uint64                        // of the log, as far as it is known
	lag     time.Duration                 // from a message to its execution
	offsets [clusterOffsets]time.Duration // of the last messages
	read    int                           // messages so far
}

// clusterOffsets is over how many messages the clock's offset is the smallest:
// each includes how long the message took to come.
const clusterOffsets = 32

// newClusterLog makes what nodes of a cluster measure. WatchCluster registers it:
// a process that is alone does not have it.
func newClusterLog(q *queues) *ClusterLog {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "engramd_cluster_" + name, Help: help})
	}
	return &ClusterLog{
		queues: q,
		appends: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "engramd_cluster_append_seconds",
			Help:    "Time until a batch of commands was in the log on a majority of its servers.",
			Buckets: []float64{.0005, .001, .002, .004, .008, .016, .032, .064, .125, .25, .5, 1, 2, 4, 8, 16},
		}),
		failures: counter("append_failures_total", "Batches of which the log did not say in time that it has them."),
		again:    counter("sent_again_total", "Batches that were appended once more, because it was not known whether they had entered."),
		void:     counter("void_total", "Messages of the log that counted for nothing: they entered twice, or behind a gap, or their sender was no member."),
	}
}

// AppendDone reports one append to the log of several nodes, and whether it was
// acknowledged.
func (s *ClusterLog) AppendDone(took time.Duration, ok bool) {
	if ok {
		s.appends.Observe(took.Seconds())
	} else {
		s.failures.Inc()
	}
}

// SentAgain reports batches that were appended again.
func (s *ClusterLog) SentAgain(batches int) {
	s.again.Add(float64(batches))
}

// MessageRead reports a message of the log: its number, what became of it
// ("taken", "mark", or why it is void), and how far this machine's clock was
// ahead of the log's time when it came.
func (s *ClusterLog) MessageRead(number uint64, became string, ahead time.Duration) {
	if became != "taken" && became != "mark" {
		s.void.Inc()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end = max(s.end, number)
	s.offsets[s.read%clusterOffsets] = ahead
	s.read++
}

// Executed reports up to which message everything is durable here, and how long
// after that message.
func (s *ClusterLog) Executed(number uint64, lag time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end, s.lag = max(s.end, number), lag
}

// ClusterSeen returns the number of the last message of the log that is known
// here, and how far the machine's clock is ahead of the log's.
func (s *ClusterLog) ClusterSeen() (end uint64, offset time.Duration) {
	end, _, offset = s.now()
	return end, offset
}

// now returns what the gauges show.
func (s *ClusterLog) now() (end uint64, lag, offset time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range min(s.read, clusterOffsets) {
		if i == 0 || s.offsets[i] < offset {
			offset = s.offsets[i]
		}
	}
	return s.end, s.lag, offset
}

// WatchCluster registers the metrics of a cluster, of which read gives some at
// every scrape. Call it once, on a node of one.
func (m *Metrics) WatchCluster(read func() Cluster) {
	seen := m.ClusterLog
	m.registry.MustRegister(seen.appends, seen.failures, seen.again, seen.void)
	m.registry.watch(nil, []gauge{
		{"engramd_cluster_applied", "Number of the last message of the log that was executed here."},
		{"engramd_cluster_log_end", "Number of the last message of the log that is known here."},
		{"engramd_cluster_lag_seconds", "Time from the last executed message to its execution here."},
		{"engramd_cluster_commands", "Commands that were executed here."},
		{"engramd_cluster_hash_compared", "Up to how many commands a majority of the members had the same outcomes as this node."},
		{"engramd_cluster_differing_members", "Members that have read another log than the majority, or than this node while that is open."},
		{"engramd_cluster_members", "Members of the cluster."},
		{"engramd_cluster_live_members", "Members of the cluster that were heard lately."},
		{"engramd_cluster_leads", "1 on the node that does what one does for all: deadlines, the outbox, scheduled snapshots, following other relays."},
		{"engramd_cluster_servers_unknown", "Servers that keep the log, of which this node does not know whether they sync what they acknowledge."},
		{"engramd_cluster_servers_unsynced", "Servers that keep the log and do not sync what they acknowledge, as far as this node knew last."},
		{"engramd_cluster_refuses_writes", "1 while this node takes no writes, because a server that keeps the log has not synced for ten minutes."},
		{"engramd_cluster_clock_offset_seconds", "How far this machine's clock is ahead of the log's time, at least; while messages come late, how late they come."},
	}, func(set setGauges) {
		now := read()
		end, lag, offset := seen.now()
		set([]float64{
			now.Applied, max(float64(end), now.Applied), lag.Seconds(), now.Commands, now.HashCompared, now.Differing, now.Members, now.LiveMembers, oneIf(now.Leads), now.ServersUnknown, now.ServersUnsynced, oneIf(now.Refuses), offset.Seconds(),
		})
	})
}
