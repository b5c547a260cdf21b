package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/transfer"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
	"engramd/nips/nip77"
)

// fakeSource is a relay of which a test says everything. It keeps no promise of
// a Source's but that events have ids.
type fakeSource struct {
	mu      sync.Mutex
	heads   []*nostr.Event
	past    []*nostr.Event // of all kinds, in the order of arrival
	at      transfer.PastAt
	noSync  bool
	noPast  error
	fails   error // of Pages and Reconcile
	fetched int
	paged   []nostr.Filter
	asked   []transfer.PastQuery
	told    [][32]byte        // ids that it was told of
	short   bool              // it keeps back the first of what is asked for
	between func()            // called when its versions since a time were read
	breaks  int               // after so many events or versions the connection ends; 0 is never
	live    chan *nostr.Event // nil: it never opens
	closed  bool
}

func (s *fakeSource) matching(f nostr.Filter) (out []*nostr.Event) {
	for _, ev := range s.heads {
		if f.Matches(ev) {
			out = append(out, ev)
		}
	}
	return out
}

func (s *fakeSource) Pages(_ context.Context, f nostr.Filter, take func(*nostr.Event) error) (client.RelayStatus, error) {
	s.paged = append(s.paged, f)
	if s.fails != nil {
		return client.RelayStatus{}, s.fails
	}
	all := s.matching(f)
	slices.SortStableFunc(all, func(a, b *nostr.Event) int { return int(b.CreatedAt - a.CreatedAt) })
	for _, ev := range all {
		if err := s.broken(); err != nil {
			return client.RelayStatus{}, err
		}
		if err := take(ev); err != nil {
			return client.RelayStatus{}, err
		}
	}
	return client.RelayStatus{Complete: !s.short, Cut: s.short}, nil
}

var errBroken = errors.New("the connection ended")

func (s *fakeSource) broken() error {
	if s.breaks > 0 {
		if s.breaks--; s.breaks == 0 {
			return errBroken
		}
	}
	return nil
}

func (s *fakeSource) Reconcile(_ context.Context, f nostr.Filter, items []nip77.Item) (have, need [][32]byte, err error) {
	if s.noSync {
		return nil, nil, transfer.ErrNoSync
	}
	if s.fails != nil {
		return nil, nil, s.fails
	}
	for _, i := range items {
		s.told = append(s.told, i.ID)
	}
	if _, err := nip77.NewSet(items); err != nil {
		return nil, nil, err
	}
	for _, ev := range s.matching(f) {
		id := idOf(ev)
		if !slices.ContainsFunc(items, func(i nip77.Item) bool { return i.ID == id }) {
			need = append(need, id)
		}
	}
	return nil, need, nil
}

func (s *fakeSource) Fetch(_ context.Context, f nostr.Filter, ids [][32]byte, take func(*nostr.Event) error) (missing [][32]byte, err error) {
	for _, ev := range s.matching(f) {
		if s.short && idOf(ev) == ids[0] {
			missing = append(missing, ids[0])
		} else if slices.Contains(ids, idOf(ev)) {
			s.fetched++
			if err := take(ev); err != nil {
				return nil, err
			}
		}
	}
	return missing, nil
}

func (s *fakeSource) Past(_ context.Context, q transfer.PastQuery, take func(*nostr.Event) error) (transfer.PastAt, error) {
	s.asked = append(s.asked, q)
	if s.noPast != nil {
		return transfer.PastAt{}, s.noPast
	}
	for i, ev := range s.past {
		contract := ev.Kind == 30090 || ev.Kind == 30091
		if q.Filter.Matches(ev) && (q.Since == nil || !contract) && int64(i+1) > q.After {
			if err := s.broken(); err != nil {
				return transfer.PastAt{}, err
			}
			if err := take(ev); err != nil {
				return transfer.PastAt{}, err
			}
			if q.Came != nil { // its pages have one version
				if err := q.Came(int64(i + 1)); err != nil {
					return transfer.PastAt{}, err
				}
			}
		}
	}
	if q.Since != nil && s.between != nil {
		s.between()
	}
	return s.at, nil
}

