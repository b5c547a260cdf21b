package keys

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/keys/keyfile"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// TestRotate: the key changes here, in the file and in the database, and what
// is no longer needed is gone.
func TestRotate(t *testing.T) {
	r := newRig(t)
	ring := r.open()
	first := ring.PubKey()
	c, err := ring.Rotate(t.Context(), false)
	if err != nil || c.Old != first || c.New != ring.PubKey() || c.New == first || len(c.Kept) != 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	if keys := r.held(); !slices.Equal(keys, []string{c.New}) || r.inUse() != c.New || r.open().PubKey() != c.New {
		t.Errorf("the file holds %v, the database knows %s", keys, r.inUse())
	}
	if _, err := ring.Rotate(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if trusted, err := ring.Trusted(t.Context()); err != nil || !slices.Equal(trusted, []string{ring.PubKey(), first}) {
		t.Errorf("trusted: %v, %v", trusted, err)
	}
	if err := ring.Revoke(t.Context(), first); err != nil {
		t.Error(err)
	}
	if trusted, err := ring.Trusted(t.Context()); err != nil || !slices.Equal(trusted, []string{ring.PubKey()}) {
		t.Errorf("trusted: %v, %v", trusted, err)
	}
	for _, key := range []string{first, ring.PubKey(), strings.Repeat("a", 64)} {
		if err := ring.Revoke(t.Context(), key); err == nil {
			t.Errorf("revoked %.8s", key)
		}
	}
}

// TestRotateKeepsWhatContractsName, revoked or not, and signs with it until the
// contracts have their end.
func TestRotateKeepsWhatContractsName(t *testing.T) {
	r := newRig(t)
	ring := r.open()
	first := ring.PubKey()
	r.named[first] = true
	c, err := ring.Rotate(t.Context(), true)
	if err != nil || !slices.Equal(c.Kept, []string{first}) || !slices.Equal(r.held(), []string{c.New, first}) {
		t.Fatalf("%+v, %v; the file holds %v", c, err, r.held())
	}
	ring = r.open()
	ev := &nostr.Event{Kind: 30091}
	if err := ring.SignAs(first, ev); err != nil || ev.PubKey != first {
		t.Errorf("signed as the former key: %v, %v", ev.PubKey, err)
	}
	if err := ring.Prune(t.Context()); err != nil || len(r.held()) != 2 {
		t.Errorf("pruned a key that is needed: %v", err)
	}
	delete(r.named, first)
	if err := ring.Prune(t.Context()); err != nil || !slices.Equal(r.held(), []string{c.New}) {
		t.Errorf("after the contract's end: %v, %v", r.held(), err)
	}
	if err := ring.SignAs(first, ev); !errors.Is(err, ErrNotHeld) {
		t.Errorf("signed with a key that is gone: %v", err)
	}
	if keys := r.open().held(); len(keys) != 1 || keys[0].PubKey() != c.New {
		t.Errorf("the next start holds %v", keys)
	}
}

// TestHandovers: former keys name their successors, also when their secrets are
// gone, and as long as they are trusted.
func TestHandovers(t *testing.T) {
	r := newRig(t)
	ring := r.open()
	first := ring.PubKey()
	leads := func(ring *Ring, from string) bool {
		t.Helper()
		all, err := ring.Handovers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.Contains(niptemp.Succeed([]string{from}, all), ring.PubKey())
	}
	rotate := func(revoke bool) {
		t.Helper()
		if _, err := ring.Rotate(t.Context(), revoke); err != nil {
			t.Fatal(err)
		}
	}
	rotate(false)
	second := ring.PubKey()
	rotate(false)
	if again := r.open(); len(again.held()) != 1 || !leads(again, first) || !leads(again, second) || leads(again, strings.Repeat("a", 64)) {
		t.Error("former keys do not lead to the relay's, or others do")
	}
	if err := ring.Revoke(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if leads(ring, first) || leads(ring, second) {
		t.Error("a revoked key leads to the relay's")
	}
	third := ring.PubKey()
	rotate(true)
	if leads(ring, third) {
		t.Error("a key that was revoked with its rotation leads to the relay's")
	}
	for range maxKeys {
		rotate(false)
	}
	if all, err := r.open().Handovers(t.Context()); err != nil || len(all) != maxKeys {
		t.Errorf("%d statements (%v)", len(all), err)
	}
}

// TestRotateHasABound: a file holds so many keys and no more.
func TestRotateHasABound(t *testing.T) {
	r := newRig(t)
	ring := r.open()
	for range maxKeys - 1 {
		r.named[ring.PubKey()] = true
		if _, err := ring.Rotate(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	before := r.held()
	if _, err := ring.Rotate(t.Context(), false); err == nil || len(before) != maxKeys || !slices.Equal(before, r.held()) {
		t.Errorf("%d keys, then %d: %v", len(before), len(r.held()), err)
	}
	if len(r.open().held()) != maxKeys {
		t.Error("a full file does not open")
	}
}

// TestRotateCutShort leaves what a crash may leave after each step: the next
// start has the key that the database says, and nothing is left beside the
// file.
func TestRotateCutShort(t *testing.T) {
	for _, at := range []string{"staged", "committed", "switched"} {
		r := newRig(t)
		ring := r.open()
		before := r.held()[0]
		made, err := makeKey(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := ring.place.stage([]Key{made, ring.Key()}); err != nil {
			t.Fatal(err)
		}
		want := before
		if at != "staged" {
			want = made.PubKey()
			if err := r.SetRelayKey(t.Context(), want, false); err != nil {
				t.Fatal(err)
			}
		}
		if at == "switched" {
			if err := keyfile.Switch(r.path()); err != nil {
				t.Fatal(err)
			}
		}
		if err := Look(r.o, r.inUse()); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		for range 2 { // and again
			if got := r.open().PubKey(); got != want || r.held()[0] != want {
				t.Errorf("%s: the key is %s, the file has %s, want %s", at, got, r.held()[0], want)
			}
			if _, err := os.Stat(keyfile.Next(r.path())); err == nil {
				t.Errorf("%s: something is left beside the file", at)
			}
		}
	}
}

// TestRotateThatFails leaves everything as it was.
func TestRotateThatFails(t *testing.T) {
	r := newRig(t)
	ring := r.open()
	before := r.held()
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.Rotate(t.Context(), false); !errors.Is(err, store.ErrClosed) || ring.PubKey() != before[0] || !slices.Equal(r.held(), before) {
		t.Errorf("%v; the key is %s", err, ring.PubKey())
	}
	r = newRig(t)
	r.o.Setting, r.o.Env = "env:RELAY", func(string) (string, bool) { return strings.Repeat("3", 64), true }
	if _, err := r.open().Rotate(t.Context(), false); !errors.Is(err, ErrEnv) {
		t.Errorf("rotated a variable: %v", err)
	}
}

func TestAdopt(t *testing.T) {
	r := newRig(t)
	if _, err := Adopt(t.Context(), r.o, r, true, false); err == nil {
		t.Error("adopted for a database that knows no key")
	}
	first := r.open().PubKey()
	if _, err := Adopt(t.Context(), r.o, r, true, false); err == nil {
		t.Error("adopted what is in use")
	}
	// Another file, and the present key is needed.
	old := secrets(t, r.path())[0]
	r.named[first] = true
	r.write(strings.Repeat("7", 64))
	if _, err := Adopt(t.Context(), r.o, r, false, false); !errors.Is(err, ErrNeeded) || r.inUse() != first {
		t.Errorf("gave up a key that is needed: %v", err)
	}
	r.write(strings.Repeat("7", 64), old)
	c, err := Adopt(t.Context(), r.o, r, false, false)
	if err != nil || c.Old != first || !slices.Equal(c.Kept, []string{first}) || r.open().PubKey() != c.New {
		t.Errorf("%+v, %v", c, err)
	}
	// The file is lost.
	if err := os.Remove(r.path()); err != nil {
		t.Fatal(err)
	}
	if _, err := Adopt(t.Context(), r.o, r, false, false); !errors.Is(err, ErrLost) {
		t.Errorf("made a key unasked: %v", err)
	}
	c, err = Adopt(t.Context(), r.o, r, true, true)
	if err != nil || r.open().PubKey() != c.New {
		t.Fatalf("%+v, %v", c, err)
	}
	keys, err := r.RelayKeys(t.Context())
	revoked := pubOf(t, strings.Repeat("7", 64))
	for _, k := range keys {
		if (k.Revoked != 0) != (k.PubKey == revoked) {
			t.Errorf("%+v", k)
		}
	}
	if err != nil || len(keys) != 3 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
	// What was revoked does not come back.
	r.write(strings.Repeat("7", 64))
	if _, err := Adopt(t.Context(), r.o, r, true, false); !errors.Is(err, store.ErrRevokedKey) {
		t.Errorf("a revoked key was adopted: %v", err)
	}
}
