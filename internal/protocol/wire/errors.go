package wire

import "errors"

// ErrID means that an event's id is not the SHA-256 of its serialization
// (NIP-01), or that the id or the pubkey cannot be one.
var ErrID = errors.New("event id does not match its content")

// ErrSignature means that an event's signature does not hold (NIP-01, BIP-340).
var ErrSignature = errors.New("signature is not valid")

// ShapeError says why bytes are not an event.
type ShapeError struct {
	// ID is what the object's first "id" member says, where it is a string of
	// at most 128 bytes: enough for an OK to name the event it refuses. It is
	// the client's word, and need not be an id at all.
	ID string
	// Reason is for a person, without a prefix.
	Reason string
}

// Error returns the reason.
func (e *ShapeError) Error() string { return e.Reason }

// FrameError says why bytes are not a client frame, with as much of the frame
// as could be read, so that the session can answer with OK, CLOSED or NOTICE.
type FrameError struct {
	// Label is one of Frame.Label, or empty when the frame has no label that the
	// relay knows.
	Label string
	// SubID is the subscription of a frame that has one; empty when it was
	// missing or not a valid one.
	SubID string
	// EventID is ShapeError.ID of the event in an EVENT or AUTH.
	EventID string
	// Reason is for a person, without a prefix.
	Reason string
}

// Error returns the reason.
func (e *FrameError) Error() string { return e.Reason }

// reason is an error that is nothing but its text. Parsers return it; the
// exported functions wrap it in ShapeError or FrameError.
type reason string

func (r reason) Error() string { return string(r) }
