package nip77

import (
	"runtime"
	"slices"
	"testing"
	"time"
)

// million is a set of 10^6 items, and what it takes of memory.
func million(t testing.TB) (*Set, uint64) {
	items := make([]Item, 1_000_000)
	var before, after runtime.MemStats
	for i := range items {
		items[i] = item(i)
	}
	runtime.GC()
	runtime.ReadMemStats(&before)
	s := set(t, items)
	runtime.GC()
	runtime.ReadMemStats(&after)
	return s, uint64(cap(s.items))*40 + after.HeapAlloc - before.HeapAlloc
}

func TestMemoryOfAMillion(t *testing.T) {
	s, bytes := million(t)
	if bytes > 48<<20 {
		t.Errorf("%d bytes for %d items", bytes, s.Len())
	}
	runtime.KeepAlive(s)
}

// BenchmarkMillion: the messages of a sync in which one in a thousand differs, and
// the dearest one of 30 kB: fingerprints over ranges of 63 items, all equal, so
// that none of them fills the answer.
func BenchmarkMillion(b *testing.B) {
	s, bytes := million(b)
	var some []Item
	for i := range s.items {
		if i%1000 != 0 {
			some = append(some, s.items[i])
		}
	}
	other := set(b, some)
	times := map[string][]time.Duration{}
	timed := func(what string, msg []byte) []byte {
		start := time.Now()
		reply, err := s.Reply(msg, 30_000)
		if err != nil {
			b.Fatal(err)
		}
		times[what] = append(times[what], time.Since(start))
		return reply
	}
	w := writer{out: []byte{Version}}
	for at := 0; len(w.out) < 29_900; at += 63 * 9 {
		w.fingerprint(s.before(at+63*9), s.fingerprint(at, at+63*9))
	}
	for b.Loop() {
		talk(b, NewInitiator(other, 30_000), func(msg []byte) []byte { return timed("sync", msg) })
		for range 100 {
			timed("dearest", w.out)
		}
	}
	for what, took := range times {
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, what+"-p99-ms")
	}
	b.ReportMetric(float64(bytes)/(1<<20), "MiB")
}
