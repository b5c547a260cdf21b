package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
)

// Anybody can block or delete what is not theirs; the gate can be passed.

// The check for deleted events asked for kind 5 by tag and no author, so that a
// stranger's request could freeze an address.
func TestKhatruFault_StrangerFreezesAddress(t *testing.T) {
	relay := start(t)
	agent, owner, stranger := relaytest.Agent(), relaytest.Owner(), relaytest.Stranger()
	c := dial(t, relay, agent)
	base := now() - 1000
	first := relaytest.Memory(agent, owner.Pub, "core", "first", base)
	later := relaytest.Memory(agent, owner.Pub, "core", "later", base+10)
	note := relaytest.Note(agent, base, "not written yet")
	c.store(first)
	address := relaytest.Coordinate(relaytest.KindEngram, agent.Pub, first.Tags.GetD())
	c.publish(relaytest.Deletion(stranger, base+500, tag("a", address), tag("e", first.ID), tag("e", later.ID), tag("e", note.ID), tag("k", "30174")))
	c.publish(relaytest.Deletion(owner, base+500, tag("a", address), tag("e", first.ID), tag("k", "30174")))
	mine := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{agent.Pub}}
	wantIDs(t, "after a stranger's and the owner's request", c.query(mine).IDs(), ids(first))
	c.store(later, note)
	wantIDs(t, "a later write", c.query(mine).IDs(), ids(later))
}

// Deletion ran before RejectEvent, and answered differently for ids that exist.
func TestKhatruFault_DeletionBeforePolicy(t *testing.T) {
	banned, stranger := relaytest.NewKey(811), relaytest.Stranger()
	relay := start(t, exclude)
	c := dial(t, relay)
	base := now() - 1000
	note := relaytest.Note(banned, base, "before the ban")
	engram := relaytest.Memory(banned, relaytest.Owner().Pub, "core", "x", base)
	c.store(note, engram)

	relay.Kill()
	c = dial(t, again(t, relay, exclude, "ENGRAMD_WRITE_BAN_AUTHORS="+banned.Pub))
	c.refused(relaytest.Deletion(banned, base+1, tag("e", note.ID)), "blocked: ")
	wantIDs(t, "a deletion that policy refuses", c.query(byID(note)).IDs(), ids(note))

	missing := relaytest.Memory(relaytest.NewKey(812), relaytest.Owner().Pub, "core", "never published", base)
	answers := map[string]bool{}
	for _, tags := range [][]string{
		{"e", engram.ID}, {"e", missing.ID},
		{"a", relaytest.Coordinate(relaytest.KindEngram, banned.Pub, engram.Tags.GetD())},
		{"a", relaytest.Coordinate(relaytest.KindEngram, missing.PubKey, missing.Tags.GetD())},
	} {
		for _, k := range []string{"30174", "1"} {
			ok := c.publish(relaytest.Deletion(stranger, now(), tag(tags...), tag("k", k)))
			answers[fmt.Sprint(ok.True, ok.Message)] = true
		}
	}
	if len(answers) != 1 {
		t.Errorf("deletion requests for what is there and what is not are answered differently: %v", answers)
	}
}

// Query channels were read once and dropped: a store that streamed leaked a
// cursor, which in SQLite locks writers.
func TestKhatruFault_AbandonedQueriesLockWriters(t *testing.T) {
	relay := start(t)
	agent := relaytest.NewKey(813)
	w := dial(t, relay)
	for i := range int64(300) {
		w.send("EVENT", relaytest.Note(agent, now()-1000+i, fmt.Sprintf("%04000d", i)))
	}
	for range 300 {
		if f := w.expect("OK"); !f.OK().True {
			t.Fatalf("%s", f.Raw)
		}
	}
	for range 30 {
		c, err := relaytest.Connect(relay.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			if err := c.Send("REQ", fmt.Sprint(i), relaytest.Filter{"kinds": []int{1}}); err != nil {
				break
			}
			if i%2 == 0 {
				if err := c.Send("CLOSE", fmt.Sprint(i)); err != nil {
					break
				}
			}
		}
		c.Close() // in the middle of all answers
	}
	start := time.Now()
	w.store(relaytest.Note(agent, now(), "after abandoned queries"))
	if took := time.Since(start); took > relaytest.Patience/2 {
		t.Errorf("a write takes %v after abandoned queries", took)
	}
	if _, err := relay.AwaitMetric("engramd_connections", relaytest.Patience, func(n float64) bool { return n == 1 }); err != nil {
		t.Error(err)
	}
	wantAlive(t, relay)
}