func (s *fakeSource) Live(ctx context.Context, _ nostr.Filter, take func(*nostr.Event) error, stored func()) error {
	s.mu.Lock()
	live := s.live
	s.mu.Unlock()
	if live == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	stored()
	for {
		select {
		case ev, open := <-live:
			if !open {
				return errors.New("the connection ended")
			}
			if err := take(ev); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drop ends the live question; the next one opens again.
func (s *fakeSource) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.live)
	s.live = make(chan *nostr.Event)
}

func (s *fakeSource) Close() { s.closed = true }

// fakeStore keeps what it is given.
type fakeStore struct {
	mu     sync.Mutex
	got    []string // content, and whether it was past
	ids    map[string]*nostr.Event
	past   map[string]bool
	place  map[string]store.Place
	answer func(ev *nostr.Event) store.Result
}

func newFakeStore() *fakeStore {
	return &fakeStore{ids: map[string]*nostr.Event{}, past: map[string]bool{}, place: map[string]store.Place{}}
}

type result struct{ store.Result }

func (r result) Done() <-chan struct{} { return nil }
func (r result) Wait() store.Result    { return r.Result }

func (s *fakeStore) Begin(_ context.Context, ev *nostr.Event, o store.PutOptions) (store.Pending, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !o.Replica || o.Import {
		return nil, errors.New("not put as a replica's")
	}
	s.got = append(s.got, fmt.Sprint(ev.Content, map[bool]string{true: " past"}[o.Past]))
	if s.answer != nil {
		return result{s.answer(ev)}, nil
	}
	if s.ids[ev.ID] != nil || o.Past && s.past[ev.ID] {
		return result{store.Result{Outcome: store.Duplicate, Why: store.WhyDuplicate}}, nil
	}
	if s.past[ev.ID] = o.Past; !o.Past {
		s.ids[ev.ID] = ev
	}
	return result{store.Result{Outcome: store.Stored, Seq: int64(len(s.got))}}, nil
}

func (s *fakeStore) IDs(_ context.Context, ask store.Ask, most int, room func(int) error) (out []nip77.Item, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ev := range s.ids {
		if ev.Kind == 30174 && !ask.Scope.CanRead(gate.SubjectOf(gate.Engram, ev)) {
			continue
		}
		if ask.Filter.Matches(ev) {
			out = append(out, nip77.Item{CreatedAt: int64(ev.CreatedAt), ID: idOf(ev)})
		}
	}
	if len(out) > most {
		return nil, store.ErrMany
	}
	return out, room(len(out))
}

func (s *fakeStore) Follow(_ context.Context, source string, to store.Place) error {
	s.place[source] = to
	return nil
}

func (s *fakeStore) FollowedTo(_ context.Context, source string) (store.Place, error) {
	return s.place[source], nil
}

func (s *fakeStore) taken() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

type counts struct {
	mu  sync.Mutex
	all map[string]int
}

func (c *counts) event(n int, outcome, prefix string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[fmt.Sprint(n, outcome, prefix)]++
}

var made int

// event makes one with an id of its own; its content says which it is.
func event(kind int, at int64, content string) *nostr.Event {
	made++
	ev := &nostr.Event{Kind: kind, CreatedAt: nostr.Timestamp(at), Content: content, PubKey: strings.Repeat("a", 64), Tags: nostr.Tags{{"n", fmt.Sprint(made)}}}
	ev.ID = ev.GetID()
	return ev
}

func idOf(ev *nostr.Event) (id [32]byte) {
	for i := range id {
		fmt.Sscanf(ev.ID[2*i:2*i+2], "%02x", &id[i])
	}
	return id
}

// scene is a follower of a fake source into a fake store.
type scene struct {
	src   *fakeSource
	store *fakeStore
	count *counts
	log   strings.Builder
	dials atomic.Int32
	f     *Follower
}

func newScene(t *testing.T, change func(*Options, *scene)) *scene {
	t.Helper()
	table, err := gate.NewTable(gate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{src: &fakeSource{}, store: newFakeStore(), count: &counts{all: map[string]int{}}}
	o := Options{
		Number: 1, Name: "a source", Spec: Spec{URL: "wss://source.example", Interval: time.Minute},
		Dial:  func() (Source, error) { s.dials.Add(1); return s.src, nil },
		Store: s.store, Table: func() *gate.Table { return table },
		Judge: func(_ context.Context, ev *nostr.Event) (bool, string) {
			return strings.HasPrefix(ev.Content, "bad"), "invalid: it is bad"
		},
		Clock: time.Now, After: time.After, Jitter: func() float64 { return 1 },
		Log: slog.New(slog.NewTextHandler(&s.log, nil)), Observe: s.count.event,
	}
	if change != nil {
		change(&o, s)
	}
	s.f = New(o)
	return s
}

// TestOrderOfAPass: requests first, then contracts with their past before their
// heads, then the rest; the past of all else at last.
func TestOrderOfAPass(t *testing.T) {
	for _, noSync := range []bool{false, true} {
		s := newScene(t, nil)
		s.src.noSync = noSync
		s.src.heads = []*nostr.Event{event(1, 9, "note"), event(30090, 8, "entry 2"), event(30174, 7, "engram 2"), event(5, 6, "request")}
		s.src.past = []*nostr.Event{event(30174, 1, "engram 1"), event(30090, 2, "entry 1")}
		s.src.at = transfer.PastAt{Number: 17, Time: 1000}
		got, err := s.f.Once(t.Context())
		if err != nil || got.Taken != 6 {
			t.Fatalf("%+v, %v", got, err)
		}
		all := s.store.taken()
		before := func(a, b string) {
			t.Helper()
			if i, j := slices.Index(all, a), slices.Index(all, b); i < 0 || j < 0 || i > j {
				t.Errorf("%s does not come before %s: %v", a, b, all)
			}
		}
		before("request", "entry 1 past")
		before("entry 1 past", "entry 2")
		before("entry 2", "engram 1 past")
		before("engram 2", "engram 1 past")
		if s.store.place["a source"] != (store.Place{Number: 17, Time: 1000}) {
			t.Errorf("followed to %v", s.store.place)
		}
		// The next pass goes on from there, and brings nothing again.
		s.src.asked = nil
		if _, err := s.f.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if q := s.src.asked; len(q) != 3 || q[0].After != 17 || *q[2].Since != 1000-sinceSlack {
			t.Errorf("asked %+v", q)
		}
		if !noSync && s.src.fetched != 4 {
			t.Errorf("%d were fetched, want each once", s.src.fetched)
		}
	}
}

// TestWhatTheSourceIsTold: ids are keys. It is told of what the key that asks it
// may read here, and what it has itself is not fetched again for that.
func TestWhatTheSourceIsTold(t *testing.T) {
	note, engram := event(1, 1, "note"), event(30174, 2, "engram")
	for _, c := range []struct {
		key  string
		told int // of each engram and note, in three reconciliations
	}{{strings.Repeat("b", 64), 2}, {engram.PubKey, 4}, {strings.Repeat("c", 64), 4}, {"", 2}} {
		table, err := gate.NewTable(gate.Options{Replicas: []string{strings.Repeat("c", 64)}})
		if err != nil {
			t.Fatal(err)
		}
		s := newScene(t, func(o *Options, _ *scene) {
			o.PubKey, o.Table = c.key, func() *gate.Table { return table }
		})
		s.store.ids[note.ID], s.store.ids[engram.ID] = note, engram
		s.src.heads = []*nostr.Event{engram}
		if _, err := s.f.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(s.src.told) != c.told || s.src.fetched != 0 {
			t.Errorf("key %.1s: told of %d events, want %d; %d fetched again", c.key, len(s.src.told), c.told, s.src.fetched)
		}
	}
}

// TestSourceThatWentBack: one that stands before where it stood is read from the
// beginning.
func TestSourceThatWentBack(t *testing.T) {
	s := newScene(t, nil)
	s.store.place["a source"] = store.Place{Number: 50, Time: 5000}
	s.src.past = []*nostr.Event{event(30090, 2, "entry 1"), event(30174, 1, "engram 1")}
	s.src.at = transfer.PastAt{Number: 2, Time: 100}
	if _, err := s.f.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.store.taken(); !slices.Contains(got, "entry 1 past") || !slices.Contains(got, "engram 1 past") {
		t.Errorf("taken %v", got)
	}
	if s.store.place["a source"] != (store.Place{Number: 2, Time: 100}) {
		t.Errorf("followed to %v", s.store.place)
	}
}

// TestNoRightToHistory is no error, and the place is not moved on.
func TestNoRightToHistory(t *testing.T) {
	for _, why := range []error{client.ErrNoHistory, fmt.Errorf("%w over HTTP", client.ErrAuth)} {
		s := newScene(t, nil)
		s.src.heads, s.src.noPast = []*nostr.Event{event(1, 9, "note")}, why
		got, err := s.f.Once(t.Context())
		if err != nil || got.Taken != 1 || len(s.store.place) != 0 {
			t.Errorf("%v: %+v, %v, %v", why, got, err, s.store.place)
		}
		const said = "it shows no superseded versions to this key"
		if !got.NoHistory || got.Why != said || strings.Count(s.log.String(), said) != 1 {
			t.Errorf("%v: %+v\n%s", why, got, s.log.String())
		}
	}
	s := newScene(t, nil)
	s.src.noPast = client.ErrTimeout
	if _, err := s.f.Once(t.Context()); !errors.Is(err, client.ErrTimeout) {
		t.Errorf("a source that hangs: %v", err)
	}
}

// TestRefusedOnce: what is refused, deleted or history here is not fetched
// again, for a while; and what is refused is counted by reason.
func TestRefusedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		outcomes := map[string]store.Result{
			"deleted": {Outcome: store.Deleted, Why: store.WhyDeleted}, "stale": {Outcome: store.Stale, Why: store.WhyStale},
			"late": {Outcome: store.Stored}, "quota": {Outcome: store.Refused, Why: nip01.Refuse(nip01.PrefixBlocked, "quota")},
		}
		s.store.answer = func(ev *nostr.Event) store.Result { return outcomes[ev.Content] }
		s.src.heads = []*nostr.Event{event(1, 1, "bad"), event(1, 2, "deleted"), event(30174, 3, "stale"), event(30174, 4, "late"), event(1, 5, "quota"), event(20001, 6, "passing")}
		for range 3 {
			if _, err := s.f.Once(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.store.taken(); len(got) != 3+2*3 { // what is older may become the head when the newer one is deleted
			t.Errorf("the store was asked for %v", got)
		}
		fetched := s.src.fetched
		if fetched > 4+2*3+2*3 { // and the passing one is never remembered
			t.Errorf("%d fetched", fetched)
		}
		for what, want := range map[string]int{"1refusedinvalid": 1, "1refusedblocked": 1, "1deleted": 1, "1known": 6, "1taken": 1} {
			if s.count.all[what] != want {
				t.Errorf("%s: %d, want %d (%v)", what, s.count.all[what], want, s.count.all)
			}
		}
		if got := s.f.Status(); got.Reasons["invalid: it is bad"] != 1 || got.RefusedEvents() != 2 {
			t.Errorf("%+v", got)
		}
		time.Sleep(seenFor + time.Second)
		if _, err := s.f.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.src.fetched <= fetched+1 {
			t.Error("what was refused is never looked at again")
		}
	})
}

// TestHeadReplacedDuringAPass: what replaces a head while versions are read
// comes in the same pass.
func TestHeadReplacedDuringAPass(t *testing.T) {
	for _, noSync := range []bool{false, true} {
		s := newScene(t, nil)
		one, two := event(30174, 1, "engram 1"), event(30174, time.Now().Unix(), "engram 2")
		s.src.noSync, s.src.heads, s.src.at = noSync, []*nostr.Event{one}, transfer.PastAt{Number: 1, Time: time.Now().Unix()}
		s.src.between = func() { s.src.heads, s.src.past = []*nostr.Event{two}, []*nostr.Event{one} }
		if _, err := s.f.Once(t.Context()); err != nil || !slices.Contains(s.store.taken(), "engram 2") {
			t.Errorf("%v, %v", s.store.taken(), err)
		}
	}
}

// TestIncomplete: what is named and does not come is missing, the place is not
// moved on, and that is said.
func TestIncomplete(t *testing.T) {
	for _, noSync := range []bool{false, true} {
		s := newScene(t, nil)
		s.src.noSync, s.src.short = noSync, true
		s.src.heads, s.src.at = []*nostr.Event{event(1, 1, "one"), event(1, 2, "two")}, transfer.PastAt{Number: 9, Time: 9}
		got, err := s.f.Once(t.Context())
		if err != nil || !got.Incomplete || len(s.store.place) != 0 {
			t.Errorf("%+v, %v, followed to %v", got, err, s.store.place)
		}
		s.src.short = false
		if got, err = s.f.Once(t.Context()); err != nil || got.Incomplete || s.store.place["a source"].Number != 9 {
			t.Errorf("%+v, %v, followed to %v", got, err, s.store.place)
		}
	}
}

// TestSeenIsAboutHeads: what a source showed as a head, and what is a head here,
// is put when it is superseded there.
func TestSeenIsAboutHeads(t *testing.T) {
	s := newScene(t, nil)
	s.src.noSync = true
	late, known := event(30174, 1, "late"), event(1, 2, "known")
	s.store.answer = func(ev *nostr.Event) store.Result {
		if ev == known {
			return store.Result{Outcome: store.Duplicate, Seq: 7}
		}
		return store.Result{Outcome: store.Stored}
	}
	s.src.heads = []*nostr.Event{late, known}
	if _, err := s.f.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !s.f.seen.has(idOf(late)) || s.f.seen.has(idOf(known)) {
		t.Error("want only what is no head here remembered")
	}
	s.src.heads, s.src.past = nil, []*nostr.Event{late}
	if _, err := s.f.Once(t.Context()); err != nil || !slices.Contains(s.store.taken(), "late past") {
		t.Errorf("%v, %v", s.store.taken(), err)
	}
}

func TestSeenIsBounded(t *testing.T) {
	s := newSeen(time.Now)
	ev := event(1, 1, "x")
	for i := range 3 * maxSeen {
		s.note([32]byte{byte(i), byte(i >> 8), byte(i >> 16), 1}, ev)
	}
	if len(s.known) != maxSeen || len(s.order) != maxSeen {
		t.Errorf("%d and %d are remembered", len(s.known), len(s.order))
	}
	if last := 3*maxSeen - 1; !s.has([32]byte{byte(last), byte(last >> 8), byte(last >> 16), 1}) {
		t.Error("the last one is forgotten")
	}
	if got := s.items(nostr.Filter{Kinds: []int{2}}); len(got) != 0 {
		t.Errorf("%d of another kind", len(got))
	}
}

// TestRunComesBack: a source that fails is left alone for longer and longer, one
// line in the log says so; when it answers, it is followed again.
func TestRunComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, func(o *Options, s *scene) {
			o.Spec.Live = true
			dial := o.Dial
			o.Dial = func() (Source, error) {
				if s.dials.Load() < 5 {
					s.dials.Add(1)
					return nil, errors.New("connection refused")
				}
				return dial()
			}
		})
		s.src.live = make(chan *nostr.Event)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.f.Run(ctx) }()
		began := time.Now()
		time.Sleep(30 * time.Second) // 1 + 2 + 4 + 8 = 15, and 16 more
		synctest.Wait()
		if got := s.f.Status(); got.State != Failed || s.dials.Load() != 5 || got.Lag != time.Since(began).Seconds() {
			t.Errorf("after 30 s: %+v, %d dials", got, s.dials.Load())
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := s.f.Status(); got.State != Following || got.Lag != 0 || got.Success.IsZero() {
			t.Errorf("when it answers: %+v", got)
		}
		s.src.live <- event(1, 1, "live")
		synctest.Wait()
		if got := s.store.taken(); !slices.Equal(got, []string{"live"}) {
			t.Errorf("taken %v", got)
		}
		close(s.src.live)
		synctest.Wait()
		if got := s.f.Status(); got.State != Failed {
			t.Errorf("when the connection ends: %+v", got)
		}
		cancel()
		<-done
		if lines := strings.Count(s.log.String(), "\n"); lines != 3 {
			t.Errorf("%d lines in the log:\n%s", lines, s.log.String())
		}
	})
}

