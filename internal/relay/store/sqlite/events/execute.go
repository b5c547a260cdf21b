package events

import (
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/events/ledger"
)

// execute does what a command says, within a transaction.
func (w *writer) execute(c store.Command) (answer any, err error) {
	switch c := c.(type) {
	case store.Configure:
		return nil, w.configure(c.Live)
	case store.Stage:
		return nil, w.restoring.stageEvents(c)
	case store.Unstage:
		return w.restoring.unstage(c.Restore)
	case store.SwitchState:
		return w.restoring.switchStaged(c)
	case store.ReleaseQuarantine:
		return w.restoring.releaseQuarantine(c.Name)
	case store.DropQuarantine:
		return nil, w.restoring.dropQuarantine(c.Name)
	case store.RemoveRows:
		return removeRows(&w.applier, c.Rows)
	case store.Retire:
		return retireSome(&w.applier, w.s.observe, c.Events)
	case store.GoOn:
		return w.GoOn()
	case store.Housekeep:
		return w.housekeep(c)
	case store.Followed:
		return nil, w.SetMeta(followedKey+c.Source, fmt.Sprintf("%d %d", c.To.Number, c.To.Time))
	case store.Tighten:
		return w.keys.Tighten(ledger.LooseChunk)
	}
	answer, handled, err := w.others.execute(c)
	if !handled {
		return nil, fmt.Errorf("%T is no command that is executed here", c) // a PutEvent or PutCopy is a member with a record
	}
	return answer, err
}
