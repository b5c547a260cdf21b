package httpauth

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Note is one use, as it is kept across restarts.
type Note struct {
	ID, Key string // of the event and who signed it, 64 lower-case hex digits
	At      time.Time
}

// Keeper keeps notes on disk. Keep returns once all of them are durable, and
// reports which ids it had before; notes from before the given time need not be
// kept any longer.
type Keeper interface {
	Keep(ctx context.Context, notes []Note, before time.Time) (had []bool, err error)
}

// Journal is a Guard whose uses are durable before their calls are executed,
// so that none is executed again after a crash. The disk has all uses of twice
// the window, the Guard the latest for which it has room: a flood of calls by
// ever new keys keeps nobody else out. Calls that come while others are being
// written are written together. Make one with NewJournal.
type Journal struct {
	memory *Guard
	keeper Keeper
	most   int

	mu      sync.Mutex
	nodes   int // that have a part of most
	next    *group
	writing bool
	kept    int      // on disk
	seconds []second // when they were noted, in order
}

// second is how many notes were made within one.
type second struct {
	at int64
	n  int
}

// group holds notes that become durable together.
type group struct {
	notes []Note
	had   []bool
	done  chan struct{}
	err   error
}

// keepTime bounds the wait for the disk.
const keepTime = 10 * time.Second

// NewJournal returns a Journal over a Guard, with most as the bound of notes
// on disk. Seed it with the keeper's notes before the first call.
func NewJournal(m *Guard, k Keeper, most int) *Journal {
	m.evicts = true
	return &Journal{memory: m, keeper: k, most: most, next: newGroup()}
}

func newGroup() *group { return &group{done: make(chan struct{})} }

// Seed does what Guard.Seed does, for notes of the keeper.
func (j *Journal) Seed(id, key string, at time.Time) {
	j.memory.Seed(id, key, at)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.count(at)
}

// SetPart divides the bounds of one key, and of all on disk, by the number of
// nodes that write there. It is 1 at the start.
func (j *Journal) SetPart(nodes int) {
	j.memory.SetPart(nodes)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.nodes = nodes
}

// Used reports whether an id certainly was used. Only Use finds an old one that
// only the disk knows.
func (j *Journal) Used(id string) bool { return j.memory.Used(id) }

// Use does what Guard.Use does, durably. After an error of the keeper the call
// must not be executed; its id counts as used all the same.
func (j *Journal) Use(ctx context.Context, id, key string) error {
	if err := j.memory.Use(id, key); err != nil {
		return err
	}
	now := j.memory.clock()
	j.mu.Lock()
	if j.full(now) {
		j.mu.Unlock()
		return ErrBusy
	}
	j.count(now)
	g := j.next
	at := len(g.notes)
	g.notes = append(g.notes, Note{id, key, now})
	if !j.writing {
		j.writing = true
		go j.write()
	}
	j.mu.Unlock()
	select {
	case <-g.done:
		if g.err == nil && g.had[at] {
			return ErrUsed
		}
		return g.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// count counts one more note on disk.
func (j *Journal) count(at time.Time) {
	j.kept++
	if last := len(j.seconds) - 1; last >= 0 && j.seconds[last].at >= at.Unix() {
		j.seconds[last].n++
		return
	}
	j.seconds = append(j.seconds, second{at.Unix(), 1})
}

// full reports whether there is no room on disk, once old notes are gone.
func (j *Journal) full(now time.Time) bool {
	old := now.Add(-j.memory.keep).Unix() - 1
	for len(j.seconds) > 0 && j.seconds[0].at < old {
		j.kept -= j.seconds[0].n
		j.seconds = j.seconds[1:]
	}
	return j.kept >= partOf(j.most, j.nodes)
}

// write stores one group after the other until no call waits.
func (j *Journal) write() {
	for {
		j.mu.Lock()
		g := j.next
		if len(g.notes) == 0 {
			j.writing = false
			j.mu.Unlock()
			return
		}
		j.next = newGroup()
		j.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), keepTime)
		var err error
		if g.had, err = j.keeper.Keep(ctx, g.notes, j.memory.clock().Add(-j.memory.keep)); err != nil {
			g.err = fmt.Errorf("note the use of a signature: %w", err)
		}
		cancel()
		close(g.done)
	}
}
