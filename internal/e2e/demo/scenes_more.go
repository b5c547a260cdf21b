package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"engramd/internal/e2e/relaytest"

	"github.com/nbd-wtf/go-nostr"
)

func asParties(s *stage) {
	s.chapter("Contract memory: poster and worker")
	poster, worker := thePoster().key, theWorker().key
	entries := relaytest.Filter{"kinds": []int{relaytest.KindEntry}, "#d": []string{contract}}
	c := s.dial()
	a := s.req(c, entries)
	s.check(len(a.Events) == 2, "who knows the contract's id reads its plain entries, the latest of each author; the sealed one is not there")
	s.refusedWith(s.req(c, relaytest.Filter{"kinds": []int{relaytest.KindEntry}}), "auth-required: ")
	c.Close()

	c = s.dial(theWorker())
	a = s.req(c, entries)
	s.check(len(a.Events) == 3, "the worker is a party to the sealed entry and gets it too")
	ok := s.publish(c, "an entry marked poster_only", relaytest.Sign(worker, relaytest.KindEntry, s.memory.base+200,
		`{"type":"note","content":"x","visibility":"poster_only"}`, nostr.Tag{"d", contract}, nostr.Tag{"t", "note"}, nostr.Tag{"p", poster.Pub}))
	s.check(!ok.True && ok.Message == "invalid: private entries are not published", "private entries must not reach a relay")
	ok = s.publish(c, "completed, by the worker", relaytest.State(worker, poster.Pub, contract, "completed", "accepted", s.memory.base+201))
	s.check(!ok.True && strings.HasPrefix(ok.Message, "invalid: "), "that move does not exist")
	ok = s.publish(c, "submitted", relaytest.State(worker, poster.Pub, contract, "submitted", "accepted", s.memory.base+202))
	s.check(ok.True, "accepted → submitted is the worker's move")
	c.Close()

	c = s.dial(thePoster())
	ok = s.publish(c, "completed", relaytest.State(poster, worker.Pub, contract, "completed", "submitted", s.memory.base+203))
	s.check(ok.True, "submitted → completed is the poster's move, and final")
	ok = s.publish(c, "an entry after the end", relaytest.Entry(poster, worker.Pub, contract, "message", "one more thing", s.memory.base+204))
	s.check(!ok.True && strings.HasPrefix(ok.Message, "blocked: "), "the thread is read-only now")
	c.Close()
	c = s.dial(theStranger())
	ok = s.publish(c, "a stranger's word on the same contract id", relaytest.State(theStranger().key, poster.Pub, contract, "open", "", s.memory.base+205))
	s.check(!ok.True && ok.Message == "blocked: this contract id is taken", "an id is one contract, the poster's who opened it first")
	c.Close()
}

func overHTTP(s *stage) {
	s.chapter("The same over HTTP, signed with NIP-98")
	body, err := json.Marshal([]any{engramsFor(theOwner())})
	if err != nil {
		s.Fatalf("encode: %v", err)
	}
	s.say("→ POST /count %s   # signed by <owner>", readable(string(body)))
	r := s.http(s.relay.Post(theOwner().key, "/count", body))
	s.check(r.Status == http.StatusOK && strings.Contains(string(r.Body), fmt.Sprintf(`"count":%d`, 3+secondMemories)), "the number that COUNT gave")
	s.say("→ POST /query …   # signed by <stranger>")
	r = s.http(s.relay.Post(theStranger().key, "/query", body))
	s.check(r.Status == http.StatusForbidden && strings.Contains(string(r.Body), "restricted: "), "403, in the words of CLOSED")
	s.say("→ POST /query …   # signed by nobody")
	r = s.http(s.relay.Do(http.MethodPost, "/query", body, nil))
	s.check(r.Status == http.StatusUnauthorized, "401")

	agent := theAgent().key
	path := fmt.Sprintf("/history?kind=30174&author=%s&d=%s", agent.Pub, relaytest.Address(agent, theOwner().key.Pub, "core"))
	s.say("→ GET %s   # signed by <owner>", readable(path))
	r = s.http(s.relay.Get(theOwner().key, path))
	var versions []nostr.Event
	err = json.Unmarshal(r.Body, &versions)
	s.check(r.Status == http.StatusOK && err == nil && len(versions) == 1 && versions[0].ID == s.memory.vectors[3].Event.ID,
		"the superseded version of core: the published vector")
	s.say("→ GET /history …   # signed by <stranger>")
	r = s.http(s.relay.Get(theStranger().key, path))
	s.check(r.Status == http.StatusOK && strings.TrimSpace(string(r.Body)) == "[]" || r.Status == http.StatusForbidden, "nothing for others")
}

func operating(s *stage) {
	s.chapter("What an operator and a browser see")
	s.say("→ GET /   # Accept: application/nostr+json")
	r := s.http(s.relay.Do(http.MethodGet, "/", nil, http.Header{"Accept": {"application/nostr+json"}}))
	s.check(r.Status == http.StatusOK && strings.Contains(string(r.Body), `"supported_nips"`), "the NIP-11 document")
	s.say("→ GET /readyz")
	r = s.http(s.relay.Do(http.MethodGet, "/readyz", nil, nil))
	s.check(r.Status == http.StatusOK, "the database is writable")
	s.say("→ GET %s", s.relay.Metrics)
	n, err := s.relay.Metric("engramd_connections_total")
	s.answer("engramd_connections_total %v", n)
	s.check(err == nil && n > 0, "metrics on a listener of their own, without a pubkey in them")
}

func (s *stage) http(r relaytest.Response, err error) relaytest.Response {
	if err != nil {
		s.Fatalf("%v", err)
	}
	s.answer("%d %s", r.Status, strings.TrimSpace(string(r.Body)))
	return r
}

