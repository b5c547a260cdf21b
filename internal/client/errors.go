package client

import (
	"errors"
	"fmt"
	"strings"

	"engramd/nips/nipae"
)

// What operations fail with, to be asked for with errors.Is. Texts around them
// name the relays; none holds a key, an id or a decrypted text.
var (
	// ErrIdentity means that a secret key is not one.
	ErrIdentity = errors.New("not a secret key")
	// ErrNotFound means that every relay answered and none has the thing.
	ErrNotFound = errors.New("not found")
	// ErrTombstone means that the memory was removed, and every relay answered.
	ErrTombstone = errors.New("removed")
	// ErrUnreadable means that relays returned events for the address and that
	// none of them can be read. It must never be taken for ErrNotFound.
	ErrUnreadable = errors.New("unreadable memory")
	// ErrBehind means that this machine knows of a newer version than the relays show,
	// or of one where they show none, and cannot give it. It must never be taken for
	// ErrNotFound.
	ErrBehind = errors.New("this machine knows of a newer version than the relays show")
	// ErrPartial means that nothing was found, but not all relays answered in
	// full: it may be there.
	ErrPartial = errors.New("not every relay answered")
	// ErrUndecided means that the relay that is asked first to decide did not answer.
	ErrUndecided = errors.New("the relay that decides did not answer")
	// ErrNoRelay means that no relay answered, or that there is none to ask.
	ErrNoRelay = errors.New("no relay answered")
	// ErrAuth means that a relay refused us: it wants an AUTH that it does not
	// accept, or this key may not do this (auth-required:, restricted: and
	// blocked:).
	ErrAuth = errors.New("refused by the relay for this key")
	// ErrRefused means that a relay refused a request or an event for another
	// reason than who we are.
	ErrRefused = errors.New("refused by the relay")
	// ErrUnconnected means that a relay is not to be reached.
	ErrUnconnected = errors.New("cannot connect")
	// ErrTimeout means that a relay did not answer in time.
	ErrTimeout = errors.New("no answer in time")
	// ErrMisbehaved means that a relay broke the protocol or went over a bound:
	// frames too large, too many events, AUTH without end.
	ErrMisbehaved = errors.New("the relay misbehaved")
	// ErrConflict means that the memory is not what the write was made for: it
	// is another version now. The error is a *ConflictError.
	ErrConflict = errors.New("conflict")
	// ErrClockPoisoned means that the head's time is so far ahead of the clock
	// that writing after it would drag the address along (NIP-AE, "Write"). It
	// is an ErrConflict too. Nothing was published.
	ErrClockPoisoned = nipae.ErrClockPoisoned
	// ErrUnverified means that a relay accepted the event and that it could not
	// be read back afterwards.
	ErrUnverified = errors.New("accepted, but not found when read back")
	// ErrCore means that the core cannot be removed.
	ErrCore = errors.New("the core cannot be removed")
	// ErrEmpty means that an empty text was to be written without AllowEmpty.
	ErrEmpty = errors.New("the text is empty")
	// ErrExpiry means that a memory cannot expire then, or never expires, or that others
	// would expire with it.
	ErrExpiry = errors.New("it cannot expire so")
	// ErrTooLarge means that a text does not fit into an engram.
	ErrTooLarge = errors.New("the text is too large")
	// ErrReadOnly means that an owner cannot write an agent's memory.
	ErrReadOnly = errors.New("only the agent can write its memory")
	// ErrReversed means that a slug is asked for, or written, in what an owner
	// writes to his agent: nothing is there but proposals and answers.
	ErrReversed = errors.New("an owner only proposes things to his agent, and remembers nothing for it")
	// ErrNoHistory means that a relay has no GET /history.
	ErrNoHistory = errors.New("the relay keeps no history that it shows")
	// ErrHistoryUnasked is ErrNoHistory of a relay that only the agent's list
	// names: it may keep one, and is not asked, because it would learn which
	// address is looked for, and by whom.
	ErrHistoryUnasked error = unaskedError{}
	// ErrNoAPI means that no relay that is asked has the contract API, which the
	// operation needs.
	ErrNoAPI = errors.New("no relay here has the contract API")
	// ErrInvalid means that a request does not make sense; the text names the
	// fields.
	ErrInvalid = errors.New("not a valid request")
	// ErrWhen means that a text names neither a time nor an id.
	ErrWhen = errors.New("neither a time nor an event id")
)

// Silent reports whether an error says that no relay answered: none refused anything.
func Silent(err error) bool {
	return errors.Is(err, ErrNoRelay) && !errors.Is(err, ErrAuth) && !errors.Is(err, ErrNoneConfigured)
}

type unaskedError struct{}

func (unaskedError) Error() string { return "not asked for history: only the agent's list names it" }

// Is makes it ErrNoHistory.
func (unaskedError) Is(target error) bool { return target == ErrNoHistory }

// RefusalError is a relay's refusal in its own words: an OK false or a CLOSED.
// It is ErrAuth for the prefixes auth-required, restricted and blocked, else
// ErrRefused.
type RefusalError struct {
	// Message is what the relay said, made printable and cut to 300 bytes.
	Message string
}

// Error returns the relay's message.
func (e *RefusalError) Error() string {
	if e.Message == "" {
		return "refused without a reason"
	}
	return e.Message
}

// Prefix returns the machine-readable word before the colon (NIP-01), or "".
func (e *RefusalError) Prefix() string {
	prefix, _, ok := strings.Cut(e.Message, ":")
	if !ok || strings.ContainsAny(prefix, " \t") {
		return ""
	}
	return prefix
}

// Is makes a refusal ErrAuth or ErrRefused by its prefix.
func (e *RefusalError) Is(target error) bool {
	switch e.Prefix() {
	case "auth-required", "restricted", "blocked":
		return target == ErrAuth
	}
	return target == ErrRefused
}

// AsksAuth reports whether another key, or an AUTH, might have helped.
func (e *RefusalError) AsksAuth() bool {
	return e.Prefix() == "auth-required" || e.Prefix() == "restricted"
}

// ConflictError is what a write fails with when the memory is another version
// than the one it was made for, before or after it was sent. It is ErrConflict.
type ConflictError struct {
	// Theirs is the version that is there now; nil if there is none, or if it
	// could not be read.
	Theirs *Entry
	// Sent says that our version was accepted by a relay before the other one
	// was seen. It is then in that relay's history.
	Sent bool
	// Busy says that it never was this write's turn: nothing was compared or sent.
	Busy bool
	// Reason is for a person.
	Reason string
}

// Error returns the reason.
func (e *ConflictError) Error() string { return "conflict: " + e.Reason }

// Is makes it ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// PoisonedError is ErrClockPoisoned, and ErrConflict as well.
type PoisonedError struct {
	// Head is the created_at of the version in the future, Unix seconds.
	Head int64
}

// Error reports how to get out of it.
func (e *PoisonedError) Error() string {
	return fmt.Sprintf("%v (created_at %d): a wrong clock made it, this machine's or another's; nothing was published", ErrClockPoisoned, e.Head)
}

// Is makes it ErrClockPoisoned and ErrConflict.
func (e *PoisonedError) Is(target error) bool {
	return target == ErrClockPoisoned || target == ErrConflict
}

// Printable makes a relay's words fit for an error text on a terminal: control
// characters become spaces, and long texts are cut.
func Printable(s string) string {
	const most = 300
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
