package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/contracts"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

var errKilled = errors.New("killed")

// life is the daemon from one start to the next, with service, relay, store and
// outbox wired as in the daemon.
type life struct {
	t       *testing.T
	store   *sqlite.Store
	relay   *relay.Relay
	box     *Outbox
	timers  *timers
	clock   *storetest.Clock
	service *contracts.Service
}

// killed is an outbox, or its store, that dies at a given step: nothing after
// it happens.
type killed struct {
	*Outbox
	at string
}

func (k killed) Rouse() {
	if k.at != "after the commit" {
		k.Outbox.Rouse()
	}
}

func (k killed) Publish(ctx context.Context, ev *nostr.Event, local bool) error {
	if k.at == "before a refused entry is queued" && local {
		return errKilled
	}
	return k.Outbox.Publish(ctx, ev, local)
}

type killedStore struct {
	*sqlite.Store
	at string
}

func (k killedStore) Tell(ctx context.Context, c store.Command) error {
	done, ok := c.(store.OutboxDone)
	if target := done.Target; ok && (k.at == "after delivery here" && target == store.OutboxLocal || k.at == "after delivery there" && target != store.OutboxLocal) {
		return errKilled
	}
	return k.Store.Tell(ctx, c)
}

// begin starts the daemon on a database. refuse is the relay's refusal of
// entries, "" for none.
func begin(t *testing.T, path, target, at, refuse string, clock *storetest.Clock) *life {
	t.Helper()
	l := &life{t: t, clock: clock, timers: &timers{clock: clock, news: make(chan struct{})}}
	names, err := relay.NewNames([]string{"wss://relay.example"}, netip.MustParseAddrPort("0.0.0.0:7447"))
	if err != nil {
		t.Fatal(err)
	}
	table := storetest.MustTable(t, gate.Options{})
	if l.relay, err = relay.New(relay.Config{Names: names, Clock: clock.Now}, table); err != nil {
		t.Fatal(err)
	}
	o := storetest.Options(t)
	o.Path, o.Clock, o.Table, o.OnCommit = path, clock.Now, table, l.relay.Committed
	if l.store, err = sqlite.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	l.relay.Reject(func(_ context.Context, ev *nostr.Event) (bool, string) {
		return refuse != "" && ev.Kind == 30090, refuse
	})
	if err := l.relay.Attach(l.store); err != nil {
		t.Fatal(err)
	}
	l.box = New(Options{Store: killedStore{l.store, at}, Relay: l.relay, Targets: []string{target}, Clock: clock.Now, After: l.timers.after})
	l.service, err = contracts.New(contracts.Options{
		Store: l.store, Relay: l.relay, Table: l.relay.Table, Signer: strangers{}, Sealer: strangers{}, Identities: strangers{},
		Outbox: killed{l.box, at}, Clock: clock.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	err = l.box.Start(t.Context(), func(ctx context.Context, ev *nostr.Event) error {
		if ev.Kind != 30090 {
			return nil
		}
		_, err := l.service.Deliver(ctx, ev)
		return err
	})
	if err == nil {
		err = l.service.Resume(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// end simulates a crash, which leaves the database only.
func (l *life) end() {
	l.t.Helper()
	l.box.Close()
	if err := l.store.Close(); err != nil {
		l.t.Fatal(err)
	}
	l.relay.Close()
}

// say writes a shared entry over the service.
func (l *life) say(k, to storetest.Key, id, text string) error {
	l.clock.Add(1e9)
	ev := k.Sign(30090, l.clock.Now().Unix()-storetest.Start.Unix(), fmt.Sprintf(`{"type":"message","content":%q}`, text), nostr.Tag{"d", id}, nostr.Tag{"t", "message"}, nostr.Tag{"p", to.Pub})
	_, err := l.service.Say(l.t.Context(), contracts.Caller{PubKey: k.Pub}, id,
		contracts.EntryRequest{Type: "message", Content: text, Event: json.RawMessage(wire.AppendEvent(nil, ev))})
	return err
}

// TestKilledAtEveryStep kills the daemon at each step between the request and
// the last acknowledgement, and starts it again: every entry is in the thread,
// here and at the further relay, once and in order, whoever wrote it.
func TestKilledAtEveryStep(t *testing.T) {
	bob := storetest.NewKey("bob")
	for _, at := range []string{"after the commit", "before a refused entry is queued", "after a refused entry is queued", "after delivery here", "after delivery there"} {
		for _, refuse := range []string{"", "rate-limited: slow down"} {
			t.Run(at+" "+refuse, func(t *testing.T) {
				north, clock := startRelay(t), storetest.NewClock()
				path := filepath.Join(t.TempDir(), "engramd.db")
				l := begin(t, path, north.url(), at, refuse, clock)
				const id = "25becee1-e170-42e3-b8aa-51d3e864ce60"
				for i, k := range []storetest.Key{author, bob} {
					to := []storetest.Key{bob, author}[i]
					content := []string{`{"contract_id":%q,"status":"open"}`, `{"contract_id":%q,"status":"accepted","previous_status":"open"}`}[i]
					clock.Add(1e9)
					ev := k.Sign(30091, int64(i+1), fmt.Sprintf(content, id), nostr.Tag{"d", id}, nostr.Tag{"p", to.Pub})
					if a := l.relay.Submit(relay.AsAuthor(t.Context(), ev), relay.Submission{Event: ev}); !a.OK {
						t.Fatal(a)
					}
				}
				err := l.say(author, bob, id, "one")
				if dies := refuse != "" && at == "before a refused entry is queued"; dies != errors.Is(err, errKilled) || !dies && err != nil {
					t.Fatal(err)
				}
				if err != nil || refuse == "" && at == "after the commit" {
					l.end()
					l = begin(t, path, north.url(), "", refuse, clock)
				}
				if err := l.say(bob, author, id, "two"); err != nil {
					t.Fatal(err)
				}
				if at == "after delivery there" && refuse == "" {
					until(t, north, "a delivery", func() bool { return len(north.got) > 0 })
				}
				l.end()
				died := at
				if refuse == "" || at != "after delivery here" && at != "after delivery there" {
					died = ""
				}
				if died != "" { // the relay accepts them now, and the crash comes before that is recorded
					l = begin(t, path, north.url(), died, "", clock)
					if died == "after delivery here" {
						l.timers.paused(t, 1)
					} else {
						until(t, north, "a delivery", func() bool { return len(north.got) > 0 })
					}
					l.end()
				}
				l = begin(t, path, north.url(), "", "", clock)
				defer l.end()
				if err := l.say(author, bob, id, "three"); err != nil {
					t.Fatal(err)
				}
				r := &rig{t: t, box: l.box, timers: l.timers}
				r.empty()
				// In order for each author: alice wrote one and three, bob two.
				texts := map[bool][]string{}
				for _, content := range north.contents() {
					text := strings.Split(content, `"`)[7]
					texts[text == "two"] = append(texts[text == "two"], text)
				}
				wantGot(t, "the further relay", texts[false], "one", "three")
				wantGot(t, "the further relay", texts[true], "two")
				page, err := l.service.Entries(t.Context(), contracts.Caller{PubKey: bob.Pub}, id, contracts.EntryQuery{})
				if err != nil || page.Total != 3 {
					t.Fatalf("%d in the thread (%v)", page.Total, err)
				}
				for i, want := range []string{"one", "two", "three"} {
					if e := page.Entries[i]; e.Content != want || e.NostrEventID == nil {
						t.Errorf("entry %d: %+v", i, e)
					}
				}
			})
		}
	}
}

// strangers keeps no keys and knows no names.
type strangers struct{ contracts.Identities }

func (strangers) Conversation(context.Context, string, string) (key [32]byte, err error) {
	return key, errKilled
}
func (strangers) Sign(context.Context, *nostr.Event) error                      { return errKilled }
func (strangers) Hold() func()                                                  { return func() {} }
func (strangers) Ready() error                                                  { return nil }
func (strangers) Seal(text, _ []byte) ([]byte, error)                           { return text, nil }
func (strangers) Open(sealed, _ []byte) ([]byte, error)                         { return sealed, nil }
func (strangers) ByAgent(context.Context, string) (*contracts.Identity, error)  { return nil, nil }
func (strangers) ByPubKey(context.Context, string) (*contracts.Identity, error) { return nil, nil }
