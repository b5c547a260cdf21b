package gate

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// Anybody can block or delete what is not theirs; the gate can be passed.

// The check for deleted events asked for kind 5 by tag and no author, so that a
// stranger's request could freeze an address.
func TestKhatruFault_StrangerFreezesAddress(t *testing.T) {
	relay := rig.Start(t)
	agent, owner, stranger := relaytest.Agent(), relaytest.Owner(), relaytest.Stranger()
	c := rig.Dial(t, relay, agent)
	base := rig.Now() - 1000
	first := relaytest.Memory(agent, owner.Pub, "core", "first", base)
	later := relaytest.Memory(agent, owner.Pub, "core", "later", base+10)
	note := relaytest.Note(agent, base, "not written yet")
	c.Store(first)
	address := relaytest.Coordinate(relaytest.KindEngram, agent.Pub, first.Tags.GetD())
	c.MustPublish(relaytest.Deletion(stranger, base+500, rig.Tag("a", address), rig.Tag("e", first.ID), rig.Tag("e", later.ID), rig.Tag("e", note.ID), rig.Tag("k", "30174")))
	c.MustPublish(relaytest.Deletion(owner, base+500, rig.Tag("a", address), rig.Tag("e", first.ID), rig.Tag("k", "30174")))
	mine := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{agent.Pub}}
	rig.WantIDs(t, "after a stranger's and the owner's request", c.MustQuery(mine).IDs(), rig.IDs(first))
	c.Store(later, note)
	rig.WantIDs(t, "a later write", c.MustQuery(mine).IDs(), rig.IDs(later))
}

