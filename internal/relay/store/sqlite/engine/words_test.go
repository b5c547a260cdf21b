package engine

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"engramd/internal/relay/store"
)

// words is an applier that has nothing of events: a member is a word, or several
// that are one, which are stored in a table.
type words struct {
	w     *Writer
	db    *DB
	stage []string // words of the transaction under way
	mark  int
	base  int // words that were there before

	mu    sync.Mutex
	told  []string // what was called, in order
	fail  map[string]error
	after map[string]func(w *Writer) // done once a word is stored, in its transaction
	spare bool                       // there is room to be reclaimed
	tight bool
}

// openWords opens a database of words in a new folder.
func openWords(t *testing.T) *words {
	t.Helper()
	a := &words{fail: map[string]error{}, after: map[string]func(*Writer){}}
	a.db = New(Options{
		Path: filepath.Join(t.TempDir(), "words.db"), After: func(time.Duration) <-chan time.Time { return nil },
		Observe: counting{told: a.tell},
	})
	if err := a.db.Open(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// counting tells of commits.
type counting struct {
	Nobody
	told func(string)
}

func (c counting) CommitDone(_ time.Duration, _ int, ok bool) {
	if ok {
		c.told("durable")
		return
	}
	c.told("not durable")
}

func (a *words) tell(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told = append(a.told, what)
}

// calls are those that were made since the last time.
func (a *words) calls() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	told := a.told
	a.told = nil
	return told
}

func (a *words) Prepare(_ context.Context, w *Writer) error {
	a.w = w
	if err := w.Conn().Script("CREATE TABLE IF NOT EXISTS words(word TEXT PRIMARY KEY, text BLOB)"); err != nil {
		return err
	}
	base, err := w.Conn().Number(lastWord)
	a.base = int(base)
	return err
}

// lastWord is the number of the last word.
const lastWord = "SELECT max(rowid) FROM words"

func (a *words) Begin() { a.base, a.stage = a.base+len(a.stage), nil }
func (a *words) Mark()  { a.mark = len(a.stage) }
func (a *words) Undo() {
	a.stage = a.stage[:a.mark]
	a.tell("Undo")
}

// errRefused makes Apply refuse a word after it was stored.
var errRefused = errors.New("refused")

func (a *words) Apply(m *Member) (store.Result, error) {
	word := m.Of.(string)
	text := make([]byte, m.cost)
	if _, err := a.w.Exec("INSERT INTO words(word, text) VALUES (?, ?)", word, text); err != nil {
		return store.Result{}, err
	}
	a.stage = append(a.stage, word)
	if after := a.after[word]; after != nil {
		after(a.w)
	}
	if err := a.fail[word]; errors.Is(err, errRefused) {
		return store.Result{Outcome: store.Refused}, nil
	} else if err != nil {
		return store.Result{}, err
	}
	return store.Result{Outcome: store.Stored}, nil
}

func (a *words) Risky(m *Member) bool { return m.Of == "risky" }
func (a *words) End() error           { return nil }
func (a *words) Durable()             { a.tell("Durable") }
func (a *words) Number() int64        { return int64(a.base + len(a.stage)) }
func (a *words) Announce() {
	for _, word := range a.stage {
		a.tell("Announce " + word)
	}
}
func (a *words) Applied(*Member) {}
func (a *words) RolledBack() {
	a.stage = nil
	a.tell("RolledBack")
}
func (a *words) Reclaimable() bool   { return a.spare }
func (a *words) Idle() time.Duration { return time.Hour }
func (a *words) Tight(on bool)       { a.tight = on }
func (a *words) Reclaim() {
	a.tell("Reclaim")
	a.spare = false
	if err := a.w.LimitSize(0); err != nil {
		panic(err)
	}
}

func (a *words) Work() bool {
	if !a.w.Busy() {
		return false
	}
	if _, err := a.w.Step(a.w.GoOn); err != nil {
		a.w.GiveUp(err)
	}
	return true
}

// together gives the writer words that share a batch, and returns what became of
// each.
func (a *words) together(t *testing.T, cost int, list ...string) (out []store.Result) {
	t.Helper()
	release := a.hold(t)
	var all []*Member
	for _, word := range list {
		m := new(Member)
		m.Init(word, cost)
		if err := a.db.Push(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	release()
	for _, m := range all {
		out = append(out, m.Wait())
	}
	return out
}

// hold keeps the writer busy until release is called.
func (a *words) hold(t *testing.T) (release func()) {
	held, free := make(chan struct{}), make(chan struct{})
	go func() {
		_ = a.db.Do(context.WithoutCancel(t.Context()), func() error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	return func() { close(free) }
}

// stored lists the words that are in the database.
func (a *words) stored(t *testing.T) (list []string) {
	t.Helper()
	err := a.db.Read(t.Context(), Scan, func(ctx context.Context, c *Conn) error {
		return c.Query(ctx, "SELECT word FROM words ORDER BY rowid", nil, func(v Row) error {
			list = append(list, v[0].(string))
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}
