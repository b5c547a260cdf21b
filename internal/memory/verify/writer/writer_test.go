package writer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/state"
	"engramd/internal/memory/verify/writer"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

const (
	secret = "0000000000000000000000000000000000000000000000000000000000000003"
	owner  = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
)

var start = time.Unix(1_700_000_000, 0)

// world is a pair's relays, as a writer sees them: heads by slug.
type world struct {
	t      *testing.T
	mu     sync.Mutex
	key    nipae.ConversationKey
	agent  string
	now    time.Time
	heads  map[nipae.Slug]nipae.Engram
	all    map[string]nipae.Engram
	silent bool // one relay does not answer
	gone   bool // none does
	asked  int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	key, err := nipae.DeriveConversationKey(secret, owner)
	agent, err2 := nostr.GetPublicKey(secret)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return &world{t: t, key: key, agent: agent, now: start, heads: map[nipae.Slug]nipae.Engram{}, all: map[string]nipae.Engram{}}
}

func (w *world) clock() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now }

func (w *world) state(dir string) *state.State {
	w.t.Helper()
	s, err := state.Open(w.t.Context(), state.Pair{Agent: w.agent, Owner: owner, Conversation: w.key},
		state.Options{Dir: dir, Now: w.clock, Machine: func() (string, error) { return "m", nil }})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { s.Close() })
	return s
}

func (w *world) log(s *state.State) *writer.Log {
	return writer.New(writer.Options{Links: s.Links, Memory: w, Now: w.clock, Warn: func(line string) { w.t.Log(line) }})
}

// Since implements writer.Memory.
func (w *world) Since(_ context.Context, at int64) ([]nipae.Engram, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if w.gone {
		return nil, false, client.ErrNoRelay
	}
	var out []nipae.Engram
	for _, e := range w.heads {
		if e.CreatedAt() >= at {
			out = append(out, e)
		}
	}
	return out, !w.silent, nil
}

// Lookup implements writer.Memory.
func (w *world) Lookup(_ context.Context, ids []string) (map[string][]string, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return nil, false, client.ErrNoRelay
	}
	found := map[string][]string{}
	for _, id := range ids {
		if _, there := w.all[id]; there {
			found[id] = []string{"wss://a"}
		}
	}
	return found, !w.silent, nil
}

// Set implements writer.Memory: it is where log units go.
func (w *world) Set(_ context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error) {
	if w.gone {
		return client.Entry{}, client.Status{}, client.ErrNoRelay
	}
	body, err := nipae.NewMemory(slug, text)
	if err == nil && o.Addresses != nil {
		body, err = body.WithMember(writerlog.UnitMember, o.Addresses)
	}
	if err != nil {
		return client.Entry{}, client.Status{}, err
	}
	w.store(w.seal(body))
	return client.Entry{}, client.Status{}, nil
}

func (w *world) seal(body nipae.Body) nipae.Engram {
	w.t.Helper()
	w.mu.Lock()
	w.now = w.now.Add(time.Second)
	at := w.now.Unix()
	w.mu.Unlock()
	return w.sealAt(body, at)
}

func (w *world) sealAt(body nipae.Body, at int64) nipae.Engram {
	ev, err := nipae.Seal(w.key, body, nipae.Sealing{Secret: secret, Owner: owner, CreatedAt: at, Nonce: [32]byte{1}})
	if err != nil {
		w.t.Fatal(err)
	}
	return nipae.Engram{Event: ev, Body: body}
}

func (w *world) store(e nipae.Engram) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heads[e.Slug()], w.all[e.Event.ID] = e, e
}

// write is one write up to the wire.
func (w *world) write(l *writer.Log, slug string) nipae.Engram {
	w.t.Helper()
	l.Ready(w.t.Context())
	return w.take(l, slug, 1)[0]
}

func (w *world) take(l *writer.Log, slug string, count int) []nipae.Engram {
	w.t.Helper()
	w.mu.Lock()
	w.now = w.now.Add(time.Second)
	at := w.now.Unix()
	w.mu.Unlock()
	made := make([]nipae.Engram, count)
	took, err := l.Take(w.t.Context(), count, func(i int, link writerlog.Link) (client.Sealed, error) {
		name := slug
		if count > 1 {
			name = fmt.Sprintf("%s-%d", slug, i)
		}
		body, err := nipae.NewMemory(nipae.Slug("mem/"+name), "x")
		if err != nil {
			return client.Sealed{}, err
		}
		link.T = at
		if body, err = body.WithMember(writerlog.Member, link.JSON()); err != nil {
			return client.Sealed{}, err
		}
		made[i] = w.sealAt(body, at)
		return client.Sealed{Event: made[i].Event}, nil
	})
	if err != nil || !took {
		w.t.Fatal(took, err)
	}
	return made
}

