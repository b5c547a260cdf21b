package transcript

import (
	"encoding/json"
	"io"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/contract"
	"engramd/internal/client/evidence"
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
		case r.Move != nil:
			add(r.Move.Event)
		case r.Entry != nil:
			add(r.Entry.Event)
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
	var keys []json.RawMessage
	for _, ev := range t.Order.Keys {
		keys = append(keys, wire.AppendEvent(nil, ev))
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		ContractID string            `json:"contract_id"`
		Event      json.RawMessage   `json:"event"`
		Lines      string            `json:"lines"`
		Gaps       []gap             `json:"gaps"`
		Keys       []json.RawMessage `json:"keys,omitempty"`
	}{t.Contract.ID, wire.AppendEvent(nil, t.Order.Event), t.Order.Lines, gaps, keys})
}

// A signature of a sealed entry covers its payload. The text inside is the word
// of whoever opened it until the message keys prove it, and stands under a
// heading of its own, apart from texts that are signed as they stand.

// payloadHolds reports whether an entry is sealed, and its payload signed.
func payloadHolds(e contract.Entry) bool {
	return e.Sealed && (e.Signature == contract.SignatureHolds || e.ByRelay && e.Event != nil)
}

// Unseen returns the sealed entries of a thread that relays list to the
// exporter and do not show.
func Unseen(t contract.Thread) []evidence.Sealed {
	var all []evidence.Sealed
	for _, r := range records(t) {
		if e := r.Entry; e != nil && e.Sealed && e.Event == nil && e.Payload != nil {
			all = append(all, evidence.Sealed{N: e.N, EntryID: e.EntryID, Author: e.Author.PubKey, Type: e.Type, Bytes: e.Payload.Bytes, SHA256: e.Payload.SHA256})
		}
	}
	return all
}

// Sealed writes the list of them, by which contract verify knows them again.
func Sealed(w io.Writer, t contract.Thread) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(evidence.SealedFile{ContractID: t.Contract.ID, Entries: Unseen(t)})
}

// places say when the moves and the entries of a thread came, as far as dates
// tell: a move not before the one it follows, and an entry not before what its
// author had signed when dating it. At the same time moves come first, because
// a relay that is fed with all of it takes entries by where the contract
// stands.
func places(t contract.Thread) (moves, entries []int64) {
	at := int64(0)
	for _, m := range t.Moves {
		at = max(at, m.CreatedAt)
		moves = append(moves, at)
	}
	for _, e := range t.Entries {
		at := e.CreatedAt
		for i, m := range t.Moves {
			if m.By == e.Author.PubKey && m.CreatedAt <= e.CreatedAt {
				at = max(at, moves[i])
			}
		}
		entries = append(entries, at)
	}
	return moves, entries
}
