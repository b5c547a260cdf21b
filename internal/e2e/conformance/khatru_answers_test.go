package conformance

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"golang.org/x/sys/unix"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// Answers that are untrue.

// A store error was NOTICE then EOSE, and 0 on COUNT. "Nothing there" is never
// the answer to a failure: here every read of the database fails.
func TestKhatruFault_StoreErrorIsEOSE(t *testing.T) {
	syncs := rig.WatchFsyncs(t)
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Env: syncs.Env})
	agent, owner := relaytest.Agent(), relaytest.Owner()
	w := rig.Dial(t, relay)
	for i := range int64(200) {
		w.Store(relaytest.SizedEngram(agent, owner.Pub, fmt.Sprintf("%064x", i+1), 20_000, rig.Now()-1000+i))
	}
	if code, _ := relay.Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	relay = relaytest.Start(t, relaytest.Options{Build: rig.Plain, Data: relay.Data, Env: syncs.Env}) // with cold caches
	c := rig.Dial(t, relay, owner)
	mine := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}, "limit": 5000}
	body := []byte(`[{"kinds":[30174],"#p":["` + owner.Pub + `"],"limit":5000}]`)

	syncs.FailReads(uint64(unix.EIO))
	if a, err := c.Query(mine); err != nil || a.EOSE || !rig.HasPrefix(a.Closed, "error: ") {
		t.Errorf("REQ on a store that fails: %d events, EOSE %v, CLOSED %q, %v", len(a.Events), a.EOSE, a.Closed, err)
	}
	r, err := relay.Post(owner, "/query", body)
	if err != nil {
		t.Logf("/query was aborted: %v", err)
	} else if !r.Aborted && (r.Status != http.StatusServiceUnavailable || !strings.Contains(string(r.Body), "error: ")) {
		t.Errorf("/query on a store that fails: HTTP %d %.200s", r.Status, r.Body)
	}
	ok := c.MustPublish(relaytest.Memory(agent, owner.Pub, "core", "unwritable", rig.Now()))
	if ok.True {
		t.Errorf("a write to a store that fails: OK true %q", ok.Message)
	}
	for _, f := range c.Waiting() {
		if f.Label == "NOTICE" || f.Label == "EOSE" {
			t.Errorf("a store error was answered with %s", f.Raw)
		}
	}

	syncs.FailReads(0)
	if n := len(c.MustQuery(mine).Events); n != 200 {
		t.Errorf("%d events once the store works again", n)
	}
	relay.Kill()
	relay = relaytest.Start(t, relaytest.Options{Build: rig.Plain, Data: relay.Data, Env: syncs.Env})
	c = rig.Dial(t, relay, owner)
	syncs.FailReads(uint64(unix.EIO))
	if n, closed, err := c.Count(mine); err != nil || !rig.HasPrefix(closed, "error: ") {
		t.Errorf("COUNT on a store that fails: %d, CLOSED %q, %v", n, closed, err)
	}
	if r, err := relay.Post(owner, "/count", body); err != nil || r.Status != http.StatusServiceUnavailable {
		t.Errorf("/count on a store that fails: HTTP %d %.200s, %v", r.Status, r.Body, err)
	}
	syncs.FailReads(0)
	if n := c.MustCount(mine); n != 200 {
		t.Errorf("COUNT %d once the store works again", n)
	}
}

// A stale replaceable event got OK true and was broadcast.
func TestKhatruFault_StaleIsStoredAndBroadcast(t *testing.T) {
	relay := rig.Start(t)
	c, other := rig.Dial(t, relay), rig.Dial(t, relay)
	k := relaytest.NewKey(851)
	base := rig.Now() - 100
	head := relaytest.Sign(k, 0, base+10, "head")
	other.Store(head)
	open := c.MustSubscribe(relaytest.Filter{"kinds": []int{0, 7}, "authors": []string{k.Pub}, "limit": 0})
	wantStale(t, other, "an older version", relaytest.Sign(k, 0, base, "older"))
	low, high := tie(k, 0, base+20)
	other.Store(low)
	wantStale(t, other, "the higher id at the same time", high)
	if ok := other.MustPublish(low); ok.Message != rig.Duplicate {
		t.Errorf("the head again: OK %v %q", ok.True, ok.Message)
	}
	end := relaytest.Sign(k, 7, rig.Now(), "+")
	other.Store(end)
	for _, want := range []string{low.ID, end.ID} {
		if got := c.MustLive(open.Sub); got.ID != want {
			t.Errorf("live: kind %d %q", got.Kind, got.Content)
		}
	}
}

