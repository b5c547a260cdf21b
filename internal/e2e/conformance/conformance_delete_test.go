package conformance

import (
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

func conformDeleteByID(t *testing.T, relay *relaytest.Child) {
	k := relaytest.NewKey(351)
	c := rig.Dial(t, relay)
	base := rig.Now() - 3600
	gone, also, stays := relaytest.Note(k, base, "gone"), relaytest.Note(k, base+1, "also"), relaytest.Note(k, base+2, "stays")
	c.Store(gone, also, stays)
	del := relaytest.Deletion(k, base+3, rig.Tag("e", gone.ID), rig.Tag("e", also.ID), rig.Tag("k", "1"))
	c.Store(del)
	rig.WantIDs(t, "deleted by id", c.MustQuery(rig.ByID(gone, also, stays)).IDs(), rig.IDs(stays))
	rig.WantIDs(t, "the request itself is stored", c.MustQuery(rig.ByID(del)).IDs(), rig.IDs(del))
	wantDeleted(t, c, "a deleted event again", gone)
	wantDeleted(t, c, "the other one again", also)

	early := relaytest.Note(k, base+4, "its deletion came first")
	c.Store(relaytest.Deletion(k, base+5, rig.Tag("e", early.ID)))
	wantDeleted(t, c, "an event whose deletion came before it", early)

	c.Store(relaytest.Deletion(k, base+6, rig.Tag("e", del.ID), rig.Tag("k", "5")))
	rig.WantIDs(t, "a deletion cannot be deleted", c.MustQuery(rig.ByID(del)).IDs(), rig.IDs(del))
	wantDeleted(t, c, "after a deletion of the deletion", gone)

	// A deletion by id also deletes an addressable event, and the version that it
	// replaced does not come back.
	old := relaytest.Sign(k, 30023, base, "old", rig.Tag("d", "by-id"))
	head := relaytest.Sign(k, 30023, base+10, "head", rig.Tag("d", "by-id"))
	c.Store(old, head, relaytest.Deletion(k, base+11, rig.Tag("e", head.ID), rig.Tag("k", "30023")))
	rig.WantIDs(t, "neither head nor what it replaced", c.MustQuery(rig.ByID(old, head)).IDs(), nil)
	c.Store(relaytest.Sign(k, 30023, base+12, "written again", rig.Tag("d", "by-id")))
}

func conformDeleteByAddress(t *testing.T, relay *relaytest.Child) {
	k, other := relaytest.NewKey(361), relaytest.NewKey(362)
	c := rig.Dial(t, relay)
	base := rig.Now() - 3600
	at := func(d string) string { return relaytest.Coordinate(30023, k.Pub, d) }

	article := relaytest.Sign(k, 30023, base, "", rig.Tag("d", "article"))
	c.Store(article)
	c.Store(relaytest.Deletion(k, base+1, rig.Tag("a", at("article")), rig.Tag("k", "30023")))
	rig.WantIDs(t, "deleted by address", c.MustQuery(rig.ByID(article)).IDs(), nil)
	wantDeleted(t, c, "the deleted version again", article)
	wantDeleted(t, c, "an older version never seen", relaytest.Sign(k, 30023, base-100, "older", rig.Tag("d", "article")))
	wantDeleted(t, c, "a version of the request's own second", relaytest.Sign(k, 30023, base+1, "same second", rig.Tag("d", "article")))
	revived := relaytest.Sign(k, 30023, base+2, "a later write revives it", rig.Tag("d", "article"))
	c.Store(revived)
	rig.WantIDs(t, "revived", c.MustQuery(rig.ByID(revived)).IDs(), rig.IDs(revived))

	newer := relaytest.Sign(k, 30023, base+50, "newer than the request", rig.Tag("d", "only-older"))
	c.Store(relaytest.Sign(k, 30023, base, "older than the request", rig.Tag("d", "only-older")), newer)
	c.Store(relaytest.Deletion(k, base+25, rig.Tag("a", at("only-older"))))
	rig.WantIDs(t, "a newer head is left alone", c.MustQuery(relaytest.Filter{"kinds": []int{30023}, "authors": []string{k.Pub}, "#d": []string{"only-older"}}).IDs(), rig.IDs(newer))

	target := relaytest.Sign(k, 30023, base, "", rig.Tag("d", "bound"))
	author := relaytest.Sign(other, 30023, base, "", rig.Tag("d", "bound"))
	d := relaytest.Sign(k, 30023, base, "", rig.Tag("d", "bound-x"))
	kind := relaytest.Sign(k, 30024, base, "", rig.Tag("d", "bound"))
	c.Store(target, author, d, kind)
	c.Store(relaytest.Deletion(k, base+1, rig.Tag("a", at("bound"))))
	for what, ev := range map[string]*rig.Event{"author": (*rig.Event)(author), "d": (*rig.Event)(d), "kind": (*rig.Event)(kind)} {
		rig.WantIDs(t, "another "+what+" is another address", c.MustQuery(rig.ByID(ev.Nostr())).IDs(), rig.IDs(ev.Nostr()))
	}
	rig.WantIDs(t, "the address that was named", c.MustQuery(rig.ByID(target)).IDs(), nil)

	profile := relaytest.Sign(k, 10002, base, "")
	c.Store(profile)
	c.Store(relaytest.Deletion(k, base+1, rig.Tag("a", relaytest.Coordinate(10002, k.Pub, ""))))
	rig.WantIDs(t, "a replaceable event by its address", c.MustQuery(rig.ByID(profile)).IDs(), nil)

	colon := relaytest.Sign(k, 30023, base, "", rig.Tag("d", "a:b:c"))
	c.Store(colon)
	c.Store(relaytest.Deletion(k, base+1, rig.Tag("a", at("a:b:c"))))
	rig.WantIDs(t, "a d with colons", c.MustQuery(rig.ByID(colon)).IDs(), nil)
}

func conformDeleteByOthers(t *testing.T, relay *relaytest.Child) {
	k, other := relaytest.NewKey(371), relaytest.NewKey(372)
	c := rig.Dial(t, relay)
	base := rig.Now() - 3600
	note := relaytest.Note(k, base, "mine")
	article := relaytest.Sign(k, 30023, base, "mine", rig.Tag("d", "mine"))
	c.Store(note, article)
	missing := relaytest.Note(k, base+1, "not published yet")

	// The answer is the same whether or not the target exists.
	there := c.MustPublish(relaytest.Deletion(other, base+2, rig.Tag("e", note.ID)))
	absent := c.MustPublish(relaytest.Deletion(other, base+3, rig.Tag("e", missing.ID)))
	if there.True != absent.True || there.Message != absent.Message {
		t.Errorf("deleting somebody's event: OK %v %q when it exists, %v %q when not", there.True, there.Message, absent.True, absent.Message)
	}
	c.MustPublish(relaytest.Deletion(other, base+4, rig.Tag("a", relaytest.Coordinate(30023, k.Pub, "mine"))))
	rig.WantIDs(t, "others cannot delete", c.MustQuery(rig.ByID(note, article)).IDs(), rig.NewestFirst(note, article))
	c.Store(missing)
	c.Store(relaytest.Sign(k, 30023, base+1, "nor block an address", rig.Tag("d", "mine")))
}