// Deletion ran before RejectEvent, and answered differently for ids that exist.
func TestKhatruFault_DeletionBeforePolicy(t *testing.T) {
	banned, stranger := relaytest.NewKey(811), relaytest.Stranger()
	relay := rig.Start(t, rig.Exclude)
	c := rig.Dial(t, relay)
	base := rig.Now() - 1000
	note := relaytest.Note(banned, base, "before the ban")
	engram := relaytest.Memory(banned, relaytest.Owner().Pub, "core", "x", base)
	c.Store(note, engram)

	relay.Kill()
	c = rig.Dial(t, rig.Again(t, relay, rig.Exclude, "ENGRAMD_WRITE_BAN_AUTHORS="+banned.Pub))
	c.Refused(relaytest.Deletion(banned, base+1, rig.Tag("e", note.ID)), "blocked: ")
	rig.WantIDs(t, "a deletion that policy refuses", c.MustQuery(rig.ByID(note)).IDs(), rig.IDs(note))

	missing := relaytest.Memory(relaytest.NewKey(812), relaytest.Owner().Pub, "core", "never published", base)
	answers := map[string]bool{}
	for _, tags := range [][]string{
		{"e", engram.ID}, {"e", missing.ID},
		{"a", relaytest.Coordinate(relaytest.KindEngram, banned.Pub, engram.Tags.GetD())},
		{"a", relaytest.Coordinate(relaytest.KindEngram, missing.PubKey, missing.Tags.GetD())},
	} {
		for _, k := range []string{"30174", "1"} {
			ok := c.MustPublish(relaytest.Deletion(stranger, rig.Now(), rig.Tag(tags...), rig.Tag("k", k)))
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
	relay := rig.Start(t)
	agent := relaytest.NewKey(813)
	w := rig.Dial(t, relay)
	for i := range int64(300) {
		w.MustSend("EVENT", relaytest.Note(agent, rig.Now()-1000+i, fmt.Sprintf("%04000d", i)))
	}
	for range 300 {
		if f := w.Expect("OK"); !f.OK().True {
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
	w.Store(relaytest.Note(agent, rig.Now(), "after abandoned queries"))
	if took := time.Since(start); took > relaytest.Patience/2 {
		t.Errorf("a write takes %v after abandoned queries", took)
	}
	if _, err := relay.AwaitMetric("engramd_connections", relaytest.Patience, func(n float64) bool { return n == 1 }); err != nil {
		t.Error(err)
	}
	rig.WantAlive(t, relay)
}

// limit 0 returned before RejectFilter, and live delivery consulted neither
// RejectFilter nor OverwriteFilter.
func TestKhatruFault_LimitZeroPassesGate(t *testing.T) {
	relay := rig.Start(t, rig.Exclude)
	agent, owner, stranger := relaytest.Agent(), relaytest.Owner(), relaytest.Stranger()
	nobody, other, party := rig.Dial(t, relay), rig.Dial(t, relay, stranger), rig.Dial(t, relay, owner)
	engrams := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "limit": 0}
	nobody.Closed("auth-required: ", engrams)
	other.Closed("restricted: ", engrams)
	nobody.Closed("auth-required: ", relaytest.Filter{"kinds": []int{1, relaytest.KindEngram}, "limit": 0})
	other.Closed("restricted: ", relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{agent.Pub}, "limit": 0})

	// What is served by "exclude" and by ids must be checked event by event, live.
	engram := relaytest.Memory(agent, owner.Pub, "core", "secret", rig.Now())
	anyOpen := other.MustSubscribe(relaytest.Filter{"limit": 0})
	ofAgent := nobody.MustSubscribe(relaytest.Filter{"authors": []string{agent.Pub}, "limit": 0})
	own := party.MustSubscribe(relaytest.Filter{"#p": []string{owner.Pub}, "limit": 0})
	marker := relaytest.Note(agent, rig.Now(), "marker")
	rig.Dial(t, relay).Store(engram, marker)
	if got := party.MustLive(own.Sub); got.ID != engram.ID {
		t.Errorf("the owner got kind %d live", got.Kind)
	}
	if got := other.MustLive(anyOpen.Sub); got.ID != marker.ID {
		t.Errorf("a stranger got kind %d live", got.Kind)
	}
	if got := nobody.MustLive(ofAgent.Sub); got.ID != marker.ID {
		t.Errorf("nobody got kind %d live", got.Kind)
	}
}

// A REQ refused at its second filter kept the first live.
func TestKhatruFault_RefusedRequestStaysLive(t *testing.T) {
	relay := rig.Start(t)
	c := rig.Dial(t, relay)
	notes, engrams := relaytest.Filter{"kinds": []int{1}}, relaytest.Filter{"kinds": []int{relaytest.KindEngram}}
	if a, err := c.Subscribe("half", notes, engrams); err != nil || !rig.HasPrefix(a.Closed, "auth-required: ") {
		t.Fatalf("REQ: %v, EOSE %v, CLOSED %q", err, a.EOSE, a.Closed)
	}
	// A refused REQ also ends the subscription that it was to replace.
	if a, err := c.Subscribe("replaced", notes); err != nil || !a.EOSE {
		t.Fatalf("REQ: %v", err)
	}
	if a, err := c.Subscribe("replaced", engrams); err != nil || a.EOSE {
		t.Fatalf("REQ: %v, EOSE %v", err, a.EOSE)
	}
	marker := c.MustSubscribe(relaytest.Filter{"kinds": []int{7}})
	end := relaytest.Sign(relaytest.Agent(), 7, rig.Now(), "+")
	rig.Dial(t, relay).Store(relaytest.Note(relaytest.Agent(), rig.Now(), "for nobody"), end)
	if got := c.MustLive(marker.Sub); got.ID != end.ID {
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
	relay := rig.Start(t)
	agent, owner := relaytest.Agent(), relaytest.Owner()
	nobody, other, party := rig.Dial(t, relay), rig.Dial(t, relay, relaytest.Stranger()), rig.Dial(t, relay, owner)
	party.Store(relaytest.Memory(agent, owner.Pub, "core", "secret", rig.Now()))
	filter := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}}
	for prefix, c := range map[string]*rig.Peer{"auth-required: ": nobody, "restricted: ": other} {
		if n, closed, err := c.Count(filter); err != nil || !rig.HasPrefix(closed, prefix) {
			t.Errorf("COUNT: %d, CLOSED %q, %v; want CLOSED %q", n, closed, err, prefix)
		}
		if n, closed, err := c.Count(relaytest.Filter{"kinds": []int{1}}, filter); err != nil || !rig.HasPrefix(closed, prefix) {
			t.Errorf("COUNT of two filters: %d, CLOSED %q, %v; want CLOSED %q", n, closed, err, prefix)
		}
	}
	if n := party.MustCount(filter); n != 1 {
		t.Errorf("COUNT for the owner: %d", n)
	}
}

// Without ServiceURL the expected relay came from the client's own headers: an
// AUTH signed for another relay was accepted.
func TestKhatruFault_AuthForAnotherRelay(t *testing.T) {
	relay := rig.Start(t)
	owner := relaytest.Owner()
	const other = "wss://evil.example.com"
	for _, header := range []http.Header{
		nil, {"Host": {"evil.example.com"}}, {"X-Forwarded-Host": {"evil.example.com"}, "X-Forwarded-Proto": {"https"}},
		{"Forwarded": {"host=evil.example.com;proto=https"}}, {"Origin": {"http://localhost:1"}},
	} {
		cl, err := relaytest.Connect(relay.URL, header)
		if err != nil {
			t.Fatalf("%v: %v", header, err)
		}
		c := &rig.Peer{Client: cl, T: t}
		challenge := c.Expect("AUTH").Text(0)
		ok, err := c.AuthWith(relaytest.AuthEvent(owner, other, challenge, rig.Now()))
		if err != nil {
			t.Fatal(err)
		}
		rig.WantRefusal(t, fmt.Sprint("AUTH for another relay with ", header), ok, "invalid: ")
		c.Closed("auth-required: ", relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}})
		c.Close()
	}
	// A page of another host does not even get a challenge.
	if c, err := relaytest.Connect(relay.URL, http.Header{"Origin": {"https://evil.example.com"}}); err == nil {
		t.Error("a page of another host is answered")
		c.Close()
	}
	// The same over HTTP: a header made for another relay's URL.
	body := []byte(`[{"kinds":[30174],"#p":["` + owner.Pub + `"]}]`)
	forged := relaytest.HTTPAuth(owner, http.MethodPost, "https://evil.example.com/query", body, rig.Now())
	r, err := relay.Do(http.MethodPost, "/query", body, http.Header{"Authorization": {forged}, "X-Forwarded-Host": {"evil.example.com"}, "X-Forwarded-Proto": {"https"}})
	if err != nil || r.Status != http.StatusUnauthorized {
		t.Errorf("NIP-98 for another relay: HTTP %d %s, %v", r.Status, r.Body, err)
	}
}

