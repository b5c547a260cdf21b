package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Store is what the database counts.
type Store struct {
	queries     *prometheus.HistogramVec
	queryErrs   *prometheus.CounterVec
	readWaits   *prometheus.HistogramVec
	commits     prometheus.Histogram
	commitErrs  prometheus.Counter
	writeErrs   *prometheus.CounterVec
	batchEvents prometheus.Histogram
	rotten      prometheus.Counter
	removed     *prometheus.CounterVec
	retired     *prometheus.CounterVec
	*queues
}

func newStore(r registry, q *queues) *Store {
	return &Store{
		queries: r.histogramVec("engramd_query_duration_seconds",
			"Time of one read of the database (one page of a paced query), by operation.",
			[]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}, queryLabel),
		queryErrs: r.counterVec("engramd_query_failures_total",
			"Reads of the database that failed, by operation and reason.", queryLabel, failureLabel),
		readWaits: r.histogramVec("engramd_read_wait_seconds",
			"How long reads of the database waited for their first turn, of those that had to wait, by what they expect to take.",
			[]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}, effortLabel),
		commits: r.histogram("engramd_commit_duration_seconds",
			"Time of one durable commit, from its first event to the end of its fsync.",
			[]float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}),
		commitErrs: r.counter("engramd_commit_failures_total", "Commits that failed; none of their events was acknowledged."),
		writeErrs: r.counterVec("engramd_write_failures_total",
			"Events not stored because the database could not, by cause.", causeLabel),
		rotten: r.counter("engramd_rot_total", "Stored events and superseded versions that were found damaged since the start; none of them was given out."),
		batchEvents: r.histogram("engramd_commit_batch_events",
			"Events that shared one commit.", prometheus.ExponentialBuckets(1, 2, 13)),
		removed: r.counterVec("engramd_events_removed_total",
			"Events and superseded versions removed from the database, by reason.", removedLabel),
		retired: r.counterVec("engramd_retention_removed_total",
			"Heads and regular events that retention.rules removed, by class.", gateClasses),
		queues: q,
	}
}

// queues is the gauge that sessions, the store and a node share.
type queues struct{ depth *prometheus.GaugeVec }

func newQueues(r registry) *queues {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "engramd_queue_depth",
		Help: "What waits in the daemon's queues, in items unless the name says bytes.",
	}, []string{"queue"})
	r.MustRegister(v)
	each([]label{queueLabel}, nil, func(q []string) { v.WithLabelValues(q...) })
	return &queues{v}
}

// QueueAdd moves the depth of a queue by n: "store_writer" (events waiting for
// the writer), "verify" (events waiting for their signature check),
// "connections_out_bytes" (bytes queued for clients) or "cluster" (commands that
// wait for their place in the log of several nodes).
func (q *queues) QueueAdd(queue string, n int) {
	q.depth.WithLabelValues(queueLabel.of(queue)).Add(float64(n))
}

// QueryDone records one read of the database: operation "query", "search",
// "count", "history" or "export", its time, and how it failed: "" (it did not),
// "timeout", "ended" (in favour of others), "canceled" or "error".
func (s *Store) QueryDone(operation string, took time.Duration, failure string) {
	op := queryLabel.of(operation)
	s.queries.WithLabelValues(op).Observe(took.Seconds())
	if failure != "" {
		s.queryErrs.WithLabelValues(op, failureLabel.of(failure)).Inc()
	}
}

// ReadWaited records that a read had to wait for its turn: effort is "look_up"
// or "scan".
func (s *Store) ReadWaited(effort string, took time.Duration) {
	s.readWaits.WithLabelValues(effortLabel.of(effort)).Observe(took.Seconds())
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
	counter := func(name, help string, of func(Reads) float64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return of(reads()) }))
	}
	m.registry.onScrape("engramd_reads_waiting", "Reads of the database that wait for a turn.", func() int64 { return int64(reads().Waiting) })
	m.registry.onScrape("engramd_read_connections_lent", "Database connections lent to reads that are under way.", func() int64 { return int64(reads().UnderWay) })
	counter("engramd_read_yields_total", "Turns that reads gave to others in the middle of their work.", func(r Reads) float64 { return float64(r.Yields) })
	counter("engramd_reads_ended_total", "Reads that were ended before they were done, in favour of others or of the log.", func(r Reads) float64 { return float64(r.Ended) })
}

// CommitDone records one transaction of the writer: its time up to the end of
// the fsync, the events that shared it, and whether it was made durable.
func (s *Store) CommitDone(took time.Duration, events int, ok bool) {
	if !ok {
		s.commitErrs.Inc()
		return
	}
	s.commits.Observe(took.Seconds())
	s.batchEvents.Observe(float64(events))
}

// Removed counts n events or versions removed: "deletion" (NIP-09), "expiry"
// (NIP-40), "vanish" (NIP-62), "history" (pruned versions), "ban" (NIP-86),
// "operator" (engramd delete) or "retention" (retention.rules).
func (s *Store) Removed(reason string, n int) {
	if n > 0 {
		s.removed.WithLabelValues(removedLabel.of(reason)).Add(float64(n))
	}
}

// WriteFailed counts events that could not be stored: "full", "io", "corrupt",
// "database" or "fault".
func (s *Store) WriteFailed(cause string, events int) {
	s.writeErrs.WithLabelValues(causeLabel.of(cause)).Add(float64(events))
}

// Rotten counts a stored row that is not as it was written.
func (s *Store) Rotten() { s.rotten.Inc() }

// Retired counts n heads and regular events of one gate class that retention
// removed.
func (s *Store) Retired(class string, n int) {
	if n > 0 {
		s.retired.WithLabelValues(gateClasses.of(class)).Add(float64(n))
	}
}

// Sizes are read when the metrics are scraped, in bytes. A nil function leaves
// its metric at zero.
type Sizes struct {
	Database func() int64 // main database file
	WAL      func() int64 // write-ahead log
	Free     func() int64 // free space of the file system the data folder is on
	// Room is what the database may take, 0 is no limit, and Reserve the last of it
	// that is kept for known keys.
	Room, Reserve func() int64
	// MemoryLimit and MemoryNeeded are those of the process.
	MemoryLimit, MemoryNeeded func() int64
}

// WatchSizes registers the size metrics. Call it once.
func (m *Metrics) WatchSizes(s Sizes) {
	m.registry.onScrape("engramd_database_bytes", "Size of the database file.", s.Database)
	m.registry.onScrape("engramd_wal_bytes", "Size of the write-ahead log.", s.WAL)
	m.registry.onScrape("engramd_disk_free_bytes", "Free space of the file system that holds the data folder.", s.Free)
	m.registry.onScrape("engramd_room_bytes", "Room that the database has in all (store.max_bytes); 0 is no limit.", s.Room)
	m.registry.onScrape("engramd_room_reserve_bytes", "The last of that room, which is kept for known keys.", s.Reserve)
	m.registry.onScrape("engramd_memory_limit_bytes", "Memory that the process keeps below (limits.memory); 0 is no limit.", s.MemoryLimit)
	m.registry.onScrape("engramd_memory_needed_bytes", "Memory in use, garbage not counted; above nine tenths of the limit, REQ and COUNT are refused.", s.MemoryNeeded)
}

func (r registry) onScrape(name, help string, fn func() int64) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
		if fn == nil {
			return 0
		}
		return float64(fn())
	}))
}
