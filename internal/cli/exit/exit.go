// Package exit has the exit codes of engramctl and the errors they stand for.
package exit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/client/evidence"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
	"engramd/internal/memory/consolidation/thinker"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/snapshots"
	"engramd/internal/memory/transplant"
	"engramd/internal/memory/verify/attestation"
	"engramd/internal/memory/write"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// Exit codes of the process.
const (
	OK          = 0
	NotFound    = 1
	Usage       = 2
	Auth        = 3
	Relay       = 4
	Conflict    = 5
	Unreadable  = 6
	Interrupted = 130 // 128 + SIGINT, as shells count
)

// Code is one line of the table in help and docs.
type Code struct {
	Code int
	text string
}

// Codes returns all exit codes with what they mean.
func Codes() []Code {
	return []Code{
		{OK, "done; also a partial answer, which stderr and JSON mark as such (see --strict)"},
		{NotFound, "not found, or removed, and every relay says so; core: not for this owner, agent or key"},
		{Usage, "usage: command line, environment, configuration, key or input"},
		{Auth, "the relays refuse this key, or what it writes (restricted:, blocked:)"},
		{Relay, "relay or network: none answered, or not all and it matters; mind run: the thinker failed"},
		{Conflict, "conflict: another version than the change was made for; a snapshot in use, or that must stay"},
		{Unreadable, "unreadable: it is there and cannot be read; a check failed; relays show less than is known"},
		{Interrupted, "interrupted by a signal"},
	}
}

// Table is Codes as text.
func Table() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, c := range Codes() {
		fmt.Fprintf(&b, "  %-4d%s\n", c.Code, c.text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// UsageError is a mistake on the command line, in the configuration, in the key
// or in what was given to be written.
type UsageError struct{ err error }

// Error is the text of the cause.
func (e UsageError) Error() string { return e.err.Error() }

// Unwrap gives errors.Is the cause.
func (e UsageError) Unwrap() error { return e.err }

// BadUsage makes a usage error of err.
func BadUsage(err error) error { return UsageError{err} }

// Usagef makes one of a text.
func Usagef(format string, args ...any) error { return BadUsage(fmt.Errorf(format, args...)) }

// ErrNoFit means that a patch is made for another text.
var ErrNoFit = errors.New("the patch does not fit")

// CodeOf maps an error to the exit code.
func CodeOf(err error) int {
	switch {
	case err == nil:
		return OK
	case errors.As(err, &UsageError{}):
		return Usage
	}
	for _, kind := range kinds {
		if slices.ContainsFunc(kind.of, func(target error) bool { return errors.Is(err, target) }) {
			return kind.code
		}
	}
	return Relay
}

// kinds has the codes of errors. The order matters where an error is several things
// at once.
var kinds = []struct {
	code int
	of   []error
}{
	{Relay, []error{thinker.ErrFailed, thinker.ErrBudget}},
	{Unreadable, []error{thinker.ErrAnswer}},
	{Conflict, []error{thinker.ErrBusy}},
	{Relay, []error{client.ErrUnverified}},
	{Unreadable, []error{bundle.ErrInvalid, bundle.ErrLimit, bundle.ErrChanged, snapshots.ErrJournal, snapshot.ErrUnreadable}},
	{NotFound, []error{snapshot.ErrNotFound, snapshot.ErrNoRecord, bundle.ErrEmpty}},
	{Conflict, []error{snapshot.ErrHeld, snapshot.ErrLastVerified, snapshot.ErrParent, snapshot.ErrPinned, snapshots.ErrMoving}},
	{Usage, []error{bundle.ErrName, bundle.ErrSource, bundle.ErrUntrusted, snapshot.ErrAmbiguous}},
	{Conflict, []error{proposals.ErrAnswered}},
	{Usage, []error{proposals.ErrForm, proposals.ErrID, proposals.ErrListed, proposals.ErrForbidden, proposals.ErrRefused, proposals.ErrSelf, proposals.ErrUnopened, write.ErrField}},
	{Unreadable, []error{client.ErrUnreadable, client.ErrBehind, contract.ErrNotDisclosed, evidence.ErrInput, ErrEvidence}},
	{Unreadable, []error{attestation.ErrForm, attestation.ErrSignature, attestation.ErrForeign, attestation.ErrInconsistent, attestation.ErrUnknown}},
	{Unreadable, []error{plans.ErrRecord, transplant.ErrOrigin, transplant.ErrPackage}},
	{Conflict, []error{client.ErrConflict, ErrNoFit, intentions.ErrClosed, consolidation.ErrChanged, plans.ErrStatus, plans.ErrBusy}},
	{Relay, []error{client.ErrPartial}},
	{NotFound, []error{client.ErrNotFound, client.ErrTombstone, plans.ErrNoPlan, plans.ErrNoRecord, consolidation.ErrDreamless}},
	{Usage, []error{client.ErrInvalid, contract.ErrAmbiguous, client.ErrNoAPI, client.ErrNoManagement, client.ErrCleartext, client.ErrNoKey}},
	{Auth, []error{client.ErrAuth}},
	{Relay, []error{client.ErrNoRelay, client.ErrRefused, client.ErrTimeout, client.ErrMisbehaved, client.ErrNoHistory, context.DeadlineExceeded}},
	{Usage, []error{client.ErrIdentity, client.ErrCore, client.ErrEmpty, client.ErrExpiry, client.ErrTooLarge, client.ErrReadOnly, client.ErrReversed, client.ErrWhen,
		nipae.ErrKey, nipae.ErrSlug, nipae.ErrBody}},
}

// ErrEvidence means that something that was handed over is not what it should
// be.
var ErrEvidence = errors.New("a check failed")