// One identity per connection; a second AUTH replaced the first.
func TestKhatruFault_SecondAuthReplacesFirst(t *testing.T) {
	relay := rig.Start(t)
	agent, owner, third := relaytest.Agent(), relaytest.Owner(), relaytest.NewKey(814)
	c := rig.Dial(t, relay, owner, third)
	writer := rig.Dial(t, relay)
	first := relaytest.Memory(agent, owner.Pub, "core", "for the first key", rig.Now()-10)
	second := relaytest.Memory(agent, third.Pub, "mem/x", "for the second key", rig.Now()-11)
	open := c.MustSubscribe(relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub, third.Pub}})
	writer.Store(first, second)
	if got := []string{c.MustLive(open.Sub).ID, c.MustLive(open.Sub).ID}; got[0] != first.ID || got[1] != second.ID {
		t.Errorf("live for both identities: %v", rig.Short(got))
	}
	for _, k := range []relaytest.Key{owner, third} {
		if a := c.MustQuery(relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{k.Pub}}); len(a.Events) != 1 {
			t.Errorf("%d events for one of two identities", len(a.Events))
		}
	}
	c.Closed("restricted: ", relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub, relaytest.Stranger().Pub}})
}

// search was ignored live; misspelt keys matched everything; kinds null was no
// constraint; an empty list meant all to one part and none to another.
func TestKhatruFault_FilterMeansAnotherThing(t *testing.T) {
	relay := rig.Start(t, rig.Exclude)
	c, other := rig.Dial(t, relay), rig.Dial(t, relay)
	k := relaytest.NewKey(815)
	match := relaytest.Note(k, rig.Now()-10, "the word heliotrope is rare")
	c.Store(match)
	search := relaytest.Filter{"kinds": []int{1}, "search": "heliotrope"}
	found := c.MustSubscribe(search)
	rig.WantIDs(t, "search", found.IDs(), rig.IDs(match))
	empty := map[string]relaytest.Answer{}
	for _, name := range []string{"ids", "authors", "kinds", "#t"} {
		a := c.MustSubscribe(relaytest.Filter{name: []string{}})
		if len(a.Events) != 0 {
			t.Errorf("an empty list of %s matches %d stored events", name, len(a.Events))
		}
		empty[name] = a
	}
	for _, raw := range []string{`{"kind":[1]}`, `{"Kinds":[1]}`, `{"kinds":null}`, `{"author":["` + k.Pub + `"]}`, `{"tags":{}}`, `{"search":7}`} {
		sub := c.NextSub()
		c.Raw(fmt.Sprintf(`["REQ","%s",%s]`, sub, raw))
		f, err := c.Wait(relaytest.ForSub(sub))
		if err != nil || f.Label != "CLOSED" || !rig.HasPrefix(f.Text(1), "invalid: ") {
			t.Errorf("REQ with %s: %s, %v", raw, f.Raw, err)
		}
	}
	marker := c.MustSubscribe(relaytest.Filter{"kinds": []int{7}})
	end := relaytest.Sign(k, 7, rig.Now(), "+")
	other.Store(relaytest.Note(k, rig.Now(), "no rare word"), relaytest.Note(k, rig.Now(), "heliotrope again, but search is not live"), end)
	if got := c.MustLive(marker.Sub); got.ID != end.ID {
		t.Errorf("marker: kind %d", got.Kind)
	}
	for _, f := range c.Waiting() {
		if f.Label == "EVENT" {
			t.Errorf("live on a filter that matches nothing live: %s", f.Raw)
		}
	}
}

