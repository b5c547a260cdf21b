package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"engramd/internal/agent/session"
	"engramd/internal/agent/view"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/state"
	memorywrite "engramd/internal/memory/write"
	"engramd/internal/secrets"
	"engramd/nips/nipae"
)

// about is an error of an operation, with its circumstances.
type about struct {
	error
	slug   nipae.Slug // "" for the memory as a whole
	status client.Status
	// entry came with the error: a tombstone.
	entry   client.Entry
	version bool // the caller named a version
	write   bool
	found   bool          // there is a text, though perhaps not the newest
	others  memory.Others // set if there is no core
}

// Unwrap gives errors.Is the cause.
func (a *about) Unwrap() error { return a.error }

// diagnosis tells a caller what an error means, and what to do about it.
type diagnosis struct {
	readOnly bool
	doubt    func() // is told that an answer was partial or missing
}

// failure turns any error of a call into a Failure.
func (s *diagnosis) failure(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	a := &about{error: err}
	errors.As(err, &a)
	f = s.diagnose(a)
	f.Slug, f.cause = string(a.slug), err
	if f.Relays == nil {
		f.Relays = complaints(a.status)
	}
	if f.Code == CodeUnreachable || f.Code == CodePartial || f.Code == CodeKeyRefused {
		s.doubt()
	}
	return f
}

// diagnose classifies an error. The order matters for an error that is several
// things at once: failure comes before absence.
func (s *diagnosis) diagnose(a *about) *Failure {
	var conflict *client.ConflictError
	var poisoned *client.PoisonedError
	var secret *secrets.Error
	is := func(target error) bool { return errors.Is(a.error, target) }
	sent := len(a.status.Published) > 0
	switch {
	case is(state.ErrOutboxFull):
		return &Failure{Code: CodeUnreachable, Message: "No relay answered, and no more writes can wait on this machine. Nothing was written.",
			Action: "Tell the user; engramctl outbox shows what waits. Keep what should be remembered until a relay answers."}
	case is(session.ErrWaits):
		return &Failure{Code: CodeUnreachable, Message: "A write of yours to " + name(a.slug) + " waits on this machine, and goes first: no relay took it yet. Nothing was changed.",
			Action: "Tell the user; engramctl outbox shows why it waits, sends it and drops it."}
	case is(client.ErrUnverified), sent && is(client.ErrNoRelay):
		return &Failure{Code: CodeUnconfirmed, Message: "The change to " + name(a.slug) + " was sent, and it is not certain that it is stored.",
			Action: "Read " + name(a.slug) + " with memory_read before anything else. Repeat the change only if it is not there; never repeat an append without having looked."}
	case is(client.ErrUnreadable):
		return s.unreadable(a)
	case is(client.ErrBehind):
		return &Failure{Code: CodeBehind, Message: a.error.Error() + "." + nothingWritten(a), Action: "Do not take it for missing, and do not write it anew. Go on without it, and tell the user: engramctl doctor and engramctl repair say more."}
	case errors.As(a.error, &secret):
		return &Failure{Code: CodeSecret, Message: fmt.Sprintf("In the text, %v. Nothing was written: what is stored once cannot be taken back, since every version is kept.", secret),
			Action: "Leave the value out and write where it is kept instead. Only if it is no secret, or the user wants it stored all the same, call again with allow_secret true."}
	case is(memorywrite.ErrTaken):
		return &Failure{Code: CodeConflict, Theirs: theirsOf(&a.entry), Message: "There is a memory already where it should be renamed to. Nothing was written.",
			Action: "Choose another slug; or read both, merge them with memory_write into one, and memory_delete the other."}
	case errors.As(a.error, &poisoned):
		return &Failure{Code: CodeClock, Message: fmt.Sprintf("The version at %s is dated %s, too far ahead of this machine's clock to be superseded. Nothing was written.", name(a.slug), stamp(poisoned.Head)),
			Action: "Do not retry. Tell the user that the clock of this machine, or of the one that wrote last, is wrong."}
	case errors.As(a.error, &conflict):
		return conflicting(a, conflict)
	case is(client.ErrPartial):
		return s.partial(a)
	case a.version && (is(client.ErrTombstone) || is(client.ErrNotFound)):
		return noVersion(a)
	case is(client.ErrTombstone):
		return s.removed(a)
	case is(client.ErrNotFound):
		return s.notFound(a)
	case is(client.ErrAuth):
		return &Failure{Code: CodeKeyRefused, Message: "The relays refuse the key that this server runs with, so nothing is known about " + name(a.slug) + ". It may well exist." + nothingWritten(a),
			Action: "Retrying does not help. Tell the user what the relays say; the owner may have to approve this agent (engramctl agents allow, with the owner's key), or another key or relay must be configured."}
	case is(client.ErrNoRelay), is(client.ErrTimeout), is(client.ErrMisbehaved):
		return &Failure{Code: CodeUnreachable, Message: "No relay answered. This says nothing about what is remembered: " + name(a.slug) + " may well exist." + nothingWritten(a),
			Action: "Try again in a moment, a few times at most. If it goes on, tell the user that the memory cannot be reached, and keep what should be remembered until it can."}
	case is(client.ErrRefused):
		return &Failure{Code: CodeRefused, Message: "The relays refused the request." + nothingWritten(a),
			Action: "Read what they say below. Wait and retry once if it is about rate or load; otherwise retrying does not help: tell the user."}
	}
	return plain(a.error)
}

// plain returns the Failure of an error that is not about relays.
func plain(err error) *Failure {
	return cmp.Or(adviceOn(err, ofTexts), adviceOn(err, ofAll))
}

