package contracts

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/niptemp"
)

// The agents of NIP-TEMP's worked example, and others.
var (
	anna = storetest.NewKey("anna") // poster
	will = storetest.NewKey("will") // worker
	arby = storetest.NewKey("arby") // arbitrator
	mara = storetest.NewKey("mara") // a stranger
	oper = storetest.NewKey("oper")
)

// world is a service over a real relay with a real store and write policy. Its
// clock stands at storetest.Start.
type world struct {
	*Service
	tb         testing.TB
	relay      *relay.Relay
	store      *sqlite.Store
	clock      *storetest.Clock
	identities *agents
	sealer     *sealer
	outbox     *outbox
	self       storetest.Key // the relay's
	path       string        // of the database
	rules      *gate.Table
	refuse     func(*nostr.Event) string // the relay's refusal, "" for none
	mu         sync.Mutex
}

func newWorld(tb testing.TB, change ...func(*gate.Options)) *world {
	tb.Helper()
	w := &world{tb: tb, clock: storetest.NewClock(), identities: &agents{keys: map[string]storetest.Key{}, names: map[string]string{}}, outbox: &outbox{}, self: storetest.NewKey("relay")}
	w.sealer = newSealer(tb)
	var o gate.Options
	for _, c := range change {
		c(&o)
	}
	w.rules, w.path = storetest.MustTable(tb, o), storetest.Options(tb).Path
	w.open()
	tb.Cleanup(w.close)
	return w
}

// open starts the relay on its database.
func (w *world) open() {
	w.tb.Helper()
	must := func(err error) {
		w.tb.Helper()
		if err != nil {
			w.tb.Fatal(err)
		}
	}
	names, err := relay.NewNames([]string{"wss://relay.example"}, netip.MustParseAddrPort("0.0.0.0:7447"))
	must(err)
	guesses := fairness.NewGuesses(w.clock.Now)
	w.relay, err = relay.New(relay.Config{Names: names, Clock: w.clock.Now, Guesses: guesses}, w.rules)
	must(err)
	storetest.New(w.tb, w.path)
	w.store, err = sqlite.Open(context.Background(), sqlite.Options{Options: engine.Options{Path: w.path, Clock: w.clock.Now}, OnCommit: w.relay.Committed, Table: w.rules})
	must(err)
	writes, err := policy.New(policy.Options{Clock: w.clock.Now, Reader: relay.ReaderFrom, OwnName: names.Has})
	must(err)
	w.relay.Reject(writes.RejectEvent, func(_ context.Context, ev *nostr.Event) (bool, string) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.refuse == nil {
			return false, ""
		}
		message := w.refuse(ev)
		return message != "", message
	})
	must(w.relay.Attach(w.store))
	w.Service, err = New(Options{
		Store: w.store, Relay: w.relay, Table: func() *gate.Table { return w.rules }, Signer: w.identities, Sealer: w.sealer,
		Identities: w.identities, Outbox: w.outbox, RelayKeys: storetest.Signer{Key: w.self}, Clock: w.clock.Now, Guesses: guesses,
	})
	must(err)
}

// close stops the relay; open starts it again on the same database.
func (w *world) close() {
	w.tb.Helper()
	if err := w.store.Close(); err != nil {
		w.tb.Errorf("close store: %v", err)
	}
	w.relay.Close()
}

// refusing makes the relay refuse events; nil makes it accept them again.
func (w *world) refusing(refuse func(*nostr.Event) string) {
	w.mu.Lock()
	w.refuse = refuse
	w.mu.Unlock()
}

// provision has the server keep a key.
func (w *world) provision(name string, k storetest.Key) Caller {
	w.identities.keys[k.Pub] = k
	w.identities.names[name] = k.Pub
	return Caller{PubKey: k.Pub, AgentID: name, Provisioned: true}
}

// holder returns a caller with a key of its own.
func holder(k storetest.Key) Caller { return Caller{PubKey: k.Pub} }

// event signs an event as a client would.
func (w *world) event(k storetest.Key, kind int, content string, tags ...nostr.Tag) *nostr.Event {
	ev := &nostr.Event{Kind: kind, PubKey: k.Pub, CreatedAt: nostr.Timestamp(w.clock.Now().Unix()), Content: content, Tags: tags}
	if err := ev.Sign(k.Secret); err != nil {
		w.tb.Fatal(err)
	}
	return ev
}

