package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Label is the first element of a relay's message.
type Label byte

// The labels that have meaning here; LabelOther is everything else.
const (
	LabelOther Label = iota
	LabelEvent
	LabelOK
	LabelEOSE
	LabelClosed
	LabelCount
	LabelAuth
	LabelNotice
)

// Message is a relay's message (NIP-01, NIP-42, NIP-45). Its slices lie in the
// message that was read, and are valid as long.
type Message struct {
	Label Label
	Sub   []byte // EVENT, EOSE, CLOSED, COUNT: what stands between the quotes
	ID    []byte // EVENT, OK: 64 bytes
	// CreatedAt is the event's.
	CreatedAt int64
	Event     []byte // EVENT: its JSON
	OK        bool
	Count     int64
	Text      []byte // OK, CLOSED, NOTICE; the challenge of AUTH: a JSON string with its quotes
}

// ParseMessage reads a message, whatever the order of its event's members and
// the white space in it. Only what is in Message is looked at. The error is
// ErrProtocol.
func ParseMessage(b []byte) (Message, error) {
	s := scan{b: b}
	m, ok := s.message()
	if !ok {
		return Message{}, fmt.Errorf("%w: not a message: %s", ErrProtocol, printable(b))
	}
	return m, nil
}

// SkimMessage is ParseMessage for the many: of an event it reads no more than
// up to id and created_at, whichever comes last, and does not set Event.
func SkimMessage(b []byte) (Message, error) {
	s := scan{b: b, skim: true}
	m, ok := s.message()
	if !ok {
		return Message{}, fmt.Errorf("%w: not a message: %s", ErrProtocol, printable(b))
	}
	return m, nil
}

// printable returns a relay's text for an error: short, on one line.
func printable(b []byte) string {
	const most = 200
	if len(b) > most {
		b = append(bytes.Clone(b[:most]), "…"...)
	}
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("?"))
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, string(b))
}

// unquoted returns a JSON string as text; as it stands if it is none.
func unquoted(b []byte) string {
	var s string
	if json.Unmarshal(b, &s) != nil {
		return printable(b)
	}
	return s
}
