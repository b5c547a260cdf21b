package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"

	"golang.org/x/sys/unix"
)

// Answers that are untrue.

// A store error was NOTICE then EOSE, and 0 on COUNT. "Nothing there" is never
// the answer to a failure: here every read of the database fails.
func TestKhatruFault_StoreErrorIsEOSE(t *testing.T) {
	syncs := watchFsyncs(t)
	relay := relaytest.Start(t, relaytest.Options{Build: plain, Env: syncs.env})
	agent, owner := relaytest.Agent(), relaytest.Owner()
	w := dial(t, relay)
	for i := range int64(200) {
		w.store(relaytest.SizedEngram(agent, owner.Pub, fmt.Sprintf("%064x", i+1), 20_000, now()-1000+i))
	}
	if code, _ := relay.Stop(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	relay = relaytest.Start(t, relaytest.Options{Build: plain, Data: relay.Data, Env: syncs.env}) // with cold caches
	c := dial(t, relay, owner)
	mine := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}, "limit": 5000}
	body := []byte(`[{"kinds":[30174],"#p":["` + owner.Pub + `"],"limit":5000}]`)

	syncs.failReads(uint64(unix.EIO))
	if a, err := c.Query(mine); err != nil || a.EOSE || !hasPrefix(a.Closed, "error: ") {
		t.Errorf("REQ on a store that fails: %d events, EOSE %v, CLOSED %q, %v", len(a.Events), a.EOSE, a.Closed, err)
	}
	r, err := relay.Post(owner, "/query", body)
	if err != nil {
		t.Logf("/query was aborted: %v", err)
	} else if !r.Aborted && (r.Status != http.StatusServiceUnavailable || !strings.Contains(string(r.Body), "error: ")) {
		t.Errorf("/query on a store that fails: HTTP %d %.200s", r.Status, r.Body)
	}
	ok := c.publish(relaytest.Memory(agent, owner.Pub, "core", "unwritable", now()))
	if ok.True {
		t.Errorf("a write to a store that fails: OK true %q", ok.Message)
	}
	for _, f := range c.Waiting() {
		if f.Label == "NOTICE" || f.Label == "EOSE" {
			t.Errorf("a store error was answered with %s", f.Raw)
		}
	}

	syncs.failReads(0)
	if n := len(c.query(mine).Events); n != 200 {
		t.Errorf("%d events once the store works again", n)
	}
	relay.Kill()
	relay = relaytest.Start(t, relaytest.Options{Build: plain, Data: relay.Data, Env: syncs.env})
	c = dial(t, relay, owner)
	syncs.failReads(uint64(unix.EIO))
	if n, closed, err := c.Count(mine); err != nil || !hasPrefix(closed, "error: ") {
		t.Errorf("COUNT on a store that fails: %d, CLOSED %q, %v", n, closed, err)
	}
	if r, err := relay.Post(owner, "/count", body); err != nil || r.Status != http.StatusServiceUnavailable {
		t.Errorf("/count on a store that fails: HTTP %d %.200s, %v", r.Status, r.Body, err)
	}
	syncs.failReads(0)
	if n := c.count(mine); n != 200 {
		t.Errorf("COUNT %d once the store works again", n)
	}
}

// A stale replaceable event got OK true and was broadcast.
func TestKhatruFault_StaleIsStoredAndBroadcast(t *testing.T) {
	relay := start(t)
	c, other := dial(t, relay), dial(t, relay)
	k := relaytest.NewKey(851)
	base := now() - 100
	head := relaytest.Sign(k, 0, base+10, "head")
	other.store(head)
	open := c.subscribe(relaytest.Filter{"kinds": []int{0, 7}, "authors": []string{k.Pub}, "limit": 0})
	wantStale(t, other, "an older version", relaytest.Sign(k, 0, base, "older"))
	low, high := tie(k, 0, base+20)
	other.store(low)
	wantStale(t, other, "the higher id at the same time", high)
	if ok := other.publish(low); ok.Message != duplicate {
		t.Errorf("the head again: OK %v %q", ok.True, ok.Message)
	}
	end := relaytest.Sign(k, 7, now(), "+")
	other.store(end)
	for _, want := range []string{low.ID, end.ID} {
		if got := c.live(open.Sub); got.ID != want {
			t.Errorf("live: kind %d %q", got.Kind, got.Content)
		}
	}
}