// stateOf is a signed kind-30091.
func (w *world) stateOf(k storetest.Key, id, to string, status, previous niptemp.Status, text string) *nostr.Event {
	content := map[string]any{"contract_id": id, "status": status, "amount_sats": 5000, "description": text}
	if previous != "" {
		content["previous_status"] = previous
	}
	return w.event(k, niptemp.KindState, asJSON(content), nostr.Tag{"d", id}, nostr.Tag{"p", to})
}

// entryOf is a signed kind-30090.
func (w *world) entryOf(k storetest.Key, id, to, kind, text string) *nostr.Event {
	return w.event(k, niptemp.KindEntry, asJSON(map[string]string{"type": kind, "content": text}),
		nostr.Tag{"d", id}, nostr.Tag{"p", to}, nostr.Tag{"t", kind})
}

// put publishes as on the websocket.
func (w *world) put(ev *nostr.Event) relay.Answer {
	return w.relay.Submit(relay.WithReader(w.tb.Context(), gate.NewReader(ev.PubKey)), relay.Submission{Event: ev})
}

// mustPut publishes an event that must be accepted.
func (w *world) mustPut(ev *nostr.Event) {
	w.tb.Helper()
	if a := w.put(ev); !a.OK {
		w.tb.Fatalf("kind %d: %s", ev.Kind, a.Message())
	}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func raw(ev *nostr.Event) json.RawMessage { return wire.AppendEvent(nil, ev) }

// wantCode fails unless an error is a refusal of this class.
func wantCode(tb testing.TB, what string, err error, want Code) {
	tb.Helper()
	if CodeOf(err) != want || want != 0 && err == nil {
		tb.Errorf("%s: code %d (%v), want %d", what, CodeOf(err), err, want)
	} else if want == 0 && err != nil {
		tb.Errorf("%s: %v", what, err)
	}
}

func must[T any](tb testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

// agents keeps identities and their keys in memory.
type agents struct {
	mu    sync.Mutex
	keys  map[string]storetest.Key // held, by pubkey
	names map[string]string        // pubkeys by name
}

func (a *agents) Conversation(_ context.Context, pubkey, other string) ([32]byte, error) {
	k, ok := a.keys[pubkey]
	if !ok {
		return [32]byte{}, Refuse(Forbidden, "no key is held")
	}
	return nip44.GenerateConversationKey(other, k.Secret)
}

func (a *agents) Sign(_ context.Context, ev *nostr.Event) error {
	k, ok := a.keys[ev.PubKey]
	if !ok {
		return Refuse(Conflict, "no key is held")
	}
	return ev.Sign(k.Secret)
}

func (a *agents) ByAgent(_ context.Context, name string) (*Identity, error) {
	if key, ok := a.names[name]; ok {
		return &Identity{AgentID: name, PubKey: key}, nil
	}
	return nil, nil
}

func (a *agents) ByPubKey(_ context.Context, key string) (*Identity, error) {
	for name, k := range a.names {
		if k == key {
			return &Identity{AgentID: name, PubKey: key}, nil
		}
	}
	return nil, nil
}

func (a *agents) Provision(_ context.Context, name string) (Provisioned, error) {
	return Provisioned{Identity: Identity{AgentID: name}}, nil
}

func (a *agents) Bind(_ context.Context, name, key string) (Identity, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if of, taken := a.names[name]; taken && of != key {
		return Identity{}, Refuse(Conflict, "taken")
	}
	a.names[name] = key
	return Identity{AgentID: name, PubKey: key}, nil
}

func (a *agents) Claim(_ context.Context, name string) (Claimed, error) {
	return Claimed{Identity: Identity{AgentID: name}, Nsec: "nsec"}, nil
}

// sealer seals with a key of its own.
type sealer struct {
	aead cipher.AEAD
	off  error
}

func newSealer(tb testing.TB) *sealer {
	key := sha256.Sum256([]byte("master"))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		tb.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		tb.Fatal(err)
	}
	return &sealer{aead: aead}
}

func (s *sealer) Ready() error { return s.off }

func (s *sealer) Seal(text, place []byte) ([]byte, error) {
	nonce := make([]byte, s.aead.NonceSize())
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	return s.aead.Seal(nonce, nonce, text, place), nil
}

func (s *sealer) Open(sealed, place []byte) ([]byte, error) {
	if len(sealed) < s.aead.NonceSize() {
		return nil, errors.New("short")
	}
	return s.aead.Open(nil, sealed[:s.aead.NonceSize()], sealed[s.aead.NonceSize():], place)
}

// outbox keeps what it is given.
type outbox struct {
	mu     sync.Mutex
	local  []*nostr.Event
	remote []*nostr.Event
	done   map[string]bool
}

func (o *outbox) Targets() []string { return nil }
func (o *outbox) Rouse()            {}

// Waits reports whether an entry of an author for this relay is still
// undelivered.
func (o *outbox) Waits(_ context.Context, contract, author string) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, ev := range o.local {
		if ev.Tags.GetD() == contract && ev.PubKey == author && !o.done[ev.ID] {
			return true, nil
		}
	}
	return false, nil
}

