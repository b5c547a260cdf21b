package session

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/store"
	"engramd/nips/nip77"
)

// BenchmarkReconcile opens a reconciliation over a million events in the real
// store, of which the client lacks one in a thousand, and goes through it. It
// takes minutes to fill the store.
func BenchmarkReconcile(b *testing.B) {
	const n = 1_000_000
	r := startReal(b, Options{Metrics: noMetrics{}, Replica: func(gate.Reader) bool { return true }})
	var mine []nip77.Item
	var pending []store.Pending
	for i := range n {
		id := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(i)))
		ev := &nostr.Event{ID: hex.EncodeToString(id[:]), PubKey: strings.Repeat("a", 63) + fmt.Sprint(i%10), Sig: strings.Repeat("b", 128),
			Kind: 1, CreatedAt: nostr.Timestamp(1_600_000_000 + i), Tags: nostr.Tags{}, Content: "note " + fmt.Sprint(i)}
		p, err := r.store.Begin(b.Context(), ev, store.PutOptions{Import: true})
		if err != nil {
			b.Fatal(err)
		}
		if pending = append(pending, p); len(pending) == 1000 {
			for _, p := range pending {
				if res := p.Wait(); res.Err != nil {
					b.Fatal(res.Err)
				}
			}
			pending = pending[:0]
		}
		if i%1000 != 0 {
			mine = append(mine, nip77.Item{CreatedAt: int64(ev.CreatedAt), ID: id})
		}
	}
	set := setOf(b, mine)
	mine = nil
	c := r.dial(b)
	var opens, messages []time.Duration
	var held uint64
	for b.Loop() {
		before := liveHeap()
		ask := nip77.NewInitiator(set, 30_000)
		frame, found, first := fmt.Sprintf(`["NEG-OPEN","s",{"kinds":[1]},"%x"]`, ask.Open()), 0, true
		for {
			start := time.Now()
			c.send(frame)
			msg := c.negMsg("s")
			if took := time.Since(start); first {
				opens = append(opens, took)
			} else {
				messages = append(messages, took)
			}
			if first {
				held = max(held, liveHeap()-before)
			}
			next, _, need, err := ask.Next(msg)
			if err != nil {
				b.Fatal(err)
			}
			if found += len(need); next == nil {
				break
			}
			frame, first = fmt.Sprintf(`["NEG-MSG","s","%x"]`, next), false
		}
		if found != n/1000 {
			b.Fatalf("%d ids are missing", found)
		}
		c.send(`["NEG-CLOSE","s"]`)
		c.nothingBefore()
	}
	slices.Sort(messages)
	b.ReportMetric(float64(slices.Max(opens).Milliseconds()), "open-ms")
	b.ReportMetric(float64(messages[len(messages)*99/100].Microseconds())/1000, "message-p99-ms")
	b.ReportMetric(float64(len(messages))/float64(len(opens)), "messages")
	b.ReportMetric(float64(held)/(1<<20), "MiB")
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
