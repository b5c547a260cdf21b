// Package writer is one writer's side of its log (internal/protocol/writerlog): it takes
// numbers in the agent's state, finds out what became of events without an
// answer, begins a new log where the state is behind what relays show, and
// writes log units.
package writer

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/state"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

const (
	// sendingLasts is after what time an event that somebody was sending has no
	// answer any more.
	sendingLasts = time.Minute
	// lookback is how much older than the log's newest event another one of it
	// may be dated: clocks differ, and a burst runs ahead.
	lookback = 15 * 60
	// lookupsAtOnce is how many events are asked for in one question.
	lookupsAtOnce = 200
)

// Memory is the pair's memory; *memory.Memory implements it.
type Memory interface {
	Since(ctx context.Context, at int64) ([]nipae.Engram, bool, error)
	Lookup(ctx context.Context, ids []string) (found map[string][]string, whole bool, err error)
	Set(ctx context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error)
}

// Options are what a Log is made of.
type Options struct {
	Links  state.Links
	Memory Memory           // whose writes are in no log (memory.Memory.Unchained)
	Warn   func(string)     // takes a line when something is left undone; nil drops it
	Now    func() time.Time // nil is the system's clock
}

// Log writes one pair's log. It implements client.Links; any number of
// goroutines may use it.
type Log struct {
	o Options

	mu     sync.Mutex // held while Ready runs
	looked bool       // every relay was asked what it shows of this log
	broken bool       // the state cannot be used
}

var _ client.Links = (*Log)(nil)

// New makes a Log.
func New(o Options) *Log {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return &Log{o: o}
}

// Ready implements client.Links.
func (l *Log) Ready(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	log, err := l.o.Links.Log(ctx)
	if err != nil {
		l.fails(ctx, err)
		return
	}
	if log, err = l.begun(ctx, log); err != nil {
		l.fails(ctx, err)
		return
	}
	for _, step := range []func(context.Context, state.Log) error{l.settleOpen, l.nameVoid, l.writeUnits} {
		if err := step(ctx, log); err != nil {
			return // the next write tries again
		}
	}
}

// fails says once that nothing can be chained. A deadline says nothing of the
// state.
func (l *Log) fails(ctx context.Context, err error) {
	if ctx.Err() == nil && !l.broken {
		l.broken = true
		l.o.Warn("what is written is in no log: " + err.Error())
	}
}

// begun looks once whether relays show more of the log than the state has, which
// a restored state has not, and begins one where there is none or this one may
// not be gone on with. Relays that do not answer are asked again at the next
// write.
func (l *Log) begun(ctx context.Context, log state.Log) (state.Log, error) {
	if l.looked {
		return log, nil
	}
	since := max(0, log.At-lookback)
	seen, whole, err := l.o.Memory.Since(ctx, since)
	if err != nil && log.W != "" {
		return log, nil // no relay answers: the write will fail as well, or this was too slow
	}
	foreign, err := l.foreign(ctx, log, seen)
	if err != nil {
		return log, err
	}
	l.looked = whole || foreign
	if log.W != "" && !foreign {
		return log, nil
	}
	if since > 0 { // what it comes after are all logs
		if seen, _, err = l.o.Memory.Since(ctx, 0); err != nil {
			return log, err
		}
	}
	if err := l.o.Links.Begin(ctx, log.W, writerlog.Newest(seen), rand.Reader); err != nil {
		return log, err
	}
	return l.o.Links.Log(ctx)
}

// foreign reports whether something tells of a number of the log that the state
// does not have.
func (l *Log) foreign(ctx context.Context, log state.Log, seen []nipae.Engram) (bool, error) {
	for _, e := range seen {
		link, ok := writerlog.Of(e)
		if !ok {
			continue
		}
		told := slices.DeleteFunc(slices.Clone(link.After), func(h writerlog.Head) bool { return h.W != log.W })
		if link.W == log.W {
			told = append(told, writerlog.Head{W: link.W, N: link.N, ID: e.Event.ID})
		}
		for _, h := range told {
			if h.N >= log.Next {
				return true, nil
			}
			ids, err := l.o.Links.IDs(ctx, log.W, h.N, 1)
			if err != nil {
				return false, err
			}
			if id, ok := writerlog.ParseID(h.ID); !ok || len(ids) == 0 || ids[0] != id {
				return true, nil
			}
		}
	}
	return false, nil
}

