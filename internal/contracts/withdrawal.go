package contracts

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"engramd/internal/store"
)

// requestBytes bounds the signed requests that one answer shows in full; further
// ones it names by their ids.
const requestBytes = 256 << 10

// withdrawals says of entries that were withdrawn when and how; each of the rows
// is that of the entry at the same place.
func (s *Service) withdrawals(ctx context.Context, v *view, rows []store.ThreadEntry, entries []Entry) error {
	left, known := requestBytes, map[string]json.RawMessage{}
	for i := range rows {
		if rows[i].Withdrawn == 0 {
			continue
		}
		w := &Withdrawal{At: unix(rows[i].Withdrawn), Event: json.RawMessage("null")}
		if id := hex.EncodeToString(rows[i].Request); id != "" {
			signed, asked := known[id]
			if !asked {
				var err error
				if signed, err = s.store.Withdrawal(ctx, v.Contract, rows[i].Request); err != nil {
					return err
				}
				known[id] = signed
			}
			w.Event = json.RawMessage(`"` + id + `"`)
			if signed != nil && len(signed) <= left {
				w.Event, left = signed, left-len(signed)
			}
		}
		entries[i].Withdrawn = w
	}
	return nil
}
