package websocket

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// A client that floods with whatever costs most is served at its rate, and a
// well-behaved one beside it is answered all the while.
func TestAFloodStopsNobody(t *testing.T) {
	r := start(t, &fake{}, Options{Limits: Limits{FramesBurst: 1 << 30}})
	flood, good := r.dial(t), r.dial(t)
	go func() { // it does read
		for {
			if _, err := flood.read(); err != nil {
				return
			}
		}
	}()
	forged := event(t, bob, 1, "forged")
	forged.Sig = strings.Repeat("0", 128)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		frames := []string{eventFrame(forged), `["REQ","s",{"kinds":[1]}]`, `["COUNT","s",{"kinds":[1]}]`, `["NOISE"]`, `{`}
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			flood.ws.SetWriteDeadline(time.Now().Add(patience))
			if err := flood.ws.WriteMessage(websocket.TextMessage, []byte(frames[i%len(frames)])); err != nil {
				t.Errorf("flood frame %d: %v", i, err)
				return
			}
		}
	}()
	for i := range 50 {
		ev := event(t, alice, 1, fmt.Sprint("good ", i))
		good.send(eventFrame(ev), `["REQ","g",{"ids":["`+ev.ID+`"]}]`)
		good.expect(okFrame(ev), delivered("g", ev), `["EOSE","g"]`)
	}
	close(stop)
	<-ended
	if in := waiting(r); in > r.Server.limits.Load().WaitingFrames {
		t.Errorf("%d frames wait", in)
	}
}

// The defaults of the session's limits do not change by accident.
func TestDefaultLimits(t *testing.T) {
	got := Limits{}.withDefaults()
	want := Limits{
		Connections: 10_000, PerAddress: 100, MessageBytes: 256 << 10, Subscriptions: 64, Filters: 16, FilterValues: 2_000,
		FramesBurst: 10_000, FramesRate: 2_000, Stall: 10 * time.Second, PingEvery: 30 * time.Second, Handshake: 10 * time.Second,
		// Where the specification says "bounded" only:
		LiveBytes: 8 << 20, LiveShare: 32 << 20, LiveTotal: 128 << 20, Keys: 256, WaitingFrames: 1_024, WaitingBytes: 1 << 20, WaitingShare: 8 << 20, WaitingTotal: 64 << 20,
		QueueMark: 256 << 10, QueueBytes: 8 << 20, QueueFrames: 16_384, QueueShare: 128 << 20, QueueTotal: 512 << 20,
		Sync:    SyncLimits{Sessions: 2, Items: 250_000, ReplicaItems: 1_000_000, Share: 16 << 20, Total: 256 << 20, Idle: time.Minute},
		Silence: 75 * time.Second, Linger: time.Second,
	}
	if got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if engram := 131_072; got.MessageBytes < engram { // 65,603 bytes in base64 and the envelope
		t.Errorf("an engram of the largest body does not fit")
	}
}
