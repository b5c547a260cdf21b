package status

import (
	"slices"
	"strings"

	"engramd/internal/relay/clock"
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

	Clock   clock.Status     `json:"clock"`
	Clients websocket.Status `json:"clients"`
	Slow    Slow             `json:"slow"`
	Full    Full             `json:"full"`
	// Damaged counts stored events that are known to be damaged.
	Damaged int    `json:"damaged_events"`
	Outbox  Outbox `json:"outbox"`
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

// Counters that tell of refusals, and as what they are told.
var refusals = map[string]string{
	"engramd_connections_refused_total":   "connection",
	"engramd_slow_readers_cut_total":      "connection cut off",
	"engramd_reads_paused_total":          "frames too fast",
	"engramd_frames_refused_total":        "frame",
	"engramd_subscriptions_closed_total":  "subscription closed",
	"engramd_gate_decisions_total":        "gate",
	"engramd_auth_total":                  "AUTH",
	"engramd_events_total":                "event",
	"engramd_query_failures_total":        "read",
	"engramd_reads_ended_total":           "read ended for others",
	"engramd_http_refused_total":          "http",
	"engramd_write_failures_total":        "write",
	"engramd_api_refused_total":           "api",
	"engramd_management_refused_total":    "management",
	"engramd_write_program_answers_total": "write program",
}

// mostRefusals bounds how many reasons are told.
const mostRefusals = 50

// refusal reports whether a counter of those above counts what was refused, and
// not what went well.
func refusal(name, labels string) bool {
	words := strings.Fields(labels)
	is := func(any ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(any, w) })
	}
	switch name {
	case "engramd_gate_decisions_total":
		return is("auth-required", "restricted")
	case "engramd_auth_total":
		return is("refused")
	case "engramd_events_total":
		return is("refused", "failed")
	case "engramd_write_program_answers_total":
		return !is("accept")
	}
	return true
}