// TestWhoTook: the state keeps which relays said that they took an event.
func TestWhoTook(t *testing.T) {
	w := newWorld(t)
	s := w.state(t.TempDir())
	l := w.log(s)
	for _, took := range [][]string{{"wss://a", "wss://b"}, nil, {"wss://b"}} {
		e := w.write(l, "a")
		w.store(e)
		l.Sent(t.Context(), e.Event, client.Stored, took)
		if took == nil {
			l.Sent(t.Context(), e.Event, client.Stored, []string{"wss://c"}) // by a second relay, later
			l.Sent(t.Context(), e.Event, client.Unknown, nil)
		}
	}
	// Of one whose answer was lost it is known where it was found.
	lost := w.write(l, "a")
	w.store(lost)
	l.Sent(t.Context(), lost.Event, client.Unknown, nil)
	l.Ready(t.Context())
	own, err := s.Links.Own(t.Context())
	if err != nil || len(own) != 1 {
		t.Fatal(own, err)
	}
	for _, all := range own {
		for n, want := range []string{"[wss://a wss://b]", "[wss://c]", "[wss://b]", "[wss://a]"} {
			if got := fmt.Sprint(all[n].Took); got != want || !all[n].Stored {
				t.Errorf("number %d: %s, stored %v", n, got, all[n].Stored)
			}
		}
	}
}

// stored is a write that a relay took.
func (w *world) stored(l *writer.Log, slug string) writerlog.Link {
	w.t.Helper()
	e := w.write(l, slug)
	w.store(e)
	l.Sent(w.t.Context(), e.Event, client.Stored, nil)
	return w.link(e)
}

func (w *world) link(e nipae.Engram) writerlog.Link {
	w.t.Helper()
	l, ok := writerlog.Of(e)
	if !ok {
		w.t.Fatal("it has no link")
	}
	return l
}

// TestNumbers: numbers follow each other, each link names the one before and the
// tree over all before, whoever of several processes takes them.
func TestNumbers(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	logs := []*writer.Log{w.log(w.state(dir)), w.log(w.state(dir))}
	var tree writerlog.Tree
	prev, name := "", ""
	for n := range int64(20) {
		e := w.write(logs[n%2], fmt.Sprint("a", n%3))
		w.store(e)
		logs[n%2].Sent(t.Context(), e.Event, client.Stored, nil)
		l := w.link(e)
		if n == 0 {
			name = l.W
		}
		if l.N != n || l.Prev != prev || l.Root != tree.Root(n) || l.W != name || len(l.Void)+len(l.After) > 0 {
			t.Fatalf("link %d is %+v", n, l)
		}
		id, _ := writerlog.ParseID(e.Event.ID)
		tree.Append(id)
		prev = e.Event.ID
	}
	if got := len(name); got != 8 {
		t.Errorf("a log is named by %d digits", got)
	}
}

// TestKilledBeforeTheWire: a number whose event no relay has is named as void by
// the next one, once, and again if that is void itself; one that a silent relay
// may have stays open.
func TestKilledBeforeTheWire(t *testing.T) {
	w := newWorld(t)
	dir := t.TempDir()
	l := w.log(w.state(dir))
	w.stored(l, "a")
	lost := w.write(l, "b") // and then it is killed
	w.now = w.now.Add(2 * time.Minute)
	w.silent = true
	l = w.log(w.state(dir))
	if got := w.stored(l, "c"); len(got.Void) != 0 || got.N != 2 {
		t.Fatalf("beside a silent relay: %+v", got)
	}
	w.silent = false
	refused := w.write(l, "d")
	if got := w.link(refused).Void; len(got) != 1 || got[0] != (writerlog.Num{N: 1, ID: lost.Event.ID}) {
		t.Fatalf("void: %+v", got)
	}
	l.Sent(t.Context(), refused.Event, client.Refused, nil)
	got := w.stored(l, "e")
	if len(got.Void) != 2 || got.Void[0].N != 1 || got.Void[1] != (writerlog.Num{N: 3, ID: refused.Event.ID}) {
		t.Fatalf("void: %+v", got.Void)
	}
	if got := w.stored(l, "f"); len(got.Void) != 0 {
		t.Errorf("named again: %+v", got.Void)
	}
}

// TestLostAnswer: an event that is stored and whose answer was lost is no void.
func TestLostAnswer(t *testing.T) {
	w := newWorld(t)
	l := w.log(w.state(t.TempDir()))
	e := w.write(l, "a")
	l.Sent(t.Context(), e.Event, client.Unknown, nil)
	w.store(e)
	if got := w.stored(l, "b"); len(got.Void) != 0 {
		t.Errorf("void: %+v", got.Void)
	}
	// A write of another process that goes on now is not asked for.
	other := w.write(l, "c")
	if got := w.stored(l, "d"); len(got.Void) != 0 {
		t.Errorf("what is being sent was named void: %+v", got.Void)
	}
	l.Sent(t.Context(), other.Event, client.Stored, nil)
}

