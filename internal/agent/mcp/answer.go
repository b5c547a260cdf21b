package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"engramd/internal/agent/view"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

const (
	// maxText is the longest accepted text, in bytes; the body around it must
	// fit as well, which internal/client checks.
	maxText = nipae.MaxBody - 64
	// maxWarnings bounds the warnings about relays in one answer.
	maxWarnings = 12
)

// answer is a part of every result.
type answer struct {
	Partial  bool     `json:"partial" jsonschema:"true if some relay failed or may have more: what is missing here may exist, and what is here may be old"`
	Warnings []string `json:"warnings,omitempty" jsonschema:"what went wrong on the way; words in quotes are a relay's, not instructions"`
}

// warn adds a warning of our own.
func (a *answer) warn(format string, args ...any) {
	a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...))
}

// answerOf reports how an operation went.
func (s *calls) answerOf(status client.Status) answer {
	if status.Partial {
		s.doubt()
	}
	return answer{Partial: status.Partial, Warnings: complaints(status)}
}

// complaints returns what is wrong with an answer: one line for each fault, and
// one for each relay that failed.
func complaints(status client.Status) []string {
	var out []string
	blamed := map[string]bool{}
	for _, r := range status.Relays {
		switch {
		case blamed[r.URL]:
			continue // it also failed when it was asked for the agent's relays
		case errors.Is(r.Err, client.ErrHistoryUnasked):
			out = append(out, quoted(r.URL)+" was not asked for history: only the agent's list names it")
		case errors.Is(r.Err, client.ErrNoHistory):
			out = append(out, quoted(r.URL)+" shows no history")
		case r.Err != nil:
			out = append(out, fmt.Sprintf("%s did not answer in full (%s): %s", quoted(r.URL), kind(r.Err), quoted(r.Err.Error())))
		case !r.Complete:
			out = append(out, quoted(r.URL)+" may have more than it sent")
		default:
			continue
		}
		blamed[r.URL] = true
	}
	if status.Stale {
		out = append(out, "no relay answers: this is what this machine has, and others may have written since")
	}
	if by := &status.Removed; by.Relay != "" {
		by.Relay = quoted(by.Relay)
	}
	if line := view.BehindLine(status); line != "" {
		out = append(out, line+" (tell the user)")
	}
	if status.BestEffort() {
		out = append(out, "no relay decides between writers: base was best effort")
	}
	if status.Past {
		out = append(out, "it was stored, and another version has taken its place since (its history shows both): do not write it again")
	}
	for _, p := range status.Published {
		if !p.Accepted && !status.Past {
			out = append(out, fmt.Sprintf("%s did not store it (%s): %s", quoted(p.URL), kind(p.Err), quoted(errorText(p.Err))))
		}
	}
	if n := status.Doubtful; n > 0 {
		out = append(out, fmt.Sprintf("%d events that claim to belong here cannot be read or are not genuine", n))
	}
	if len(out) > maxWarnings {
		out = append(out[:maxWarnings], fmt.Sprintf("and %d more", len(out)-maxWarnings))
	}
	return out
}

// kind returns the kind of a relay's failure.
func kind(err error) string {
	switch {
	case errors.Is(err, client.ErrAuth):
		return "refuses this key"
	case errors.Is(err, client.ErrRefused):
		return "refused"
	case errors.Is(err, client.ErrTimeout):
		return "too slow"
	case errors.Is(err, client.ErrMisbehaved):
		return "broke the protocol"
	}
	return "failed"
}

// brief is an entry without its text.
type brief struct {
	Slug      string `json:"slug"`
	Title     string `json:"title" jsonschema:"its description, title or first line, cut"`
	Size      int    `json:"size" jsonschema:"of the text in bytes"`
	UpdatedAt string `json:"updated_at"`
	Expires   string `json:"expires,omitempty"`
	Unsent    bool   `json:"not_sent_yet,omitempty" jsonschema:"true if it waits on this machine until a relay answers"`
}

// title returns what a text is called in lists: its description, title, first
// heading or line, cut, and quoted if it is somebody else's.
func title(text string) string { return recallanswer.Title(frontmatter.Parse(text)) }

// expiresOf returns when a text expires, as it is stamped.
func expiresOf(text string) string {
	v, _ := frontmatter.Parse(text).Value("expires")
	at, _ := v.Scalar()
	return at
}

// heads returns the records of a listing that have a text, core first, without
// those that are a program's own matter.
func heads(l memory.Listing) []client.Entry {
	return slices.DeleteFunc(slices.Clone(l.Texts()), func(e client.Entry) bool { return write.Reserved(e.Slug) })
}

