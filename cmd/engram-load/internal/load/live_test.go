package load

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

func liveOptions(cache string) Options {
	return Options{
		Count: 20, Connections: 6, Warmup: 4, Rate: 1000, Pipeline: 4, Subscriptions: 120, Seed: testSeed, Cache: cache,
	}
}

func TestLiveGivesFigures(t *testing.T) {
	cache := t.TempDir()
	forms := map[string]*hub{
		"as we do":         {},
		"reordered":        {deliver: func(_ int, m []byte) [][]byte { return [][]byte{reordered(t, m)} }},
		"in several forms": {deliver: func(n int, m []byte) [][]byte { return [][]byte{m, reordered(t, m)}[n%2 : n%2+1] }},
		"between notices": {deliver: func(_ int, m []byte) [][]byte {
			return [][]byte{wire.AppendNotice(nil, "hello"), m, wire.AppendAuthChallenge(nil, "again")}
		}},
		"after a challenge": {challenge: "who"},
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hub{deliver: form.deliver, challenge: form.challenge}
			h.start(t)
			target := Target{Name: "hub", URL: h.url, PID: os.Getpid()}
			r, err := mustFind(t, "live").Run(context.Background(), target, liveOptions(cache))
			if err != nil {
				t.Fatal(err)
			}
			if r.Count != 20*3 || r.Latency.Samples != 20*3 || r.Latency.Min <= 0 || r.Extra["matching_connections"] != 3 {
				t.Errorf("live: %+v, latency %+v", r, r.Latency)
			}
			// Twenty events at 1,000 a second cannot be published in less.
			if r.Seconds < 0.019 || r.Extra["cpu_us_per_delivery"] <= 0 || r.Extra["ok_p50_us"] <= 0 {
				t.Errorf("live: %+v", r)
			}
			r, err = mustFind(t, "live-wide").Run(context.Background(), target, liveOptions(cache))
			if err != nil {
				t.Fatal(err)
			}
			if r.Count != 10 || r.Extra["deliveries"] != 10 || r.Extra["wide_to_none"] <= 0 || r.Latency.Samples != 10 {
				t.Errorf("live-wide: %+v", r)
			}
			if got := r.Extra["rate_wide"] / r.Extra["rate_none"] / r.Extra["wide_to_none"]; got < 0.999 || got > 1.001 {
				t.Errorf("live-wide: the ratio is not that of the rates: %v", r.Extra)
			}
		})
	}
}

// Every wrong delivery is an error and gives no figure.
func TestLiveFindsWrongDeliveries(t *testing.T) {
	cache := t.TempDir()
	at := func(which int, change func(m []byte) [][]byte) *hub {
		return &hub{deliver: func(n int, m []byte) [][]byte {
			if n != which {
				return [][]byte{m}
			}
			return change(m)
		}}
	}
	answer := func(label string, which int, change func(m [][]byte) [][]byte) *hub {
		return &hub{answer: func(f wire.Frame, n int, m [][]byte) [][]byte {
			if f.Label != label || n != which {
				return m
			}
			return change(m)
		}}
	}
	replace := func(old, by string) func(m []byte) [][]byte {
		return func(m []byte) [][]byte { return [][]byte{bytes.Replace(m, []byte(old), []byte(by), 1)} }
	}
	var before []byte
	tests := map[string]struct {
		relay func() *hub
		want  error
	}{
		"missing":                   {func() *hub { return at(5, func([]byte) [][]byte { return nil }) }, ErrTimeout},
		"twice":                     {func() *hub { return at(5, func(m []byte) [][]byte { return [][]byte{m, m} }) }, ErrWrong},
		"the first twice":           {func() *hub { return at(1, func(m []byte) [][]byte { return [][]byte{m, m} }) }, ErrWrong},
		"another id":                {func() *hub { return at(5, func(m []byte) [][]byte { return [][]byte{otherOf(m)} }) }, ErrWrong},
		"another text":              {func() *hub { return at(5, replace(`"content":"`, `"content":"x`)) }, ErrWrong},
		"another kind":              {func() *hub { return at(5, replace(`"kind":1`, `"kind":2`)) }, ErrWrong},
		"no signature":              {func() *hub { return at(5, replace(`"sig":"`, `"gis":"`)) }, ErrWrong},
		"another subscription":      {func() *hub { return at(5, replace(`"live"`, `"life"`)) }, ErrWrong},
		"to whom it does not match": {func() *hub { return &hub{stray: func(nostr.Filter) bool { return true }} }, ErrWrong},
		"refused later": {func() *hub {
			return at(5, func([]byte) [][]byte { return [][]byte{wire.AppendClosed(nil, liveSub, "error: no")} })
		}, ErrRefused},
		"hangs up":   {func() *hub { return at(5, func([]byte) [][]byte { return [][]byte{hangUp} }) }, ErrClosed},
		"no message": {func() *hub { return at(5, func([]byte) [][]byte { return [][]byte{[]byte("{}")} }) }, ErrProtocol},
		"refuses a REQ": {func() *hub {
			return answer(wire.LabelReq, 2, func([][]byte) [][]byte { return [][]byte{wire.AppendClosed(nil, liveSub, "no")} })
		}, ErrRefused},
		"silent to a REQ": {func() *hub { return answer(wire.LabelReq, 2, func([][]byte) [][]byte { return nil }) }, ErrTimeout},
		"OK false": {func() *hub {
			return answer(wire.LabelEvent, 6, func(m [][]byte) [][]byte {
				return [][]byte{bytes.Replace(m[0], []byte("true"), []byte("false"), 1)}
			})
		}, ErrRefused},
		"OK to another": {func() *hub {
			return answer(wire.LabelEvent, 6, func(m [][]byte) [][]byte { return [][]byte{otherOf(m[0])} })
		}, ErrWrong},
		"a second OK": {func() *hub {
			return &hub{answer: func(f wire.Frame, n int, m [][]byte) [][]byte {
				if f.Label == wire.LabelEvent && n == 7 {
					m = append(m, before)
				} else if f.Label == wire.LabelEvent {
					before = m[0]
				}
				return m
			}}
		}, ErrWrong},
		"no OK": {func() *hub { return answer(wire.LabelEvent, 6, func([][]byte) [][]byte { return nil }) }, ErrTimeout},
	}
	for name, tt := range tests {
		for _, workload := range []string{"live", "live-wide"} {
			t.Run(workload+"/"+name, func(t *testing.T) {
				h := tt.relay()
				h.start(t)
				o := liveOptions(cache)
				if o.Connections, o.Timeout = 4, 30*time.Second; tt.want == ErrTimeout {
					o.Timeout = soon
				}
				r, err := mustFind(t, workload).Run(context.Background(), Target{URL: h.url}, o)
				if !errors.Is(err, tt.want) || r.Count != 0 || r.Rate != 0 {
					t.Errorf("got %v and rate %v, want %v", err, r.Rate, tt.want)
				}
			})
		}
	}
}

