//go:build nightly

package hostile

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/relay/config"
)

const openAll = `["NEG-OPEN","%d",{"kinds":[1]},"6100000200"]`

// reconcilers are what hostile clients do with the two reconciliations of all
// events that a connection may have open.
func reconcilers() []func(*websocket.Conn) error {
	say := func(conn *websocket.Conn, format string, args ...any) error {
		return conn.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, args...))
	}
	open := func(conn *websocket.Conn) error {
		return errors.Join(say(conn, openAll, 0), say(conn, openAll, 1))
	}
	// Ranges that end a second apart: each is looked up, and none fills the
	// answer.
	skips := `["NEG-MSG","%d","61` + strings.Repeat("020000", 40_000) + `"]`
	return []func(*websocket.Conn) error{
		func(conn *websocket.Conn) error { // the largest sets, again and again
			if err := open(conn); err != nil {
				return err
			}
			return errors.Join(drained(conn), drained(conn))
		},
		func(conn *websocket.Conn) error { // the most expensive messages
			if err := open(conn); err != nil {
				return err
			}
			for i := range 10 {
				if err := errors.Join(say(conn, skips, i%2), drained(conn)); err != nil {
					return err
				}
			}
			return nil
		},
		func(conn *websocket.Conn) error { // answers that nobody reads
			if err := open(conn); err != nil {
				return err
			}
			for i := range 20 {
				if err := say(conn, `["NEG-MSG","%d","6100000200"]`, i%2); err != nil {
					return err
				}
			}
			return errSilent
		},
		func(conn *websocket.Conn) error { // garbage
			return errors.Join(open(conn), say(conn, `["NEG-MSG","0","610000028fffffffff7f"]`), say(conn, `["NEG-MSG","1","61"`), drained(conn))
		},
		func(conn *websocket.Conn) error { return errors.Join(open(conn), errSilent) }, // nothing more
	}
}

var errSilent = errors.New("it says nothing more")

// drained reads one message.
func drained(conn *websocket.Conn) error {
	_, _, err := conn.ReadMessage()
	return err
}

// TestAttack_Reconciliations: a thousand reconciliations of all events, from
// twenty addresses. What they hold stays within the bound for all; meanwhile
// another address reads, writes and reconciles within the time that the siege
// allows; and in the end nothing is held. The times before and after the attack
// measure the machine's other load; a failed attempt is repeated five times at most.
func TestAttack_Reconciliations(t *testing.T) {
	const attempts, times, floor = 6, 10, 250 * time.Millisecond
	for attempt := 1; ; attempt++ {
		alone, beside := besideReconcilers(t)
		switch most := max(times*alone, floor); {
		case beside <= most:
			return
		case attempt == attempts:
			t.Errorf("%d attempts, and the victim's p99 is %v, alone %v", attempts, beside, alone)
			return
		}
	}
}

// besideReconcilers returns the victim's p99 without the attack, the larger of
// before and after, and during it.
func besideReconcilers(t *testing.T) (alone, beside time.Duration) {
	t.Helper()
	const conns, addresses, events = 500, 20, 40_000
	const most = 512 << 20 // 64 MiB of sets and 64 of messages, as much again twice as garbage, and the relay's own
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Data: manyEvents(t, events), Env: []string{
		apart, rig.Exclude, "ENGRAMD_LIMITS_MEMORY=256MiB", "GOMEMLIMIT=off"}})
	memory := relay.WatchMemory()
	victim := dialAt(t, relay, "127.0.9.200")
	me, owner, clock := relaytest.NewKey(7700), relaytest.Owner(), rig.Now()-100_000
	if err := victim.Auth(me); err != nil {
		t.Fatal(err)
	}
	victim.Store(relaytest.Memory(me, owner.Pub, "core", "profile", clock))
	mine := `{"kinds":[30174],"authors":["` + me.Pub + `"]}`
	probe := func(long time.Duration) (took []time.Duration) {
		t.Helper()
		for until := time.Now().Add(long); time.Now().Before(until) || len(took) < 200; {
			clock++
			start := time.Now()
			if ok := victim.MustPublish(relaytest.Memory(me, owner.Pub, "core", fmt.Sprint(clock), clock)); !ok.True {
				t.Fatalf("the victim is refused: %q", ok.Message)
			}
			victim.Raw(`["NEG-OPEN","mine",` + mine + `,"6100000200"]`)
			if f := victim.Expect("NEG-MSG"); len(f.Text(1)) != 2*(5+32) {
				t.Fatalf("the victim's reconciliation: %s", f.Raw)
			}
			victim.Raw(`["NEG-CLOSE","mine"]`)
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		return took
	}
	idle := probe(siegeTime() / 2)

	var all sync.WaitGroup
	stop, begun := make(chan struct{}), make(chan struct{}, conns)
	for i := range conns {
		all.Go(func() {
			act := reconcilers()[i%len(reconcilers())]
			dialer := websocket.Dialer{HandshakeTimeout: relaytest.Patience, NetDialContext: (&net.Dialer{
				LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 9, byte(1+i%addresses))}}).DialContext}
			for !rig.Stopped(stop) {
				conn, _, err := dialer.Dial(relay.URL, nil)
				if err != nil {
					continue
				}
				end := closeOn(conn, stop)
				for err == nil {
					err = act(conn)
				}
				if errors.Is(err, errSilent) {
					begun <- struct{}{}
					<-stop
				}
				end()
			}
		})
	}
	for range conns / 5 { // those that open theirs and then stay silent
		<-begun
	}
	attacked := probe(config.Default().Bounds().Stall + siegeTime()) // longer than a write may stall
	close(stop)
	all.Wait()
	after := probe(time.Second)
	alone, beside = max(p99(idle), p99(after)), p99(attacked)
	t.Logf("p99 %v and %v alone, %v of %d beside the attack; p50 %v and %v", p99(idle), p99(after), beside, len(attacked), idle[len(idle)/2], attacked[len(attacked)/2])
	for _, name := range []string{"engramd_syncs", "engramd_sync_bytes", "engramd_read_connections_lent"} {
		if left, err := relay.AwaitMetric(name, relaytest.Patience, func(n float64) bool { return n == 0 }); err != nil {
			t.Errorf("%s is %v in the end: %v", name, left, err)
		}
	}
	peak, err := memory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d MiB at most", peak>>20)
	if peak > most {
		t.Errorf("the relay held %d MiB, more than %d", peak>>20, most>>20)
	}
	if code, _ := relay.Stop(); code != 0 {
		t.Errorf("exit code %d after all that", code)
	}
	return alone, beside
}

// closeOn closes a connection when stop is closed, or when the returned function
// is called.
func closeOn(conn *websocket.Conn, stop <-chan struct{}) (end func()) {
	done := make(chan struct{})
	go func() {
		select {
		case <-stop:
		case <-done:
		}
		conn.Close()
	}()
	return func() { close(done) }
}
