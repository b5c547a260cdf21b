package replay

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Note is one use, as it is kept over a restart.
type Note struct {
	ID, Key string // of the event and who signed it, 64 lower-case hex digits
	At      time.Time
}

// Keeper keeps notes on disk. Keep returns after all of them are durable; what
// is from before a time need not be kept any longer.
type Keeper interface {
	Keep(ctx context.Context, notes []Note, before time.Time) error
}

// Journal is a Memory whose uses are durable before the calls they let in are
// carried out, so that none is carried out again after a crash. Calls that come
// while others are being written down are written down together. Make one with
// NewJournal.
type Journal struct {
	memory *Memory
	keeper Keeper

	mu      sync.Mutex
	next    *group
	writing bool
}

// group is notes that become durable together.
type group struct {
	notes []Note
	done  chan struct{}
	err   error
}

// keepTime bounds the wait for the disk.
const keepTime = 10 * time.Second

// NewJournal makes a journal over a memory that was seeded with what the keeper
// has.
func NewJournal(m *Memory, k Keeper) *Journal {
	return &Journal{memory: m, keeper: k, next: newGroup()}
}

func newGroup() *group { return &group{done: make(chan struct{})} }

// Use is Memory.Use, and then durable. After an error of the keeper the call
// must not be carried out; its id counts as used all the same.
func (j *Journal) Use(ctx context.Context, id, key string) error {
	if err := j.memory.Use(id, key); err != nil {
		return err
	}
	j.mu.Lock()
	g := j.next
	g.notes = append(g.notes, Note{id, key, j.memory.clock()})
	if !j.writing {
		j.writing = true
		go j.write()
	}
	j.mu.Unlock()
	select {
	case <-g.done:
		return g.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// write keeps one group after the other until nobody waits.
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
		if err := j.keeper.Keep(ctx, g.notes, j.memory.clock().Add(-j.memory.keep)); err != nil {
			g.err = fmt.Errorf("note the use of a signature: %w", err)
		}
		cancel()
		close(g.done)
	}
}
