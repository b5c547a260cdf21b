package load

import (
	"crypto/rand"
	"fmt"
	"io"

	"engramd/internal/protocol/wire"
)

// eventID returns the id, in hex, of an event in the layout of
// wire.AppendEvent.
func eventID(event []byte) []byte { return event[wire.IDStart:wire.IDEnd] }

// verifyEvent checks the whole event of a message, id and signature too.
func verifyEvent(m Message) error {
	ev, err := wire.ParseEvent(m.Event)
	if err != nil {
		return fmt.Errorf("%w: event %s: %w", ErrWrong, printable(m.ID), err)
	}
	if err := wire.Verify(ev); err != nil {
		return fmt.Errorf("%w: event %s: %w", ErrWrong, printable(m.ID), err)
	}
	return nil
}

// random fills b from the source of the options.
func (o Options) random(b []byte) error {
	source := o.Rand
	if source == nil {
		source = rand.Reader
	}
	if _, err := io.ReadFull(source, b); err != nil {
		return fmt.Errorf("randomness: %w", err)
	}
	return nil
}
