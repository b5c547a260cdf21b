package main

import (
	"bytes"
	"slices"
	"strings"

	"engramd/internal/e2e/relaytest"

	"github.com/nbd-wtf/go-nostr"
)

// engramsOf asks for the engrams of one author.
func engramsOf(r role) relaytest.Filter {
	return relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{r.key.Pub}}
}

// engramsFor asks for the engrams of which one key is the owner.
func engramsFor(r role) relaytest.Filter {
	return relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "#p": []string{r.key.Pub}}
}

func load(s *stage) {
	s.chapter("The operator imports a backup into the running relay")
	vectors, err := relaytest.Vectors()
	if err != nil {
		s.Fatalf("%v", err)
	}
	s.memory = generate(vectors)
	text, err := s.memory.jsonl()
	if err != nil {
		s.Fatalf("encode: %v", err)
	}
	s.say("$ engramd import --data DIR -     # %d signed events: the NIP-AE vectors, engrams, contract memory, notes", len(s.memory.events))
	r := s.relay.Run(text, "import", "--data", s.relay.Data, "-")
	if said := strings.TrimSpace(string(r.Stdout) + r.Stderr); said != "" {
		lines := strings.Split(said, "\n")
		s.answer("%s", lines[len(lines)-1])
	}
	s.check(r.Code == 0, "every line was taken")
	s.say("$ engramd export --data DIR")
	heads := s.relay.Run(nil, "export", "--data", s.relay.Data)
	n := bytes.Count(heads.Stdout, []byte(`"kind":30174`))
	s.answer("%d events, %d of them engrams", bytes.Count(heads.Stdout, []byte("\n")), n)
	s.check(n == s.memory.heads, "one head for each record: %d", s.memory.heads)
	all := s.relay.Run(nil, "export", "--history", "--data", s.relay.Data)
	lines := bytes.Count(all.Stdout, []byte("\n"))
	s.check(lines == len(s.memory.events), "with --history all %d events are there: superseded versions are kept", len(s.memory.events))
}

func asNobody(s *stage) {
	s.chapter("Nobody: a client that has proved nothing")
	c := s.dial()
	s.refusedWith(s.req(c, engramsOf(theAgent())), "auth-required: ")
	_, closed := s.count(c, relaytest.Filter{"kinds": []int{relaytest.KindEngram}})
	s.check(strings.HasPrefix(closed, "auth-required: "), "a number would betray them too: refused")
	s.refusedWith(s.req(c, relaytest.Filter{"limit": 10}), "auth-required: ")
	a := s.req(c, relaytest.Filter{"kinds": []int{1}, "#t": []string{"demo"}, "limit": 2})
	s.check(len(a.Events) == 2 && a.Events[0].CreatedAt > a.Events[1].CreatedAt, "notes are for everybody, newest first")
	s.check(slices.Contains(a.Hints, "more"), "and EOSE says that the limit has cut the answer (NIP-67)")
	a = s.req(c, relaytest.Filter{"kinds": []int{1}, "search": "weather Brno", "limit": 3})
	s.check(len(a.Events) == 3, "full-text search finds notes (NIP-50)")
	a = s.req(c, relaytest.Filter{"authors": []string{theAgent().key.Pub}})
	s.refusedWith(a, "auth-required: ")
	a = s.req(c, relaytest.Filter{"ids": []string{s.memory.vectors[3].Event.ID}})
	s.check(len(a.Events) == 1, "who was given the full id of an engram may fetch it: it is encrypted, and the id cannot be guessed")
	c.Close()
}

