//go:build nightly

package hostile

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/storetest"
)

// readAttacks are clients whose requests cost the relay most and themselves
// nothing.
func readAttacks() []hostile {
	lists := make([]string, 16)
	for i := range lists {
		values := make([]string, 1900)
		for j := range values {
			values[j] = fmt.Sprintf(`"j%d-%d"`, i, j)
		}
		lists[i] = `{"kinds":[30090,30091],"#d":[` + strings.Join(values, ",") + `]}`
	}
	counts := make([]string, 16)
	for i := range counts {
		counts[i] = fmt.Sprintf(`{"kinds":[1],"#t":["alpha"],"#r":["beta%d"]}`, i)
	}
	return []hostile{
		{"ask for long lists of d", asking(10, `["REQ","x",`+strings.Join(lists, ",")+`]`)},
		{"ask for what is not there", asking(40, `["REQ","x",{"kinds":[1],"#t":["alpha"],"#r":["beta"],"limit":1}]`)},
		{"count everything", asking(50, `["COUNT","x",`+strings.Join(counts, ",")+`]`)},
		{"search for every word", asking(50, `["REQ","x",{"kinds":[1],"search":"number common","limit":1}]`)},
		{"ask for everything", asking(40, `["REQ","x",{"kinds":[1],"limit":5000}]`)},
	}
}

// asking opens connections that resend the frame as soon as it is answered.
func asking(conns int, frame string) func(url string, begun func(), stop <-chan struct{}) error {
	return func(url string, begun func(), stop <-chan struct{}) error {
		var all, asked sync.WaitGroup
		errs := make(chan error, conns)
		for range conns {
			asked.Add(1)
			all.Go(func() {
				var once sync.Once
				defer once.Do(asked.Done)
				conn, err := dialRaw(url, false)
				if err != nil {
					errs <- err
					return
				}
				defer conn.Close()
				go func() {
					<-stop
					conn.Close()
				}()
				for !rig.Stopped(stop) {
					if conn.WriteMessage(websocket.TextMessage, []byte(frame)) != nil {
						break
					}
					once.Do(asked.Done)
					if err := untilAnswered(conn); err != nil && !rig.Stopped(stop) {
						errs <- err
						return
					}
				}
				errs <- nil
			})
		}
		asked.Wait()
		begun()
		all.Wait()
		for range conns {
			if err := <-errs; err != nil {
				return err
			}
		}
		return nil
	}
}

// untilAnswered reads to the end of an answer, whatever it is.
func untilAnswered(conn *websocket.Conn) error {
	for {
		_, message, err := conn.ReadMessage()
		if err != nil {
			return fmt.Errorf("cut off: %w", err)
		}
		for _, label := range []string{`["EOSE"`, `["CLOSED"`, `["COUNT"`} {
			if strings.HasPrefix(string(message), label) {
				return nil
			}
		}
	}
}

// manyEvents makes a data folder with n notes: half have one tag, half another.
func manyEvents(t *testing.T, n int) string {
	t.Helper()
	author := storetest.NewKey("somebody")
	return rig.DataOf(t, gate.Options{}, func(yield func(*nostr.Event) bool) {
		for i := range n {
			tag := nostr.Tag{"t", "alpha"}
			if i%2 == 1 {
				tag = nostr.Tag{"r", "beta"}
			}
			if !yield(author.Fake(1, int64(i), fmt.Sprint("number ", i, ", common to all"), tag)) {
				return
			}
		}
	})
}

// smallReads measures what an agent reads most often.
func (w *wellBehaved) smallReads(long time.Duration) map[string]quantiles {
	w.T.Helper()
	kinds, authors := []int{relaytest.KindEngram}, []string{w.agent.Pub}
	head := relaytest.Filter{"kinds": kinds, "authors": authors, "#p": []string{w.owner.Pub},
		"#d": []string{relaytest.Address(w.agent, w.owner.Pub, "core")}}
	reads := map[string]func(){
		"head": func() {
			if a := w.MustQuery(head); len(a.Events) != 1 {
				w.T.Fatalf("%d heads", len(a.Events))
			}
		},
		"list": func() { w.MustQuery(relaytest.Filter{"kinds": kinds, "authors": authors}) },
		"feed": func() { w.MustQuery(relaytest.Filter{"kinds": []int{1}, "limit": 10}) },
		"COUNT of its own": func() {
			if n := w.MustCount(relaytest.Filter{"kinds": kinds, "authors": authors}); n != 1 {
				w.T.Fatalf("count %d", n)
			}
		},
	}
	out := map[string]quantiles{}
	for name, read := range reads {
		var took []time.Duration
		for until := time.Now().Add(long / time.Duration(len(reads))); time.Now().Before(until) || len(took) < 10; {
			start := time.Now()
			read()
			took = append(took, time.Since(start))
		}
		out[name] = quantilesOf(took)
	}
	return out
}

// readsWithin is how long a read may take on two cores that the relay shares
// with the attackers, the measuring client and other tests. A feed is a scan
// like the attackers': here, where all come from one address, it gets one
// connection's part of the scans.
func readsWithin(name string) time.Duration {
	if name == "feed" {
		return 2 * time.Second
	}
	return 500 * time.Millisecond
}

// TestSiege_Reads: clients that make the most expensive requests on many
// connections do not keep others from reading a few rows or counting their own
// events. A failed attempt is repeated five times at most.
func TestSiege_Reads(t *testing.T) {
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Data: manyEvents(t, 40_000)})
	w := newWellBehaved(t, relay)
	const attempts = 6
	long := siegeTime()
	for _, h := range readAttacks() {
		t.Run(h.name, func(t *testing.T) {
			for attempt := 1; ; attempt++ {
				alone := w.smallReads(long / 4)
				end := unleash(t, relay, h.name)
				beside := w.smallReads(long)
				end()
				slow := []string{}
				for name, b := range beside {
					a := alone[name]
					t.Logf("%s: p50 %v p95 %v, alone %v %v", name, b.p50, b.p95, a.p50, a.p95)
					if b.p95 > max(10*a.p95, readsWithin(name)) {
						slow = append(slow, name)
					}
				}
				if len(slow) == 0 {
					break
				}
				if attempt == attempts {
					slices.Sort(slow)
					t.Errorf("%d attempts, and always slow: %v", attempts, slow)
					break
				}
			}
			left, err := relay.AwaitMetric("engramd_read_connections_lent", relaytest.Patience, func(n float64) bool { return n == 0 })
			if err != nil {
				t.Errorf("connections are still lent: %v, %v", left, err)
			}
		})
	}
	if n, err := relay.Metric("engramd_read_yields_total"); err != nil || n == 0 {
		t.Errorf("engramd_read_yields_total %v, %v", n, err)
	}
	if code, _ := relay.Stop(); code != 0 {
		t.Errorf("exit code %d after all that", code)
	}
}