// TestRestoredState: a state that is behind what relays show begins a new log
// that comes after the old one, and never uses a number again; so does one that is
// new. A relay that was silent is asked again.
func TestRestoredState(t *testing.T) {
	w := newWorld(t)
	dir, backup := t.TempDir(), t.TempDir()
	s := w.state(dir)
	l := w.log(s)
	first := w.stored(l, "a")
	s.Close()
	copyDir(t, dir, backup)
	l = w.log(w.state(dir))
	last := w.stored(l, "b")

	copyDir(t, backup, dir)
	w.silent, w.gone = true, true
	l = w.log(w.state(dir))
	l.Ready(t.Context()) // nobody answers
	w.gone, w.silent = false, false
	got := w.stored(l, "c")
	want := writerlog.Head{W: last.W, N: 1, ID: w.heads["mem/b"].Event.ID}
	if got.W == first.W || got.N != 0 || len(got.After) != 1 || got.After[0] != want {
		t.Fatalf("the restored state went on with %+v, want a log after %+v", got, want)
	}
	fresh := w.stored(w.log(w.state(t.TempDir())), "d")
	if fresh.N != 0 || len(fresh.After) != 2 || fresh.After[0].W != got.W || fresh.After[1] != want {
		t.Fatalf("a new state began with %+v", fresh)
	}
	if w.heads["mem/a"].Event.ID == "" {
		t.Fatal("nothing is there")
	}
}

// TestSameNumberElsewhere: a log of which another event has one of its numbers is
// not gone on with.
func TestSameNumberElsewhere(t *testing.T) {
	w := newWorld(t)
	s := w.state(t.TempDir())
	l := w.log(s)
	mine := w.stored(l, "a")
	body, err := nipae.NewMemory("mem/theirs", "x")
	if err != nil {
		t.Fatal(err)
	}
	at := w.clock().Unix() + 5
	mine.T = at
	if body, err = body.WithMember(writerlog.Member, mine.JSON()); err != nil {
		t.Fatal(err)
	}
	w.store(w.sealAt(body, at))
	if got := w.stored(w.log(s), "b"); got.W == mine.W {
		t.Errorf("it went on with %+v", got)
	}
}

// TestUnits: each 512 numbers are kept in a unit, and void numbers that links
// have no room for in another, in no log themselves.
func TestUnits(t *testing.T) {
	w := newWorld(t)
	s := w.state(t.TempDir())
	l := w.log(s)
	l.Ready(t.Context())
	made := w.take(l, "many", writerlog.UnitSize+1)
	var ids []string
	for _, e := range made {
		ids = append(ids, e.Event.ID)
	}
	if err := s.Links.Settle(t.Context(), state.Void, ids[:100]...); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids[100:] {
		if err := s.Links.Took(t.Context(), map[string][]string{id: nil}); err != nil {
			t.Fatal(err)
		}
	}
	name := w.link(made[0]).W
	l.Ready(t.Context())
	read := func(slug nipae.Slug) writerlog.Unit {
		t.Helper()
		e, ok := w.heads[slug]
		if !ok {
			t.Fatalf("there is no %s", slug)
		}
		if _, chained := e.Body.Member(writerlog.Member); chained {
			t.Errorf("%s is in a log", slug)
		}
		u, err := writerlog.UnitOf(e)
		if err != nil {
			t.Fatal(slug, err)
		}
		return u
	}
	u := read(writerlog.UnitSlug(name, 0))
	for i, id := range u.IDs {
		if fmt.Sprintf("%x", id[:]) != ids[i] || len(u.Ds) <= i || fmt.Sprintf("%x", u.Ds[i][:]) != made[i].Event.Tags.GetD() {
			t.Fatalf("id %d of the unit, or its address, is another", i)
		}
	}
	if v := read(writerlog.VoidSlug(name, 0)); len(v.Void) != 100 || v.Void[99].N != 99 || v.Void[99].ID != ids[99] || len(u.IDs) != writerlog.UnitSize {
		t.Errorf("%d void in it, %d ids", len(v.Void), len(u.IDs))
	}
	if got := w.stored(l, "next"); len(got.Void) != 0 || got.N != writerlog.UnitSize+1 {
		t.Errorf("the next one is %+v", got)
	}
	units := 0
	for slug := range w.heads {
		if strings.HasPrefix(string(slug), "mem/sys/log/") {
			units++
		}
	}
	if units != 2 {
		t.Errorf("%d units", units)
	}
}

// TestSealFails: what cannot be sealed takes no number, and an event without a
// link takes none either.
func TestSealFails(t *testing.T) {
	w := newWorld(t)
	l := w.log(w.state(t.TempDir()))
	w.stored(l, "a")
	boom := errors.New("boom")
	if _, err := l.Take(t.Context(), 2, func(i int, _ writerlog.Link) (client.Sealed, error) {
		if i == 1 {
			return client.Sealed{}, boom
		}
		return client.Sealed{Event: w.sealAt(must(nipae.NewMemory("mem/b", "x")), start.Unix()).Event}, nil
	}); !errors.Is(err, boom) {
		t.Errorf("it failed with %v", err)
	}
	if took, err := l.Take(t.Context(), 1, func(int, writerlog.Link) (client.Sealed, error) { return client.Sealed{}, nil }); err != nil || !took {
		t.Error(took, err)
	}
	if got := w.stored(l, "c"); got.N != 1 {
		t.Errorf("the next number is %d", got.N)
	}
}

func must(b nipae.Body, err error) nipae.Body {
	if err != nil {
		panic(err)
	}
	return b
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(to, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("nothing was copied", err)
	}
	for _, f := range files {
		if err := os.Chmod(f, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
