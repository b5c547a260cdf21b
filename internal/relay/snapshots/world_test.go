package snapshots

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

var agent, owner, self = storetest.NewKey("agent"), storetest.NewKey("owner"), storetest.NewKey("relay")

// sign signs as the relay, with its identity key.
func sign(ev *nostr.Event) error {
	by, err := bundle.NewSigner(self.Secret)
	if err != nil {
		return err
	}
	return by(ev)
}

func trusted(context.Context) ([]string, error) { return []string{self.Pub}, nil }

// world is a Service over a store and a folder of snapshots, with one clock.
type world struct {
	*Service
	t     testing.TB
	store *sqlite.Store // beside the Service's port, with all it can do
	clock *storetest.Clock
}

func newWorld(t testing.TB, change ...func(*Options)) *world {
	t.Helper()
	clock := storetest.NewClock()
	db := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	o := Options{
		Bundles:  snapshot.New(t.TempDir()),
		Store:    db,
		Rules:    func(context.Context, *nostr.Event) (bool, string) { return false, "" },
		Settings: Settings{Policy: snapshot.DefaultPolicy()},
		Sign:     sign, Trusted: trusted, Software: "test", Clock: clock.Now,
	}
	for _, c := range change {
		c(&o)
	}
	return &world{New(o), t, db, clock}
}

// put stores an engram that is created as many seconds after the clock's start.
func (w *world) put(slug string, at int64) *nostr.Event {
	w.t.Helper()
	d := sha256.Sum256([]byte(slug))
	ev := agent.Sign(30174, at, storetest.Payload(fmt.Sprint(at, slug)), nostr.Tag{"d", hex.EncodeToString(d[:])}, nostr.Tag{"p", owner.Pub})
	if r := w.store.Put(context.Background(), ev, store.PutOptions{}); !r.Outcome.OK() {
		w.t.Fatalf("put %s: %+v", slug, r)
	}
	return ev
}

func (w *world) create(change ...func(*CreateRequest)) Created {
	w.t.Helper()
	q := CreateRequest{Tenant: bundle.DefaultTenant, Agent: agent.Pub, By: bundle.ByCLI}
	for _, c := range change {
		c(&q)
	}
	out, err := w.Create(context.Background(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// list are the agent's bundles, newest first.
func (w *world) list() []snapshot.Info {
	w.t.Helper()
	list, err := w.List(bundle.DefaultTenant, agent.Pub)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// root is the heads_root of the memory as it is.
func (w *world) root() string { w.t.Helper(); return w.create().HeadsRoot }

func which(id string) Which { return Which{Tenant: bundle.DefaultTenant, Agent: agent.Pub, ID: id} }
