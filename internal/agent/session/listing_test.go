package session

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"

	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/nips/nipae"
)

// TestListedIsReadAll: where relays agree with the local copy it is the listing, byte for
// byte what reading all of them gives, and no event comes over the wire; where they do not,
// all is read.
func TestListedIsReadAll(t *testing.T) {
	one, two := relaytest.Start(t, relaytest.Options{}), relaytest.Start(t, relaytest.Options{})
	cache, state := t.TempDir(), t.TempDir()
	var came atomic.Int64
	at := func() *Session {
		t.Helper()
		s := openedAt(t, cache, state, one.URL, two.URL)
		o := s.o
		o.Client.Trace = func(_ string, sent bool, frame []byte) {
			if !sent && bytes.HasPrefix(frame, []byte(`["EVENT"`)) {
				came.Add(1)
			}
		}
		traced, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(traced.Close)
		return traced
	}
	s := at()
	set := func(slug nipae.Slug, text string, o memory.SetOptions) {
		t.Helper()
		if _, _, err := s.Memory.Set(t.Context(), slug, text, o); err != nil {
			t.Fatal(err)
		}
	}
	set("core", "I am Sami.", memory.SetOptions{})
	for i := range 20 {
		set(nipae.Slug(fmt.Sprint("mem/boats/", i)), fmt.Sprintf("Boat %d is green.", i), memory.SetOptions{})
	}
	set("mem/old", "---\nstate: archived\n---\nThe mast is sold.", memory.SetOptions{})
	if _, _, err := s.Memory.Remove(t.Context(), "mem/boats/3", false); err != nil {
		t.Fatal(err)
	}
	const all = 1000
	same := func(when string, most int64) {
		t.Helper()
		s := at()
		came.Store(0)
		for _, texts := range []bool{true, false} {
			got, status, err := s.Memory.Listed(t.Context(), texts)
			if err != nil {
				t.Fatal(when, err)
			}
			if n := came.Swap(0); n > most {
				t.Errorf("%s: %d events came, of which %d are expected", when, n, most)
			}
			want, as, err := s.Memory.ReadAll(t.Context())
			if err != nil {
				t.Fatal(when, err)
			}
			came.Store(0)
			if !texts && most < all {
				for i := range want.Memories {
					want.Memories[i].Text = ""
				}
				want.Core.Text = ""
			}
			for i := range status.Relays {
				status.Relays[i].Took, as.Relays[i].Took = 0, 0
			}
			if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(status, as) {
				t.Errorf("%s, texts %v:\n%+v\n%+v\nwant\n%+v\n%+v", when, texts, got, status, want, as)
			}
		}
	}
	same("no copy", all)
	if err := s.WithCopy(t.Context(), 0, func(context.Context, *Copy) error { return nil }); err != nil {
		t.Fatal(err)
	}
	same("a copy", 0)
	set("mem/oars", "Of ash wood.", memory.SetOptions{})
	same("written since", 0)
	other := openedAt(t, t.TempDir(), t.TempDir(), one.URL) // another machine, which knows one relay
	if _, _, err := other.Memory.Set(t.Context(), "mem/boats/5", "Boat 5 is sold.", memory.SetOptions{}); err != nil {
		t.Fatal(err)
	}
	same("written by another machine", 1)
	two.Kill()
	<-two.Done()
	s = openedAt(t, cache, state, one.URL, two.URL)
	if _, status, err := s.Memory.Listed(t.Context(), true); err != nil || !status.Partial {
		t.Errorf("a relay is gone: %+v, %v", status, err)
	}
}

// TestListedComparesAll: a copy is the listing only where every relay that it has anything
// from was compared as a whole.
func TestListedComparesAll(t *testing.T) {
	one := relaytest.Start(t, relaytest.Options{})
	two := relaytest.Start(t, relaytest.Options{Args: []string{"--sync-serve=false"}})
	cache, state := t.TempDir(), t.TempDir()
	copied := func(urls ...string) bool {
		t.Helper()
		s := openedAt(t, cache, state, urls...)
		if err := s.WithCopy(t.Context(), 0, func(context.Context, *Copy) error { return nil }); err != nil {
			t.Fatal(err)
		}
		_, _, ok := openedAt(t, cache, state, urls...).Memory.compared(t.Context(), true)
		return ok
	}
	if _, _, err := openedAt(t, cache, state, one.URL).Memory.Set(t.Context(), "mem/boat", "It is green.", memory.SetOptions{}); err != nil {
		t.Fatal(err)
	}
	if !copied(one.URL) {
		t.Error("one relay with NIP-77: its copy is no listing")
	}
	if _, _, err := openedAt(t, cache, state, two.URL).Memory.Set(t.Context(), "mem/oars", "Of ash wood.", memory.SetOptions{}); err != nil {
		t.Fatal(err)
	}
	if copied(one.URL, two.URL) {
		t.Error("a relay without NIP-77 was asked for what is new alone, and the copy is the listing")
	}
	if copied(one.URL) {
		t.Error("the copy has memories of a relay that is not asked any more, and is the listing")
	}
}
