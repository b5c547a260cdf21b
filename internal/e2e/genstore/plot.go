package main

import (
	"fmt"

	"engramd/internal/e2e/relaytest"

	"github.com/nbd-wtf/go-nostr"
)

// start is when the story begins: long ago for every clock that will read it.
const start = 1_700_000_000

// story is what is published, in this order, and what must come of it.
type story struct {
	events []*nostr.Event
	want   relaytest.StoreExpectation
}

func (s *story) publish(evs ...*nostr.Event) { s.events = append(s.events, evs...) }

func (s *story) refused(message string, evs ...*nostr.Event) {
	for _, ev := range evs {
		s.want.Refused = append(s.want.Refused, relaytest.Attempt{Event: ev, Message: message})
	}
}

// plot writes a story with something of everything that the database keeps.
func plot() story {
	var s story
	s.want.Search = map[string]int{"almanac": 20, "quinine": 1, "nowhere": 0}
	memories(&s)
	ordinary(&s)
	deletions(&s)
	contracts(&s)
	return s
}

// memories: two agents of one owner, with superseded versions and tombstones.
func memories(s *story) {
	owner := relaytest.Owner().Pub
	for n, agent := range []relaytest.Key{relaytest.Agent(), relaytest.NewKey(3)} {
		at := int64(start + n*10_000)
		for version := range int64(4) {
			s.publish(relaytest.Memory(agent, owner, "core", fmt.Sprintf("profile %d", version), at+version))
		}
		for i := range int64(30) {
			s.publish(relaytest.Memory(agent, owner, fmt.Sprintf("mem/topic/%d", i), "first", at+100+i))
		}
		for i := range int64(10) {
			s.publish(relaytest.Memory(agent, owner, fmt.Sprintf("mem/topic/%d", i), "second", at+200+i))
		}
		for i := range int64(3) {
			s.publish(relaytest.Engram(agent, owner, fmt.Sprintf("mem/topic/%d", i), nil, at+300+i))
		}
		s.want.Accepted = append(s.want.Accepted, relaytest.Memory(agent, owner, "core", "written by a later version", at+400))
	}
}

// ordinary: what any client stores, with tags of every form and an expiry.
func ordinary(s *story) {
	k, other := relaytest.NewKey(10), relaytest.NewKey(11)
	for i := range int64(20) {
		s.publish(relaytest.Note(k, start+i, fmt.Sprintf("almanac entry %d", i), nostr.Tag{"t", fmt.Sprint("topic", i%4)}, nostr.Tag{"p", other.Pub}, nostr.Tag{"r", "https://example.com/ž"}))
	}
	s.publish(
		relaytest.Sign(k, 0, start, `{"name":"first"}`), relaytest.Sign(k, 0, start+1, `{"name":"second"}`),
		relaytest.Sign(k, 10002, start, "", nostr.Tag{"r", "wss://relay.example.com"}),
		relaytest.Sign(k, 30023, start, "an article about quinine", nostr.Tag{"d", "article"}, nostr.Tag{"title", "Quinine"}),
		relaytest.Sign(k, 30023, start, "no d at all"),
		relaytest.Sign(k, 30023, start, "d of 64 hex digits", nostr.Tag{"d", other.Pub}),
		relaytest.Note(k, start+50, "kept until the year 2100", nostr.Tag{"expiration", "4102444800"}),
		relaytest.Sign(other, relaytest.KindWrap, start, relaytest.Seal(other, k.Pub, "wrapped"), nostr.Tag{"p", k.Pub}),
		relaytest.Sign(other, 4, start, relaytest.Seal(other, k.Pub, "direct"), nostr.Tag{"p", k.Pub}),
		relaytest.Sign(k, 40001, start, "kinds from 40000 on are regular"),
	)
	s.refused("duplicate: a newer version is stored", relaytest.Sign(k, 0, start, `{"name":"first"}`))
}