// Expired events were served for up to an hour. Ours end at their second, for
// everything that reads.
func TestKhatruFault_ExpiredIsServed(t *testing.T) {
	relay := start(t)
	c := dial(t, relay)
	k := relaytest.NewKey(852)
	expires := now() + 3
	ev := relaytest.Note(k, now(), "short-lived saxifrage", tag("expiration", fmt.Sprint(expires)))
	head := relaytest.Sign(k, 30023, now(), "short-lived", tag("d", "x"), tag("expiration", fmt.Sprint(expires)))
	c.store(ev, head)
	c.refused(relaytest.Note(k, now(), "expired on arrival", tag("expiration", fmt.Sprint(now()-1))), "invalid: ")
	mine := relaytest.Filter{"authors": []string{k.Pub}, "kinds": []int{1, 30023}}
	search := relaytest.Filter{"authors": []string{k.Pub}, "kinds": []int{1}, "search": "saxifrage"}
	await(t, "the expiry", func() bool {
		before := time.Now().Unix()
		read, found, n := len(c.query(mine).Events), len(c.query(search).Events), int(c.count(mine))
		after := time.Now().Unix()
		switch {
		case after < expires && (read != 2 || n != 2 || found != 1):
			t.Fatalf("before its time: REQ %d, COUNT %d, search %d", read, n, found)
		case before >= expires && (read != 0 || n != 0 || found != 0):
			t.Fatalf("after its time: REQ %d, COUNT %d, search %d", read, n, found)
		}
		return before >= expires
	})
	c.refused(ev, "invalid: ")
	if text := exported(t, relay)[ev.ID]; text != nil {
		t.Errorf("exported after its time")
	}
}

// Upper-case or odd-length hex, kinds out of range, null tags and invalid UTF-8
// were accepted.
func TestKhatruFault_MalformedIsAccepted(t *testing.T) {
	relay := start(t)
	c := dial(t, relay)
	k := relaytest.NewKey(853)
	at := fmt.Sprint(now() - 10)
	upper := relaytest.Note(k, now(), "upper-case id")
	upperID := strings.ToUpper(upper.ID)
	for what, one := range map[string]struct{ id, object string }{
		"invalid UTF-8":     rawPair(rawEvent(t, k, at, "1", "[]", "\xff\xfe")),
		"null tags":         rawPair(rawEvent(t, k, at, "1", "null", "")),
		"kind 70000":        rawPair(rawEvent(t, k, at, "70000", "[]", "")),
		"kind -1":           rawPair(rawEvent(t, k, at, "-1", "[]", "")),
		"upper-case id":     {upperID, strings.Replace(upper.String(), upper.ID, upperID, 1)},
		"upper-case pubkey": {upper.ID, strings.Replace(upper.String(), upper.PubKey, strings.ToUpper(upper.PubKey), 1)},
		"upper-case sig":    {upper.ID, strings.Replace(upper.String(), upper.Sig, strings.ToUpper(upper.Sig), 1)},
		"odd-length sig":    {upper.ID, strings.Replace(upper.String(), upper.Sig, upper.Sig[1:], 1)},
		"id twice":          {upper.ID, `{"id":"` + upper.ID + `",` + upper.String()[1:]},
		"content twice":     {upper.ID, `{"content":"shown",` + upper.String()[1:]},
	} {
		c.raw(`["EVENT",` + one.object + `]`)
		f, err := c.Wait(func(f relaytest.Frame) bool { return f.Label == "OK" || f.Label == "NOTICE" })
		if err != nil || f.Label == "OK" && f.OK().True {
			t.Errorf("%s: %s, %v", what, f.Raw, err)
		}
		if f.Label == "OK" {
			wantRefusal(t, what, f.OK(), "invalid: ")
		}
	}
	if n := c.count(relaytest.Filter{"kinds": []int{1}, "authors": []string{k.Pub}}); n != 0 {
		t.Errorf("%d malformed events are stored", n)
	}
}

