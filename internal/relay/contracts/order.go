package contracts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// Bounds of what an answer shows of an order: of a longer one the signature
// alone, and of more gaps the first ones.
const (
	orderBytes = 4 << 20
	orderGaps  = 10_000
)

// Order returns the order of arrival of a thread, to callers who may read all of
// the thread: signed with the key on which the parties agreed, if its secret is
// here, and else with the relay's.
func (th *threads) Order(ctx context.Context, c Caller, id string) (Order, error) {
	if c.Nobody() {
		return Order{}, errNobody()
	}
	v, t, err := th.reading(ctx, c, id, "")
	if err != nil {
		return Order{}, err
	}
	if !v.whole() {
		return Order{}, errNotFound("contract")
	}
	if th.relayKeys == nil {
		return Order{}, Refuse(Unavailable, "this relay has no key to sign the order with")
	}
	out := Order{ContractID: v.Contract, Gaps: []Gap{}}
	sum, lines := sha256.New(), []byte{}
	err = th.store.ThreadOrder(ctx, t, func(i store.OrderItem) error {
		line := niptemp.OrderLine(i.N, i.ReceivedAt, i.ID)
		sum.Write(line)
		if len(lines) <= orderBytes {
			lines = append(lines, line...)
		}
		if i.Gap != nil && len(out.Gaps) < orderGaps {
			out.Gaps = append(out.Gaps, gap(i))
		}
		return nil
	})
	if err != nil {
		return Order{}, err
	}
	ev := niptemp.OrderEvent(v.Contract, hex.EncodeToString(sum.Sum(nil)), nostr.Timestamp(th.pub.clock().Unix()))
	_, agreed, err := th.store.TermsOf(ctx, v.ContractPair)
	if err != nil {
		return Order{}, err
	}
	named := func(key string) bool { return th.relayKeys.SignAs(key, &ev) == nil }
	if !slices.ContainsFunc(agreed.OrderKeys(), named) {
		if err = th.relayKeys.Sign(&ev); err == nil {
			out.Keys, err = th.handovers(ctx)
		}
	}
	if err != nil {
		return Order{}, fmt.Errorf("sign the order of a thread: %w", err)
	}
	out.Event = wire.AppendEvent(nil, &ev)
	if len(lines) <= orderBytes {
		out.Lines = string(lines)
	}
	return out, nil
}

// handovers are the statements that lead from former keys to the relay's.
func (th *threads) handovers(ctx context.Context) (out []json.RawMessage, err error) {
	statements, err := th.relayKeys.Handovers(ctx)
	for _, ev := range statements {
		out = append(out, wire.AppendEvent(nil, ev))
	}
	return out, err
}

func gap(i store.OrderItem) Gap {
	return Gap{
		N: i.N, ReceivedAt: unix(i.ReceivedAt), Type: i.Gap.Type, Role: i.Gap.Role,
		Status: niptemp.Status(i.Gap.Status), PreviousStatus: niptemp.Status(i.Gap.Previous),
		CreatedAt: unixOrNil(i.Gap.CreatedAt),
	}
}

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
