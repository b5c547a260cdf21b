package client

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

// Message is one frame of a relay (NIP-01, NIP-42, NIP-45, NIP-67,
// NIP-77), as far as its label has meaning to us. Texts are the relay's and not to be trusted.
type Message struct {
	Label string
	sub   string          // EVENT, EOSE, CLOSED, COUNT, NEG-MSG, NEG-ERR
	Event json.RawMessage // EVENT
	id    string          // OK
	ok    bool            // OK
	Text  string          // OK, CLOSED, NOTICE, NEG-ERR; the challenge of AUTH; the hex of NEG-MSG
	hints []string        // EOSE
	Count int64           // COUNT; -1: it is not exact
}

// parseMessage reads a frame. Frames with a label that we do not know are no
// error; they come back with the label alone. Elements at the end that we do
// not know are ignored.
func parseMessage(frame []byte) (Message, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(frame, &parts); err != nil || len(parts) == 0 {
		return Message{}, fmt.Errorf("%w: a message is not a JSON array", ErrMisbehaved)
	}
	var m Message
	if json.Unmarshal(parts[0], &m.Label) != nil {
		return Message{}, fmt.Errorf("%w: a message has no label", ErrMisbehaved)
	}
	args := parts[1:]
	text := func(i int, to *string) bool {
		return i < len(args) && json.Unmarshal(args[i], to) == nil
	}
	good := true
	switch m.Label {
	case "EVENT":
		if good = text(0, &m.sub) && len(args) > 1; good {
			m.Event = args[1]
		}
	case "EOSE":
		good = text(0, &m.sub)
		if good && len(args) > 1 && json.Unmarshal(args[1], &m.hints) != nil {
			m.hints = nil
		}
	case "COUNT":
		if good = text(0, &m.sub) && len(args) > 1; good {
			m.Count, good = parseCount(args[1])
		}
	case "NEG-MSG":
		good = text(0, &m.sub) && text(1, &m.Text)
	case "CLOSED", "NEG-ERR":
		if good = text(0, &m.sub); good && len(args) > 1 {
			good = text(1, &m.Text)
		}
	case "OK":
		good = text(0, &m.id) && len(args) > 1 && json.Unmarshal(args[1], &m.ok) == nil
		if good && len(args) > 2 {
			good = text(2, &m.Text)
		}
	case "AUTH", "NOTICE":
		good = text(0, &m.Text)
	}
	if !good {
		return Message{}, fmt.Errorf("%w: a message %s is malformed", ErrMisbehaved, m.Label)
	}
	return m, nil
}

// parseCount reads what a relay counted (NIP-45).
func parseCount(raw json.RawMessage) (n int64, good bool) {
	var c struct {
		Count       *int64 `json:"count"`
		Approximate bool   `json:"approximate"`
	}
	if json.Unmarshal(raw, &c) != nil || c.Count == nil || *c.Count < 0 {
		return 0, false
	}
	if c.Approximate {
		return -1, true
	}
	return *c.Count, true
}

// hinted reports whether an EOSE said so (NIP-67: "finish" or "more").
func (m Message) hinted(hint string) bool { return slices.Contains(m.hints, hint) }

// Refusal returns the refusal that a CLOSED, an OK or a NEG-ERR says.
func (m Message) Refusal() *RefusalError { return &RefusalError{Message: Printable(m.Text)} }

// ReqFrame is ["REQ", sub, filter].
func ReqFrame(sub string, f nostr.Filter) ([]byte, error) {
	frame, err := json.Marshal([]any{"REQ", sub, f})
	if err != nil {
		return nil, fmt.Errorf("encode filter: %w", err)
	}
	return frame, nil
}

func closeFrame(sub string) []byte {
	return fmt.Appendf(nil, `["CLOSE",%q]`, sub)
}

// eventFrame is ["EVENT", event] or ["AUTH", event].
func eventFrame(label string, ev *nostr.Event) []byte {
	return append(wire.AppendEvent(fmt.Appendf(nil, `[%q,`, label), ev), ']')
}