// Expired events were served for up to an hour. engramd's end at their second,
// on every surface.
func TestKhatruFault_ExpiredIsServed(t *testing.T) {
	relay := rig.Start(t)
	c := rig.Dial(t, relay)
	k := relaytest.NewKey(852)
	var ev *nostr.Event
	var expires int64
	for live := int64(3); ; live *= 2 { // a busy machine may need longer to store them
		expires = rig.Now() + live
		expiration := rig.Tag("expiration", fmt.Sprint(expires))
		ev = relaytest.Note(k, rig.Now(), "short-lived saxifrage", expiration)
		first := c.MustPublish(ev)
		second := c.MustPublish(relaytest.Sign(k, 30023, rig.Now(), "short-lived", rig.Tag("d", "x"), expiration))
		if first.True && second.True {
			break
		}
		if rig.Now() < expires || live > 300 {
			t.Fatalf("before its time: OK %v %q, %v %q", first.True, first.Message, second.True, second.Message)
		}
	}
	c.Refused(relaytest.Note(k, rig.Now(), "expired on arrival", rig.Tag("expiration", fmt.Sprint(rig.Now()-1))), "invalid: ")
	mine := relaytest.Filter{"authors": []string{k.Pub}, "kinds": []int{1, 30023}}
	search := relaytest.Filter{"authors": []string{k.Pub}, "kinds": []int{1}, "search": "saxifrage"}
	for over := false; !over; <-time.After(10 * time.Millisecond) {
		before := time.Now().Unix()
		read, found, n := len(c.MustQuery(mine).Events), len(c.MustQuery(search).Events), int(c.MustCount(mine))
		after := time.Now().Unix()
		over = before >= expires
		switch {
		case after < expires && (read != 2 || n != 2 || found != 1):
			t.Fatalf("before its time: REQ %d, COUNT %d, search %d", read, n, found)
		case over && (read != 0 || n != 0 || found != 0):
			t.Fatalf("after its time: REQ %d, COUNT %d, search %d", read, n, found)
		}
	}
	c.Refused(ev, "invalid: ")
	if text := rig.Exported(t, relay)[ev.ID]; text != nil {
		t.Errorf("exported after its time")
	}
}

// Upper-case or odd-length hex, kinds out of range, null tags and invalid UTF-8
// were accepted.
func TestKhatruFault_MalformedIsAccepted(t *testing.T) {
	relay := rig.Start(t)
	c := rig.Dial(t, relay)
	k := relaytest.NewKey(853)
	at := fmt.Sprint(rig.Now() - 10)
	upper := relaytest.Note(k, rig.Now(), "upper-case id")
	upperID := strings.ToUpper(upper.ID)
	for what, one := range map[string]struct{ id, object string }{
		"invalid UTF-8":     rawPair(rig.RawEvent(t, k, at, "1", "[]", "\xff\xfe")),
		"null tags":         rawPair(rig.RawEvent(t, k, at, "1", "null", "")),
		"kind 70000":        rawPair(rig.RawEvent(t, k, at, "70000", "[]", "")),
		"kind -1":           rawPair(rig.RawEvent(t, k, at, "-1", "[]", "")),
		"upper-case id":     {upperID, strings.Replace(upper.String(), upper.ID, upperID, 1)},
		"upper-case pubkey": {upper.ID, strings.Replace(upper.String(), upper.PubKey, strings.ToUpper(upper.PubKey), 1)},
		"upper-case sig":    {upper.ID, strings.Replace(upper.String(), upper.Sig, strings.ToUpper(upper.Sig), 1)},
		"odd-length sig":    {upper.ID, strings.Replace(upper.String(), upper.Sig, upper.Sig[1:], 1)},
		"id twice":          {upper.ID, `{"id":"` + upper.ID + `",` + upper.String()[1:]},
		"content twice":     {upper.ID, `{"content":"shown",` + upper.String()[1:]},
	} {
		c.Raw(`["EVENT",` + one.object + `]`)
		f, err := c.Wait(func(f relaytest.Frame) bool { return f.Label == "OK" || f.Label == "NOTICE" })
		if err != nil || f.Label == "OK" && f.OK().True {
			t.Errorf("%s: %s, %v", what, f.Raw, err)
		}
		if f.Label == "OK" {
			rig.WantRefusal(t, what, f.OK(), "invalid: ")
		}
	}
	if n := c.MustCount(relaytest.Filter{"kinds": []int{1}, "authors": []string{k.Pub}}); n != 0 {
		t.Errorf("%d malformed events are stored", n)
	}
}

