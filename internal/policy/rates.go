package policy

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"golang.org/x/time/rate"
)

// rejectKeyRate limits events per author.
func (p *Policy) rejectKeyRate(r Rate) Hook {
	message := "rate-limited: one key may write " + perSecond(r) + " here; slow down"
	return func(_ context.Context, ev *nostr.Event) (bool, string) {
		if p.memory.take(p.memory.keys, ev.PubKey, r, p.clock()) {
			return false, ""
		}
		return true, message
	}
}

// rejectAddrRate limits events per client address.
func (p *Policy) rejectAddrRate(r Rate) Hook {
	message := "rate-limited: one address may write " + perSecond(r) + " here; slow down"
	return func(ctx context.Context, _ *nostr.Event) (bool, string) {
		addr := p.addr(ctx)
		if !addr.IsValid() || p.memory.take(p.memory.addrs, network(addr), r, p.clock()) {
			return false, ""
		}
		return true, message
	}
}

func perSecond(r Rate) string {
	return strconv.FormatFloat(r.PerSecond, 'g', -1, 64) + " events per second, " + strconv.Itoa(r.Burst) + " at once,"
}

// network returns what counts as one client: an IPv4 address, however it is
// written, or an IPv6 network of 64 bits, which is what one customer is given.
func network(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	if addr.Is4() {
		return addr.String()
	}
	prefix, err := addr.Prefix(64)
	if err != nil {
		return addr.String()
	}
	return prefix.String()
}

// take takes one event out of the bucket under key, which holds to r from now
// on, and reports whether there was one.
func (m *memory) take(buckets *recent[string, *rate.Limiter], key string, r Rate, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	bucket, ok := buckets.get(key)
	if !ok {
		bucket = rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)
		buckets.put(strings.Clone(key), bucket) // a pubkey is part of its frame
	}
	if bucket.Limit() != rate.Limit(r.PerSecond) {
		bucket.SetLimitAt(now, rate.Limit(r.PerSecond))
	}
	if bucket.Burst() != r.Burst {
		bucket.SetBurstAt(now, r.Burst)
	}
	return bucket.AllowN(now, 1)
}
