package transcript

import (
	"encoding/json"
	"io"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/contract"
	"engramd/internal/protocol/wire"
)

// Signed returns the events of a thread in the order of its record, in which a
// relay takes them, and behind them the requests by which some were withdrawn,
// each once. All of them have been verified.
func Signed(t contract.Thread) []*nostr.Event {
	seen := map[string]bool{}
	var all []*nostr.Event
	add := func(ev *nostr.Event) {
		if ev != nil && !seen[ev.ID] {
			seen[ev.ID] = true
			all = append(all, ev)
		}
	}
	for _, r := range records(t) {
		switch {
		case r.move != nil:
			add(r.move.Event)
		case r.entry != nil:
			add(r.entry.Event)
		}
	}
	for _, m := range t.Moves {
		if m.Withdrawn != nil {
			add(m.Withdrawn.Event)
		}
	}
	for _, e := range t.Entries {
		if e.Withdrawn != nil {
			add(e.Withdrawn.Event)
		}
	}
	return all
}

// Events writes the events of a thread as they were signed, one a line.
func Events(w io.Writer, t contract.Thread) error {
	for _, ev := range Signed(t) {
		if _, err := w.Write(append(wire.AppendEvent(nil, ev), '\n')); err != nil {
			return err
		}
	}
	return nil
}

// Order writes the order of arrival as the relay signed it: the event, the
// lines whose hash is its x tag, and what is known of gaps.
func Order(w io.Writer, t contract.Thread) error {
	type gap struct {
		N          int64  `json:"n"`
		ReceivedAt string `json:"received_at"`
		Type       string `json:"type"`
		Role       string `json:"role"`
		Status     string `json:"status,omitempty"`
		Previous   string `json:"previous_status,omitempty"`
	}
	gaps := []gap{}
	for _, g := range t.Order.Gaps {
		gaps = append(gaps, gap{g.N, when(g.ReceivedAt), g.Type, g.Role, g.Status, g.Previous})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		ContractID string          `json:"contract_id"`
		Event      json.RawMessage `json:"event"`
		Lines      string          `json:"lines"`
		Gaps       []gap           `json:"gaps"`
	}{t.Contract.ID, wire.AppendEvent(nil, t.Order.Event), t.Order.Lines, gaps})
}
