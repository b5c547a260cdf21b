package relaytest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// Frame is one message of the relay.
type Frame struct {
	Label string            // EVENT, OK, EOSE, CLOSED, COUNT, NOTICE, AUTH
	Args  []json.RawMessage // what follows the label
	Raw   []byte
	At    time.Time // when it had been read
}

// ParseFrame reads a message of the relay.
func ParseFrame(raw []byte, at time.Time) (Frame, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return Frame{}, fmt.Errorf("the relay sent %.200q: %w", raw, err)
	}
	f := Frame{Raw: raw, At: at}
	if len(parts) == 0 {
		return Frame{}, fmt.Errorf("the relay sent an empty array")
	}
	if err := json.Unmarshal(parts[0], &f.Label); err != nil {
		return Frame{}, fmt.Errorf("the relay sent the label %s: %w", parts[0], err)
	}
	f.Args = parts[1:]
	return f, nil
}

// Text returns argument i as a string, "" when there is none.
func (f Frame) Text(i int) string {
	var s string
	if i < len(f.Args) {
		// A wrong type is an empty string: the caller compares with what it expects.
		_ = json.Unmarshal(f.Args[i], &s)
	}
	return s
}

// Sub is the subscription of an EVENT, EOSE, CLOSED or COUNT.
func (f Frame) Sub() string { return f.Text(0) }

// Event returns the event of an EVENT frame, nil when there is none.
func (f Frame) Event() *nostr.Event {
	if f.Label != "EVENT" || len(f.Args) < 2 {
		return nil
	}
	ev := &nostr.Event{}
	if err := json.Unmarshal(f.Args[1], ev); err != nil {
		return nil
	}
	return ev
}

// OK is the answer to an EVENT or AUTH.
type OK struct {
	ID      string
	True    bool
	Message string
	At      time.Time
}

// OK returns what an OK frame says.
func (f Frame) OK() OK {
	ok := OK{ID: f.Text(0), Message: f.Text(2), At: f.At}
	if len(f.Args) > 1 {
		ok.True = string(f.Args[1]) == "true"
	}
	return ok
}

// Count returns the number of a COUNT frame, -1 when it has none.
func (f Frame) Count() int64 {
	var body struct {
		Count *int64 `json:"count"`
	}
	if len(f.Args) < 2 || json.Unmarshal(f.Args[1], &body) != nil || body.Count == nil {
		return -1
	}
	return *body.Count
}

// Match says which frame is waited for.
type Match func(Frame) bool

// Labelled matches frames with this label.
func Labelled(label string) Match {
	return func(f Frame) bool { return f.Label == label }
}

// OKFor matches the OK of an event id.
func OKFor(id string) Match {
	return func(f Frame) bool { return f.Label == "OK" && f.Text(0) == id }
}

// ForSub matches frames of a subscription: EVENT, EOSE, CLOSED, COUNT.
func ForSub(sub string) Match {
	return func(f Frame) bool {
		switch f.Label {
		case "EVENT", "EOSE", "CLOSED", "COUNT":
			return f.Sub() == sub
		}
		return false
	}
}