func conflicting(a *about, c *client.ConflictError) *Failure {
	if c.Busy {
		return &Failure{Code: CodeBusy, Message: "The memory at " + name(a.slug) + " is being written faster than once a second. Nothing was written.", Action: "Call again in a moment; write less often."}
	}
	f := &Failure{Code: CodeConflict, Theirs: theirsOf(c.Theirs), Message: "The memory at " + name(a.slug) + " is another version than the change was made for. Nothing was written."}
	if c.Sent || len(a.status.Published) > 0 {
		f.Message = "Somebody else changed " + name(a.slug) + " at the same time, and their version counts, not yours."
	}
	f.Action = "Do not write over it. Read " + name(a.slug) + " with memory_read, make your change to the text that is there, and write that with its hash as base."
	if c.Theirs != nil && c.Theirs.Tombstone {
		f.Action = "It was deleted. Look at memory_more with action history if you need the text; call memory_write without base if it should exist again."
	} else if c.Theirs == nil {
		f.Action = "Read " + name(a.slug) + " with memory_read first. If it does not exist, write without base; else make your change to what is there and give its hash as base."
	}
	return f
}

func (s *diagnosis) partial(a *about) *Failure {
	f := &Failure{Code: CodePartial, Message: "Nothing was found for " + name(a.slug) + ", but not every relay answered: it may well exist." + nothingWritten(a),
		Action: "Do not take it for missing. Try again later; if it goes on, tell the user which relays fail."}
	if a.found {
		f.Message = "There is a text for " + name(a.slug) + ", but not every relay answered: one that did not may have a newer text." + nothingWritten(a)
		f.Action = "Try again later; if it goes on, tell the user which relays fail. Only if the user says so, read it and write it whole with memory_write."
		return f
	}
	if !s.readOnly {
		f.Action += " Only if the user says so, create it anew with memory_write."
	}
	return f
}

func (s *diagnosis) unreadable(a *about) *Failure {
	f := &Failure{Code: CodeUnreadable, Message: "What the relays have for " + name(a.slug) + " cannot be read: damaged, or encrypted for another pair of keys. It is not missing." + nothingWritten(a),
		Action: "Do not write over it. Tell the user."}
	if a.slug != "" {
		f.Action += " memory_more with action history may show an earlier version that can be read"
		if !s.readOnly {
			f.Action += ", and restore brings one back"
		}
		f.Action += "."
	}
	return f
}

// noVersion returns the Failure for a named version that does not exist or has
// no text.
func noVersion(a *about) *Failure {
	if errors.Is(a.error, client.ErrTombstone) {
		return &Failure{Code: CodeRemoved, Message: "That version of " + name(a.slug) + " is its deletion: there is no text in it.",
			Action: "Choose another version from memory_more with action history."}
	}
	return &Failure{Code: CodeNotFound, Message: "No relay keeps such a version of " + name(a.slug) + ", and every relay answered. Relays drop old versions.",
		Action: "Choose one of the versions that memory_more shows with action history."}
}

func (s *diagnosis) removed(a *about) *Failure {
	f := &Failure{Code: CodeRemoved, Message: "The memory at " + name(a.slug) + " was deleted.", Action: "Look for it under another slug with memory_search. memory_more with action history shows what it said before"}
	if a.entry.CreatedAt > 0 {
		f.Message = fmt.Sprintf("The memory at %s was deleted at %s.", name(a.slug), stamp(a.entry.CreatedAt))
	}
	if !s.readOnly {
		f.Action += ", restore brings that back, memory_write starts anew"
	}
	f.Action += "."
	return f
}

func (s *diagnosis) notFound(a *about) *Failure {
	f := &Failure{Code: CodeNotFound, Message: "There is no memory at " + name(a.slug) + ": every relay answered, and none has it.",
		Action: "Find the right slug with memory_list or memory_search."}
	switch {
	case len(a.others.Keys) > 0:
		return s.wrongPair(a)
	case a.slug.IsCore():
		f.Message = "There is no core profile yet: every relay answered, and none has it."
		f.Action = "Tell the user, and go on without one."
		if !s.readOnly {
			f.Action = "When you learn who the user is or how they want to work, write it to core with memory_write."
		}
	case !s.readOnly:
		f.Action += " If it should exist, create it with memory_write."
	}
	return f
}

// wrongPair returns the Failure for a key that finds nothing here but has
// memory with others.
func (s *diagnosis) wrongPair(a *about) *Failure {
	of, by := "for the owner that is configured", "for other owners"
	if s.readOnly {
		of, by = "by the agent that is configured, for this key", "by other agents"
	}
	return &Failure{Code: CodeNotFound, Message: fmt.Sprintf("There is no memory at all %s: every relay answered. There is some %s (%s), so most likely the wrong key, owner or agent is configured.",
		of, by, strings.Join(npubs(a.others.Keys), ", ")), Action: "Do not begin a memory anew. Tell the user."}
}

// npubs returns a few public keys in the form that people know.
func npubs(keys []string) []string {
	const most = 5
	var out []string
	for _, key := range keys[:min(most, len(keys))] {
		out = append(out, view.Npub(key))
	}
	if len(keys) > most {
		out = append(out, fmt.Sprintf("and %d more", len(keys)-most))
	}
	return out
}

// nothingWritten returns the end of the message for a write that did not begin.
func nothingWritten(a *about) string {
	if a.write {
		return " Nothing was written."
	}
	return ""
}

// name returns a slug as a sentence names it.
func name(slug nipae.Slug) string {
	if slug == "" {
		return "this agent's memory"
	}
	return string(slug)
}