func asStranger(s *stage) {
	s.chapter("A stranger: a key that is no party to any of it")
	c := s.dial(theStranger())
	s.refusedWith(s.req(c, engramsOf(theAgent())), "restricted: ")
	s.refusedWith(s.req(c, engramsFor(theOwner())), "restricted: ")
	a := s.req(c, engramsFor(theStranger()))
	s.check(a.EOSE && len(a.Events) == 0, "asking for one's own is allowed; there is nothing")
	there := s.publish(c, "delete an engram that exists", relaytest.Deletion(theStranger().key, s.memory.base,
		nostr.Tag{"e", s.memory.vectors[3].Event.ID}, nostr.Tag{"k", "30174"}))
	absent := s.publish(c, "delete an engram that does not", relaytest.Deletion(theStranger().key, s.memory.base+1,
		nostr.Tag{"e", strings.Repeat("ab", 32)}, nostr.Tag{"k", "30174"}))
	s.check(there.True == absent.True && there.Message == absent.Message, "both get the same answer: it does not tell which exists")
	a = s.req(c, relaytest.Filter{"ids": []string{s.memory.vectors[3].Event.ID}})
	s.check(len(a.Events) == 1, "and nothing was deleted")
	c.Close()
}

func asAgent(s *stage) {
	s.chapter("The agent: reads and writes its own memory")
	agent, owner := theAgent().key, theOwner().key.Pub
	c := s.dial(theAgent())
	a := s.req(c, engramsOf(theAgent()))
	s.check(len(a.Events) == 3, "three records: core, a note, and the tombstone of mem/example")
	core := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{agent.Pub}, "#p": []string{owner},
		"#d": []string{relaytest.Address(agent, owner, "core")}}
	a = s.req(c, core)
	if len(a.Events) == 1 {
		body, err := relaytest.Open(agent, owner, a.Events[0].Content)
		s.say("decrypted: %s", body)
		s.check(err == nil && body == s.memory.vectors[3].Body, "the body is the one of the published vector, byte for byte")
	}
	s.check(len(a.Events) == 1, "one head at the address of the slug core")

	next := relaytest.Memory(agent, owner, "core", "test agent, second version. see [[mem/example]]", s.memory.base)
	ok := s.publish(c, "a new version of core", next)
	s.check(ok.True && ok.Message == "", "stored: it is on disk before the OK")
	ok = s.publish(c, "the same again", next)
	s.check(ok.True && strings.HasPrefix(ok.Message, "duplicate: "), "a duplicate is no error")
	a = s.req(c, core)
	s.check(len(a.Events) == 1 && a.Events[0].ID == next.ID, "the head is the new version, and there is one")
	n, _ := s.count(c, engramsOf(theAgent()))
	s.check(n == 3, "COUNT counts what REQ returns")
	late := relaytest.Memory(agent, owner, "core", "an older version that arrives late", s.memory.base-1)
	s.publish(c, "an older version that arrives late", late)
	a = s.req(c, core)
	s.check(len(a.Events) == 1 && a.Events[0].ID == next.ID, "an older version never becomes head")
	c.Close()
}

func asOwner(s *stage) {
	s.chapter("The owner: reads all that its agents remember, with its own key")
	owner := theOwner().key
	c := s.dial(theOwner())
	filter := engramsFor(theOwner())
	filter["limit"] = 5000
	a := s.req(c, filter)
	s.check(len(a.Events) == 3+secondMemories, "all of both agents, heads only: %d", 3+secondMemories)
	readable := 0
	for _, ev := range a.Events {
		if _, err := relaytest.Open(owner, ev.PubKey, ev.Content); err == nil {
			readable++
		}
	}
	s.check(readable == len(a.Events), "and the owner's key decrypts every one")
	n, _ := s.count(c, engramsFor(theOwner()))
	s.check(n == 3+secondMemories, "COUNT agrees")
	filter = engramsFor(theOwner())
	filter["authors"] = []string{theSecond().key.Pub}
	filter["limit"] = 2
	a = s.req(c, filter)
	s.check(len(a.Events) == 2, "one agent's, the two newest")
	s.refusedWith(s.req(c, engramsFor(otherOwner())), "restricted: ")
	a = s.req(c, relaytest.Filter{"#p": []string{owner.Pub}, "limit": 1})
	s.check(len(a.Events) == 1, "a filter without kinds that asks for one's own is served")
	c.Close()
}
