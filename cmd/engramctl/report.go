package main

import (
	"errors"
	"fmt"

	"engramd/internal/client"
)

// report says on stderr which relays failed, and that an answer is partial. It
// returns the error to end with: err, or with --strict one for a partial
// answer.
func (e *Env) report(s client.Status, err error) error {
	return e.reportWith(s, err, "engramctl sync brings the others up to date")
}

// reportWith is report with what helps if some relays did not take what was
// written.
func (e *Env) reportWith(s client.Status, err error, remedy string) error {
	failed := map[string]bool{}
	for _, r := range once(s.Relays) {
		failed[r.URL] = r.Err != nil
		if !namesRelays(err) {
			reportRelay(e, r)
		}
	}
	accepted := 0
	for _, p := range s.Published {
		if p.Accepted {
			accepted++
			continue
		}
		if !namesRelays(err) && !failed[p.URL] {
			e.note("%s did not take it: %v", p.URL, p.Err)
		}
	}
	switch {
	case err != nil:
		return err
	case accepted < len(s.Published):
		e.note("written to %d of %d relays; %s", accepted, len(s.Published), remedy)
	case s.Partial:
		e.note("partial answer: not every relay answered in full, there may be more or newer memory")
	}
	if s.Compared && s.Decider == "" {
		e.note("no relay decided: none of them knows a compare-and-set, and so --base was best effort: who wrote at the same moment may have been told the same")
	}
	if s.Doubtful > 0 {
		e.note("%s", counted(s.Doubtful, "event at this place cannot be read and was left out", "events at this place cannot be read and were left out"))
	}
	if s.Partial && e.flags.strict {
		return fmt.Errorf("%w in full, and all of them are needed here", client.ErrPartial)
	}
	return nil
}

// once leaves out what is said again of a relay that failed: one that is down
// fails at the question for the agent's list of relays as well.
func once(relays []client.RelayStatus) []client.RelayStatus {
	var out []client.RelayStatus
	failed := map[string]bool{}
	for _, r := range relays {
		if !failed[r.URL] {
			out = append(out, r)
		}
		failed[r.URL] = failed[r.URL] || r.Err != nil
	}
	return out
}

func reportRelay(e *Env, r client.RelayStatus) {
	switch {
	case errors.Is(r.Err, client.ErrHistoryUnasked):
		e.note("%s was not asked for history, because only the agent's list names it: only its current version counts", r.URL)
	case errors.Is(r.Err, client.ErrNoHistory):
		e.note("%s keeps no history that it shows: only its current version counts", r.URL)
	case r.Err != nil:
		e.note("%s failed: %v", r.URL, r.Err)
	case r.Rejected > 0:
		e.note("%s sent %s", r.URL, counted(r.Rejected, "event that is wrong or was not asked for", "events that are wrong or were not asked for"))
	case !r.Complete:
		e.note("%s may have more than it sent", r.URL)
	}
}

// namesRelays reports whether an error's text says what happened at each relay.
func namesRelays(err error) bool {
	return errors.Is(err, client.ErrNoRelay) || errors.Is(err, client.ErrPartial) || errors.Is(err, client.ErrAuth) || errors.Is(err, client.ErrUnverified)
}