// settleOpen looks up events of unknown fate by their ids.
func (l *Log) settleOpen(ctx context.Context, _ state.Log) error {
	open, err := l.o.Links.Open(ctx, l.o.Now().Add(-sendingLasts))
	if err != nil || len(open) == 0 {
		return err
	}
	open = open[:min(len(open), lookupsAtOnce)]
	var ids []string
	for _, o := range open {
		ids = append(ids, o.ID)
	}
	found, whole, err := l.o.Memory.Lookup(ctx, ids)
	if err != nil {
		return err
	}
	if err := l.o.Links.Took(ctx, found); err != nil || !whole {
		return err
	}
	void := slices.DeleteFunc(ids, func(id string) bool { return len(found[id]) > 0 })
	return l.o.Links.Settle(ctx, state.Void, void...)
}

// nameVoid writes a unit of void numbers if links have no room for all of them.
func (l *Log) nameVoid(ctx context.Context, log state.Log) error {
	void, err := l.o.Links.Void(ctx)
	if err != nil || len(void) <= writerlog.MaxVoid {
		return err
	}
	u := writerlog.Unit{W: log.W, First: void[0].N}
	var numbers []int64
	for _, v := range void[:min(len(void), writerlog.UnitSize)] {
		u.Void = append(u.Void, writerlog.Num{N: v.N, ID: v.ID})
		numbers = append(numbers, v.N)
	}
	if _, _, err := l.o.Memory.Set(ctx, writerlog.VoidSlug(u.W, u.First), u.Text(), memory.SetOptions{}); err != nil {
		return err
	}
	return l.o.Links.NamedVoid(ctx, numbers)
}

// writeUnits writes the first log unit that is due.
func (l *Log) writeUnits(ctx context.Context, log state.Log) error {
	if log.Next < (log.Units+1)*writerlog.UnitSize {
		return nil
	}
	u := writerlog.Unit{W: log.W, First: log.Units * writerlog.UnitSize}
	var err error
	if u.IDs, err = l.o.Links.IDs(ctx, log.W, u.First, writerlog.UnitSize); err != nil || len(u.IDs) < writerlog.UnitSize {
		return err
	}
	if u.Ds, err = l.o.Links.Addresses(ctx, log.W, u.First, writerlog.UnitSize); err != nil {
		return err
	}
	o := memory.SetOptions{Addresses: u.Addresses()}
	ends, err := l.o.Links.Ends(ctx, log.W, u.First, writerlog.UnitSize)
	if err == nil && len(ends) > 0 {
		o.Ends, err = json.Marshal(ends)
	}
	if err != nil {
		return err
	}
	if _, _, err := l.o.Memory.Set(ctx, writerlog.UnitSlug(u.W, log.Units), u.Text(), o); err != nil {
		return err
	}
	return l.o.Links.UnitWritten(ctx, log.W, log.Units+1)
}

// Take implements client.Links.
func (l *Log) Take(ctx context.Context, count int, seal func(i int, link writerlog.Link) (client.Sealed, error)) (bool, error) {
	var sealing error
	take := func() error { return l.take(ctx, count, seal, &sealing) }
	err := take()
	if errors.Is(err, state.ErrNoLog) { // the relays are slow: no other log is known of
		if err = l.o.Links.Begin(ctx, "", nil, rand.Reader); err == nil {
			err = take()
		}
	}
	if sealing != nil {
		return false, sealing
	}
	if err != nil {
		l.o.Warn("what is written is in no log: " + err.Error())
		return false, nil
	}
	return true, nil
}

func (l *Log) take(ctx context.Context, count int, seal func(i int, link writerlog.Link) (client.Sealed, error), sealing *error) error {
	return l.o.Links.Take(ctx, count, func(i int, link writerlog.Link) (state.Sealed, error) {
		sealed, err := seal(i, link)
		if err != nil || sealed.Event == nil {
			*sealing = err
			return state.Sealed{}, err
		}
		ev := sealed.Event
		text, err := json.Marshal(ev)
		expires, _ := nipae.Expiration(ev)
		return state.Sealed{ID: ev.ID, D: ev.Tags.GetD(), At: int64(ev.CreatedAt), Event: text, Tombstone: sealed.Tombstone, Expires: expires}, err
	})
}

// Sent implements client.Links.
func (l *Log) Sent(ctx context.Context, ev *nostr.Event, fate client.Fate, took []string) {
	// What is not noted is looked up later.
	switch fate {
	case client.Stored:
		_ = l.o.Links.Took(ctx, map[string][]string{ev.ID: took})
	case client.Refused:
		_ = l.o.Links.Settle(ctx, state.Void, ev.ID)
	default:
		_ = l.o.Links.Settle(ctx, state.Unknown, ev.ID)
	}
}