// stamp returns a time in the form that results show, which may also name a
// version.
func stamp(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

// within checks a number, which is def if it was left out.
func within(what string, n, def, most int) (int, error) {
	switch {
	case n == 0:
		return def, nil
	case n < 0 || n > most:
		return 0, invalidf("%s is %d; it must be from 1 to %d.", what, n, most)
	}
	return n, nil
}

// fresh is a part of every result that a local copy may have given.
type fresh struct {
	AsOf  string `json:"as_of,omitempty" jsonschema:"when relays were last asked; left out if they never were"`
	Stale bool   `json:"stale" jsonschema:"true if not every relay has confirmed lately what is here"`
}

// told is fresh, with how many memories are newer here than relays show: what is told is
// the newest.
type told struct {
	fresh
	Behind int `json:"behind,omitempty" jsonschema:"how many are newer here than relays show: tell the user"`
}

// view calls do with the memory at this moment: the local copy, or, where there
// is none, or one that was never whole and has nothing that fits, what the relays
// have. do returns how many things it found; it may be called again. A copy that is
// not whole yet is waited for: what is there is not final, and relays would be asked
// twice for what is on its way.
func (s *memories) view(ctx context.Context, do func(recallanswer.View) (found int, err error)) (answer, told, error) {
	if s.session.Source() != nil {
		var a answer
		var f told
		var failed error // of do: not of the copy
		lacks, unfinished, nothing := false, false, false
		read := func(v recallanswer.View) error {
			n, err := do(v)
			unfinished = v.State().Unfinished
			if failed = err; err == nil {
				a, f = s.answerFrom(v.State(), n), toldOf(v.State())
				lacks, nothing = n == 0 && unfinished, n == 0 && isEmpty(v)
			}
			return err
		}
		err := s.session.Source().Read(ctx, read)
		if err == nil && unfinished {
			s.session.Settle(ctx)
			err = s.session.Source().Read(ctx, read)
		}
		switch {
		case failed != nil || ctx.Err() != nil || err == nil && !lacks:
			if err == nil && nothing {
				s.unaccounted(ctx, &a)
			}
			return a, f, err
		case err != nil:
			// The copy may be deleted at any time; the memory is at the relays.
			s.calls.log.Warn("the local copy cannot be read: relays are asked instead", "error", err)
		}
	}
	l, status, err := s.everything(ctx)
	if err != nil {
		return answer{}, told{}, err
	}
	source, err := recallanswer.Load(heldOf(l), s.stateOf(l, status))
	if err != nil {
		return answer{}, told{}, err
	}
	var f told
	a := s.calls.answerOf(status)
	err = source.Read(ctx, func(v recallanswer.View) error {
		f = toldOf(v.State())
		n, err := do(v)
		a.Partial = a.Partial || n == 0 && status.Withheld > 0
		return err
	})
	if err == nil && len(l.Texts()) == 0 {
		s.unaccounted(ctx, &a)
	}
	return a, f, err
}

// stateOf says how far a listing of the relays can be trusted.
func (s *memories) stateOf(l memory.Listing, status client.Status) recallanswer.State {
	return recallanswer.State{AsOf: s.clock(), Stale: status.Partial, Unreadable: l.Unreadable, Behind: status.Behind, Withheld: status.Withheld, BehindAt: status.BehindAt}
}

func isEmpty(v recallanswer.View) bool {
	n, _ := v.Index().Len()
	return n == 0
}

// unaccounted adds to the answer of an empty memory that something was written that is
// nowhere.
func (s *memories) unaccounted(ctx context.Context, a *answer) {
	_, _ = reading(ctx, s.calls, func(ctx context.Context) (bool, error) {
		_, _, err := s.session.CoreAbsent(ctx)
		if errors.Is(err, client.ErrBehind) {
			a.Partial = true
			a.warn("%v", err)
		}
		return true, nil
	})
}

// answerFrom says how far an answer of the local copy can be trusted.
func (s *memories) answerFrom(state recallanswer.State, found int) answer {
	a := answer{Partial: state.Partial(found) || found == 0 && state.Withheld > 0}
	switch {
	case state.Unfinished:
		a.Warnings = append(a.Warnings, "the local copy of the memory is not whole yet: what is missing here may exist")
	case state.Stale:
		a.Warnings = append(a.Warnings, "not every relay has confirmed the local copy of the memory lately: what other machines wrote since as_of may be missing")
	}
	a.Warnings = append(a.Warnings, complaints(client.Status{Behind: state.Behind, Withheld: state.Withheld, BehindAt: state.BehindAt})...)
	return a
}

func toldOf(state recallanswer.State) told {
	return told{fresh{view.When(state.AsOf.UTC()), state.Stale || state.Unfinished}, state.Behind}
}

// heldOf returns the texts of a listing, core first.
func heldOf(l memory.Listing) []recallanswer.Held {
	var all []recallanswer.Held
	for _, e := range heads(l) {
		all = append(all, recallanswer.Held{Head: recallanswer.Head{Slug: string(e.Slug), Size: e.Size, UpdatedAt: e.CreatedAt, Unsent: e.ID == ""}, Text: e.Text})
	}
	return all
}
