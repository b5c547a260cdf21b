package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// defineStore makes what the database counts.
func (m *Metrics) defineStore() {
	m.queries = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "engramd_query_duration_seconds",
		Help:    "Time of one read of the database (one page of a paced query), by operation.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"operation"})
	m.registry.MustRegister(m.queries)
	each([]label{queryLabel()}, nil, func(op []string) { m.queries.WithLabelValues(op...) })
	m.queryErrs = m.counterVec("engramd_query_failures_total",
		"Reads of the database that failed, by operation and reason.", queryLabel(), failureLabel())
	m.readWaits = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "engramd_read_wait_seconds",
		Help:    "How long reads of the database waited for their first turn, of those that had to wait, by what they expect to take.",
		Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"effort"})
	m.registry.MustRegister(m.readWaits)
	each([]label{effortLabel()}, nil, func(v []string) { m.readWaits.WithLabelValues(v...) })
	m.commits = m.histogram("engramd_commit_duration_seconds",
		"Time of one durable commit, from its first event to the end of its fsync.",
		[]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10})
	m.commitErrs = m.counter("engramd_commit_failures_total", "Commits that failed; none of their events was acknowledged.")
	m.noRoom = m.counter("engramd_no_room_total", "Events not stored because the disk, or the limit of the database's size, is reached.")
	m.batchEvents = m.histogram("engramd_commit_batch_events",
		"Events that shared one commit.", prometheus.ExponentialBuckets(1, 2, 13))
	m.removed = m.counterVec("engramd_events_removed_total",
		"Events and superseded versions removed from the database, by reason.", removedLabel())
	m.retired = m.counterVec("engramd_retention_removed_total",
		"Heads and regular events that retention.rules removed, by class.", gateClasses)
	m.queues = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "engramd_queue_depth",
		Help: "What waits in the daemon's queues, in items unless the name says bytes.",
	}, []string{"queue"})
	m.registry.MustRegister(m.queues)
	each([]label{queueLabel()}, nil, func(q []string) { m.queues.WithLabelValues(q...) })
}

// QueryDone records one read of the database: operation "query", "search",
// "count", "history" or "export", its time, and how it failed: "" (it did not),
// "timeout", "ended" (in favour of others), "canceled" or "error".
func (m *Metrics) QueryDone(operation string, took time.Duration, failure string) {
	if m == nil {
		return
	}
	op := queryLabel().of(operation)
	m.queries.WithLabelValues(op).Observe(seconds(took))
	if failure != "" {
		m.queryErrs.WithLabelValues(op, failureLabel().of(failure)).Inc()
	}
}

// ReadWaited records that a read had to wait for its turn: effort is "look_up"
// or "scan".
func (m *Metrics) ReadWaited(effort string, took time.Duration) {
	if m == nil {
		return
	}
	m.readWaits.WithLabelValues(effortLabel().of(effort)).Observe(seconds(took))
}

// Reads are the reads of the database at the moment of a scrape, and since the
// start.
type Reads struct {
	Waiting  int   // for a turn
	UnderWay int   // each with a connection of its own
	Yields   int64 // turns given to others in the middle of the work
	Ended    int64 // ended before they were done, in favour of others
}

// WatchReads registers what is read when the metrics are scraped. Call it once.
func (m *Metrics) WatchReads(reads func() Reads) {
	if m == nil {
		return
	}
	gauge := func(name, help string, of func(Reads) float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return of(reads()) }))
	}
	counter := func(name, help string, of func(Reads) float64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return of(reads()) }))
	}
	gauge("engramd_reads_waiting", "Reads of the database that wait for a turn.", func(r Reads) float64 { return float64(r.Waiting) })
	gauge("engramd_read_connections_lent", "Database connections lent to reads that are under way.", func(r Reads) float64 { return float64(r.UnderWay) })
	counter("engramd_read_yields_total", "Turns that reads gave to others in the middle of their work.", func(r Reads) float64 { return float64(r.Yields) })
	counter("engramd_reads_ended_total", "Reads that were ended before they were done, in favour of others or of the log.", func(r Reads) float64 { return float64(r.Ended) })
}

// CommitDone records one transaction of the writer: its time up to the end of
// the fsync, the events that shared it, and whether it was made durable.
func (m *Metrics) CommitDone(took time.Duration, events int, ok bool) {
	if m == nil {
		return
	}
	if !ok {
		m.commitErrs.Inc()
		return
	}
	m.commits.Observe(seconds(took))
	m.batchEvents.Observe(float64(events))
}

// Removed counts n events or versions removed: "deletion" (NIP-09), "expiry"
// (NIP-40), "vanish" (NIP-62), "history" (pruned versions), "ban" (NIP-86),
// "operator" (engramd delete) or "retention" (retention.rules).
func (m *Metrics) Removed(reason string, n int) {
	if m == nil || n <= 0 {
		return
	}
	m.removed.WithLabelValues(removedLabel().of(reason)).Add(float64(n))
}

// NoRoom counts events that could not be stored for want of room.
func (m *Metrics) NoRoom(events int) {
	if m == nil {
		return
	}
	m.noRoom.Add(float64(events))
}

// Retired counts n heads and regular events of one gate class that retention
// removed.
func (m *Metrics) Retired(class string, n int) {
	if m == nil || n <= 0 {
		return
	}
	m.retired.WithLabelValues(gateClasses.of(class)).Add(float64(n))
}

// QueueAdd moves the depth of a queue by n: "store_writer" (events waiting for
// the writer), "verify" (events waiting for their signature check),
// "connections_out_bytes" (bytes queued for clients) or "cluster" (commands that
// wait for their place in the log of several nodes).
func (m *Metrics) QueueAdd(queue string, n int) {
	if m == nil {
		return
	}
	m.queues.WithLabelValues(queueLabel().of(queue)).Add(float64(n))
}

// Sizes are read when the metrics are scraped, in bytes. A nil function leaves
// its metric at zero.
type Sizes struct {
	Database func() int64 // main database file
	WAL      func() int64 // write-ahead log
	Free     func() int64 // free space of the file system the data folder is on
}

// WatchSizes registers the size metrics. Call it once.
func (m *Metrics) WatchSizes(s Sizes) {
	if m == nil {
		return
	}
	m.size("engramd_database_bytes", "Size of the database file.", s.Database)
	m.size("engramd_wal_bytes", "Size of the write-ahead log.", s.WAL)
	m.size("engramd_disk_free_bytes", "Free space of the file system that holds the data folder.", s.Free)
}

// WatchMemory registers the memory metrics. Call it once.
func (m *Metrics) WatchMemory(limit, needed func() int64) {
	if m == nil {
		return
	}
	m.size("engramd_memory_limit_bytes", "Memory that the process keeps below (limits.memory); 0 is no limit.", limit)
	m.size("engramd_memory_needed_bytes", "Memory in use, garbage not counted; above nine tenths of the limit, REQ and COUNT are refused.", needed)
}

func (m *Metrics) size(name, help string, fn func() int64) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
		if fn == nil {
			return 0
		}
		return float64(fn())
	}))
}