// deletions: by id, by address, of what never came, and a whole author's.
func deletions(s *story) {
	k, owner := relaytest.NewKey(12), relaytest.Owner().Pub
	const gone = "blocked: deleted by its author"
	note, early := relaytest.Note(k, start, "deleted by id"), relaytest.Note(k, start+1, "deleted before it came")
	article := relaytest.Sign(k, 30023, start, "deleted by address", nostr.Tag{"d", "gone"})
	engram := relaytest.Memory(k, owner, "mem/gone", "deleted by address", start)
	older := relaytest.Memory(k, owner, "mem/gone", "older, never published", start-100)
	s.publish(note, article, engram,
		relaytest.Deletion(k, start+10, nostr.Tag{"e", note.ID}, nostr.Tag{"e", early.ID}, nostr.Tag{"k", "1"}),
		relaytest.Deletion(k, start+11, nostr.Tag{"a", relaytest.Coordinate(30023, k.Pub, "gone")}, nostr.Tag{"k", "30023"}),
		relaytest.Deletion(k, start+12, nostr.Tag{"a", relaytest.Coordinate(relaytest.KindEngram, k.Pub, engram.Tags.GetD())}, nostr.Tag{"k", "30174"}),
	)
	s.refused(gone, note, early, article, engram, older)
	s.want.Accepted = append(s.want.Accepted, relaytest.Memory(k, owner, "mem/gone", "revived", start+100))

	v := relaytest.NewKey(13)
	before := relaytest.Note(v, start, "before vanishing")
	s.publish(before, relaytest.Memory(v, owner, "core", "before vanishing", start),
		relaytest.Sign(relaytest.NewKey(14), relaytest.KindWrap, start, relaytest.Seal(relaytest.NewKey(14), v.Pub, "wrapped"), nostr.Tag{"p", v.Pub}),
		relaytest.Sign(v, relaytest.KindVanish, start+50, "", nostr.Tag{"relay", "ALL_RELAYS"}))
	s.refused("blocked: ", before, relaytest.Note(v, start+50, "in the second of vanishing"))
	s.want.Accepted = append(s.want.Accepted, relaytest.Note(v, start+51, "after vanishing"))
}

// contracts: one in every place that matters of its life, with all entries.
func contracts(s *story) {
	poster, worker := relaytest.NewKey(20), relaytest.NewKey(21)
	move := func(by relaytest.Key, id, status, previous string, at int64) *nostr.Event {
		other := worker.Pub
		if by == worker {
			other = poster.Pub
		}
		return relaytest.State(by, other, id, status, previous, start+at)
	}
	for i := range int64(8) {
		s.publish(relaytest.Entry(poster, worker.Pub, "contract-done", "message", fmt.Sprintf("poster says %d", i), start+100+i))
	}
	s.publish(
		move(poster, "contract-done", "open", "", 0), move(worker, "contract-done", "accepted", "open", 10),
		relaytest.Entry(worker, poster.Pub, "contract-done", "deliverable", "the work", start+120),
		move(worker, "contract-done", "submitted", "accepted", 200), move(poster, "contract-done", "completed", "submitted", 300),
		move(poster, "contract-open", "open", "", 0),
		move(poster, "contract-accepted", "open", "", 0), move(worker, "contract-accepted", "accepted", "open", 10),
		relaytest.SealedEntry(poster, worker.Pub, "contract-accepted", "note", "sealed", start+20),
		relaytest.State(poster, poster.Pub, "contract-unassigned", "open", "", start),
	)
	s.refused("blocked: ", relaytest.Entry(poster, worker.Pub, "contract-done", "message", "after the end", start+400))
	s.refused("invalid: ", move(worker, "contract-open", "submitted", "accepted", 20), move(poster, "contract-accepted", "accepted", "open", 30))
	s.want.Accepted = append(s.want.Accepted,
		relaytest.Entry(worker, poster.Pub, "contract-done", "message", "written before the end, arrived late", start+299),
		move(worker, "contract-open", "accepted", "open", 20), move(worker, "contract-accepted", "submitted", "accepted", 30),
		move(worker, "contract-unassigned", "accepted", "open", 40))
}
