package load

import "errors"

// What a run fails with. Texts of the relay in them are cut and printable.
var (
	// ErrWrong means that an answer is not the right one: a missing, foreign or
	// repeated event, a wrong order, an OK to what was not sent.
	ErrWrong = errors.New("the relay answers wrongly")
	// ErrRefused means that the relay would not: OK false, or CLOSED.
	ErrRefused = errors.New("the relay refuses")
	// ErrHeld means that the relay had an event already, so that it measured
	// something else than storing it: it was not empty.
	ErrHeld = errors.New("the relay holds what was published already")
	// ErrClosed means that the connection ended.
	ErrClosed = errors.New("the connection ended")
	// ErrTimeout means that the time was over before the answer came.
	ErrTimeout = errors.New("no answer in time")
	// ErrProtocol means that what came is no websocket or Nostr message.
	ErrProtocol = errors.New("the relay breaks the protocol")
)
