package events_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// heavy stores n notes of Alice's, of 1,000 index rows each, and returns a
// request that deletes them.
func heavy(t *testing.T, s *sqlite.Store, n int) (all []*nostr.Event, request *nostr.Event) {
	t.Helper()
	var ids []string
	for i := range int64(n) {
		ev := tagged(alice, i, 1000)
		put(t, s, ev, store.Stored)
		all, ids = append(all, ev), append(ids, ev.ID)
	}
	return all, alice.Delete(1000, ids...)
}

// A deletion of much more than itself goes in pieces: others write in between,
// and the answer comes after the last.
func TestALargeDeletionLetsOthersWrite(t *testing.T) {
	s := storetest.MustOpen(t)
	all, request := heavy(t, s, 12)
	release := events.HoldWriter(s)
	deletion, err := s.Begin(client(t, "192.0.2.1", 1), request, store.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := s.Begin(client(t, "192.0.2.2", 2), bob.Note(0, "other"), store.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	release()
	if r := other.Wait(); r.Outcome != store.Stored {
		t.Errorf("the other: %+v", r)
	}
	if r := deletion.Wait(); r.Outcome != store.Stored {
		t.Errorf("the deletion: %+v", r)
	}
	if n, left := rows(t, s, "events"), rows(t, s, "tags WHERE name = 't'"); n != 2 || left != 0 {
		t.Errorf("%d events and %d tags are left, want the request and the other's", n, left)
	}
	if n := rows(t, s, "meta WHERE key LIKE 'deletion:%%'"); n != 0 {
		t.Error("the request is not marked as done")
	}
	for _, ev := range all {
		put(t, s, ev, store.Deleted)
	}
	wantWhole(t, s)
}

// absent is a request of Alice's that names n ids and as many addresses that are
// not here, and at its end an event that is.
func absent(n int, here *nostr.Event) *nostr.Event {
	var tags nostr.Tags
	for i := range n {
		tags = append(tags, nostr.Tag{"e", fmt.Sprintf("%064x", i)}, nostr.Tag{"a", fmt.Sprintf("30023:%s:%d", alice.Pub, i)})
	}
	return alice.Sign(5, 1000, "", append(tags, nostr.Tag{"e", here.ID})...)
}

// A deletion of many that are not here goes in pieces too: nobody waits for the
// whole of it. What is here goes with the first piece, with which the request
// comes, and nothing of it all is let in from then on.
func TestALongDeletionLetsOthersWrite(t *testing.T) {
	var s *sqlite.Store
	here, other := alice.Note(1, "here"), bob.Note(0, "other")
	named, anew := alice.Sign(30023, 999, "named", nostr.Tag{"d", "999"}), alice.Sign(30023, 1001, "anew", nostr.Tag{"d", "998"})
	request := absent(1000, here)
	barred := map[string]int{} // rows that there are when an event has been stored
	var came []store.Pending
	s = storetest.MustOpen(t, func(o *sqlite.Options) {
		o.OnCommit = func(batch []store.Committed) {
			for _, c := range batch {
				barred[c.Event.ID] = rows(t, s, "deleted_ids") + rows(t, s, "deleted_addresses")
				if c.Event.ID != request.ID {
					continue
				}
				if isHead(t, s, here) {
					t.Error("the request is there, and what it deletes")
				}
				for i, ev := range []*nostr.Event{other, named, anew} {
					p, err := s.Begin(client(t, "192.0.2.2", uint64(i)), ev, store.PutOptions{})
					if err != nil {
						t.Error(err)
						return
					}
					came = append(came, p)
				}
			}
		}
	})
	put(t, s, here, store.Stored)
	put(t, s, request, store.Stored)
	for i, want := range []store.Outcome{store.Stored, store.Deleted, store.Stored} {
		if r := came[i].Wait(); r.Outcome != want {
			t.Errorf("number %d: %+v", i, r)
		}
	}
	if first, after := barred[request.ID], barred[other.ID]; first > 600 || after > 1200 {
		t.Errorf("%d rows are written with the request, and %d before another's write", first, after)
	}
	if ids, addresses := rows(t, s, "deleted_ids"), rows(t, s, "deleted_addresses"); ids != 1001 || addresses != 1000 {
		t.Errorf("%d ids and %d addresses are barred", ids, addresses)
	}
	wantWhole(t, s)
}

// One that fails on its way keeps out what it names until it is done.
func TestALongDeletionThatFailsKeepsOut(t *testing.T) {
	o := storetest.Options(t)
	here, named := alice.Note(1, "here"), alice.Sign(30023, 999, "named", nostr.Tag{"d", "999"})
	request := absent(1000, here)
	var s *sqlite.Store
	var allow func()
	o.OnCommit = func(batch []store.Committed) {
		if batch[0].Event.ID == request.ID {
			allow = events.BreakCommits(s)
		}
	}
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, here, store.Stored)
	if r := s.Put(t.Context(), request, store.PutOptions{}); r.Outcome != store.Failed {
		t.Fatalf("%+v", r)
	}
	allow()
	put(t, s, bob.Note(2, "other"), store.Stored)
	put(t, s, named, store.Deleted)
	put(t, s, here, store.Deleted)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = sqlite.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if ids, addresses := rows(t, s, "deleted_ids"), rows(t, s, "deleted_addresses"); ids != 1001 || addresses != 1000 {
		t.Errorf("%d ids and %d addresses are barred", ids, addresses)
	}
	wantWhole(t, s)
}

// Its rows are written at the next open if the process ends before.
func TestALongDeletionIsFinishedAtTheNextOpen(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	here := alice.Note(1, "here")
	put(t, s, here, store.Stored)
	s = cutShort(t, s, o, absent(1000, here))
	defer s.Close()
	if ids, addresses := rows(t, s, "deleted_ids"), rows(t, s, "deleted_addresses"); ids != 1001 || addresses != 1000 {
		t.Errorf("%d ids and %d addresses are barred", ids, addresses)
	}
	put(t, s, here, store.Deleted)
	wantWhole(t, s)
}

// What a large deletion takes back before it came is withdrawn by that request,
// also where its address was barred ahead of time.
func TestALargeDeletionIsNamedByWhatItTakesBack(t *testing.T) {
	moves, said := dispute(t, storetest.MustOpen(t))
	s := storetest.MustOpen(t)
	_, ids := heavy(t, s, 12)
	request := alice.Sign(5, 1000, "", append(ids.Tags, nostr.Tag{"a", storetest.Address(said[0])})...)
	put(t, s, request, store.Stored)
	for _, ev := range slices.Concat(moves, said) {
		if r := s.Put(t.Context(), ev, store.PutOptions{Import: true}); !r.Outcome.OK() {
			t.Fatalf("kind %d: %+v", ev.Kind, r)
		}
	}
	page, _, err := s.ThreadPage(t.Context(), store.Thread{Contract: "c", Poster: alice.Pub, Worker: bob.Pub, Party: true, Whole: true}, 9, 0, 1<<20)
	if err != nil || len(page) != 3 || page[0].Withdrawn == 0 || fmt.Sprintf("%x", page[0].Request) != request.ID {
		t.Errorf("the thread is %+v (%v), want its first entry withdrawn by %s", page, err, request.ID)
	}
	wantWhole(t, s)
}

// One that is cut short by the end of the process is finished before the store
// is open again, and so is one that has not looked at all its targets: nothing
// of them comes back in between.
func TestDeletionIsFinishedAtTheNextOpen(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	all, request := heavy(t, s, 12)
	put(t, s, bob.Note(0, "stays"), store.Stored)
	s = cutShort(t, s, o, request)
	defer s.Close()
	if n := rows(t, s, "events"); n != 2 || !isHead(t, s, request) {
		t.Errorf("%d events, want Bob's and the request", n)
	}
	for _, ev := range all {
		put(t, s, ev, store.Deleted)
	}
	put(t, s, request, store.Duplicate)
	wantWhole(t, s)
}

// Small requests that remove much do not all share a transaction while others
// wait.
func TestRemovalsEndATransaction(t *testing.T) {
	var seen order
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.OnCommit, o.MaxBatch, o.MaxQueue = seen.committed, 16, 500 })
	all, _ := heavy(t, s, 12)
	seen.batches, seen.ids = nil, nil
	release := events.HoldWriter(s)
	var pending []store.Pending
	begin := func(address string, conn uint64, ev *nostr.Event) {
		p, err := s.Begin(client(t, address, conn), ev, store.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pending = append(pending, p)
	}
	deletions := map[string]bool{}
	for i, ev := range all {
		d := alice.Delete(1000+int64(i), ev.ID)
		deletions[d.ID] = true
		begin("192.0.2.1", 1, d)
	}
	var sent []string
	for i := range int64(100) {
		ev := bob.Note(i, "x")
		sent = append(sent, ev.ID)
		begin("192.0.2.2", 2, ev)
	}
	release()
	for _, p := range pending {
		if r := p.Wait(); r.Outcome != store.Stored {
			t.Fatalf("%+v", r)
		}
	}
	var got []string
	at := 0
	for _, n := range seen.batches {
		removals := 0
		for _, id := range seen.ids[at : at+n] {
			if deletions[id] {
				removals++
			} else {
				got = append(got, id)
			}
		}
		if at += n; removals > 4 {
			t.Errorf("%d removals of 100 kB and more share a transaction", removals)
		}
	}
	for i := range sent {
		if got[i] != sent[i] {
			t.Fatalf("number %d of a connection is not stored in its order", i)
		}
	}
	wantWhole(t, s)
}

// BenchmarkDeletionOfMany stores requests of 1,000 ids and 1,000 addresses that
// are not here: what they may cost while others wait.
func BenchmarkDeletionOfMany(b *testing.B) {
	s := storetest.MustOpen(b)
	for i := range b.N {
		b.StopTimer()
		tags := make(nostr.Tags, 2000)
		for j := range tags {
			tags[j] = nostr.Tag{"e", fmt.Sprintf("%064x", i*5000+j)}
			if j%2 == 1 {
				tags[j] = nostr.Tag{"a", fmt.Sprintf("30023:%s:%d", alice.Pub, i*5000+j)}
			}
		}
		ev := alice.Sign(5, int64(i), "", tags...)
		b.StartTimer()
		if r := s.Put(b.Context(), ev, store.PutOptions{}); r.Outcome != store.Stored {
			b.Fatal(r)
		}
	}
}
