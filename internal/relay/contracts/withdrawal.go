package contracts

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"engramd/internal/relay/store"
)

// requestBytes bounds the signed requests that one answer shows in full; it
// names further ones by their ids.
const requestBytes = 256 << 10

// withdrawals adds to withdrawn entries when and how they were withdrawn;
// rows[i] belongs to entries[i].
func (th *threads) withdrawals(ctx context.Context, v *view, rows []store.ThreadEntry, entries []Entry) error {
	r := th.requests(v)
	for i := range rows {
		if err := r.show(ctx, rows[i].Withdrawn, rows[i].Request, &entries[i].Withdrawn); err != nil {
			return err
		}
	}
	return nil
}

// withdrawnMoves does the same for moves.
func (th *threads) withdrawnMoves(ctx context.Context, v *view, rows []store.ThreadMove, moves []Transition) error {
	r := th.requests(v)
	for i := range rows {
		if err := r.show(ctx, rows[i].Withdrawn, rows[i].Request, &moves[i].Withdrawn); err != nil {
			return err
		}
	}
	return nil
}

// requests are the deletion requests that one answer shows.
type requests struct {
	store Store
	v     *view
	left  int                        // bytes that may still be shown
	known map[string]json.RawMessage // by id
}

func (th *threads) requests(v *view) *requests {
	return &requests{store: th.store, v: v, left: requestBytes, known: map[string]json.RawMessage{}}
}

// show sets the withdrawal at a time by a request; for none it leaves nil.
func (r *requests) show(ctx context.Context, at int64, request []byte, to **Withdrawal) error {
	if at == 0 {
		return nil
	}
	w := &Withdrawal{At: unix(at), Event: json.RawMessage("null")}
	id := hex.EncodeToString(request)
	*to = w
	if id == "" {
		return nil
	}
	signed, asked := r.known[id]
	if !asked {
		var err error
		if signed, err = r.store.Withdrawal(ctx, r.v.Contract, request); err != nil {
			return err
		}
		r.known[id] = signed
	}
	w.Event = json.RawMessage(`"` + id + `"`)
	if signed != nil && len(signed) <= r.left {
		w.Event, r.left = signed, r.left-len(signed)
	}
	return nil
}
