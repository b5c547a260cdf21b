package websocket

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip77"
)

// fake is a relay in memory that does what a test tells it. Its functions may
// be set before the server starts.
type fake struct {
	mu     sync.Mutex
	rows   []fakeRow
	seq    int64
	sink   func([]relay.Delivery)
	lost   func()
	held   chan struct{} // when set, commits wait until it is closed
	begun  chan string   // when set, gets the id of each event begun
	opened int           // calls of Connected
	ended  int           // calls of Disconnected

	table     atomic.Pointer[gate.Table]
	looked    func()                                                   // called by Table
	begin     func(ctx context.Context, ev *nostr.Event) *relay.Answer // decides instead of the store
	authorize func(ctx context.Context, surface gate.Surface, f nostr.Filter) error
	canRead   func(scope gate.Scope, d *relay.Delivery) bool
	stored    func(granted []relay.Granted, ceiling int64) Stream
	lastSeq   func(seq int64) int64
	rejects   func(*http.Request) bool
	failing   error                           // of Stored and Count
	reading   func(ctx context.Context) error // before Count and each page of Stored
}

type fakeRow struct {
	store.Row
	ev *nostr.Event
}

type fakePending struct {
	done   chan struct{}
	answer relay.Answer
}

func (p *fakePending) Done() <-chan struct{} { return p.done }
func (p *fakePending) Wait() relay.Answer    { <-p.done; return p.answer }

func (f *fake) Begin(ctx context.Context, ev *nostr.Event) Pending {
	if f.begun != nil {
		f.begun <- ev.ID
	}
	p := &fakePending{done: make(chan struct{})}
	if f.begin != nil {
		if a := f.begin(ctx, ev); a != nil {
			p.answer = *a
			close(p.done)
			return p
		}
	}
	if nostr.IsEphemeralKind(ev.Kind) {
		f.dispatch(relay.Delivery{Event: ev, JSON: wire.AppendEvent(nil, ev)})
		p.answer.OK = true
		close(p.done)
		return p
	}
	f.mu.Lock()
	held := f.held
	f.mu.Unlock()
	commit := func() {
		d := f.put(ev)
		p.answer.OK = true
		close(p.done)
		f.dispatch(d)
	}
	if held == nil {
		commit()
		return p
	}
	go func() { <-held; commit() }()
	return p
}

// put stores an event and makes it visible, without delivering it.
func (f *fake) put(ev *nostr.Event) relay.Delivery {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq++
	json := wire.AppendEvent(nil, ev)
	f.rows = append(f.rows, fakeRow{store.Row{Seq: f.seq, CreatedAt: int64(ev.CreatedAt), JSON: json}, ev})
	return relay.Delivery{Event: ev, JSON: json, Seq: f.seq}
}

// forget empties the store.
func (f *fake) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rows = nil
}

func (f *fake) dispatch(d ...relay.Delivery) {
	f.mu.Lock()
	sink := f.sink
	f.mu.Unlock()
	sink(d)
}

func (f *fake) Table() *gate.Table {
	if f.looked != nil {
		f.looked()
	}
	return f.table.Load()
}

func (f *fake) Authorize(ctx context.Context, surface gate.Surface, filters []nostr.Filter) ([]relay.Granted, error) {
	var granted []relay.Granted
	for _, filter := range filters {
		if f.authorize != nil {
			if err := f.authorize(ctx, surface, filter); err != nil {
				return nil, err
			}
		}
		granted = append(granted, relay.Granted{Filter: filter})
	}
	return granted, nil
}

