package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// RelayStatus is what became of one question at one relay.
type RelayStatus struct {
	URL string // as configured
	// Err is why the relay did not answer in full; nil if it did. What it sent
	// before counts all the same.
	Err error
	// Events is how many different events that fit the question it sent.
	Events int
	// Rejected is how many it sent that were no events, did not fit the question
	// or had a wrong id or signature.
	Rejected int
	// Complete says that the relay answered and has no more: no failure, no cap
	// that may have cut the answer, nothing rejected.
	Complete bool
	// Cut says that a cap may have hidden some of what it has.
	Cut  bool
	Took time.Duration
}

// Answers are what all relays together said.
type Answers struct {
	// Events are verified, distinct, newest first, ties by lowest id.
	Events []*nostr.Event
	Relays []RelayStatus // in the order of the configuration
}

// Partial reports whether some relay failed or may have more.
func (a Answers) Partial() bool { return Partial(a.Relays) }

// AllFailed reports whether no relay answered.
func (a Answers) AllFailed() bool { return Answered(a.Relays) == 0 }

// PublishStatus is what one relay said to an event.
type PublishStatus struct {
	URL string
	// Accepted says that the relay has the event now: OK true, which includes
	// that it had it before.
	Accepted bool
	// Superseded says that the relay has a newer version: an OK false whose
	// message starts with "duplicate:".
	Superseded bool
	Message    string // the OK's, printable
	Err        error  // nil if and only if accepted
	Took       time.Duration
}

// Status is how an operation of a Memory went, relay by relay.
type Status struct {
	// Relays are those that were asked, of the last reading the operation made.
	Relays []RelayStatus
	// Partial says that some relay failed, or may have more than it said; or Unknown.
	Partial bool
	// Unknown is why it is not known what this machine wrote; nil where it is.
	Unknown error
	// Published is what the relays said to the event that was written, if one was.
	Published []PublishStatus
	// Wrote is the event that was sent to write a memory, nil if none was: it is for
	// a local copy.
	Wrote *nostr.Event
	// Decider is the URL of the relay that decided a write with a Base, for it or against
	// it; "" if none did.
	Decider string
	// Behind counts addresses of which this machine knows a newer version than all
	// relays show, and BehindAt is when the newest of these was written, in Unix
	// seconds. Withheld counts those of them of which it has no text. Removed is what a
	// relay says of one of them that it takes no more.
	Behind, Withheld int
	// Named says that the answer is what the relays show, nevertheless.
	Named    bool
	BehindAt int64
	Removed  Removal
	// Stale says that no relay answered, and that this machine did: see Unasked.
	Stale bool
	// Compared says that the write had a Base.
	Compared bool
	// Rebased is how often a change was made again, on what others wrote meanwhile.
	Rebased int
	// Past says that what was written was stored, and that another version has taken its
	// place since: no relay has it as what is there.
	Past bool
	// Queued says that the write waits on this machine until a relay answers.
	Queued bool
	// Waits says that a write waits on this machine, and that relays have a newer text than
	// it was made for: that is the answer.
	Waits bool
	// Doubtful counts events that claim to be newer than what was found, or to
	// be part of it, and cannot be read.
	Doubtful int
}

// Unasked is ErrNoRelay where no relay answered and this machine did: what depends on
// what is there now is not done.
func (s Status) Unasked() error {
	if s.Stale {
		return NoRelay(s.Relays)
	}
	return nil
}

// Incomplete is ErrPartial with what is lacking.
func (s Status) Incomplete() error {
	if s.Unknown != nil {
		return fmt.Errorf("%w: what this machine wrote cannot be read now: %w", ErrPartial, s.Unknown)
	}
	return Failures(ErrPartial, s.Relays)
}

// Sent adds what relays said to an event.
func (s *Status) Sent(published []PublishStatus) {
	s.Published = append(s.Published, published...)
	s.Partial = s.Partial || Accepted(published) < len(published)
}

// Found notes which relays have what was written, by their URLs: of those alone that did
// not answer to it. Where there are none, it is in what they had before.
func (s *Status) Found(at []string) {
	s.Partial = true // others were not sent it
	s.Past = len(at) == 0
	for i := range s.Published {
		if p := &s.Published[i]; Silent(p.Err) && slices.Contains(at, p.URL) {
			p.Accepted, p.Err = true, nil
		}
	}
}

// BestEffort reports whether a write with a Base was stored, and no relay compared.
func (s Status) BestEffort() bool {
	return s.Compared && s.Decider == "" && Accepted(s.Published) > 0
}

// Took returns the URLs of the relays that took what was written.
func (s Status) Took() []string { return TookIt(s.Published) }

// Partial reports whether a relay failed or did not answer in full.
func Partial(relays []RelayStatus) bool {
	return slices.ContainsFunc(relays, func(r RelayStatus) bool { return r.Failed() || !r.Complete })
}

// Failed reports whether the relay did not answer. A relay without history to
// show has answered.
func (r RelayStatus) Failed() bool { return r.Err != nil && !errors.Is(r.Err, ErrNoHistory) }

// Answered counts the relays that answered.
func Answered(relays []RelayStatus) (n int) {
	for _, r := range relays {
		if !r.Failed() {
			n++
		}
	}
	return n
}

// Rejected returns how many events of the relays were rejected.
func Rejected(relays []RelayStatus) (n int) {
	for _, r := range relays {
		n += r.Rejected
	}
	return n
}

// Failures joins what went wrong at each relay into one error around the
// sentinel. It is ErrAuth too if every relay refused us.
func Failures(sentinel error, relays []RelayStatus) error {
	var failed []RelayStatus // one for each relay
	for _, r := range relays {
		if !r.Failed() && !r.Complete {
			r.Err = errors.New("its answer may be incomplete")
		}
		if r.Err != nil && !slices.ContainsFunc(failed, func(f RelayStatus) bool { return f.URL == r.URL }) {
			failed = append(failed, r)
		}
	}
	return joined(sentinel, failed)
}

func joined(sentinel error, failed []RelayStatus) error {
	if len(failed) == 0 {
		return sentinel
	}
	e := &relayErrors{sentinel: sentinel, auth: true}
	parts := make([]string, 0, len(failed))
	for _, r := range failed {
		parts = append(parts, fmt.Sprintf("%s: %v", Printable(r.URL), r.Err))
		e.auth = e.auth && errors.Is(r.Err, ErrAuth)
	}
	e.text = fmt.Sprintf("%v: %s", sentinel, strings.Join(parts, "; "))
	return e
}

// relayErrors is a sentinel with what happened at each relay. Of the causes it
// shows ErrAuth only if all of them are: one relay that refuses us is no reason
// to say that we were refused.
type relayErrors struct {
	sentinel error
	text     string
	auth     bool
}

func (e *relayErrors) Error() string { return e.text }

func (e *relayErrors) Is(target error) bool {
	return target == e.sentinel || target == ErrAuth && e.auth && e.sentinel == ErrNoRelay
}

// WithDoubts adds the doubts about the list of relays to what became of a
// question, but for relays that failed at the question itself: one that is down
// is down once.
func WithDoubts(relays, doubts []RelayStatus) []RelayStatus {
	relays = slices.Clone(relays)
	for _, d := range doubts {
		if !slices.ContainsFunc(relays, func(r RelayStatus) bool { return r.URL == d.URL && r.Failed() }) {
			relays = append(relays, d)
		}
	}
	return relays
}