func rawPair(id, object string) struct{ id, object string } {
	return struct{ id, object string }{id, object}
}

// Sub ids were echoed unescaped: a client could write frames into its answers.
func TestKhatruFault_SubIDIsEchoedUnescaped(t *testing.T) {
	relay := start(t)
	c := dial(t, relay)
	k := relaytest.NewKey(854)
	ev := relaytest.Note(k, now(), "x")
	c.store(ev)
	for _, sub := range []string{`a"b`, `"],["OK","x",true,""`, "line\nbreak", `back\slash`, "\u0000\u001f", "é🐎", strings.Repeat("x", 64)} {
		a, err := c.Subscribe(sub, relaytest.Filter{"kinds": []int{1}, "authors": []string{k.Pub}})
		if err != nil || len(a.Events) != 1 {
			t.Errorf("sub id %q: %d events, %v", sub, len(a.Events), err)
		}
		c.send("CLOSE", sub)
		c.send("COUNT", sub, relaytest.Filter{"kinds": []int{1}})
		if f, err := c.Wait(relaytest.ForSub(sub)); err != nil || f.Count() != 1 {
			t.Errorf("COUNT with sub id %q: %s, %v", sub, f.Raw, err)
		}
		c.send("REQ", sub, relaytest.Filter{"kinds": []int{relaytest.KindEngram}})
		if f, err := c.Wait(relaytest.ForSub(sub)); err != nil || f.Label != "CLOSED" {
			t.Errorf("CLOSED with sub id %q: %s, %v", sub, f.Raw, err)
		}
	}
	for _, sub := range []string{"", strings.Repeat("x", 65)} {
		c.send("REQ", sub, relaytest.Filter{"kinds": []int{1}})
		f, err := c.Wait(func(f relaytest.Frame) bool { return f.Label == "CLOSED" || f.Label == "NOTICE" })
		if err != nil || !strings.Contains(string(f.Raw), "invalid: ") {
			t.Errorf("sub id of %d bytes: %s, %v", len(sub), f.Raw, err)
		}
	}
}

// X-Forwarded-For was believed from anyone: a client could have any address, and
// so escape or borrow what an address is limited to.
func TestKhatruFault_ForwardedForIsBelieved(t *testing.T) {
	limits := []string{"ENGRAMD_PUBLIC_URL=wss://relay.example", "ENGRAMD_LIMITS_EVENTS_PER_ADDRESS=0.01", "ENGRAMD_LIMITS_EVENTS_PER_ADDRESS_BURST=10"}
	accepted := func(relay *relaytest.Child) int {
		n := 0
		for i := range 4 {
			header := http.Header{"X-Forwarded-For": {fmt.Sprintf("192.0.2.%d", i+1)}, "X-Real-Ip": {fmt.Sprintf("192.0.2.%d", i+1)}}
			cl, err := relaytest.Connect(relay.URL, header)
			if err != nil {
				t.Fatal(err)
			}
			for j := range 8 {
				ok, err := cl.Publish(relaytest.Note(relaytest.NewKey(855), now()-1000, fmt.Sprint(i, " ", j)))
				if err != nil {
					t.Fatal(err)
				}
				if ok.True {
					n++
				} else {
					wantRefusal(t, "over the limit of an address", ok, "rate-limited: ")
				}
			}
			cl.Close()
		}
		return n
	}
	if n := accepted(start(t, limits...)); n != 10 {
		t.Errorf("%d events were accepted from one address with a limit of 10", n)
	}
	trusted := append(limits, "ENGRAMD_PROXY_TRUSTED=127.0.0.1", "ENGRAMD_PROXY_HEADER=X-Forwarded-For")
	if n := accepted(start(t, trusted...)); n != 32 {
		t.Errorf("%d of 32 events were accepted from four addresses behind a trusted proxy", n)
	}
}
