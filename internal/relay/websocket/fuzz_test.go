package websocket

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// FuzzFrames sends any bytes as a message: there is an answer, nothing panics,
// and the connection goes on. CLOSE and NEG-CLOSE are the messages without an
// answer.
func FuzzFrames(f *testing.F) {
	r := start(f, &fake{}, Options{Limits: Limits{MessageBytes: 4 << 10, FramesBurst: 1 << 30}})
	c := r.dial(f)
	ev := event(f, alice, 1, "x", []string{"t", "a"})
	for _, seed := range []string{
		eventFrame(ev), authFrame(authEvent(f, alice, "x")),
		`["REQ","s",{"kinds":[1],"limit":0}]`, `["REQ","s",{"search":"x"},{}]`, `["COUNT","c",{"ids":[]}]`, `["CLOSE","s"]`,
		`["NEG-OPEN","s",{},""]`, `["NEG-MSG","s","61"]`, `["NEG-CLOSE","s"]`, `[]`, `{}`, ``, "\xff", `["EVENT"`, ` [ "EVENT" , {} ]`, `["\u0045VENT",{}]`, `["REQ"]`,
		`["EVENT",{"id":"` + ev.ID + `"}]`, strings.Repeat(`[`, 3000), `["EVENT",{"content":"` + strings.Repeat("x", 5000) + `"}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		c.t = t
		if err := c.ws.WriteMessage(websocket.TextMessage, message); err != nil {
			t.Fatal(err)
		}
		c.send(`["COUNT","end of this",{"ids":[]}]`)
		answers := 0
		for got := c.recv(); got != `["COUNT","end of this",{"count":0}]`; got = c.recv() {
			if !json.Valid([]byte(got)) {
				t.Fatalf("not JSON: %q", got)
			}
			answers++
		}
		if answers == 0 && !strings.Contains(string(message), "CLOSE") && !strings.Contains(string(message), `\u`) {
			t.Fatalf("no answer to %q", message)
		}
		if n := r.Panics(); n != 0 {
			t.Fatalf("%d panics: %s", n, r.log)
		}
		c.send(`["CLOSE","s"]`)
	})
}