// limit 0 returned before RejectFilter, and live delivery consulted neither
// RejectFilter nor OverwriteFilter.
func TestKhatruFault_LimitZeroPassesGate(t *testing.T) {
	relay := start(t, exclude)
	agent, owner, stranger := relaytest.Agent(), relaytest.Owner(), relaytest.Stranger()
	nobody, other, party := dial(t, relay), dial(t, relay, stranger), dial(t, relay, owner)
	engrams := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "limit": 0}
	nobody.closed("auth-required: ", engrams)
	other.closed("restricted: ", engrams)
	nobody.closed("auth-required: ", relaytest.Filter{"kinds": []int{1, relaytest.KindEngram}, "limit": 0})
	other.closed("restricted: ", relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{agent.Pub}, "limit": 0})

	// What is served by "exclude" and by ids must be checked event by event, live.
	engram := relaytest.Memory(agent, owner.Pub, "core", "secret", now())
	anyOpen := other.subscribe(relaytest.Filter{"limit": 0})
	ofAgent := nobody.subscribe(relaytest.Filter{"authors": []string{agent.Pub}, "limit": 0})
	own := party.subscribe(relaytest.Filter{"#p": []string{owner.Pub}, "limit": 0})
	marker := relaytest.Note(agent, now(), "marker")
	dial(t, relay).store(engram, marker)
	if got := party.live(own.Sub); got.ID != engram.ID {
		t.Errorf("the owner got kind %d live", got.Kind)
	}
	if got := other.live(anyOpen.Sub); got.ID != marker.ID {
		t.Errorf("a stranger got kind %d live", got.Kind)
	}
	if got := nobody.live(ofAgent.Sub); got.ID != marker.ID {
		t.Errorf("nobody got kind %d live", got.Kind)
	}
}

// A REQ refused at its second filter kept the first live.
func TestKhatruFault_RefusedRequestStaysLive(t *testing.T) {
	relay := start(t)
	c := dial(t, relay)
	notes, engrams := relaytest.Filter{"kinds": []int{1}}, relaytest.Filter{"kinds": []int{relaytest.KindEngram}}
	if a, err := c.Subscribe("half", notes, engrams); err != nil || !hasPrefix(a.Closed, "auth-required: ") {
		t.Fatalf("REQ: %v, EOSE %v, CLOSED %q", err, a.EOSE, a.Closed)
	}
	// A refused REQ also ends the subscription that it was to replace.
	if a, err := c.Subscribe("replaced", notes); err != nil || !a.EOSE {
		t.Fatalf("REQ: %v", err)
	}
	if a, err := c.Subscribe("replaced", engrams); err != nil || a.EOSE {
		t.Fatalf("REQ: %v, EOSE %v", err, a.EOSE)
	}
	marker := c.subscribe(relaytest.Filter{"kinds": []int{7}})
	end := relaytest.Sign(relaytest.Agent(), 7, now(), "+")
	dial(t, relay).store(relaytest.Note(relaytest.Agent(), now(), "for nobody"), end)
	if got := c.live(marker.Sub); got.ID != end.ID {
		t.Errorf("marker: kind %d", got.Kind)
	}
	for _, f := range c.Waiting() {
		if f.Label == "EVENT" {
			t.Errorf("live on a request that was refused: %s", f.Raw)
		}
	}
}

// COUNT had only RejectCountFilter; a refused COUNT was answered with 0.
func TestKhatruFault_RefusedCountIsZero(t *testing.T) {
	relay := start(t)
	agent, owner := relaytest.Agent(), relaytest.Owner()
	nobody, other, party := dial(t, relay), dial(t, relay, relaytest.Stranger()), dial(t, relay, owner)
	party.store(relaytest.Memory(agent, owner.Pub, "core", "secret", now()))
	filter := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}}
	for prefix, c := range map[string]*peer{"auth-required: ": nobody, "restricted: ": other} {
		if n, closed, err := c.Count(filter); err != nil || !hasPrefix(closed, prefix) {
			t.Errorf("COUNT: %d, CLOSED %q, %v; want CLOSED %q", n, closed, err, prefix)
		}
		if n, closed, err := c.Count(relaytest.Filter{"kinds": []int{1}}, filter); err != nil || !hasPrefix(closed, prefix) {
			t.Errorf("COUNT of two filters: %d, CLOSED %q, %v; want CLOSED %q", n, closed, err, prefix)
		}
	}
	if n := party.count(filter); n != 1 {
		t.Errorf("COUNT for the owner: %d", n)
	}
}

// Without ServiceURL the expected relay came from the client's own headers: an
// AUTH signed for another relay was accepted.
func TestKhatruFault_AuthForAnotherRelay(t *testing.T) {
	relay := start(t)
	owner := relaytest.Owner()
	const other = "wss://evil.example.com"
	for _, header := range []http.Header{
		nil, {"Host": {"evil.example.com"}}, {"X-Forwarded-Host": {"evil.example.com"}, "X-Forwarded-Proto": {"https"}},
		{"Forwarded": {"host=evil.example.com;proto=https"}}, {"Origin": {"https://evil.example.com"}},
	} {
		cl, err := relaytest.Connect(relay.URL, header)
		if err != nil {
			t.Fatalf("%v: %v", header, err)
		}
		c := &peer{Client: cl, t: t}
		challenge := c.expect("AUTH").Text(0)
		ok, err := c.AuthWith(relaytest.AuthEvent(owner, other, challenge, now()))
		if err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, fmt.Sprint("AUTH for another relay with ", header), ok, "invalid: ")
		c.closed("auth-required: ", relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}})
		c.Close()
	}
	// The same over HTTP: a header made for another relay's URL.
	body := []byte(`[{"kinds":[30174],"#p":["` + owner.Pub + `"]}]`)
	forged := relaytest.HTTPAuth(owner, http.MethodPost, "https://evil.example.com/query", body, now())
	r, err := relay.Do(http.MethodPost, "/query", body, http.Header{"Authorization": {forged}, "X-Forwarded-Host": {"evil.example.com"}, "X-Forwarded-Proto": {"https"}})
	if err != nil || r.Status != http.StatusUnauthorized {
		t.Errorf("NIP-98 for another relay: HTTP %d %s, %v", r.Status, r.Body, err)
	}
}

