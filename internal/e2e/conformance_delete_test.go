package e2e

import (
	"testing"

	"engramd/internal/e2e/relaytest"
)

func conformDeleteByID(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(351)
	c := dial(t, relay)
	base := now() - 3600
	gone, also, stays := relaytest.Note(k, base, "gone"), relaytest.Note(k, base+1, "also"), relaytest.Note(k, base+2, "stays")
	c.store(gone, also, stays)
	del := relaytest.Deletion(k, base+3, tag("e", gone.ID), tag("e", also.ID), tag("k", "1"))
	c.store(del)
	wantIDs(t, "deleted by id", c.query(byID(gone, also, stays)).IDs(), ids(stays))
	wantIDs(t, "the request itself is stored", c.query(byID(del)).IDs(), ids(del))
	wantDeleted(t, c, "a deleted event again", gone)
	wantDeleted(t, c, "the other one again", also)

	early := relaytest.Note(k, base+4, "its deletion came first")
	c.store(relaytest.Deletion(k, base+5, tag("e", early.ID)))
	wantDeleted(t, c, "an event whose deletion came before it", early)

	c.store(relaytest.Deletion(k, base+6, tag("e", del.ID), tag("k", "5")))
	wantIDs(t, "a deletion cannot be deleted", c.query(byID(del)).IDs(), ids(del))
	wantDeleted(t, c, "after a deletion of the deletion", gone)

	// An id deletes an addressable event too, and what it replaced stays gone.
	old := relaytest.Sign(k, 30023, base, "old", tag("d", "by-id"))
	head := relaytest.Sign(k, 30023, base+10, "head", tag("d", "by-id"))
	c.store(old, head, relaytest.Deletion(k, base+11, tag("e", head.ID), tag("k", "30023")))
	wantIDs(t, "neither head nor what it replaced", c.query(byID(old, head)).IDs(), nil)
	c.store(relaytest.Sign(k, 30023, base+12, "written again", tag("d", "by-id")))
}

func conformDeleteByAddress(t *testing.T, relay *relaytest.Child) {
	k, other := relaytest.NewKey(361), relaytest.NewKey(362)
	c := dial(t, relay)
	base := now() - 3600
	at := func(d string) string { return relaytest.Coordinate(30023, k.Pub, d) }

	article := relaytest.Sign(k, 30023, base, "", tag("d", "article"))
	c.store(article)
	c.store(relaytest.Deletion(k, base+1, tag("a", at("article")), tag("k", "30023")))
	wantIDs(t, "deleted by address", c.query(byID(article)).IDs(), nil)
	wantDeleted(t, c, "the deleted version again", article)
	wantDeleted(t, c, "an older version never seen", relaytest.Sign(k, 30023, base-100, "older", tag("d", "article")))
	wantDeleted(t, c, "a version of the request's own second", relaytest.Sign(k, 30023, base+1, "same second", tag("d", "article")))
	revived := relaytest.Sign(k, 30023, base+2, "a later write revives it", tag("d", "article"))
	c.store(revived)
	wantIDs(t, "revived", c.query(byID(revived)).IDs(), ids(revived))

	newer := relaytest.Sign(k, 30023, base+50, "newer than the request", tag("d", "only-older"))
	c.store(relaytest.Sign(k, 30023, base, "older than the request", tag("d", "only-older")), newer)
	c.store(relaytest.Deletion(k, base+25, tag("a", at("only-older"))))
	wantIDs(t, "a newer head is left alone", c.query(relaytest.Filter{"kinds": []int{30023}, "authors": []string{k.Pub}, "#d": []string{"only-older"}}).IDs(), ids(newer))

	target := relaytest.Sign(k, 30023, base, "", tag("d", "bound"))
	author := relaytest.Sign(other, 30023, base, "", tag("d", "bound"))
	d := relaytest.Sign(k, 30023, base, "", tag("d", "bound-x"))
	kind := relaytest.Sign(k, 30024, base, "", tag("d", "bound"))
	c.store(target, author, d, kind)
	c.store(relaytest.Deletion(k, base+1, tag("a", at("bound"))))
	for what, ev := range map[string]*event{"author": (*event)(author), "d": (*event)(d), "kind": (*event)(kind)} {
		wantIDs(t, "another "+what+" is another address", c.query(byID(ev.nostr())).IDs(), ids(ev.nostr()))
	}
	wantIDs(t, "the address that was named", c.query(byID(target)).IDs(), nil)

	profile := relaytest.Sign(k, 10002, base, "")
	c.store(profile)
	c.store(relaytest.Deletion(k, base+1, tag("a", relaytest.Coordinate(10002, k.Pub, ""))))
	wantIDs(t, "a replaceable event by its address", c.query(byID(profile)).IDs(), nil)

	colon := relaytest.Sign(k, 30023, base, "", tag("d", "a:b:c"))
	c.store(colon)
	c.store(relaytest.Deletion(k, base+1, tag("a", at("a:b:c"))))
	wantIDs(t, "a d with colons", c.query(byID(colon)).IDs(), nil)
}

func conformDeleteByOthers(t *testing.T, relay *relaytest.Child) {
	k, other := relaytest.NewKey(371), relaytest.NewKey(372)
	c := dial(t, relay)
	base := now() - 3600
	note := relaytest.Note(k, base, "mine")
	article := relaytest.Sign(k, 30023, base, "mine", tag("d", "mine"))
	c.store(note, article)
	missing := relaytest.Note(k, base+1, "not published yet")

	// The answer is the same whether or not the target exists.
	there := c.publish(relaytest.Deletion(other, base+2, tag("e", note.ID)))
	absent := c.publish(relaytest.Deletion(other, base+3, tag("e", missing.ID)))
	if there.True != absent.True || there.Message != absent.Message {
		t.Errorf("deleting somebody's event: OK %v %q when it exists, %v %q when not", there.True, there.Message, absent.True, absent.Message)
	}
	c.publish(relaytest.Deletion(other, base+4, tag("a", relaytest.Coordinate(30023, k.Pub, "mine"))))
	wantIDs(t, "others cannot delete", c.query(byID(note, article)).IDs(), newestFirst(note, article))
	c.store(missing)
	c.store(relaytest.Sign(k, 30023, base+1, "nor block an address", tag("d", "mine")))
}