// An event that is stored already would be counted as delivered.
func TestLiveRefusesStoredEvents(t *testing.T) {
	g := generator{seed: testSeed, stream: "stored"}
	key, err := NewKey(testSeed, "stored", 0)
	if err != nil {
		t.Fatal(err)
	}
	ev, err := g.note(0, key, 1, nostr.Tags{}, "")
	if err != nil {
		t.Fatal(err)
	}
	h := &hub{answer: func(f wire.Frame, _ int, m [][]byte) [][]byte {
		if f.Label != wire.LabelReq {
			return m
		}
		return append([][]byte{wire.AppendEventFrame(nil, f.SubID, wire.AppendEvent(nil, ev))}, m...)
	}}
	h.start(t)
	_, err = mustFind(t, "live").Run(context.Background(), Target{URL: h.url}, liveOptions(t.TempDir()))
	if !errors.Is(err, ErrWrong) {
		t.Errorf("got %v", err)
	}
}

// testLedger is a ledger of n events, and their messages as one subscription
// gets them.
func testLedger(t *testing.T, n int) (*ledger, []Message) {
	t.Helper()
	o, err := Options{Count: n, Connections: 1, Seed: testSeed}.or(Options{})
	if err != nil {
		t.Fatal(err)
	}
	events, _, err := liveEvents(o)
	if err != nil {
		t.Fatal(err)
	}
	messages := make([]Message, n)
	for i, event := range events {
		if messages[i], err = ParseMessage(wire.AppendEventFrame(nil, liveSub, event)); err != nil {
			t.Fatal(err)
		}
	}
	return newLedger(events), messages
}

func TestReceipts(t *testing.T) {
	l, messages := testLedger(t, 3)
	r := newReceipts(l)
	if err := r.take(messages[0], time.Now()); !errors.Is(err, ErrWrong) {
		t.Errorf("a delivery before its publication: %v", err)
	}
	for i := range messages {
		l.publishing(i)
	}
	now := time.Now()
	for _, i := range []int{2, 0} {
		if err := r.take(messages[i], now.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		if r.samples[i] < time.Second || r.samples[i] > 2*time.Second {
			t.Errorf("event %d took %v", i, r.samples[i])
		}
	}
	if r.unordered != 1 || l.delivered.Load() != 2 {
		t.Errorf("%d out of order, %d delivered", r.unordered, l.delivered.Load())
	}
}

func TestAwait(t *testing.T) {
	l, messages := testLedger(t, 2)
	a := &audience{ledger: l, missing: 20 * time.Millisecond}
	r := newReceipts(l)
	l.expect(2)
	l.publishing(0)
	l.publishing(1)
	if err := r.take(messages[0], time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := a.await(context.Background()); !errors.Is(err, ErrWrong) {
		t.Errorf("half of the deliveries: %v", err)
	}
	if err := r.take(messages[1], time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := a.await(context.Background()); err != nil {
		t.Errorf("all of the deliveries: %v", err)
	}
	ended, end := context.WithCancelCause(context.Background())
	end(ErrClosed)
	if err := a.await(ended); !errors.Is(err, ErrClosed) {
		t.Errorf("an ended context: %v", err)
	}
}

// A delivery costs the measuring side next to nothing.
func TestReceiptsDoNotAllocate(t *testing.T) {
	l, messages := testLedger(t, 1)
	l.publishing(0)
	r := newReceipts(l)
	if err := r.take(messages[0], time.Now()); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		r.seen[0] = false
		if err := r.take(messages[0], time.Now()); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a delivery", n)
	}
}

func TestOptionsOfLive(t *testing.T) {
	for name, o := range map[string]Options{"live": {Rate: -1}, "live-wide": {Subscriptions: MaxSubscriptions + 1}} {
		if _, err := mustFind(t, name).Run(context.Background(), Target{URL: "ws://127.0.0.1:1"}, o); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
