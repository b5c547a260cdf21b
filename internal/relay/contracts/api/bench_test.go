package api_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkMemory has 50 writers and 50 readers at the API, on one contract and
// on 10,000: go test -bench Memory -benchtime 10000x ./internal/relay/contracts/api.
// One operation is one request: an entry, private or shared and signed by the
// server, durable when it is answered, or a page of 50 entries. The server's
// side alone is measured, without sockets.
func BenchmarkMemory(b *testing.B) {
	for _, c := range []struct {
		contracts  int
		visibility string
	}{{1, "poster_only"}, {10_000, "poster_only"}, {1, "shared"}, {10_000, "shared"}} {
		b.Run(fmt.Sprint("contracts=", c.contracts, " ", c.visibility), func(b *testing.B) {
			w := newWorld(b)
			poster, worker := w.provision("poster"), w.provision("worker")
			ids := make([]string, c.contracts)
			for i := range ids {
				ids[i] = w.offer(poster, worker, nil)
			}
			var next atomic.Int64
			var failed atomic.Int64
			body := []byte(`{"type":"message","visibility":"` + c.visibility + `","content":"Focus on government filings from the last 7 days"}`)
			b.ResetTimer()
			var clients sync.WaitGroup
			for client := range 100 {
				clients.Go(func() {
					for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
						path, method, want := "/api/escrow/contracts/"+ids[int(n)%len(ids)]+"/memory", "GET", http.StatusOK
						sent := []byte(nil)
						if client%2 == 0 {
							w.clock.Add(time.Second) // no author may date entries ahead of it
							method, want, sent = "POST", http.StatusCreated, body
						}
						if rec := w.send(method, path, sent, "Bearer "+poster.token); rec.Code != want {
							failed.Add(1)
						}
					}
				})
			}
			clients.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
			if failed.Load() > 0 {
				b.Errorf("%d of %d requests failed", failed.Load(), b.N)
			}
		})
	}
}
