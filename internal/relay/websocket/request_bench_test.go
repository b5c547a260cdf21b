package websocket

import (
	"strings"
	"testing"
)

// BenchmarkRequest is one REQ or COUNT after the other over a socket, from the
// frame to its EOSE, CLOSED or count: with the gate's decision, over an empty
// store.
func BenchmarkRequest(b *testing.B) {
	r := startReal(b, Options{Metrics: noMetrics, Limits: Limits{FramesBurst: 1 << 30}})
	c := r.dial(b)
	auth := r.authFor(b, alice, c)
	c.send(authFrame(auth))
	c.expect(okFrame(auth))
	own := `{"kinds":[30174],"authors":["` + pubkeyOf(b, alice) + `"]}`
	for _, bench := range []struct{ name, frame, answer string }{
		{"open", `["REQ","s",{"kinds":[1],"limit":1}]`, `["EOSE",`},
		{"own", `["REQ","s",` + own + `]`, `["EOSE",`},
		{"three", `["REQ","s",` + own + `,` + own + `,{"kinds":[1]}]`, `["EOSE",`},
		{"refused", `["REQ","s",{"kinds":[30174]}]`, `["CLOSED",`},
		{"count", `["COUNT","s",` + own + `]`, `["COUNT",`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.send(bench.frame)
				if got := c.recv(); !strings.HasPrefix(got, bench.answer) {
					b.Fatal(got)
				}
			}
		})
	}
}
