package replica

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/transfer"
	"engramd/internal/relay/store"
)

// noted is where the notes of a scene lead to.
func (s *scene) noted(what string) store.Place { return s.store.place["a source"+what] }

// begin has a scene whose source is read in pages, with so many notes a second
// apart, the oldest dated at 1000.
func pagedScene(t *testing.T, n int) *scene {
	s := newScene(t, nil)
	s.src.noSync, s.src.noPast = true, client.ErrNoHistory
	for i := range n {
		s.src.heads = append(s.src.heads, &nostr.Event{ID: fmt.Sprintf("%064x", i), Kind: 1, CreatedAt: nostr.Timestamp(1000 + i)})
	}
	return s
}

// TestPagesGoOn: after a pass that broke off the next one reads what was not read,
// and what was written since; the one after it reads everything.
func TestPagesGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 5*pagesAtOnce/2 + 10
		s := pagedScene(t, n)
		began := time.Now().Unix()
		s.src.breaks = 5 * pagesAtOnce / 2
		got, err := s.f.Once(t.Context())
		note := s.noted(notePages)
		if !errors.Is(err, errBroken) || got.Taken != int64(s.takenOf(1)) || note.Time != began || note.Number > 1000+n-2*pagesAtOnce || note.Number < 1000+n/5 {
			t.Fatalf("%d taken, %v, noted %+v", got.Taken, err, note)
		}
		time.Sleep(time.Hour)
		fresh := event(1, time.Now().Unix(), "fresh")
		s.src.heads, s.src.paged = append(s.src.heads, fresh), nil
		before := got.Taken
		if got, err = s.f.Once(t.Context()); err != nil || s.takenOf(1) != n+1 {
			t.Fatalf("%+v, %v: %d are here", got, err, s.takenOf(1))
		}
		if again := got.Taken + got.Known - before; again > n/2 {
			t.Errorf("%d events came when it went on", again)
		}
		// Requests first, which are always read anew.
		if q := s.src.paged[1]; q.Until != nil || int64(*q.Since) != began-clockSlack {
			t.Errorf("first %v, want what was written since", q)
		}
		if q := s.src.paged[2]; q.Since != nil || int64(*q.Until) != note.Number {
			t.Errorf("then %v, want what was not read", q)
		}
		if s.noted(notePages) != (store.Place{}) {
			t.Errorf("a pass that ended leaves %v", s.noted(notePages))
		}
		s.src.paged = nil
		if _, err = s.f.Once(t.Context()); err != nil || s.src.paged[1].Since != nil || s.src.paged[1].Until != nil {
			t.Errorf("%v; asked %v", err, s.src.paged)
		}
	})
}

// takenOf is how many heads of a kind are here.
func (s *scene) takenOf(kind int) (n int) {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	for _, ev := range s.store.ids {
		if ev.Kind == kind {
			n++
		}
	}
	return n
}

// TestNotesThatDoNotHold: one that is older than a day, or of a pass in which
// something was missing, leads nowhere.
func TestNotesThatDoNotHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := pagedScene(t, 2*pagesAtOnce)
		s.src.breaks = 3 * pagesAtOnce / 2
		if _, err := s.f.Once(t.Context()); err == nil || s.noted(notePages) == (store.Place{}) {
			t.Fatalf("%v, noted %v", err, s.store.place)
		}
		time.Sleep(noteLasts + time.Second)
		s.src.paged = nil
		if _, err := s.f.Once(t.Context()); err != nil || s.src.paged[1].Since != nil || s.src.paged[1].Until != nil {
			t.Errorf("%v; asked %v", err, s.src.paged)
		}
		s = pagedScene(t, 2*pagesAtOnce)
		s.src.short = true
		if got, err := s.f.Once(t.Context()); err != nil || !got.Incomplete || s.noted(notePages) != (store.Place{}) {
			t.Errorf("%+v, %v, noted %v", got, err, s.store.place)
		}
	})
}

// TestVersionsGoOn: superseded versions are read on behind the last one that a
// pass noted, and those that were superseded since, whatever their number.
func TestVersionsGoOn(t *testing.T) {
	s := newScene(t, nil)
	for i := range 3*noteEach + 10 {
		s.src.past = append(s.src.past, event(30174, int64(i), fmt.Sprint("v", i)))
	}
	s.src.at = transfer.PastAt{Number: int64(len(s.src.past)), Time: 5000}
	s.src.breaks = 2*noteEach + 5
	if _, err := s.f.Once(t.Context()); !errors.Is(err, errBroken) || s.noted(noteVersions) != (store.Place{Number: 2 * noteEach, Time: 5000}) {
		t.Fatalf("%v, noted %v", err, s.store.place)
	}
	s.src.asked, s.src.at.Time = nil, 6000
	if _, err := s.f.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, ev := range s.src.past {
		if !slices.Contains(s.store.taken(), ev.Content+" past") {
			t.Fatalf("%s did not come", ev.Content)
		}
	}
	if q := s.src.asked[2]; q.After != 2*noteEach || *q.Since != 0 {
		t.Errorf("it goes on with %+v", q)
	}
	if q := s.src.asked[3]; q.After != 0 || *q.Since != 5000-sinceSlack {
		t.Errorf("and then %+v", q)
	}
	if s.noted(noteVersions) != (store.Place{}) || s.store.place["a source"].Time != 6000 {
		t.Errorf("it leaves %v", s.store.place)
	}
	// One that went back has other numbers.
	s.store.place["a source"+noteVersions] = store.Place{Number: 1000, Time: 5500}
	s.src.asked = nil
	if _, err := s.f.Once(t.Context()); err != nil || s.src.asked[2].After != 0 || len(s.src.asked) != 3 {
		t.Errorf("%v; asked %+v", err, s.src.asked)
	}
}

// TestPartsOfTheTime: what is too much for one reconciliation is parted by time,
// and the source is told of each event once; too much of one second is read in
// pages.
func TestPartsOfTheTime(t *testing.T) {
	for _, apart := range []int64{86_400, 0} {
		s := newScene(t, nil)
		s.f.most = 10
		s.src.noPast = client.ErrNoHistory
		for i := range int64(100) {
			ev := event(1, 1_700_000_000+i*apart, "both have it")
			s.store.ids[ev.ID] = ev
			s.src.heads = append(s.src.heads, ev)
			if i%20 == 0 {
				s.src.heads = append(s.src.heads, event(1, 1_700_000_000+i*apart, "new"))
			}
		}
		if _, err := s.f.Once(t.Context()); err != nil || s.takenOf(1) != 105 {
			t.Fatalf("%v, %d are here", err, s.takenOf(1))
		}
		if inParts := apart > 0; inParts != (len(s.src.paged) == 0) || inParts && (len(s.src.told) != 100 || s.src.fetched != 5) {
			t.Errorf("%d seconds apart: told of %d, %d fetched, %d pages", apart, len(s.src.told), s.src.fetched, len(s.src.paged))
		}
	}
}
