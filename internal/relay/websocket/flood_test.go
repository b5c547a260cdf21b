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
