package contracts

import (
	"context"
	"net/url"

	"engramd/internal/relay/store"
)

// thisRelay is the name of the relay itself in refusals.
const thisRelay = "this relay"

// refusals adds to entries, for a party, which relays refused them; rows[i]
// belongs to entries[i].
func (th *threads) refusals(ctx context.Context, v *view, rows []store.ThreadEntry, entries []Entry) error {
	if th.pub.outbox == nil || !v.role.party() || len(rows) == 0 {
		return nil
	}
	ids := make([][]byte, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	refused, err := th.store.ContractRefusals(ctx, ids)
	if err != nil {
		return err
	}
	for i, of := range refused {
		for _, r := range of {
			entries[i].Refusals = append(entries[i].Refusals, RelayRefusal{Relay: relayName(r.Target), Reason: r.Reason, At: unix(r.At), Final: r.Final})
		}
	}
	return nil
}

// relayName returns the name of an outbox target as a party may know it.
func relayName(target string) string {
	if target == store.OutboxLocal {
		return thisRelay
	}
	u, err := url.Parse(target)
	if err != nil {
		return "a further relay"
	}
	u.User = nil
	return u.String()
}
