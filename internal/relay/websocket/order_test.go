package websocket

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/nips/nip01"
)

func authEvent(t testing.TB, secret, challenge string) *nostr.Event {
	return event(t, secret, nostr.KindClientAuthentication, "", nostr.Tag{"challenge", challenge}, nostr.Tag{"relay", "ws://x"})
}

func authFrame(ev *nostr.Event) string { return strings.Replace(eventFrame(ev), "EVENT", "AUTH", 1) }

// needsKey refuses every filter to those who have not proved key.
func needsKey(key string) func(context.Context, gate.Surface, nostr.Filter) error {
	return func(ctx context.Context, _ gate.Surface, f nostr.Filter) error {
		if relay.ReaderFrom(ctx).Has(key) || f.IDs != nil {
			return nil
		}
		if relay.ReaderFrom(ctx).Empty() {
			return &nip01.Refusal{Prefix: "auth-required", Text: "log in"}
		}
		return &nip01.Refusal{Prefix: "restricted", Text: "not yours"}
	}
}

// khatru 0.19.1: one goroutine per message, so that AUTH then REQ pipelined is
// refused and a read misses its own write (docs/khatru.md).
func TestKhatruFault_PipelinedFramesAreUnordered(t *testing.T) {
	f := &fake{authorize: needsKey(pubkeyOf(t, alice))}
	r := start(t, f, Options{})
	for round := range 20 {
		c := r.dial(t)
		auth := authEvent(t, alice, c.challenge)
		ev := event(t, alice, 1, fmt.Sprint("round ", round), nostr.Tag{"t", fmt.Sprint(round)})
		tag := fmt.Sprintf(`{"#t":["%d"]}`, round)
		c.send(
			`["REQ","early",`+tag+`]`,
			authFrame(auth),
			`["REQ","before",`+tag+`]`,
			eventFrame(ev),
			`["REQ","after",`+tag+`]`,
			`["COUNT","n",`+tag+`]`,
			`["CLOSE","before"]`,
			`["REQ","ended",`+tag+`]`,
			`["CLOSE","ended"]`,
		)
		c.expect(
			`["AUTH","`+c.challenge+`"]`,
			`["CLOSED","early","auth-required: log in"]`,
			okFrame(auth),
			`["EOSE","before"]`,
		)
		// The OK and the live event come from two goroutines, in either order.
		two := []string{c.recv(), c.recv()}
		if two[0] != okFrame(ev) {
			two[0], two[1] = two[1], two[0]
		}
		if two[0] != okFrame(ev) || two[1] != delivered("before", ev) {
			t.Fatalf("got %v, want the OK and the live event", two)
		}
		c.expect(
			delivered("after", ev), `["EOSE","after"]`,
			`["COUNT","n",{"count":1}]`,
			delivered("ended", ev), `["EOSE","ended"]`,
		)
		c.nothingBefore()
		c.ws.Close()
	}
}

// Consecutive EVENTs are begun without waiting for one another's commit; a
// question waits for all of them.
func TestConsecutiveEventsShareACommit(t *testing.T) {
	f := &fake{held: make(chan struct{}), begun: make(chan string, 100)}
	r := start(t, f, Options{})
	c := r.dial(t)
	var frames, oks []string
	for i := range 50 {
		ev := event(t, alice, 1, fmt.Sprint(i))
		frames = append(frames, eventFrame(ev))
		oks = append(oks, okFrame(ev))
		if i == 20 { // a bad one in between is answered in its place
			bad := event(t, alice, 1, "bad")
			bad.Sig = strings.Repeat("0", 128)
			frames = append(frames, eventFrame(bad))
			oks = append(oks, fmt.Sprintf(`["OK","%s",false,"invalid: signature is not valid"]`, bad.ID))
		}
		if i == 30 {
			frames = append(frames, `["EVENT",{"id":"x"}]`)
			oks = append(oks, "")
		}
	}
	c.send(frames...)
	c.send(`["COUNT","all",{"kinds":[1]}]`)
	for range 50 {
		<-f.begun // all are begun before the first is committed
	}
	close(f.held)
	for i, want := range oks {
		got := c.recv()
		if want == "" {
			if !strings.HasPrefix(got, `["OK","x",false,"invalid: `) {
				t.Fatalf("answer %d is %s", i, got)
			}
			continue
		}
		if got != want {
			t.Fatalf("answer %d is %s, want %s", i, got, want)
		}
	}
	c.expect(`["COUNT","all",{"count":50}]`)
}

func TestWhatALeavingClientSentIsStored(t *testing.T) {
	f := &fake{}
	r := start(t, f, Options{})
	c := r.dial(t)
	for i := range 30 {
		c.send(eventFrame(event(t, alice, 1, fmt.Sprint(i))))
	}
	c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(patience))
	if code, _ := c.closed(); code != websocket.CloseNormalClosure {
		t.Errorf("closed with %d", code)
	}
	r.count.await(t, "closed", 1)
	if n := f.LastSeq(); n != 30 {
		t.Errorf("%d of 30 events were stored", n)
	}
}
