package events

import (
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/events/ledger"
	"engramd/internal/relay/store/sqlite/events/retention"
)

// execute does what a command says, within a transaction.
func (w *writer) execute(c store.Command) (answer any, err error) {
	switch c := c.(type) {
	case store.Configure:
		return nil, w.configure(c.Live)
	case store.Stage:
		return nil, w.restoring.StageEvents(c)
	case store.Unstage:
		return w.restoring.Unstage(c.Restore)
	case store.SwitchState:
		return w.restoring.Switch(c)
	case store.ReleaseQuarantine:
		return w.restoring.Release(c.Name)
	case store.DropQuarantine:
		return nil, w.restoring.Drop(c.Name)
	case store.RemoveRows:
		return retention.RemoveRows(w.Writer, c.Rows)
	case store.Retire:
		return retention.Retire(w.Writer, w.s.observe, c.Events)
	case store.GoOn:
		return w.GoOn()
	case store.Housekeep:
		return w.Housekeep(c)
	case store.Followed:
		return nil, w.SetMeta(followedKey+c.Source, fmt.Sprintf("%d %d", c.To.Number, c.To.Time))
	case store.Tighten:
		return w.Keys.Tighten(ledger.LooseChunk)
	}
	answer, handled, err := w.Others.Execute(c)
	if !handled {
		return nil, fmt.Errorf("%T is no command that is executed here", c) // a PutEvent or PutCopy is a member with a record
	}
	return answer, err
}
