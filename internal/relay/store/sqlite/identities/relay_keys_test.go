package identities_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestRelayKeysTakeTurns: one key is in use, the others are former ones,
// trusted until they are revoked.
func TestRelayKeysTakeTurns(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	ctx, start := t.Context(), storetest.Start.Unix()
	a, b, c := storetest.NewKey("a").Pub, storetest.NewKey("b").Pub, storetest.NewKey("c").Pub
	use := func(key string, revoke bool) {
		t.Helper()
		if err := s.SetRelayKey(ctx, key, revoke); err != nil {
			t.Fatal(err)
		}
		clock.Add(60e9)
	}
	if keys, err := s.RelayKeys(ctx); err != nil || len(keys) != 0 {
		t.Fatalf("%+v, %v", keys, err)
	}
	use(a, false)
	use(a, true) // it is the one already: nothing is revoked
	use(b, false)
	use(c, true)
	want := []store.RelayKey{
		{PubKey: c, Since: start + 180}, {PubKey: b, Since: start + 120, Until: start + 180, Revoked: start + 180}, {PubKey: a, Since: start, Until: start + 120},
	}
	if keys, err := s.RelayKeys(ctx); err != nil || !slices.Equal(keys, want) {
		t.Fatalf("%+v, %v", keys, err)
	}
	if err := s.SetRelayKey(ctx, b, false); !errors.Is(err, store.ErrRevokedKey) {
		t.Errorf("a revoked key came back: %v", err)
	}
	for key, want := range map[string]bool{a: true, c: false, strings.Repeat("f", 64): false, "": false} {
		if revoked, err := s.RevokeRelayKey(ctx, key); err != nil || revoked != want {
			t.Errorf("revoke %.8s: %t, %v", key, revoked, err)
		}
	}
	if revoked, err := s.RevokeRelayKey(ctx, a); err != nil || revoked {
		t.Errorf("revoked twice: %t, %v", revoked, err)
	}
	if keys, err := s.RelayKeys(ctx); err != nil || len(keys) != 3 || keys[0].PubKey != c || keys[2].Revoked == 0 {
		t.Errorf("%+v, %v", keys, err)
	}
}

// TestFormerRelayKeyComesBack: a key that was given up and not revoked may be
// the relay's again.
func TestFormerRelayKeyComesBack(t *testing.T) {
	s := storetest.MustOpen(t)
	a, b := storetest.NewKey("a").Pub, storetest.NewKey("b").Pub
	for _, key := range []string{a, b, a} {
		if err := s.SetRelayKey(t.Context(), key, false); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := s.RelayKeys(t.Context())
	if err != nil || len(keys) != 2 || keys[0].PubKey != a || keys[0].Until != 0 || keys[1].PubKey != b {
		t.Errorf("%+v, %v", keys, err)
	}
}

// TestContractsNamingAKey counts contracts that have no end and name the key as
// their expirer or for their order, in a head or in history, and no others.
func TestContractsNamingAKey(t *testing.T) {
	s := storetest.MustOpen(t)
	relay, other := storetest.NewKey("relay").Pub, storetest.NewKey("other").Pub
	at := int64(0)
	state := func(k storetest.Key, contract, status, previous string, p storetest.Key, tags ...nostr.Tag) {
		t.Helper()
		at++
		ev := k.State(p, at, contract, previous, status)
		ev = k.Fake(ev.Kind, at, ev.Content, append(ev.Tags, tags...)...)
		if r := s.Put(context.Background(), ev, store.PutOptions{}); !r.Outcome.OK() {
			t.Fatalf("%s of %s: %+v", status, contract, r)
		}
	}
	naming := func(want int) {
		t.Helper()
		if n, err := s.ContractsNaming(context.Background(), relay); err != nil || n != want {
			t.Errorf("%d contracts, want %d (%v)", n, want, err)
		}
	}
	expirer := nostr.Tag{"expirer", relay}
	state(alice, "offer", "open", "", alice, expirer)
	naming(1)
	hex := strings.Repeat("0a", 32) // stored in another form than other ids
	state(alice, hex, "open", "", bob, expirer)
	state(bob, hex, "accepted", "open", alice, expirer)
	state(bob, hex, "submitted", "accepted", alice) // the accepted one is history now
	state(alice, "another-relay", "open", "", bob, nostr.Tag{"expirer", other})
	state(alice, "elsewhere", "open", "", bob, nostr.Tag{"note", relay})
	naming(2)
	state(alice, "offer", "cancelled", "open", alice)
	naming(1)
	state(alice, hex, "completed", "submitted", bob)
	naming(0)
	state(alice, "ordered", "open", "", bob, nostr.Tag{"order", relay})
	naming(1)
}
