package status

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// WriteText writes the report for people, with the first top refusals.
func (r *Report) WriteText(out io.Writer, top int) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	state := "ready"
	if !r.Ready {
		state = "NOT READY: " + r.Why
	}
	line("engramd %s, pid %d, up %s, %s", r.Version, r.PID, span(r.Uptime), state)
	r.writeClock(line)
	r.writeClients(line)
	r.writeSlow(line)
	f := &r.Full
	line("\nHOW FULL")
	line("database\t%s, of which %s are free for what comes", amount(f.Database), amount(f.Free))
	if f.Max > 0 {
		line("store.max_bytes\t%s, %.0f %% in use", amount(f.Max), 100*float64(f.Database-f.Free)/float64(f.Max))
	}
	line("write-ahead log\t%s", amount(f.WAL))
	line("disk\t%s free", amount(f.Disk))
	line("memory\t%s", amount(f.Memory))
	if r.Damaged > 0 {
		line("DAMAGED\t%d stored events; engramd check names them", r.Damaged)
	}
	if r.Outbox.Waiting > 0 {
		line("outbox\t%d deliveries wait, the oldest for %s", r.Outbox.Waiting, span(r.Outbox.Oldest))
	} else {
		line("outbox\tnothing waits")
	}
	r.writeCluster(line)
	r.writeFollowed(line)
	line("\nREFUSED since the start")
	for _, n := range r.Refused[:min(top, len(r.Refused))] {
		line("%s\t%s\t%d", n.What, n.Reason, n.Count)
	}
	if len(r.Refused) == 0 {
		line("nothing")
	}
	return w.Flush()
}

// writeClock says nothing of a clock of which there is nothing to say.
func (r *Report) writeClock(line func(string, ...any)) {
	c := &r.Clock
	switch {
	case !c.Confirmed:
		line("clock NOT CONFIRMED: it says %s, and the last time that was confirmed is %s; it has run for %d hours of %d; nothing is removed by age, and no deadline is decided (engramd clock accept)",
			c.Now.Format(time.RFC3339), c.Known.Format(time.RFC3339), c.Hours, c.Needed)
	case c.Jumps > 0:
		line("clock confirmed, %d jumps since the start", c.Jumps)
	}
}

func (r *Report) writeFollowed(line func(string, ...any)) {
	if len(r.Followed) == 0 {
		return
	}
	line("\nFOLLOWED\tRELAY\tSTATE\tBEHIND\tTAKEN\tREFUSED")
	for i := range r.Followed {
		f := &r.Followed[i]
		state := f.State
		if f.Why != "" {
			state += ": " + f.Why
		}
		line("%d\t%s\t%s\t%s\t%d\t%d", f.Number, f.Relay, state, span(f.Lag), f.Taken, f.RefusedEvents())
	}
}

func (r *Report) writeClients(line func(string, ...any)) {
	cl := &r.Clients
	most := ""
	if cl.Limit > 0 {
		most = fmt.Sprintf(" of %d", cl.Limit)
	}
	line("\nCLIENTS  %d%s connections from %d addresses, %d subscriptions, %s waiting to be sent", cl.Connections, most, cl.AddressCount, cl.Subscriptions, amount(cl.Waiting))
	if cl.Syncs > 0 {
		line("\t%d reconciliations (NIP-77) open, with %s of events", cl.Syncs, amount(cl.SyncBytes))
	}
	if cl.Connections == 0 {
		return
	}
	line("ADDRESS\tCONNECTIONS\tSUBSCRIPTIONS\tWAITING\tIN\tOUT\tWHO")
	for _, a := range cl.Addresses {
		line("%s\t%d\t%d\t%s\t%s\t%s\t%s", a.Address, a.Connections, a.Subscriptions, amount(a.Waiting), amount(a.BytesIn), amount(a.BytesOut), orDash(strings.Join(a.Who, " ")))
	}
	line("\nBUSIEST\tADDRESS\tOPEN\tSUBSCRIPTIONS\tUNANSWERED\tWAITING\tIN\tOUT\tWHO")
	for _, b := range cl.Busiest {
		line("%d\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s", b.Number, b.Address, span(b.Seconds), b.Subscriptions, b.Unread, amount(b.Waiting), amount(b.BytesIn), amount(b.BytesOut), b.Who)
	}
}

func (r *Report) writeSlow(line func(string, ...any)) {
	s := &r.Slow
	line("\nWHAT IS SLOW")
	line("commits\tp50 %s, p99 %s, at most %s, of the last %d", span(s.Commits.P50), span(s.Commits.P99), span(s.Commits.Max), s.Commits.Count)
	line("live\t%d batches wait to be delivered, %d connections are behind, by %s at most", s.Live, r.Clients.Behind, span(r.Clients.BehindFor))
	for _, name := range slices.Sorted(maps.Keys(s.Queues)) {
		line("queue\t%s\t%d", name, s.Queues[name])
	}
	if len(s.Reads) == 0 {
		line("reads\tnone took a millisecond in the last ten minutes")
		return
	}
	line("READ\tPLAN\tTOOK\tAGO\tFAILED")
	for _, q := range s.Reads {
		line("%s\t%s\t%s\t%s\t%s", q.Operation, orDash(q.Plan), span(q.Seconds), span(q.Ago), orDash(q.Failure))
	}
}

// span writes seconds for people.
func span(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= time.Hour:
		return d.Round(time.Minute).String()
	case d >= time.Second:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(10 * time.Microsecond).String()
}

// amount writes bytes for people.
func amount(n int64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/1024, 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return fmt.Sprintf("%.1f %ciB", v, units[i])
}

func orDash(s string) string { return cmp.Or(s, "-") }