// TestRunGivesUpSlowly: a source that ends each session after a pass is left
// alone for longer and longer, too.
func TestRunGivesUpSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, func(o *Options, _ *scene) { o.Spec.Live = true })
		s.src.live = make(chan *nostr.Event)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.f.Run(ctx) }()
		synctest.Wait() // following
		for range 3 {
			s.src.drop()
			synctest.Wait()
			time.Sleep(mostPause / 30)
			synctest.Wait()
		}
		if n := s.dials.Load(); n != 4 || s.f.Status().State != Following {
			t.Fatalf("%d dials, %+v", n, s.f.Status())
		}
		s.src.drop()
		synctest.Wait()
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if n := s.dials.Load(); n != 4 {
			t.Errorf("dialled the %dth time after 7 s, want 8", n)
		}
		time.Sleep(2*time.Second + steadyAfter)
		synctest.Wait()
		s.src.drop()
		synctest.Wait()
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		if n := s.dials.Load(); n != 6 {
			t.Errorf("%d dials, want one more a second after a steady time", n)
		}
		cancel()
		<-done
	})
}

// TestStoreThatFails ends the session, and is not the event's fault.
func TestStoreThatFails(t *testing.T) {
	s := newScene(t, nil)
	s.src.heads = []*nostr.Event{event(1, 1, "a"), event(1, 2, "b")}
	s.store.answer = func(*nostr.Event) store.Result {
		return store.Result{Outcome: store.Failed, Err: errors.New("disk full")}
	}
	if got, err := s.f.Once(t.Context()); !errors.Is(err, errStore) || got.RefusedEvents() != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if s.f.seen.has(idOf(s.src.heads[0])) {
		t.Error("it is not tried again")
	}
}

