package localcopy

import (
	"context"
	"encoding/binary"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/memory/meaning"
	"engramd/internal/memory/state/sealedfile"
	"engramd/nips/nipae"
)

// expiring returns the event of a text that expires.
func (a *author) expiring(slug, text string, at, expires int64) *nostr.Event {
	a.t.Helper()
	b, err := nipae.NewMemory(nipae.Slug(slug), text)
	if err != nil {
		a.t.Fatal(err)
	}
	a.nonce++
	s := nipae.Sealing{Secret: a.secret, Owner: a.Owner, CreatedAt: at, Aux: new([32]byte), Expiration: expires}
	binary.LittleEndian.PutUint64(s.Nonce[:], a.nonce)
	s.Nonce[31] = 1
	ev, err := nipae.Seal(a.Conversation, b, s)
	if err != nil {
		a.t.Fatal(err)
	}
	return ev
}

// TestExpired: what has expired is found no more at that moment, whatever relays show, and
// its text and vectors leave the file; what is older went with it. A later version is one
// like any other.
func TestExpired(t *testing.T) {
	ctx := context.Background()
	for name, shown := range map[string]string{"a relay shows it still": near, "no relay was asked": ""} {
		t.Run(name, func(t *testing.T) {
			clock, a := newClock(), newAuthor(t, "agent", "owner")
			now := clock.now().Unix()
			m := open(t, a.Pair, Options{Dir: t.TempDir(), Now: clock.now})
			old, last := a.write("mem/x", "the older one", now-20), a.expiring("mem/x", "walnuts", now-10, now+60)
			put(t, m, far, old)
			put(t, m, shown, last)
			put(t, m, near, a.write("mem/y", "stays", now-5))
			found := func() (text string, there bool, hits int) {
				t.Helper()
				err := m.Read(ctx, func(v *View) error {
					text, there = v.Text("mem/x")
					_, ok := v.Head("mem/x")
					there = there || ok
					hits, _ = v.Index().Len()
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				return text, there, hits
			}
			if text, _, hits := found(); text != "walnuts" || hits != 2 {
				t.Fatalf("before: %q, %d in the index", text, hits)
			}
			hash := ""
			if err := m.Read(ctx, func(v *View) error { h, _ := v.Head("mem/x"); hash = h.Hash; return nil }); err != nil {
				t.Fatal(err)
			}
			if err := m.PutVectors(ctx, "model", hash, []meaning.Vector{{1, 2}}); err != nil {
				t.Fatal(err)
			}
			clock.pass(time.Minute)
			if text, there, hits := found(); there || hits != 1 {
				t.Fatalf("after: %q, %d in the index", text, hits)
			}
			rows := func(what string) (n int64) {
				t.Helper()
				if err := m.read(ctx, func(tx *sealedfile.Tx) error { n = tx.Int("SELECT count(*) FROM " + what); return tx.Err() }); err != nil {
					t.Fatal(err)
				}
				return n
			}
			if texts, vectors, raws := rows("texts"), rows("vectors"), rows("raws WHERE expires <> 0 AND length(raw) > 0"); texts != 1 || vectors != 0 || raws != 0 {
				t.Errorf("%d texts, %d vectors, %d events as they were signed", texts, vectors, raws)
			}
			if behind, err := m.Unshown(ctx); err != nil || behind.All() != 0 {
				t.Errorf("%+v, %v", behind, err)
			}
			// A relay that does not drop it gives it again and again.
			put(t, m, near, last)
			put(t, m, far, old)
			if text, there, _ := found(); there {
				t.Errorf("it came back: %q", text)
			}
			if items, err := m.Holds(ctx, near); err != nil || len(items) != 2 {
				t.Errorf("the relay has %d events, %v", len(items), err)
			}
			put(t, m, near, a.write("mem/x", "a new chain", clock.now().Unix()))
			if text, _, hits := found(); text != "a new chain" || hits != 2 {
				t.Errorf("written again: %q, %d in the index", text, hits)
			}
		})
	}
}
