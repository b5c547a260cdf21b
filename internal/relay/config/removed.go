package config

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// past is an option of an earlier version: it is read, and compared with what
// holds in its place.
type past struct {
	*Option
	follows string                                     // the option that what holds follows from; "" for a constant
	judge   func() (said, holds string, stricter bool) // as TOML, and whether the old value permits less than what holds
}

// Removed is a removed option that a configuration sets.
type Removed struct {
	Key, Value, Origin string
	Holds              string // what holds in its place
}

// String is for people.
func (r Removed) String() string {
	return fmt.Sprintf("%s = %s (%s): removed option; now holds %s", r.Key, r.Value, r.Origin, r.Holds)
}

// Removed returns what the configuration sets of removed options. Each permits
// more than what holds, or as much.
func (c *Config) Removed() []Removed { return c.set }

func was[T any](key string, now *T, e elem[T], stricter func(old, now T) bool) past {
	old := new(T)
	return past{&Option{Key: key, value: one(old, *old, e)}, "", func() (string, string, bool) {
		return e.format(*old), e.format(*now), stricter(*old, *now)
	}}
}

// burst is a removed option whose value still counts where the rate in its
// place is set without one.
func (c *Config) burst(of string, rate *Rate) past {
	old := new(int)
	return past{&Option{Key: of + "_burst", value: num(old, 0, 1, maxInt)}, "", func() (string, string, bool) {
		if !c.Said(of) || rate.Burst == 0 {
			rate.Burst = *old
		}
		return strconv.Itoa(*old), of + " = " + formatRate(*rate), false
	}}
}

// lower is the rule of bounds and of times that clients have: less is stricter,
// and 0 was no bound.
func lower[T cmp.Ordered](old, now T) bool {
	var none T
	return old != none && old < now
}

// never is the rule of what protects nothing.
func never[T any](T, T) bool { return false }

// removed returns the options of earlier versions. b is what holds in place of
// most of them, filled in before judge is called.
func (c *Config) removed(b *Bounds) []past {
	number, bytes, total := whole(0, maxInt), size(0, maxInt), size[int64](0, math.MaxInt64)
	span := duration(0, math.MaxInt64)
	slower := func(old, now Rate) bool { return lower(old.PerSecond, now.PerSecond) }
	derived := []past{
		was("limits.waiting_frames", &b.WaitingFrames, number, lower),
		was("limits.waiting_bytes", &b.WaitingBytes, bytes, lower),
		was("limits.waiting_bytes_per_share", &b.WaitingShare, total, lower),
		was("limits.waiting_bytes_total", &b.WaitingTotal, total, lower),
		was("limits.queue_mark", &b.QueueMark, bytes, lower),
		was("limits.queue_bytes", &b.QueueBytes, bytes, lower),
		was("limits.queue_frames", &b.QueueFrames, number, lower),
		was("limits.queue_per_share", &b.QueueShare, total, lower),
		was("limits.queue_total", &b.QueueTotal, total, lower),
		was("limits.live_bytes", &b.LiveBytes, total, lower),
		was("limits.live_bytes_per_share", &b.LiveShare, total, lower),
		was("limits.live_bytes_total", &b.LiveTotal, total, lower),
		was("limits.http_requests", &b.HTTPRequests, number, lower),
		was("limits.http_requests_per_address", &b.HTTPPerShare, number, lower),
		was("sync.events", &b.Sync.Items, number, lower),
		was("sync.replica_events", &b.Sync.ReplicaItems, number, lower),
		was("sync.bytes_per_share", &b.Sync.Share, total, lower),
		was("sync.bytes_total", &b.Sync.Total, total, lower),
	}
	for i := range derived {
		derived[i].follows = "limits.memory"
	}
	limit := was("limits.default_limit", &b.DefaultLimit, number, lower)
	limit.follows = "limits.max_limit"
	return append(derived, limit,
		was("limits.filters", new(Filters), number, lower),
		was("limits.filter_values", new(FilterValues), number, lower),
		was("limits.frames_burst", &b.FramesBurst, number, lower),
		was("limits.frames_rate", &b.FramesRate, number, lower),
		was("limits.event_tags", new(EventTags), number, lower),
		was("limits.keys", &b.Keys, number, lower),
		was("limits.index_rows", &IndexRows, rate(), slower),
		was("limits.index_rows_burst", &IndexRows.Burst, number, lower),
		c.burst("limits.events_per_key", &c.Limits.EventsPerKey),
		c.burst("limits.events_per_address", &c.Limits.EventsPerAddress),
		was("timeouts.handshake", new(HandshakeTime), span, lower),
		was("timeouts.write_stall", &b.Stall, span, lower),
		was("timeouts.silence", &b.Silence, span, lower),
		was("auth.window", new(AuthWindow), span, lower),
		was("auth.http_window", new(HTTPWindow), span, lower),
		was("sync.per_connection", &b.Sync.Sessions, number, lower),
		was("sync.idle", &b.Sync.Idle, span, lower),
		was("timeouts.ping", &b.PingEvery, span, never),
		was("compression", new(true), boolean(), func(old, _ bool) bool { return !old }),
		was("req.eose_hints", new(true), boolean(), never),
		was("store.readers", new(StoreReaders), number, never),
		was("store.max_batch", new(StoreMaxBatch), number, never),
		was("snapshot.gc_interval", new(SnapshotGC), span, never),
		was("snapshot.lock_timeout", new(SnapshotLock), span, never),
	)
}

// settle says of each removed option that is set what holds in its place. For
// the relay itself, one that permits less than what holds is an error.
func (c *Config) settle(olds []past, b *Bounds, serve bool) (errs []error) {
	*b = c.Bounds()
	for _, p := range olds {
		if !c.Said(p.Key) {
			continue
		}
		said, holds, stricter := p.judge()
		accept := "remove it to accept that"
		if p.follows != "" {
			accept = "lower " + p.follows + ", from which it follows, or " + accept
			holds += ", from " + p.follows
		}
		if strings.HasPrefix(p.Key, "sync.") && !c.Sync.Serve {
			stricter = false // no reconciliation is served
		}
		if stricter && serve {
			errs = append(errs, fmt.Errorf("%s = %s (%s): removed option, and what now holds permits more: %s; %s", p.Key, said, c.Origin(p.Key), holds, accept))
		}
		c.set = append(c.set, Removed{p.Key, said, c.Origin(p.Key), holds})
	}
	for rate, burst := range map[*Rate]int{&c.Limits.EventsPerKey: 100, &c.Limits.EventsPerAddress: 20_000} {
		rate.Burst = cmp.Or(rate.Burst, burst)
	}
	return errs
}
