package policy

import (
	"context"
	"net/netip"
	"strconv"
	"testing"
	"time"
)

// hand is a clock that a test moves.
type hand struct{ at time.Time }

func (h *hand) now() time.Time { return h.at }

func TestKeyRate(t *testing.T) {
	clock := &hand{start}
	p := mustPolicy(t, Options{KeyRate: Rate{PerSecond: 2, Burst: 3}, Clock: clock.now})
	const limited = "rate-limited: one key may write 2 events per second, 3 at once, here"
	for range 3 {
		check(t, p, note(agentKey), "")
	}
	check(t, p, note(agentKey), limited)
	check(t, p, note(strangerKey), "")
	clock.at = clock.at.Add(500 * time.Millisecond)
	check(t, p, note(agentKey), "")
	check(t, p, note(agentKey), limited)
	clock.at = clock.at.Add(time.Hour)
	for range 3 {
		check(t, p, note(agentKey), "")
	}
	check(t, p, note(agentKey), limited)
}

// What another rule refuses costs nothing.
func TestRefusedEventsCostNothing(t *testing.T) {
	p := mustPolicy(t, Options{KeyRate: Rate{PerSecond: 1e-9, Burst: 1}, BannedKinds: []int{7}})
	for range 5 {
		check(t, p, withKind(7, note(agentKey)), "blocked: ")
	}
	check(t, p, note(agentKey), "")
	check(t, p, note(agentKey), "rate-limited: ")
}

func TestAddrRate(t *testing.T) {
	var addr netip.Addr
	p := mustPolicy(t, Options{AddrRate: Rate{PerSecond: 1e-9, Burst: 1}, Addr: func(context.Context) netip.Addr { return addr }})
	for _, step := range []struct{ addr, want string }{
		{"192.0.2.1", ""},
		{"192.0.2.1", "rate-limited: one address"},
		{"::ffff:192.0.2.1", "rate-limited: one address"},
		{"192.0.2.2", ""},
		{"2001:db8:1:2::1", ""},
		{"2001:db8:1:2:ffff::2", "rate-limited: one address"},
		{"2001:db8:1:3::1", ""},
		{"fe80::1%eth0", ""},
		{"fe80::2%eth1", "rate-limited: one address"},
		{"127.0.0.1", ""},
		{"127.0.0.1", "rate-limited: one address"},
	} {
		addr = netip.MustParseAddr(step.addr)
		check(t, p, note(agentKey), step.want)
	}
	addr = netip.Addr{}
	for range 3 {
		check(t, p, note(agentKey), "")
	}
}

func TestRatesAreOffByDefault(t *testing.T) {
	p := mustPolicy(t, Options{Addr: func(context.Context) netip.Addr { return netip.MustParseAddr("192.0.2.1") }})
	for range 5000 {
		if rejected, msg := p.RejectEvent(t.Context(), note(agentKey)); rejected {
			t.Fatal(msg)
		}
	}
	if p.memory.keys.len()+p.memory.addrs.len() != 0 {
		t.Error("buckets are kept that nothing limits")
	}
}

func TestReloadKeepsWhatWasUsedUp(t *testing.T) {
	clock := &hand{start}
	o := Options{KeyRate: Rate{PerSecond: 1, Burst: 2}, Clock: clock.now}
	p := mustPolicy(t, o)
	check(t, p, note(agentKey), "")
	check(t, p, note(agentKey), "")
	again, err := p.Reload(o)
	if err != nil {
		t.Fatal(err)
	}
	check(t, again, note(agentKey), "rate-limited: ")
	o.KeyRate = Rate{PerSecond: 10, Burst: 5}
	faster, err := again.Reload(o)
	if err != nil {
		t.Fatal(err)
	}
	check(t, faster, note(agentKey), "rate-limited: one key may write 10 events")
	clock.at = clock.at.Add(time.Second)
	for range 5 {
		check(t, faster, note(agentKey), "")
	}
	check(t, faster, note(agentKey), "rate-limited: ")
}

func TestBucketsAreBounded(t *testing.T) {
	m := newMemory()
	m.keys.most = 100
	r := Rate{PerSecond: 1e-9, Burst: 1}
	for i := range 10_000 {
		if !m.take(m.keys, strconv.Itoa(i), r, start) {
			t.Fatal("a new key has no token")
		}
		// One that goes on writing is not forgotten, and stays limited.
		if taken := m.take(m.keys, "busy", r, start); taken != (i == 0) {
			t.Fatalf("after %d others: %v", i, taken)
		}
	}
	if m.keys.len() != 100 || len(m.keys.entries) != 100 {
		t.Errorf("%d buckets, %d entries", m.keys.len(), len(m.keys.entries))
	}
}

func TestRecent(t *testing.T) {
	r := newRecent[string, int](2)
	r.put("a", 1)
	r.put("b", 2)
	r.put("a", 3)
	r.put("c", 4) // b was not used for longest
	if _, ok := r.get("b"); ok {
		t.Error("b is still there")
	}
	if v, ok := r.get("a"); !ok || v != 3 {
		t.Errorf("a: %d, %v", v, ok)
	}
	r.put("d", 5)
	if _, ok := r.get("c"); ok {
		t.Error("c is still there although a was used after it")
	}
}