// One identity per connection; a second AUTH replaced the first.
func TestKhatruFault_SecondAuthReplacesFirst(t *testing.T) {
	relay := start(t)
	agent, owner, third := relaytest.Agent(), relaytest.Owner(), relaytest.NewKey(814)
	c := dial(t, relay, owner, third)
	writer := dial(t, relay)
	first := relaytest.Memory(agent, owner.Pub, "core", "for the first key", now()-10)
	second := relaytest.Memory(agent, third.Pub, "mem/x", "for the second key", now()-11)
	open := c.subscribe(relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub, third.Pub}})
	writer.store(first, second)
	if got := []string{c.live(open.Sub).ID, c.live(open.Sub).ID}; got[0] != first.ID || got[1] != second.ID {
		t.Errorf("live for both identities: %v", short(got))
	}
	for _, k := range []relaytest.Key{owner, third} {
		if a := c.query(relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{k.Pub}}); len(a.Events) != 1 {
			t.Errorf("%d events for one of two identities", len(a.Events))
		}
	}
	c.closed("restricted: ", relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub, relaytest.Stranger().Pub}})
}

// search was ignored live; misspelt keys matched everything; kinds null was no
// constraint; an empty list meant all to one part and none to another.
func TestKhatruFault_FilterMeansAnotherThing(t *testing.T) {
	relay := start(t, exclude)
	c, other := dial(t, relay), dial(t, relay)
	k := relaytest.NewKey(815)
	match := relaytest.Note(k, now()-10, "the word heliotrope is rare")
	c.store(match)
	search := relaytest.Filter{"kinds": []int{1}, "search": "heliotrope"}
	found := c.subscribe(search)
	wantIDs(t, "search", found.IDs(), ids(match))
	empty := map[string]relaytest.Answer{}
	for _, name := range []string{"ids", "authors", "kinds", "#t"} {
		a := c.subscribe(relaytest.Filter{name: []string{}})
		if len(a.Events) != 0 {
			t.Errorf("an empty list of %s matches %d stored events", name, len(a.Events))
		}
		empty[name] = a
	}
	for _, raw := range []string{`{"kind":[1]}`, `{"Kinds":[1]}`, `{"kinds":null}`, `{"author":["` + k.Pub + `"]}`, `{"tags":{}}`, `{"search":7}`} {
		sub := c.NextSub()
		c.raw(fmt.Sprintf(`["REQ","%s",%s]`, sub, raw))
		f, err := c.Wait(relaytest.ForSub(sub))
		if err != nil || f.Label != "CLOSED" || !hasPrefix(f.Text(1), "invalid: ") {
			t.Errorf("REQ with %s: %s, %v", raw, f.Raw, err)
		}
	}
	marker := c.subscribe(relaytest.Filter{"kinds": []int{7}})
	end := relaytest.Sign(k, 7, now(), "+")
	other.store(relaytest.Note(k, now(), "no rare word"), relaytest.Note(k, now(), "heliotrope again, but search is not live"), end)
	if got := c.live(marker.Sub); got.ID != end.ID {
		t.Errorf("marker: kind %d", got.Kind)
	}
	for _, f := range c.Waiting() {
		if f.Label == "EVENT" {
			t.Errorf("live on a filter that matches nothing live: %s", f.Raw)
		}
	}
}

// Kind 22242 sent as an EVENT was broadcast; with it others can log in.
func TestKhatruFault_AuthEventIsBroadcast(t *testing.T) {
	relay := start(t, exclude)
	c, other := dial(t, relay), dial(t, relay)
	k := relaytest.Owner()
	open := c.subscribe(relaytest.Filter{"kinds": []int{relaytest.KindAuth, relaytest.KindHTTPAuth, 7}})
	all := c.subscribe(relaytest.Filter{"limit": 0})
	other.refused(relaytest.AuthEvent(k, relay.URL, other.Challenge, now()), "invalid: ")
	other.refused(relaytest.Sign(k, relaytest.KindHTTPAuth, now(), "", tag("u", relay.HTTP("/query")), tag("method", "POST")), "invalid: ")
	end := relaytest.Sign(k, 7, now(), "+")
	other.store(end)
	for _, sub := range []string{open.Sub, all.Sub} {
		if got := c.live(sub); got.ID != end.ID {
			t.Errorf("kind %d was broadcast", got.Kind)
		}
	}
	wantIDs(t, "stored", other.query(relaytest.Filter{"kinds": []int{relaytest.KindAuth, relaytest.KindHTTPAuth}}).IDs(), nil)
}
