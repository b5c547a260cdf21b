package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/nips/nipae"
)

// unopenable puts a folder in the place of each file below a folder that ends like that.
func unopenable(t *testing.T, dir, suffix string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil || len(found) == 0 {
		t.Fatalf("%v %v", found, err)
	}
	for _, path := range found {
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// planting gives the relay memories of another machine, which the copy in cache has then.
func planting(t *testing.T, relay *frail, cache, state string, all ...*nostr.Event) {
	t.Helper()
	relay.has.Load().Put(all...)
	looks(t, openedAt(t, cache, state, relay.url))
}

// looks compares the copy with the relays.
func looks(t *testing.T, s *Session) {
	t.Helper()
	if err := s.WithCopy(t.Context(), relaytest.Patience, func(context.Context, *Copy) error { return nil }); err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func deletionOf(slug string, at int64) *nostr.Event {
	a, o := relaytest.Agent(), relaytest.Owner().Pub
	return relaytest.Deletion(a, at, nostr.Tag{"a", relaytest.Coordinate(relaytest.KindEngram, a.Pub, relaytest.Address(a, o, slug))})
}

// TestUnopenable: where the state, or the copy, cannot be opened, an older text that a relay
// shows is told as one that may not be the newest, nothing is said not to be there, and
// nothing is written over.
func TestUnopenable(t *testing.T) {
	for _, suffix := range []string{".state", ".mirror"} {
		relay, cache, state := newFrail(t), t.TempDir(), t.TempDir()
		planting(t, relay, cache, state, planted("mem/a", 1_700_000_000))
		s := openedAt(t, cache, state, relay.url)
		if _, _, err := s.Memory.Set(t.Context(), "mem/own", "text", memory.SetOptions{}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		unopenable(t, map[string]string{".state": state, ".mirror": cache}[suffix], suffix)
		quiet := func() *Session {
			o := openedAt(t, cache, state, relay.url).o
			o.Note = func(string) {}
			s, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			return s
		}
		relay.empty()
		relay.has.Load().Put(planted("mem/a", 1_600_000_000))
		s = quiet()
		e, status, err := s.Memory.Get(t.Context(), "mem/a")
		if err != nil || e.Text != "text of mem/a" || !status.Partial || status.Unknown == nil {
			if suffix == ".state" { // the copy has the newer one
				t.Errorf("%s: %+v %+v %v", suffix, e, status, err)
			}
		}
		if _, status, err := s.Memory.ListAll(t.Context()); err != nil || !status.Partial || status.Unknown == nil || status.Withheld > 0 {
			t.Errorf("%s: %+v %v", suffix, status, err)
		}
		before := len(relay.has.Load().All())
		if _, _, err := s.Memory.Set(t.Context(), "mem/a", "over", memory.SetOptions{}); !errors.Is(err, client.ErrPartial) || len(relay.has.Load().All()) != before {
			t.Errorf("%s: written over: %v", suffix, err)
		}
		relay.empty()
		s = quiet()
		if _, _, err := s.Memory.Get(t.Context(), "mem/none"); !errors.Is(err, client.ErrPartial) {
			t.Errorf("%s: %v", suffix, err)
		}
		if l, status, err := s.Memory.ListAll(t.Context()); !errors.Is(err, client.ErrPartial) && !(err == nil && status.Partial && len(l.Memories) > 0) {
			t.Errorf("%s: %+v %+v %v", suffix, l, status, err)
		}
		err = s.WithCopy(t.Context(), relaytest.Patience, func(ctx context.Context, l *Copy) error {
			as, err := l.State(ctx)
			if status := l.Status(as); !as.Partial(0) || status.Unknown == nil {
				t.Errorf("%s: recall: %+v %+v", suffix, as, status)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestYoungIsAskedOnceMore: a list asks once more for what was written just now, or is dated
// ahead, and then tells it as any other.
func TestYoungIsAskedOnceMore(t *testing.T) {
	for _, ahead := range []int64{0, 600} {
		relay, cache, state := newFrail(t), t.TempDir(), t.TempDir()
		young := planted("mem/young", time.Now().Unix()+ahead)
		planting(t, relay, cache, state, young)
		for _, late := range []bool{false, true} {
			relay.empty()
			o := openedAt(t, cache, state, relay.url).o
			o.Client.Wait = func(context.Context, time.Duration) error {
				if late {
					relay.has.Load().Put(young)
				}
				return nil
			}
			s, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			l, status, err := s.Memory.ListAll(t.Context())
			if err != nil || len(l.Memories) != 1 || (status.Behind == 0) != late || status.Partial {
				t.Errorf("ahead by %d, late %v: %d memories, %+v %v", ahead, late, len(l.Memories), status, err)
			}
			s.Close()
		}
	}
}

// TestDeletedAndSilent: what a relay says the agent's key had deleted is told by no reader,
// though another relay does not answer.
func TestDeletedAndSilent(t *testing.T) {
	relay, gone, cache, state := newFrail(t), newFrail(t), t.TempDir(), t.TempDir()
	gone.has.Load().Put(planted("mem/a", 1_700_000_000))
	relay.has.Load().Put(planted("mem/a", 1_700_000_000))
	looks(t, openedAt(t, cache, state, relay.url, gone.url))
	relay.empty()
	relay.has.Load().Put(deletionOf("mem/a", 1_700_000_100))
	gone.silent.Store(true)
	s := openedAt(t, cache, state, relay.url, gone.url)
	if e, _, err := s.Memory.Get(t.Context(), "mem/a"); !errors.Is(err, client.ErrPartial) {
		t.Errorf("%+v %v", e, err)
	}
	if l, _, err := s.Memory.ListAll(t.Context()); !errors.Is(err, client.ErrPartial) {
		t.Errorf("%+v %v", l, err)
	}
	repair(t, s, func(_ context.Context, r *Repair) {
		if got := held(t, r.Copy.Copy); len(got) > 0 {
			t.Errorf("the copy has %v", got)
		}
	})
}

// TestOldActs: an act is found among more than one page of them, and of many acts each is
// kept once.
func TestOldActs(t *testing.T) {
	relay, cache, state := newFrail(t), t.TempDir(), t.TempDir()
	planting(t, relay, cache, state, planted("mem/a", 1_700_000_000), planted("mem/b", 1_700_000_000))
	relay.empty()
	relay.has.Load().Put(deletionOf("mem/a", 1_700_000_000))
	for i := range 1100 {
		relay.has.Load().Put(deletionOf(fmt.Sprint("mem/n", i), 1_700_000_001+int64(i)))
	}
	s := openedAt(t, cache, state, relay.url)
	for range 2 {
		if _, _, err := s.Memory.Get(t.Context(), "mem/a"); !errors.Is(err, client.ErrNotFound) {
			t.Error(err)
		}
		if e, status, err := s.Memory.Get(t.Context(), "mem/b"); err != nil || status.Behind != 1 || e.Text == "" {
			t.Errorf("%+v %v", status, err)
		}
	}
}

// TestExactReadKeeps: a text that no relay shows, and that was read by its slug, outlasts the
// copy, also where this machine never wrote.
func TestExactReadKeeps(t *testing.T) {
	relay, cache, state := newFrail(t), t.TempDir(), t.TempDir()
	planting(t, relay, cache, "", planted("mem/a", 1_700_000_000))
	if found, _ := filepath.Glob(filepath.Join(state, "*.state")); len(found) > 0 {
		t.Fatal(found)
	}
	s := openedAt(t, cache, state, relay.url)
	if _, _, err := s.Memory.Get(t.Context(), "mem/a"); err != nil {
		t.Fatal(err)
	}
	if found, _ := filepath.Glob(filepath.Join(state, "*.state")); len(found) > 0 {
		t.Errorf("a read of what a relay shows begins a state: %v", found)
	}
	relay.empty()
	if _, status, err := s.Memory.Get(t.Context(), "mem/a"); err != nil || status.Behind != 1 {
		t.Fatalf("%+v %v", status, err)
	}
	s.Close()
	s = openedAt(t, t.TempDir(), state, relay.url)
	if e, status, err := s.Memory.Get(t.Context(), nipae.Slug("mem/a")); err != nil || status.Behind != 1 || !strings.HasPrefix(e.Text, "text of") {
		t.Errorf("%+v %+v %v", e, status, err)
	}
}