func live(s *stage) {
	s.chapter("Live: the owner watches while the agent writes")
	agent, owner := theAgent().key, theOwner().key
	watcher, stranger, writer := s.dial(theOwner()), s.dial(theStranger()), s.dial()
	mine := engramsFor(theOwner())
	mine["limit"] = 0
	s.ask("REQ", "live", mine)
	if a, err := watcher.Subscribe("live", mine); err != nil || !a.EOSE {
		s.Fatalf("REQ: %v", err)
	}
	open := relaytest.Filter{"kinds": []int{1}, "limit": 0}
	if a, err := stranger.Subscribe("open", open); err != nil || !a.EOSE {
		s.Fatalf("REQ: %v", err)
	}
	ev := relaytest.Memory(agent, owner.Pub, "mem/today", "the demo was here", time.Now().Unix())
	marker := relaytest.Note(agent, time.Now().Unix(), "a public note, written after it")
	s.publish(writer, "mem/today, by the agent, over a connection that proved nothing: the signature is proof enough", ev)
	s.publish(writer, "a public note", marker)
	got, err := watcher.Live("live")
	if err != nil {
		s.Fatalf("live: %v", err)
	}
	s.answer(`to the owner: ["EVENT","live",%s]`, got)
	body, err := relaytest.Open(owner, agent.Pub, got.Content)
	s.check(got.ID == ev.ID && err == nil, "the owner sees it at once and reads: %s", body)
	got, err = stranger.Live("open")
	if err != nil {
		s.Fatalf("live: %v", err)
	}
	s.answer(`to the stranger: ["EVENT","open",%s]`, got)
	s.check(got.ID == marker.ID && len(stranger.Waiting()) == 0, "the stranger sees the note and learns of nothing else")
	for _, c := range []*relaytest.Client{watcher, stranger, writer} {
		c.Close()
	}
}

func refusals(s *stage) {
	s.chapter("What is refused, and what is said")
	agent, owner := theAgent().key, theOwner().key
	c := s.dial()
	at := time.Now().Unix()
	for _, one := range []struct {
		what, prefix string
		ev           *nostr.Event
	}{
		{"an engram with two owners", "invalid: ", relaytest.Memory(agent, owner.Pub, "core", "x", at, nostr.Tag{"p", agent.Pub})},
		{"an engram that is not encrypted", "invalid: ", relaytest.Sign(agent, relaytest.KindEngram, at, `{"slug":"core"}`,
			nostr.Tag{"d", relaytest.Address(agent, owner.Pub, "core")}, nostr.Tag{"p", owner.Pub})},
		{"an engram whose d tag is its slug in plain text", "invalid: ", relaytest.Sign(agent, relaytest.KindEngram, at,
			relaytest.Seal(agent, owner.Pub, "x"), nostr.Tag{"d", "mem/secret-project"}, nostr.Tag{"p", owner.Pub})},
		{"a note that expired an hour ago", "invalid: ", relaytest.Note(agent, at-7200, "old news", nostr.Tag{"expiration", fmt.Sprint(at - 3600)})},
		{"a note from next year", "", relaytest.Note(agent, at+365*86400, "not yet")},
		{"a protected note by somebody else", "", relaytest.Note(agent, at, "mine to publish", nostr.Tag{"-"})},
	} {
		ok := s.publish(c, one.what, one.ev)
		s.check(!ok.True && ok.Message != "" && strings.HasPrefix(ok.Message, one.prefix), "refused, with a reason")
	}
	forged := relaytest.Note(agent, at, "signed")
	forged.Content = "changed afterwards"
	ok := s.publish(c, "a note that was changed after signing", forged)
	s.check(!ok.True && strings.HasPrefix(ok.Message, "invalid: "), "refused")
	a := s.req(c, relaytest.Filter{"kinds": []int{1}, "author": []string{agent.Pub}})
	s.check(strings.HasPrefix(a.Closed, "invalid: ") && strings.Contains(a.Closed, "author"), "a misspelt filter key is named, not ignored")
	elsewhere := relaytest.AuthEvent(owner, "wss://relay.example.com", c.Challenge, at)
	s.say("→ [\"AUTH\",{signed by <owner> for wss://relay.example.com}]")
	ok, err := c.AuthWith(elsewhere)
	if err != nil {
		s.Fatalf("AUTH: %v", err)
	}
	s.answer(`["OK","%s",%v,%q]`, elsewhere.ID, ok.True, ok.Message)
	s.check(!ok.True && strings.HasPrefix(ok.Message, "invalid: "), "a proof made for another relay proves nothing here")
	c.Close()
}

func restart(s *stage) {
	s.chapter("The relay is stopped, checked, and started again")
	before := s.relay.Run(nil, "export", "--history", "--data", s.relay.Data)
	code, took := s.relay.Stop()
	s.say("SIGTERM: exit code %d after %v", code, took.Round(time.Millisecond))
	s.check(code == 0 && took < time.Minute, "a graceful end")
	s.say("$ engramd check --data DIR")
	r := s.relay.Run(nil, "check", "--data", s.relay.Data)
	for line := range strings.Lines(strings.TrimSpace(string(r.Stdout))) {
		s.answer("%s", strings.TrimSpace(line))
	}
	s.check(r.Code == 0, "the database is whole")
	s.relay = relaytest.Start(s, relaytest.Options{Data: s.relay.Data})
	after := s.relay.Run(nil, "export", "--history", "--data", s.relay.Data)
	s.check(len(before.Stdout) > 0 && string(before.Stdout) == string(after.Stdout), "all %d events are there, byte for byte", strings.Count(string(after.Stdout), "\n"))
	code, _ = s.relay.Stop()
	s.check(code == 0, "and it ends again with 0")
}