func rawPair(id, object string) struct{ id, object string } {
	return struct{ id, object string }{id, object}
}

// Sub ids were echoed unescaped: a client could write frames into its answers.
func TestKhatruFault_SubIDIsEchoedUnescaped(t *testing.T) {
	relay := rig.Start(t)
	c := rig.Dial(t, relay)
	k := relaytest.NewKey(854)
	ev := relaytest.Note(k, rig.Now(), "x")
	c.Store(ev)
	for _, sub := range []string{`a"b`, `"],["OK","x",true,""`, "line\nbreak", `back\slash`, "\u0000\u001f", "é🐎", strings.Repeat("x", 64)} {
		a, err := c.Subscribe(sub, relaytest.Filter{"kinds": []int{1}, "authors": []string{k.Pub}})
		if err != nil || len(a.Events) != 1 {
			t.Errorf("sub id %q: %d events, %v", sub, len(a.Events), err)
		}
		c.MustSend("CLOSE", sub)
		c.MustSend("COUNT", sub, relaytest.Filter{"kinds": []int{1}})
		if f, err := c.Wait(relaytest.ForSub(sub)); err != nil || f.Count() != 1 {
			t.Errorf("COUNT with sub id %q: %s, %v", sub, f.Raw, err)
		}
		c.MustSend("REQ", sub, relaytest.Filter{"kinds": []int{relaytest.KindEngram}})
		if f, err := c.Wait(relaytest.ForSub(sub)); err != nil || f.Label != "CLOSED" {
			t.Errorf("CLOSED with sub id %q: %s, %v", sub, f.Raw, err)
		}
	}
	for _, sub := range []string{"", strings.Repeat("x", 65)} {
		c.MustSend("REQ", sub, relaytest.Filter{"kinds": []int{1}})
		f, err := c.Wait(func(f relaytest.Frame) bool { return f.Label == "CLOSED" || f.Label == "NOTICE" })
		if err != nil || !strings.Contains(string(f.Raw), "invalid: ") {
			t.Errorf("sub id of %d bytes: %s, %v", len(sub), f.Raw, err)
		}
	}
}

// X-Forwarded-For was believed from anyone: a client could claim any address,
// and so evade an address's limits or use up another's.
func TestKhatruFault_ForwardedForIsBelieved(t *testing.T) {
	limits := []string{"ENGRAMD_PUBLIC_URL=wss://relay.example", "ENGRAMD_LIMITS_EVENTS_PER_ADDRESS=0.0001/s, burst 10"}
	accepted := func(relay *relaytest.Child) int {
		n := 0
		for i := range 4 {
			header := http.Header{"X-Forwarded-For": {fmt.Sprintf("192.0.2.%d", i+1)}, "X-Real-Ip": {fmt.Sprintf("192.0.2.%d", i+1)}}
			cl, err := relaytest.Connect(relay.URL, header)
			if err != nil {
				t.Fatal(err)
			}
			for j := range 8 {
				ok, err := cl.Publish(relaytest.Note(relaytest.NewKey(855), rig.Now()-1000, fmt.Sprint(i, " ", j)))
				if err != nil {
					t.Fatal(err)
				}
				if ok.True {
					n++
				} else {
					rig.WantRefusal(t, "over the limit of an address", ok, "rate-limited: ")
				}
			}
			cl.Close()
		}
		return n
	}
	if n := accepted(rig.Start(t, limits...)); n != 10 {
		t.Errorf("%d events were accepted from one address with a limit of 10", n)
	}
	trusted := append(limits, "ENGRAMD_PROXY_TRUSTED=127.0.0.1", "ENGRAMD_PROXY_HEADER=X-Forwarded-For")
	if n := accepted(rig.Start(t, trusted...)); n != 32 {
		t.Errorf("%d of 32 events were accepted from four addresses behind a trusted proxy", n)
	}
}
