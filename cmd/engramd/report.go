package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"engramd/internal/session"
)

// statusReport is what the daemon tells `engramd status`. It holds addresses and
// tags of keys, and no key, id, d tag, filter or content.
type statusReport struct {
	Version string  `json:"version"`
	PID     int     `json:"pid"`
	Uptime  float64 `json:"uptime_seconds"`
	Ready   bool    `json:"ready"`
	Why     string  `json:"why,omitempty"` // it is not

	Clients session.Status `json:"clients"`
	Slow    slowReport     `json:"slow"`
	Full    fullReport     `json:"full"`
	Outbox  outboxReport   `json:"outbox"`
	Refused []refusedCount `json:"refused"` // since the start, the most frequent first
}

// slowReport is what takes its time.
type slowReport struct {
	Reads   []slowRead       `json:"reads"` // slowest first, of the last ten minutes
	Commits commitTimes      `json:"commits"`
	Live    int              `json:"live_batches_waiting"` // committed, and not yet delivered
	Queues  map[string]int64 `json:"queues"`
}

type slowRead struct {
	Operation string  `json:"operation"`
	Plan      string  `json:"plan,omitempty"`
	Seconds   float64 `json:"seconds"`
	Ago       float64 `json:"ago_seconds"`
	Failure   string  `json:"failure,omitempty"`
}

type commitTimes struct {
	Count int     `json:"count"` // of the last, 1,024 at most
	P50   float64 `json:"p50_seconds"`
	P99   float64 `json:"p99_seconds"`
	Max   float64 `json:"max_seconds"`
}

// fullReport is how full it is, in bytes.
type fullReport struct {
	Database int64 `json:"database_bytes"`
	Free     int64 `json:"database_free_bytes"` // within it
	WAL      int64 `json:"wal_bytes"`
	Max      int64 `json:"max_bytes"` // store.max_bytes; 0 is none
	Disk     int64 `json:"disk_free_bytes"`
	Memory   int64 `json:"memory_bytes"` // that the process holds
}

type outboxReport struct {
	Waiting int64   `json:"waiting"`
	Oldest  float64 `json:"oldest_seconds"`
}

type refusedCount struct {
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
	"engramd_no_room_total":               "no room",
	"engramd_api_refused_total":           "api",
	"engramd_management_refused_total":    "management",
	"engramd_write_program_answers_total": "write program",
}

// mostRefusals bounds how many reasons are told.
const mostRefusals = 50

// errStarting means that there is nothing to tell yet.
var errStarting = errors.New("the daemon is starting")

// orderStatus is asked by `engramd status`.
const orderStatus = "status"

// statusOrders makes reports. They are made on the control socket's goroutines,
// and read no configuration, which a reload replaces.
func (c *serveCommand) statusOrders() []serviceOrder {
	started, dir := time.Now(), c.cfg.Data
	report := func(ctx context.Context, top int) (any, error) {
		if !c.up.Load() {
			return nil, errStarting
		}
		top = min(max(top, 1), mostTop)
		out := statusReport{Version: version, PID: os.Getpid(), Uptime: time.Since(started).Seconds(), Ready: true}
		if err := c.bridge.Ready(ctx); err != nil {
			out.Ready, out.Why = false, err.Error()
		}
		out.Clients = c.sessions.Status(top)
		space, err := c.store.Space(ctx)
		if err != nil {
			return nil, err
		}
		out.Full = fullReport{space.Database, space.Free, space.WAL, space.Max, freeBytes(dir), heldMemory()}
		out.Slow = c.slow(top)
		return out, c.counted(&out)
	}
	return []serviceOrder{{orderStatus, func(ctx context.Context, req request) (any, error) { return report(ctx, req.Top) }}}
}

func (c *serveCommand) slow(top int) slowReport {
	recent := c.store.Recent(top)
	out := slowReport{Live: c.relay.Undelivered(), Queues: map[string]int64{}, Commits: commitTimes{
		recent.Commits, recent.P50.Seconds(), recent.P99.Seconds(), recent.Max.Seconds(),
	}}
	for _, r := range recent.Reads {
		out.Reads = append(out.Reads, slowRead{r.Operation, r.Plan, r.Took.Seconds(), time.Since(r.At).Seconds(), r.Failure})
	}
	return out
}

// counted adds what the metrics know.
func (c *serveCommand) counted(out *statusReport) error {
	const queues, reads = "engramd_queue_depth", "engramd_reads_waiting"
	const waiting, oldest = "engramd_outbox_waiting", "engramd_outbox_oldest_seconds"
	names := []string{queues, reads, waiting, oldest}
	for name := range refusals {
		names = append(names, name)
	}
	values, err := c.metrics.Values(names)
	if err != nil {
		return err
	}
	for _, v := range values[queues] {
		out.Slow.Queues[v.Labels] = int64(v.Value)
	}
	for _, v := range values[reads] {
		out.Slow.Queues["reads"] += int64(v.Value)
	}
	for _, v := range values[waiting] {
		out.Outbox.Waiting += int64(v.Value)
	}
	for _, v := range values[oldest] {
		out.Outbox.Oldest = max(out.Outbox.Oldest, v.Value)
	}
	for name, what := range refusals {
		for _, v := range values[name] {
			if refusal(name, v.Labels) {
				out.Refused = append(out.Refused, refusedCount{what, v.Labels, int64(v.Value)})
			}
		}
	}
	slices.SortFunc(out.Refused, func(a, b refusedCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.What, b.What), cmp.Compare(a.Reason, b.Reason))
	})
	out.Refused = out.Refused[:min(mostRefusals, len(out.Refused))]
	return nil
}

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

// heldMemory returns what the runtime has of the system, in bytes.
func heldMemory() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