// TestManyPages are read in rows.
func TestManyPages(t *testing.T) {
	s := newScene(t, nil)
	s.src.noSync = true
	for i := range pagesAtOnce*2 + 10 {
		s.src.heads = append(s.src.heads, &nostr.Event{ID: fmt.Sprintf("%064x", i), Kind: 1, CreatedAt: nostr.Timestamp(1000 + i/3)})
	}
	s.src.noPast = client.ErrNoHistory
	if got, err := s.f.Once(t.Context()); err != nil || got.Taken != int64(len(s.src.heads)) {
		t.Errorf("%+v, %v", got, err)
	}
	// What was written meanwhile is asked for when the last row has ended.
	if last := s.src.paged[len(s.src.paged)-1]; len(s.src.paged) < 4 || last.Since == nil || last.Until != nil {
		t.Errorf("%d questions, at last %v", len(s.src.paged), last)
	}
}

// TestSetFollowsTheConfiguration: what is gone is ended, what is new begins, and
// what did not change goes on.
func TestSetFollowsTheConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := map[string]int{}
		var mu sync.Mutex
		set := NewSet(func(n int, spec Spec) (*Follower, error) {
			if spec.URL == "wrong" {
				return nil, errors.New("no such key")
			}
			return newScene(t, func(o *Options, s *scene) {
				o.Number, o.Spec = n, spec
				s.src.live = make(chan *nostr.Event)
				dial := o.Dial
				o.Dial = func() (Source, error) {
					mu.Lock()
					defer mu.Unlock()
					dials[spec.URL]++
					return dial()
				}
			}).f, nil
		})
		configure := func(urls ...string) error {
			var specs []Spec
			for _, url := range urls {
				specs = append(specs, Spec{URL: url, Interval: time.Hour, Live: true})
			}
			apply, err := set.Prepare(specs)
			if err == nil {
				apply()
				synctest.Wait()
			}
			return err
		}
		for i, urls := range [][]string{{"a", "b"}, {"a", "b", "c"}, {"a"}, {}, {"a"}} {
			if err := configure(urls...); err != nil || len(set.Status()) != len(urls) {
				t.Fatalf("%d: %v, %+v", i, err, set.Status())
			}
		}
		if err := configure("a", "wrong"); err == nil || len(set.Status()) != 1 {
			t.Errorf("a wrong one: %v, %+v", err, set.Status())
		}
		if dials["a"] != 2 || dials["b"] != 1 || dials["c"] != 1 {
			t.Errorf("dials: %v", dials)
		}
		set.Close()
		if err := configure("b"); err != nil || dials["b"] != 1 {
			t.Errorf("after the end: %v, %v", err, dials)
		}
		(*Set)(nil).Close()
	})
}
