package follow

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	clientmemory "engramd/internal/client/memory"
	"engramd/internal/memory/localcopy"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

// toldStore is a store that says when something was put into it.
type toldStore struct {
	*localcopy.Copy
	put chan struct{} // holds one, which stands for any number
}

func (s toldStore) Put(ctx context.Context, relay string, events []*nostr.Event) (localcopy.Changes, error) {
	defer func() {
		select {
		case s.put <- struct{}{}:
		default:
		}
	}()
	return s.Copy.Put(ctx, relay, events)
}

// found waits until the copy has a version of a slug.
func (s toldStore) found(t *testing.T, slug, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), enough)
	defer cancel()
	for {
		has := false
		err := s.Read(ctx, func(v *localcopy.View) error {
			h, ok := v.Head(slug)
			has = ok && h.ID == id && (h.Tombstone || v.Index().Has(slug))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if has {
			return
		}
		select {
		case <-s.put:
		case <-ctx.Done():
			t.Fatalf("%s is not there", slug)
		}
	}
}

// What a write returns is there once it was taken in, and a removal too.
func TestOwnWrites(t *testing.T) {
	home := bridgetest.Start(t).URL
	c, m := memory(t, enough, home)
	kept := open(t, m, t.TempDir(), nil)
	f := followerOf(c, m, kept, time.Now)
	_, writer := memory(t, enough, home)
	has := func(slug string, id string, status client.Status) bool {
		f.Wrote(t.Context(), status.Wrote, status.Took())
		ok := false
		shown(t, kept, func(h localcopy.Head) { ok = ok || h.Slug == slug && h.ID == id })
		return ok
	}
	first, status, err := writer.Set(t.Context(), "mem/a", "first", clientmemory.SetOptions{})
	if err != nil || !has("mem/a", first.ID, status) {
		t.Errorf("written: %v", err)
	}
	second, status, err := writer.Set(t.Context(), "mem/a", "second", clientmemory.SetOptions{Base: first.Hash})
	if err != nil || !has("mem/a", second.ID, status) {
		t.Errorf("replaced: %v", err)
	}
	back, status, err := writer.Restore(t.Context(), "mem/a", clientmemory.When{ID: first.ID}, nil)
	if err != nil || !has("mem/a", back.ID, status) {
		t.Errorf("restored: %v", err)
	}
	gone, status, err := writer.Remove(t.Context(), "mem/a", false)
	if err != nil || !has("mem/a", gone.ID, status) {
		t.Errorf("removed: %v", err)
	}
	if out, err := f.CatchUp(t.Context(), Ask{}); err != nil || out[0].Err != nil || out[0].Took > 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// A relay of engramd's is compared by NIP-77, across a restart of the follower,
// with writes and deletions in between.
func TestAtARelay(t *testing.T) {
	home := bridgetest.Start(t).URL
	dir := t.TempDir()
	_, writer := memory(t, enough, home)
	write := func(slug, text string) {
		t.Helper()
		if _, _, err := writer.Set(t.Context(), nipae.Slug(slug), text, clientmemory.SetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 3 {
		for i := range 5 {
			write(fmt.Sprint("mem/s", round+i), fmt.Sprint("round ", round))
		}
		c, m := memory(t, enough, home)
		kept := open(t, m, dir, nil)
		f := followerOf(c, m, kept, time.Now)
		out, err := f.CatchUp(t.Context(), Ask{Depth: Depth(round)})
		if err != nil || out[0].Err != nil || out[0].Took != 5 {
			t.Errorf("round %d: %+v, %v", round, out, err)
		}
		l, _, err := writer.ListAll(t.Context())
		if got := shown(t, kept, func(localcopy.Head) {}); err != nil || got != told(l) {
			t.Errorf("round %d, %v: the copy says\n%s\nthe relay\n%s", round, err, got, told(l))
		}
		if state, err := f.Freshness(t.Context()); err != nil || state.Stale || state.Unfinished {
			t.Errorf("round %d: %+v, %v", round, state, err)
		}
		kept.Close()
	}
}