// Kind 22242 sent as an EVENT was broadcast, so that others could log in with
// it.
func TestKhatruFault_AuthEventIsBroadcast(t *testing.T) {
	relay := rig.Start(t, rig.Exclude)
	c, other := rig.Dial(t, relay), rig.Dial(t, relay)
	k := relaytest.Owner()
	open := c.MustSubscribe(relaytest.Filter{"kinds": []int{relaytest.KindAuth, relaytest.KindHTTPAuth, 7}})
	all := c.MustSubscribe(relaytest.Filter{"limit": 0})
	other.Refused(relaytest.AuthEvent(k, relay.URL, other.Challenge, rig.Now()), "invalid: ")
	other.Refused(relaytest.Sign(k, relaytest.KindHTTPAuth, rig.Now(), "", rig.Tag("u", relay.HTTP("/query")), rig.Tag("method", "POST")), "invalid: ")
	end := relaytest.Sign(k, 7, rig.Now(), "+")
	other.Store(end)
	for _, sub := range []string{open.Sub, all.Sub} {
		if got := c.MustLive(sub); got.ID != end.ID {
			t.Errorf("kind %d was broadcast", got.Kind)
		}
	}
	rig.WantIDs(t, "stored", other.MustQuery(relaytest.Filter{"kinds": []int{relaytest.KindAuth, relaytest.KindHTTPAuth}}).IDs(), nil)
}
