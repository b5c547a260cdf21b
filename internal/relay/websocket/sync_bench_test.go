package websocket

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip77"
)

// BenchmarkReconcile opens a reconciliation over a million events in the real
// store, of which the client lacks one in a thousand, and goes through it. It
// takes minutes to fill the store. Beside the time of a message by the clock it
// tells the processor's, of this process: where others use the machine too, only
// that one is the relay's own.
func BenchmarkReconcile(b *testing.B) {
	const n = 1_000_000
	r := startReal(b, Options{Metrics: noMetrics, Replica: func(gate.Reader) bool { return true }})
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
	var opens, messages, computed []time.Duration
	var held uint64
	for b.Loop() {
		before := liveHeap()
		ask := nip77.NewInitiator(set, 30_000)
		frame, found, first := fmt.Sprintf(`["NEG-OPEN","s",{"kinds":[1]},"%x"]`, ask.Open()), 0, true
		for {
			start, busy := time.Now(), processorTime(b)
			c.send(frame)
			msg := c.negMsg("s")
			if took := time.Since(start); first {
				opens = append(opens, took)
			} else {
				messages, computed = append(messages, took), append(computed, processorTime(b)-busy)
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
	p99 := func(took []time.Duration) float64 {
		slices.Sort(took)
		return float64(took[len(took)*99/100].Microseconds()) / 1000
	}
	b.ReportMetric(float64(slices.Max(opens).Milliseconds()), "open-ms")
	b.ReportMetric(p99(messages), "message-p99-ms")
	b.ReportMetric(p99(computed), "message-p99-cpu-ms")
	b.ReportMetric(float64(len(messages))/float64(len(opens)), "messages")
	b.ReportMetric(float64(held)/(1<<20), "MiB")
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// processorTime is what this process has computed so far, in all its threads.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
