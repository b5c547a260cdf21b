// Package status makes the report of `engramd status`: who is connected to the
// daemon, what is slow in it, and how full it is.
package status

import (
	"cmp"
	"context"
	"os"
	rtmetrics "runtime/metrics"
	"slices"
	"time"

	"engramd/internal/relay/clock"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/replica"
	"engramd/internal/relay/store"
	"engramd/internal/relay/websocket"
)

// MostTop bounds how much of each list is told, whatever is asked.
const MostTop = 100

// Sources are what a report is made of.
type Sources struct {
	Version string
	Started time.Time
	Ready   func(context.Context) error
	Disk    func() int64 // bytes that are free on the database's disk

	Sessions    func(top int) websocket.Status
	Undelivered func() int // batches for live delivery
	Damaged     func() int // stored events that are known to be
	Space       func(ctx context.Context) (store.Space, error)
	Recent      func(most int) store.Recent
	Replicas    func() []replica.Status
	Cluster     func() *Cluster // nil: there is no other node
	Clock       func() clock.Status
	Metrics     func(names []string) (map[string][]metrics.Value, error)
}

// Report makes a report with the first top of each list.
func (s *Sources) Report(ctx context.Context, top int) (*Report, error) {
	top = min(max(top, 1), MostTop)
	out := &Report{Version: s.Version, PID: os.Getpid(), Uptime: time.Since(s.Started).Seconds(), Ready: true}
	if err := s.Ready(ctx); err != nil {
		out.Ready, out.Why = false, err.Error()
	}
	out.Clock, out.Clients = s.Clock(), s.Sessions(top)
	space, err := s.Space(ctx)
	if err != nil {
		return nil, err
	}
	out.Full = Full{space.Database, space.Free, space.WAL, space.Max, s.Disk(), heldMemory()}
	if out.Slow = s.slow(top); s.Damaged != nil {
		out.Damaged = s.Damaged()
	}
	if s.Replicas != nil {
		out.Followed = s.Replicas()
	}
	if s.Cluster != nil {
		out.Cluster = s.Cluster()
	}
	return out, s.counted(out)
}

func (s *Sources) slow(top int) Slow {
	recent := s.Recent(top)
	out := Slow{Live: s.Undelivered(), Queues: map[string]int64{}, Commits: Commits{
		recent.Commits, recent.P50.Seconds(), recent.P99.Seconds(), recent.Max.Seconds(),
	}}
	for _, r := range recent.Reads {
		out.Reads = append(out.Reads, Read{r.Operation, r.Plan, r.Took.Seconds(), time.Since(r.At).Seconds(), r.Failure})
	}
	return out
}

// counted adds what the metrics know.
func (s *Sources) counted(out *Report) error {
	const queues, reads = "engramd_queue_depth", "engramd_reads_waiting"
	const waiting, oldest = "engramd_outbox_waiting", "engramd_outbox_oldest_seconds"
	names := []string{queues, reads, waiting, oldest}
	for name := range refusals {
		names = append(names, name)
	}
	values, err := s.Metrics(names)
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
				out.Refused = append(out.Refused, Refused{what, v.Labels, int64(v.Value)})
			}
		}
	}
	slices.SortFunc(out.Refused, func(a, b Refused) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.What, b.What), cmp.Compare(a.Reason, b.Reason))
	})
	out.Refused = out.Refused[:min(mostRefusals, len(out.Refused))]
	return nil
}

// heldMemory returns what the runtime has of the system, in bytes.
func heldMemory() int64 {
	samples := []rtmetrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	rtmetrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}
