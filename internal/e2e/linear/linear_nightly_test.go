//go:build nightly

package linear

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

const (
	clients = 8
	each    = 16 // operations of a client before the kill, or until the end
	spread  = 40 // seconds in which versions lie, so that some are late and some tie
)

// history is one, while it is made.
type history struct {
	t      *testing.T
	key    relaytest.Key
	clock  atomic.Int64 // the order of calls and answers
	base   int64        // created_at of the oldest version
	mu     sync.Mutex
	ops    []porcupine.Operation
	seen   [2]version // a head that somebody has read
	events map[string]version
}

// TestLinear_Histories makes 200 histories of eight clients, half of them across a kill,
// and with make soak 2,000.
func TestLinear_Histories(t *testing.T) {
	histories := 200
	if rig.Soak() {
		histories = 2000
	}
	seed := rig.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 3))
	options := relaytest.Options{Build: rig.Plain, Env: []string{"ENGRAMD_LIMITS_EVENTS_PER_ADDRESS=5000/s"}}
	relay := relaytest.Start(t, options)
	options.Data = relay.Data
	total, open, sets, lost := 0, 0, 0, 0
	for n := range histories {
		h := &history{t: t, key: relaytest.NewKey(uint64(5000 + n)), base: rig.Now() - 10_000, events: map[string]version{}}
		kill := 0
		if n%2 == 1 {
			kill = 1 + rng.IntN(clients*each)
		}
		h.run(relay, rng.Uint64(), 0, kill)
		if kill > 0 {
			relay = relaytest.Start(t, options)
			h.run(relay, rng.Uint64(), clients, 0)
		}
		for _, o := range h.ops {
			set := o.Input.(input).do == doSet
			switch o.Output.(output).answer {
			case unknown:
				open++
			case done:
				if set {
					sets++
				}
			case refused:
				if set {
					lost++
				}
			}
		}
		total += len(h.ops)
		if !porcupine.CheckOperations(registers, h.ops) {
			t.Fatalf("history %d is not linearizable: %d operations\n%s", n, len(h.ops), h.text())
		}
	}
	t.Logf("%d histories, %d operations, %d without an answer; of those that compare %d set and %d lost", histories, total, open, sets, lost)
	if sets < histories || lost < histories {
		t.Error("so few say nothing")
	}
	if code, _ := relay.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// run has all clients work, and kills the relay after so many answers, unless that
// is 0.
func (h *history) run(relay *relaytest.Child, seed uint64, first, kill int) {
	answers := make(chan struct{}, 2*clients*each)
	var working sync.WaitGroup
	for i := range clients {
		c, err := relaytest.Dial(relay.URL)
		if err != nil {
			h.t.Fatal(err)
		}
		working.Go(func() {
			defer c.Close()
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			for range each {
				if !h.work(relay, c, rng, first+i) {
					return
				}
				answers <- struct{}{}
			}
		})
	}
	if kill > 0 {
		done := make(chan struct{})
		go func() { working.Wait(); close(done) }()
		for n := 0; n < kill; n++ {
			select {
			case <-answers:
			case <-done:
				n = kill
			}
		}
		relay.Kill()
	}
	working.Wait()
}

// work does one operation, and reports whether the relay answered.
func (h *history) work(relay *relaytest.Child, c *relaytest.Client, rng *rand.Rand, client int) bool {
	in := input{register: rng.IntN(2), do: rng.IntN(3)}
	var ev *nostr.Event
	if in.do != doRead {
		ev = h.version(&in, rng)
	}
	call := h.clock.Add(1)
	var out output
	switch in.do {
	case doRead:
		out = h.read(c, in)
	case doWrite:
		out = h.write(c, ev)
	default:
		out = h.set(relay, in, ev)
	}
	back := h.clock.Add(1)
	if out.answer == unknown {
		back = math.MaxInt64
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if in.do == doRead && out.answer == unknown {
		return false // it says nothing
	}
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Output: out, Call: call, Return: back})
	return out.answer != unknown
}

// version makes an event for a write: anywhere in the time, or a little newer than
// a head that somebody has read, which is then the base.
func (h *history) version(in *input, rng *rand.Rand) *nostr.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := h.base + rng.Int64N(spread)
	if seen := h.seen[in.register]; in.do == doSet && rng.IntN(8) > 0 {
		in.base = seen.id
		at = max(at, seen.at) + rng.Int64N(2)
	}
	kind, tags := 10002, nostr.Tags{}
	if in.register == 1 {
		kind, tags = 30023, nostr.Tags{rig.Tag("d", "register")}
	}
	ev := relaytest.Sign(h.key, kind, at, fmt.Sprint(rng.Uint64()), tags...)
	in.to = version{at, ev.ID}
	h.events[ev.ID] = in.to
	return ev
}

func (h *history) filter(register int) relaytest.Filter {
	f := relaytest.Filter{"kinds": []int{10002}, "authors": []string{h.key.Pub}}
	if register == 1 {
		f = relaytest.Filter{"kinds": []int{30023}, "authors": []string{h.key.Pub}, "#d": []string{"register"}}
	}
	return f
}

func (h *history) read(c *relaytest.Client, in input) output {
	a, err := c.Query(h.filter(in.register))
	switch {
	case err != nil:
		return output{}
	case !a.EOSE || len(a.Events) > 1:
		h.t.Errorf("read: %d events, CLOSED %q", len(a.Events), a.Closed)
		return output{}
	case len(a.Events) == 0:
		return output{answer: done}
	}
	id := a.Events[0].ID
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen[in.register] = h.events[id]
	return output{answer: done, head: id}
}

func (h *history) write(c *relaytest.Client, ev *nostr.Event) output {
	ok, err := c.Publish(ev)
	return h.answered(err, ok.True && ok.Message == "", strings.HasPrefix(ok.Message, "duplicate: "), ok.Message)
}

// set is POST /events?base=ID.
func (h *history) set(relay *relaytest.Child, in input, ev *nostr.Event) output {
	body, err := json.Marshal(ev)
	if err != nil {
		h.t.Error(err)
		return output{}
	}
	r, err := relay.Post(h.key, "/events?base="+in.base, body)
	if err == nil && r.Aborted {
		err = fmt.Errorf("the answer ends early")
	}
	text := string(r.Body)
	return h.answered(err, r.Status == 200 && strings.Contains(text, `"message":""`), r.Status == 409, text)
}

func (h *history) answered(err error, stored, older bool, text string) output {
	switch {
	case err != nil || strings.Contains(text, "error: ") && !stored:
		return output{} // it ends
	case stored:
		return output{answer: done}
	case older:
		return output{answer: refused}
	}
	h.t.Errorf("an answer that nothing explains: %q", text)
	return output{}
}

// text is a history as a failure shows it.
func (h *history) text() string {
	var b strings.Builder
	for _, o := range h.ops {
		fmt.Fprintf(&b, "%d-%d client %d %+v %+v\n", o.Call, o.Return, o.ClientId, o.Input, o.Output)
	}
	return b.String()
}
