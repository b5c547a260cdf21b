package contract

import (
	"encoding/json"
	"errors"
	"fmt"

	experimental "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/disclose"
	"engramd/nips/niptemp"
)

// ErrNotDisclosed means that what was handed over does not prove what a sealed
// entry says.
var ErrNotDisclosed = errors.New("that does not prove what the entry says")

// Disclosure is one sealed entry as a party opens it to somebody else: its
// signed event with the message keys of its payload, which open no other entry.
type Disclosure struct {
	Event *nostr.Event  // verified
	Keys  disclose.Keys // of its content
	Entry Entry         // what it says: its author's word, in its author's signature
}

// disclosed is a Disclosure as it is handed over.
type disclosed struct {
	Event jsontext.Value `json:"event"`
	Keys  string         `json:"keys"`
}

// MarshalJSON returns the disclosure as it is handed over:
// {"event":…,"keys":"…"}.
func (d Disclosure) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"event": raw(d.Event), "keys": d.Keys.Hex()})
}

// ReadDisclosure reads what MarshalJSON made, and checks all of it: the
// signature of the event, that it is a sealed entry, and that the keys open its
// content. The error is ErrNotDisclosed, and says what is wrong.
func ReadDisclosure(data []byte) (Disclosure, error) {
	var said disclosed
	if experimental.Unmarshal(data, &said, experimental.RejectUnknownMembers(true)) != nil {
		return Disclosure{}, fmt.Errorf(`%w: want one JSON object {"event":{…},"keys":"…"}`, ErrNotDisclosed)
	}
	ev, err := wire.ParseEvent(said.Event)
	if err != nil {
		return Disclosure{}, fmt.Errorf("%w: event: %w", ErrNotDisclosed, err)
	}
	if err := wire.Verify(ev); err != nil {
		return Disclosure{}, fmt.Errorf("%w: event: %w", ErrNotDisclosed, err)
	}
	keys, err := disclose.ParseKeys(said.Keys)
	if err != nil {
		return Disclosure{}, fmt.Errorf("%w: keys: %w", ErrNotDisclosed, err)
	}
	entry, err := Disclosed(ev, keys)
	return Disclosure{ev, keys, entry}, err
}

// Disclosed returns what a sealed entry, whose signature was checked, says by
// its message keys. The error is ErrNotDisclosed.
func Disclosed(ev *nostr.Event, keys disclose.Keys) (Entry, error) {
	if err := niptemp.CheckEntry(ev); err != nil {
		return Entry{}, fmt.Errorf("%w: event: %w", ErrNotDisclosed, err)
	}
	if !niptemp.IsSealed(ev) {
		return Entry{}, fmt.Errorf("%w: the event is no sealed entry", ErrNotDisclosed)
	}
	text, err := disclose.Open(ev.Content, keys)
	if err != nil {
		return Entry{}, fmt.Errorf("%w: %w", ErrNotDisclosed, err)
	}
	return entryWith(ev, text), nil
}