func (o *outbox) Publish(_ context.Context, ev *nostr.Event, local bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := &o.remote
	if local {
		list = &o.local
	}
	for _, have := range *list {
		if have.ID == ev.ID {
			return nil
		}
	}
	*list = append(*list, ev)
	return nil
}

// create offers a contract to a worker, or to anybody if workerKey is "".
func (w *world) create(c Caller, workerKey string, change ...func(*CreateRequest)) Contract {
	w.tb.Helper()
	r := CreateRequest{WorkerPubKey: workerKey, Description: "Produce a civic intelligence summary", AmountSats: 5000}
	for _, f := range change {
		f(&r)
	}
	return must[Contract](w.tb)(w.Create(w.tb.Context(), c, r))
}

// move moves a contract.
func (w *world) move(c Caller, id string, to niptemp.Status) error {
	_, err := w.Move(w.tb.Context(), c, id, MoveRequest{Status: to})
	return err
}

// say writes an entry for a provisioned caller.
func (w *world) say(c Caller, id, kind string, vis Visibility, text string) Entry {
	w.tb.Helper()
	return must[Entry](w.tb)(w.Say(w.tb.Context(), c, id, EntryRequest{Type: kind, Visibility: vis, Content: text}))
}

// texts lists what a caller reads of a thread.
func (w *world) texts(c Caller, id string) string {
	w.tb.Helper()
	p := must[EntryPage](w.tb)(w.Entries(w.tb.Context(), c, id, EntryQuery{Limit: 500}))
	var out []string
	for _, e := range p.Entries {
		out = append(out, e.Content)
	}
	if p.Total != len(out) {
		w.tb.Errorf("total %d of %d entries", p.Total, len(out))
	}
	return strings.Join(out, "|")
}

const second = time.Second

// stateStatuses lists the statuses of the states that the two parties published
// for a contract, each author's newest first.
func stateStatuses(w *world, id string) (out []string, err error) {
	for _, k := range []storetest.Key{anna, will} {
		states, failed := w.store.ContractStates(w.tb.Context(), id, k.Pub)
		err = errors.Join(err, failed)
		for _, b := range states {
			ev, _ := wire.ParseEvent(b)
			if t, err := niptemp.ReadState(ev); err == nil {
				out = append(out, string(t.Status))
			}
		}
	}
	return out, err
}

// wantNowhere fails if a text is in a file of the database, an export, a
// history, a search of the relay or a backup.
func wantNowhere(t *testing.T, w *world, text string) {
	t.Helper()
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := w.store.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte(text)) {
		t.Error("it is in the database")
	}
	filter := nostr.Filter{Search: text}
	hits, err := w.store.Search(t.Context(), store.Ask{Scope: gate.Operator(), Filter: filter, MaxRows: 10})
	if err != nil {
		t.Fatal(err)
	}
	page, err := hits.Next(t.Context(), 10, 1<<20)
	if err != nil || len(page.Rows) != 0 {
		t.Errorf("the relay's search finds %d (%v)", len(page.Rows), err)
	}
	page, err = w.store.Query(t.Context(), store.Ask{Scope: gate.Operator(), Filter: nostr.Filter{}, MaxRows: 1000, MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range page.Rows {
		if bytes.Contains(row.JSON, []byte(text)) {
			t.Error("it is in an event")
		}
	}
}

func (a *agents) Rotate(_ context.Context, name string) (Provisioned, error) {
	return Provisioned{Identity: Identity{AgentID: name}, Token: "token"}, nil
}
