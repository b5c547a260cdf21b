package websocket

import (
	"fmt"
	"strings"
	"testing"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
)

// BenchmarkPublish is one connection that publishes without waiting, over a
// store that keeps events in memory: what the session and the signatures cost.
func BenchmarkPublish(b *testing.B) {
	r := start(b, &fake{}, Options{Metrics: noMetrics, Limits: Limits{FramesBurst: 1 << 30}})
	c := r.dial(b)
	frames := make([]string, 2000)
	for i := range frames {
		frames[i] = eventFrame(event(b, alice, 20001, fmt.Sprint(i)))
	}
	b.ReportAllocs()
	b.ResetTimer()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range b.N {
			c.recv()
		}
	}()
	for i := range b.N {
		c.send(frames[i%len(frames)])
	}
	<-done
}

// BenchmarkFanOut delivers batches of events to 100 subscribers over sockets.
func BenchmarkFanOut(b *testing.B) {
	for _, size := range []int{1, 16} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			f := &fake{}
			r := start(b, f, Options{Metrics: noMetrics, Limits: Limits{QueueBytes: 1 << 30, QueueFrames: 1 << 30}})
			clients := make([]*client, 100)
			for i := range clients {
				clients[i] = r.dial(b)
				clients[i].send(`["REQ","s",{"kinds":[1]}]`)
				clients[i].expect(`["EOSE","s"]`)
			}
			batch := make([]relay.Delivery, size)
			for i := range batch {
				ev := event(b, alice, 1, strings.Repeat("x", 200))
				batch[i] = relay.Delivery{Event: ev, JSON: wire.AppendEvent(nil, ev)}
			}
			b.ReportAllocs()
			for b.Loop() {
				f.dispatch(batch...)
				for _, c := range clients {
					for range batch {
						c.recv()
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size*100), "ns/delivery")
		})
	}
}
