package apply

import (
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// remover does what authors ask to be removed, at once or in a job.
type remover struct {
	archive
	Table *gate.Table
}

// member is the one that is being applied, nil for a command.
func (rm *remover) member() *engine.Member {
	if rm.current == nil {
		return nil
	}
	return &rm.current.Member
}

// Unfinished is a request that a crash or a shutdown left unfinished.
type Unfinished struct {
	Request int64 // its seq
	Job     *engine.Job
}

const (
	sqlAnyEvent   = `SELECT seq FROM events WHERE id = ?`
	sqlAnyVersion = `SELECT seq, pubkey, length(json) FROM history WHERE id = ?`
)

// RemoveBanned takes a banned event out of the database. Versions of its
// address in history stay what they are.
func (a *archive) RemoveBanned(id []byte) error {
	row, err := a.Conn().One(sqlAnyEvent, id)
	if err != nil {
		return err
	}
	if row != nil {
		if err := a.RemoveEvent(row[0].(int64), byBan); err != nil {
			return err
		}
	}
	_, err = a.RemoveHistory(byBan, sqlAnyVersion, id)
	return err
}

// withdrawHead makes history of a head. What was superseded before stays what
// it is, and does not become head.
func (a *archive) withdrawHead(seq int64) error {
	if _, err := a.Exec(sqlHeadToHistory, seq, a.Now); err != nil {
		return err
	}
	a.Known.History = true
	return a.dropEvent(seq, nil, false, nil)
}

// keepWithdrawn stores what comes after the request that takes it back.
func (a *archive) keepWithdrawn(r *record.Record, request []byte) error {
	if err := a.keepVersion(r); err != nil {
		return err
	}
	return a.Others.Contracts.Withdrawn(request, a.Seq)
}