func (f *fake) Stored(_ context.Context, granted []relay.Granted, at relay.Instant) Stream {
	ceiling := at.Seq
	if f.stored != nil {
		return f.stored(granted, ceiling)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	st := &fakeStream{err: f.failing, reading: f.reading}
	for _, row := range slices.Backward(f.rows) {
		if row.Seq <= ceiling && slices.ContainsFunc(granted, func(g relay.Granted) bool {
			return !g.Filter.LimitZero && g.Filter.Matches(row.ev)
		}) {
			st.rows = append(st.rows, row.Row)
		}
	}
	return st
}

type fakeStream struct {
	reading func(ctx context.Context) error
	rows    []store.Row
	err     error
	more    bool
	damaged []store.Damaged
	all     bool // says that nothing is missing
}

func (st *fakeStream) Next(ctx context.Context, maxRows, maxBytes int) ([]store.Row, bool, error) {
	if st.reading != nil {
		if err := st.reading(ctx); err != nil {
			return nil, false, err
		}
	}
	if st.err != nil {
		return nil, false, st.err
	}
	n, size := 0, 0
	for n < len(st.rows) && n < maxRows && (n == 0 || size < maxBytes) {
		size += len(st.rows[n].JSON)
		n++
	}
	page := st.rows[:n]
	st.rows = st.rows[n:]
	return page, len(st.rows) == 0, nil
}

func (st *fakeStream) More() bool               { return st.more }
func (st *fakeStream) Damaged() []store.Damaged { return st.damaged }
func (st *fakeStream) Complete() bool           { return st.all }

func (f *fake) Count(ctx context.Context, granted []relay.Granted) (n int64, err error) {
	if f.reading != nil {
		if err := f.reading(ctx); err != nil {
			return 0, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, row := range f.rows {
		if slices.ContainsFunc(granted, func(g relay.Granted) bool { return g.Filter.Matches(row.ev) }) {
			n++
		}
	}
	return n, f.failing
}

func (f *fake) IDs(ctx context.Context, granted relay.Granted, most int, room func(n int) error) (ids []nip77.Item, err error) {
	if f.reading != nil {
		if err := f.reading(ctx); err != nil {
			return nil, err
		}
	}
	if f.failing != nil {
		return nil, f.failing
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, row := range f.rows {
		if granted.Filter.Matches(row.ev) {
			item := nip77.Item{CreatedAt: int64(row.ev.CreatedAt)}
			hex.Decode(item.ID[:], []byte(row.ev.ID))
			ids = append(ids, item)
		}
	}
	if len(ids) > most {
		return nil, store.ErrMany
	}
	return ids, room(len(ids))
}

func (f *fake) Now() relay.Instant { return relay.Instant{Seq: f.LastSeq()} }

func (f *fake) LastSeq() int64 {
	f.mu.Lock()
	seq := f.seq
	f.mu.Unlock()
	if f.lastSeq != nil {
		return f.lastSeq(seq)
	}
	return seq
}

func (f *fake) OnDelivery(sink func([]relay.Delivery), lost func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sink, f.lost = sink, lost
}

func (f *fake) CanRead(scope gate.Scope, d *relay.Delivery) bool {
	return f.canRead == nil || f.canRead(scope, d)
}

func (f *fake) Authenticate(ev *nostr.Event, challenge string) (string, error) {
	if tag := ev.Tags.Find("challenge"); tag == nil || tag[1] != challenge {
		return "", errors.New("invalid: auth event answers another challenge")
	}
	return ev.PubKey, nil
}

func (f *fake) RejectsConnection(r *http.Request) bool { return f.rejects != nil && f.rejects(r) }

func (f *fake) Connected(context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
}

func (f *fake) Disconnected(context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended++
}

// disconnected is how often the hook ran; more often than the other would be
// -1.
func (f *fake) disconnected() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended > f.opened {
		return -1
	}
	return f.ended
}

// Keys of the tests; alice is 1, bob 2 and so on.
var (
	alice = strings.Repeat("0", 63) + "1"
	bob   = strings.Repeat("0", 63) + "2"
)

func pubkeyOf(t testing.TB, secret string) string {
	t.Helper()
	pk, err := nostr.GetPublicKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return pk
}

// event signs an event.
func event(t testing.TB, secret string, kind int, content string, tags ...nostr.Tag) *nostr.Event {
	t.Helper()
	ev := &nostr.Event{Kind: kind, CreatedAt: 1_700_000_000, Content: content, Tags: nostr.Tags{}}
	ev.Tags = append(ev.Tags, tags...)
	if err := ev.Sign(secret); err != nil {
		t.Fatal(err)
	}
	return ev
}

// eventFrame is ["EVENT", ev] as a client sends it.
func eventFrame(ev *nostr.Event) string {
	return `["EVENT",` + string(wire.AppendEvent(nil, ev)) + `]`
}

// delivered is the frame by which ev is delivered to a subscription.
func delivered(sub string, ev *nostr.Event) string {
	return string(wire.AppendEventFrame(nil, sub, wire.AppendEvent(nil, ev)))
}

func okFrame(ev *nostr.Event) string { return string(wire.AppendOK(nil, ev.ID, true, "")) }

// big is an event with a content of size bytes; its signature is not valid.
func big(n, size int) *nostr.Event {
	hex := "0123456789abcdef"
	id := bytes.Repeat([]byte{hex[n&15]}, 64)
	for i := range 8 {
		id[i] = hex[(n>>(4*i))&15]
	}
	return &nostr.Event{ID: string(id), PubKey: strings.Repeat("a", 64), Sig: strings.Repeat("b", 128),
		Kind: 1, CreatedAt: 1_700_000_000, Tags: nostr.Tags{}, Content: strings.Repeat("x", size)}
}
