package status

import (
	"engramd/internal/relay/replica"
	"engramd/internal/relay/websocket"
)

// Report is what the daemon tells `engramd status`. It holds addresses and
// tags of keys, and no key, id, d tag, filter or content.
type Report struct {
	Version string  `json:"version"`
	PID     int     `json:"pid"`
	Uptime  float64 `json:"uptime_seconds"`
	Ready   bool    `json:"ready"`
	Why     string  `json:"why,omitempty"` // it is not

	Clients websocket.Status `json:"clients"`
	Slow    Slow             `json:"slow"`
	Full    Full             `json:"full"`
	Outbox  Outbox           `json:"outbox"`
	// Followed are the relays that this one follows.
	Followed []replica.Status `json:"followed,omitempty"`
	// Cluster is where this node stands among others; nil when it is alone.
	Cluster *Cluster  `json:"cluster,omitempty"`
	Refused []Refused `json:"refused"` // since the start, the most frequent first
}

// Slow is what takes its time.
type Slow struct {
	Reads   []Read           `json:"reads"` // slowest first, of the last ten minutes
	Commits Commits          `json:"commits"`
	Live    int              `json:"live_batches_waiting"` // committed, and not yet delivered
	Queues  map[string]int64 `json:"queues"`
}

// Read is one read that took its time.
type Read struct {
	Operation string  `json:"operation"`
	Plan      string  `json:"plan,omitempty"`
	Seconds   float64 `json:"seconds"`
	Ago       float64 `json:"ago_seconds"`
	Failure   string  `json:"failure,omitempty"`
}

// Commits are the times of the last commits.
type Commits struct {
	Count int     `json:"count"` // of the last, 1,024 at most
	P50   float64 `json:"p50_seconds"`
	P99   float64 `json:"p99_seconds"`
	Max   float64 `json:"max_seconds"`
}

// Full is how full it is, in bytes.
type Full struct {
	Database int64 `json:"database_bytes"`
	Free     int64 `json:"database_free_bytes"` // within it
	WAL      int64 `json:"wal_bytes"`
	Max      int64 `json:"max_bytes"` // store.max_bytes; 0 is none
	Disk     int64 `json:"disk_free_bytes"`
	Memory   int64 `json:"memory_bytes"` // that the process holds
}

// Outbox is what waits to be delivered to relays.
type Outbox struct {
	Waiting int64   `json:"waiting"`
	Oldest  float64 `json:"oldest_seconds"`
}

// Refused counts refusals of one sort.
type Refused struct {
	What   string `json:"what"`
	Reason string `json:"reason,omitempty"`
	Count  int64  `json:"count"`
}
