package transfer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/nips/niptemp"
)

// Moves of a contract follow one another, and their dates alone do not say how:
// two keys may sign within one second, and by two clocks. So what belongs to a
// contract goes in the order in which it arrived at the source, where that tells,
// else by date, and a move that does not follow yet is sent again behind others.

// isContract reports whether an event is contract memory.
func isContract(ev *nostr.Event) bool {
	return ev.Kind == niptemp.KindEntry || ev.Kind == niptemp.KindState
}

// arrivals asks the sources in which order the contracts of some events came to
// be. One that does not tell is no failure, and is not asked about the next one
// unless it said that it does not know this one.
func (x *transfer) arrivals(ctx context.Context, to *Peer, events []*nostr.Event) {
	clear(x.arrived)                          // of another target
	contracts := map[string]map[string]bool{} // ids of events
	for _, ev := range events {
		if id := ev.Tags.GetD(); isContract(ev) {
			if contracts[id] == nil {
				contracts[id] = map[string]bool{}
			}
			contracts[id][ev.ID] = true
		}
	}
	if len(contracts) == 0 {
		return
	}
	x.Progress(fmt.Sprintf("asking in which order %d contracts came to be", len(contracts)))
	for id, wanted := range contracts {
		x.arrived[id] = map[string]niptemp.OrderItem{}
		for _, from := range x.Sources {
			if from == to || x.sources[from].Err != nil || !x.keeps[from] || x.orderless[from] || ctx.Err() != nil {
				continue
			}
			o, err := x.order(ctx, from, id)
			if err != nil {
				continue
			}
			maps.DeleteFunc(o, func(event string, _ niptemp.OrderItem) bool { return !wanted[event] })
			if len(o) > 0 {
				x.arrived[id] = o
				break
			}
		}
	}
}

// order is the order of arrival of a contract at a source.
func (x *transfer) order(ctx context.Context, from *Peer, id string) (map[string]niptemp.OrderItem, error) {
	var places map[string]niptemp.OrderItem
	err := from.step(ctx, func(ctx context.Context) (err error) {
		places, err = contract.Arrivals(ctx, from.c, from.t, id)
		return err
	})
	var refusal *client.APIError
	unknown := errors.As(err, &refusal) && (refusal.Status == http.StatusNotFound || refusal.Status == http.StatusForbidden)
	if err != nil && !unknown {
		x.orderless[from] = true
		x.note("%s does not tell in which order contracts came to be (%v): they go by their dates", from.t.URL, err)
	}
	return places, err
}

// arrange puts a row of a contract into the order of arrival, with the versions
// of each address from the oldest on.
func (x *transfer) arrange(row []*nostr.Event) []*nostr.Event {
	if len(row) < 2 || !isContract(row[0]) {
		return row
	}
	places := x.arrived[row[0].Tags.GetD()]
	row = contract.Arrange(row, func(ev **nostr.Event) contract.Place {
		return contract.Place{N: places[(*ev).ID].N, CreatedAt: int64((*ev).CreatedAt), ID: (*ev).ID}
	})
	versions := map[address][]*nostr.Event{}
	for _, ev := range row {
		a, _ := addressOf(ev)
		versions[a] = append(versions[a], ev)
	}
	for _, all := range versions {
		slices.SortFunc(all, oldestFirst)
	}
	for i, ev := range row {
		a, _ := addressOf(ev)
		row[i], versions[a] = versions[a][0], versions[a][1:]
	}
	return row
}

// publish sends events, and moves that were refused again while one of them is
// taken.
func (x *transfer) publish(ctx context.Context, to *Peer, list []*nostr.Event, t *Target) error {
	for {
		var again []Moved
		before := t.Sent
		rows := inRows(list)
		for i := range rows {
			rows[i] = x.arrange(rows[i])
		}
		err := to.PublishAll(ctx, rows, func(ev *nostr.Event, s client.PublishStatus) {
			switch {
			case s.Accepted:
				if t.took(ev); t.Sent%progressEach == 0 {
					x.Progress("sent " + events(t.Sent) + " to " + to.t.URL)
				}
			case s.Superseded:
				t.Newer++
			case deletedThere(s.Err):
				t.Deleted++
			case ev.Kind == niptemp.KindState:
				again = append(again, Moved{ev, s.Err.Error()})
			default:
				t.Refused = append(t.Refused, Moved{ev, s.Err.Error()})
			}
		})
		if err != nil || len(again) == 0 || t.Sent == before {
			t.Refused = append(t.Refused, again...)
			return err
		}
		list = nil
		for _, m := range again {
			list = append(list, m.Event)
		}
		slices.SortFunc(list, oldestFirst)
	}
}

// deletedThere reports whether a relay refuses an event because its author has
// deleted it there (NIP-09, NIP-62).
func deletedThere(err error) bool {
	var refusal *client.RefusalError
	return errors.As(err, &refusal) && (refusal.Prefix() == "blocked" || refusal.Prefix() == "deleted") && strings.Contains(refusal.Message, "deleted")
}
