package events

import (
	"context"
	"errors"
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/record"
	"engramd/internal/relay/store/sqlite/events/search"
)

// opened is a store that was opened by whom it is put together by.
type opened interface{ inside() *Store }

func (s *Store) inside() *Store { return s }

// OnWriter runs statements on the live writer's connection, in a savepoint like
// any event, and returns the first column of the last one's rows.
func OnWriter(o opened, statements ...string) (out []engine.Value, err error) {
	s := o.inside()
	err = s.apart(context.Background(), func(w *writer) error {
		for _, text := range statements {
			out = nil
			err := w.Conn().Query(context.Background(), text, nil, func(v engine.Row) error {
				out = append(out, v[0])
				return nil
			})
			if err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		return nil
	})
	return out, err
}

// FailOnWriter queues work that changes something and then fails.
func FailOnWriter(o opened) error {
	s := o.inside()
	return s.apart(context.Background(), func(w *writer) error {
		if err := w.SetMeta("test", "left behind"); err != nil {
			return err
		}
		return errors.New("failed on purpose")
	})
}

// PanicOnWriter queues work that panics.
func PanicOnWriter(o opened) error {
	s := o.inside()
	return s.apart(context.Background(), func(*writer) error { panic("on purpose") })
}

// HoldWriter keeps the writer busy until release is called; what is queued
// meanwhile shares the next transaction.
func HoldWriter(o opened) (release func()) {
	s := o.inside()
	held, free := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.apart(context.Background(), func(*writer) error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	return func() { close(free) }
}

// OnReader runs a query on a pooled reader.
func OnReader(ctx context.Context, o opened, text string) (out []engine.Value, err error) {
	s := o.inside()
	err = s.db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, text, nil, func(v engine.Row) error {
			out = append(out, v[0])
			return nil
		})
	})
	return out, err
}

// VanishChunk and other bounds that tests have to go beyond.
const (
	VanishChunk = apply.VanishChunk
	SweepChunk  = apply.SweepChunk
	BuildAtOpen = search.BuildAtOpen
)

// WaitClosing waits until Close has been called, while other writes wait: behind
// them it waits with one that does not fit.
func WaitClosing(ctx context.Context, o opened) error {
	m := &engine.Member{}
	m.Init(nil, 1<<40)
	if err := o.inside().db.Push(ctx, m); !errors.Is(err, store.ErrClosed) {
		return fmt.Errorf("it is not refused: %w", err)
	}
	return nil
}

// UsageOf returns what the writer knows of an author's usage, without asking
// the tables of events.
func UsageOf(o opened, pubkey string) (events, bytes int64) {
	s := o.inside()
	_ = s.apart(context.Background(), func(w *writer) error {
		k, _ := column.Hex32(pubkey)
		a, err := w.Usage.Before(&record.Record{Pubkey: k})
		events, bytes = a.Events, a.Bytes
		return err
	})
	return events, bytes
}

// BreakCommits makes every COMMIT fail until allow is called.
func BreakCommits(o opened) (allow func()) { return engine.BreakCommits(o.inside().db) }

// BeginBroken queues an event whose record makes the writer fail after it has
// changed something: with an "error" or a "panic".
func BeginBroken(ctx context.Context, o opened, ev *nostr.Event, how string) (*apply.Pending, error) {
	s := o.inside()
	rec, err := record.New(ev, s.o.Table.Classify(ev))
	if err != nil {
		return nil, err
	}
	switch how {
	case "error":
		rec.Tags = append(rec.Tags, record.Tag{Name: "x", Value: struct{}{}}) // the driver cannot bind it
	case "panic":
		rec.Tags = append(rec.Tags, record.Tag{Name: "p", Value: make([]byte, 31)}) // too short for a key
	}
	p := &apply.Pending{Rec: rec}
	p.Init(p, len(rec.JSON))
	return p, s.db.Push(ctx, &p.Member)
}

// OwnAddress is ownAddress with d as text.
func OwnAddress(target, pubkey string) (kind int, d string, ok bool) {
	kind, k, ok := record.OwnAddress(target, pubkey)
	if !ok {
		return 0, "", false
	}
	d, err := column.Text(k)
	return kind, d, err == nil
}

// ThroughKey returns a value as it comes back from its key, and whether the key
// is a BLOB.
func ThroughKey(value string) (again string, blob bool, err error) {
	k := column.Of(value)
	_, blob = k.([]byte)
	again, err = column.Text(k)
	return again, blob, err
}

// TagRows lists the rows of the tag index as name and value.
func TagRows(tags nostr.Tags) (out [][2]string) {
	for _, r := range record.Tags(tags, gate.Open) {
		value, _ := column.Text(r.Value)
		out = append(out, [2]string{r.Name, value})
	}
	return out
}
