package replica

import (
	"errors"
	"maps"
	"sync"
	"time"

	"engramd/internal/client"
	"engramd/nips/nip01"
)

// Outcomes, as metrics name them.
const (
	countTaken   = "taken"
	countKnown   = "known"
	countDeleted = "deleted"
	countRefused = "refused"
)

// States of a follower, as status names them.
const (
	Connecting = "connecting"
	CatchingUp = "catching up"
	Following  = "following"
	Waiting    = "up to date" // until the next pass
	Failed     = "failed"
)

// Status is where a follower stands. It names no key.
type Status struct {
	Number  int       `json:"number"`
	Relay   string    `json:"relay"`
	State   string    `json:"state"`
	Why     string    `json:"why,omitempty"` // it failed, or what is missing
	Since   time.Time `json:"since"`
	Success time.Time `json:"last_success"` // the end of the last pass; zero is never
	Lag     float64   `json:"lag_seconds"`  // since when something may be missing here
	Taken   int64     `json:"taken"`
	Known   int64     `json:"known"`
	Deleted int64     `json:"deleted"`
	// Refused is by reason: the prefix of the refusal.
	Refused map[string]int64 `json:"refused,omitempty"`
	// Incomplete says that the last pass did not get all that the source names.
	Incomplete bool `json:"incomplete,omitempty"`
	// NoHistory says that the source shows this key no superseded versions.
	NoHistory bool `json:"no_history,omitempty"`
	// Reasons are the refusals in full, of the first reasons that there were.
	Reasons map[string]int64 `json:"reasons,omitempty"`
}

// maxReasons bounds how many are told apart.
const maxReasons = 32

// RefusedEvents is how many were refused.
func (s *Status) RefusedEvents() (n int64) {
	for _, of := range s.Refused {
		n += of
	}
	return n
}

// state is what of a follower others look at.
type state struct {
	o     Options
	began time.Time

	mu  sync.Mutex
	now Status
	// behind is since when something may be missing; zero is not at all.
	behind time.Time
	told   string // state and reason of the last line in the log
}

func newState(o Options) *state {
	s := &state{o: o, began: o.Clock(), now: Status{Number: o.Number, Relay: o.Spec.URL, State: Connecting, Since: o.Clock(), Refused: map[string]int64{}, Reasons: map[string]int64{}}}
	s.behind = s.began
	return s
}

func (s *state) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.now
	out.Refused, out.Reasons = maps.Clone(s.now.Refused), maps.Clone(s.now.Reasons)
	if !s.behind.IsZero() {
		out.Lag = max(0, s.o.Clock().Sub(s.behind).Seconds())
	}
	return out
}

func (s *state) connecting() { s.change(Connecting, "") }
func (s *state) catchingUp() { s.change(CatchingUp, "") }

// upToDate is the end of a pass. With a live question nothing is missing from
// then on; without, what arrives is.
func (s *state) upToDate(live bool, out outcome) {
	s.mu.Lock()
	s.now.Incomplete, s.now.NoHistory = out.incomplete, out.noHistory
	s.now.Success = s.o.Clock()
	if s.behind = s.now.Success; live {
		s.behind = time.Time{}
	}
	s.mu.Unlock()
	if live {
		s.change(Following, out.String())
		return
	}
	s.change(Waiting, out.String())
}

func (s *state) failed(err error) { s.change(Failed, Reason(err)) }

// change notes a state, and logs it when it is another one. On the way to the
// same failure nothing is said again.
func (s *state) change(to, why string) {
	s.mu.Lock()
	if s.behind.IsZero() && to != Following && to != CatchingUp {
		s.behind = s.o.Clock()
	}
	if s.now.State != to || s.now.Why != why {
		s.now.State, s.now.Why, s.now.Since = to, why, s.o.Clock()
	}
	passing := to == Connecting || to == CatchingUp
	tell := !passing && s.told != to+why
	if tell {
		s.told = to + why
	}
	s.mu.Unlock()
	switch {
	case !tell:
	case to == Failed:
		s.o.Log.Warn("a relay is not followed", "replica", s.o.Number, "relay", s.o.Spec.URL, "why", why)
	case why != "":
		s.o.Log.Warn("a relay is followed in part", "replica", s.o.Number, "relay", s.o.Spec.URL, "state", to, "missing", why)
	default:
		s.o.Log.Info("a relay is followed", "replica", s.o.Number, "relay", s.o.Spec.URL, "state", to)
	}
}

// Reason is an error for the log: of a relay's own words the prefix alone, for
// they may name a key.
func Reason(err error) string {
	var refusal *client.RefusalError
	switch {
	case errors.As(err, &refusal):
		return "refused by it: " + prefixOf(refusal.Prefix())
	case errors.Is(err, client.ErrAuth):
		return "refused by it for this key"
	case errors.Is(err, client.ErrRefused):
		return "refused by it"
	}
	return err.Error()
}

func (s *state) count(what string, why *nip01.Refusal) {
	prefix := ""
	s.mu.Lock()
	switch what {
	case countTaken:
		s.now.Taken++
	case countKnown:
		s.now.Known++
	case countDeleted:
		s.now.Deleted++
	case countRefused:
		prefix = prefixOf(why.Prefix)
		s.now.Refused[prefix]++
		if text := why.Error(); len(s.now.Reasons) < maxReasons || s.now.Reasons[text] > 0 {
			s.now.Reasons[text]++
		}
	}
	s.mu.Unlock()
	s.o.Observe(s.o.Number, what, prefix)
}

// prefixOf keeps the words of NIP-01.
func prefixOf(prefix string) string {
	switch prefix {
	case nip01.PrefixInvalid, nip01.PrefixBlocked, nip01.PrefixRestricted, nip01.PrefixAuthRequired, nip01.PrefixRateLimited, nip01.PrefixError, nip01.PrefixPoW:
		return prefix
	}
	return "other"
}
