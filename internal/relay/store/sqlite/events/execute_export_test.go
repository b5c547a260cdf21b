package events

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/ledger"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Recording is the option that tells of each command that is durable.
func Recording(fn func(store.Executed)) func(*Options) {
	return func(o *Options) { o.executed = fn }
}

// Following is the option of a store that is given all its commands.
func Following(o *Options) { o.follows = true }

// mustBeAlone reports whether a command has effects outside of its transaction
// that others in it would need.
func mustBeAlone(c store.Command) bool {
	switch c.(type) {
	case store.Configure, store.SwitchState, store.ReleaseQuarantine, store.GoOn:
		return true
	}
	return false
}

// Execute executes recorded commands in order, each with its time: as few
// transactions as may be, of up to n commands. What the database refused is
// tried again: fail is asked before each transaction whether its COMMIT is to
// fail.
func Execute(o opened, list []store.Executed, n int, fail func() bool) error {
	s := o.inside()
	for len(list) > 0 {
		batch := list[:1]
		for len(batch) < min(n, len(list)) && !mustBeAlone(batch[0].Command) && !mustBeAlone(list[len(batch)].Command) {
			batch = list[:len(batch)+1]
		}
		list = list[len(batch):]
		run := func() error { return executeTogether(s, batch) }
		if onlyEvents(batch) {
			run = func() error { return putTogether(s, batch) }
		}
		if fail() {
			allow := BreakCommits(s)
			err := run()
			if allow(); err == nil {
				return errors.New("a COMMIT that had to fail did not")
			}
		}
		if err := run(); err != nil {
			return err
		}
	}
	return nil
}

func onlyEvents(batch []store.Executed) bool {
	for _, e := range batch {
		if !isPut(e.Command) {
			return false
		}
	}
	return true
}

// putTogether executes events as the writer does those that wait together.
func putTogether(s *Store, batch []store.Executed) error {
	release := HoldWriter(s)
	var all []*apply.Pending
	for _, e := range batch {
		p, err := pendingOf(s.writer, e)
		if err == nil {
			err = s.db.Push(context.Background(), &p.Member)
		}
		if err != nil {
			release()
			return err
		}
		all = append(all, p)
	}
	release()
	var failed error
	err := s.apart(context.Background(), func(w *writer) error { // behind them
		for _, p := range all {
			select {
			case <-p.Done():
				failed = errors.Join(failed, p.Wait().Err)
			default:
				if !w.Busy() { // else GoOn goes on with it, which was recorded
					failed = errors.Join(failed, errors.New("an event was not executed in its turn"))
				}
			}
		}
		return nil
	})
	return errors.Join(failed, err)
}

func isPut(c store.Command) bool {
	switch c.(type) {
	case store.PutEvent, store.PutCopy:
		return true
	}
	return false
}

func pendingOf(w *writer, e store.Executed) (*apply.Pending, error) {
	var event []byte
	var o store.PutOptions
	switch c := e.Command.(type) {
	case store.PutEvent:
		event, o = c.Event, store.PutOptions{Import: c.Import, Base: c.Base, Forward: c.Forward, KnownOnly: c.KnownOnly}
	case store.PutCopy:
		event, o = c.Event, store.PutOptions{Replica: true, Past: c.Past}
	}
	rec, err := record.Parse(event, w.Table)
	if err != nil {
		return nil, err
	}
	p := &apply.Pending{Rec: rec, Opts: o}
	p.Init(p, rec.Cost())
	p.Stamp(e.At)
	return p, nil
}

// executeTogether executes commands of any kind in one transaction.
func executeTogether(s *Store, batch []store.Executed) error {
	return s.apart(context.Background(), func(w *writer) error {
		for _, e := range batch {
			w.Now = e.At
			_, err := w.Guarded(func() (store.Result, error) {
				if !isPut(e.Command) {
					_, err := w.execute(e.Command)
					return store.Result{}, err
				}
				p, err := pendingOf(w, e)
				if err != nil {
					return store.Result{}, err
				}
				return w.Decide(p)
			})
			if err != nil { // a refusal is none
				return err
			}
		}
		return nil
	})
}

// isLocal reports whether a table, or a row of meta, is a process's own: it
// does not follow from the commands.
func isLocal(row string) bool {
	for _, own := range []string{"search", "sqlite_stat", "meta|ready.", "meta|search", "meta|cluster.", "meta|gate", "meta|last_", "meta|mark."} {
		if strings.HasPrefix(row, own) {
			return true
		}
	}
	return false
}

// Dump returns every row of every table but the local ones.
func Dump(ctx context.Context, o opened) (rows []string, err error) {
	s := o.inside()
	err = s.db.Whole(ctx, func(ctx context.Context, c *engine.Conn) error {
		seq, err := record.LastSeq(c)
		if err != nil {
			return err
		}
		key, err := c.Number(ledger.SQLLastNumber)
		if err != nil {
			return err
		}
		rows = append(rows, fmt.Sprintf("last numbers|%d|%d", seq, key))
		var tables []string
		err = c.Query(ctx, `SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`, nil, func(v engine.Row) error {
			if name := v[0].(string); !isLocal(name) {
				tables = append(tables, name)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, name := range tables {
			err := c.Query(ctx, "SELECT * FROM "+name, nil, func(v engine.Row) error {
				row := name
				for _, x := range v {
					if b, ok := x.([]byte); ok {
						x = fmt.Sprintf("x'%x'", b)
					}
					row += fmt.Sprintf("|%v", x)
				}
				if !isLocal(row) {
					rows = append(rows, row)
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	})
	return rows, err
}
