package events

import (
	"engramd/internal/store"
	"engramd/nips/nip01"
)

// judgeContract has contract memory judged before it is stored, in the
// transaction that stores it. A refusal is for the client.
func (w *writer) judgeContract(r *record, opts store.PutOptions) (*nip01.Refusal, error) {
	if !isContract(r.ev.Kind) {
		return nil, nil
	}
	return w.parts.Contracts.Judge(r.ev, opts)
}

// placeContract has what is stored of contract memory under seq, as an event or
// in history, placed in its thread.
func (w *writer) placeContract(r *record, seq int64) error {
	if !isContract(r.ev.Kind) {
		return nil
	}
	return w.parts.Contracts.Stored(r.ev, r.class, seq)
}
