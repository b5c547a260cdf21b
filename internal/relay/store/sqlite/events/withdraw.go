package events

import "engramd/internal/relay/store/sqlite/events/record"

// withdrawHead makes history of a head. What was superseded before stays what
// it is, and does not become head.
func (a *archive) withdrawHead(seq int64) error {
	if _, err := a.Exec(sqlHeadToHistory, seq, a.Now); err != nil {
		return err
	}
	a.known.history = true
	return a.dropEvent(seq, nil, false, nil)
}

// keepWithdrawn stores what comes after the request that takes it back.
func (a *archive) keepWithdrawn(r *record.Record, request []byte) error {
	if err := a.keepVersion(r); err != nil {
		return err
	}
	return a.others.Contracts.Withdrawn(request, a.seq)
}
