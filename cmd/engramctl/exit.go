package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/client"
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
	exitOK          = 0
	exitNotFound    = 1
	exitUsage       = 2
	exitAuth        = 3
	exitRelay       = 4
	exitConflict    = 5
	exitUnreadable  = 6
	exitInterrupted = 130 // 128 + SIGINT, as shells count
)

// exitCode is one line of the table in help and docs.
type exitCode struct {
	code int
	text string
}

func exitCodes() []exitCode {
	return []exitCode{
		{exitOK, "done; also a partial answer, which stderr and JSON mark as such (see --strict)"},
		{exitNotFound, "not found, or removed, and every relay says so; core: not for this owner, agent or key"},
		{exitUsage, "usage: command line, environment, configuration, key or input"},
		{exitAuth, "the relays refuse this key, or what it writes (restricted:, blocked:)"},
		{exitRelay, "relay or network: none answered, or not all and it matters; mind run: the thinker failed"},
		{exitConflict, "conflict: another version than the change was made for; a snapshot in use, or that must stay"},
		{exitUnreadable, "unreadable: there is something, and it cannot be read; a check of it failed"},
		{exitInterrupted, "interrupted by a signal"},
	}
}

// exitTable is exitCodes as text.
func exitTable() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, c := range exitCodes() {
		fmt.Fprintf(&b, "  %-4d%s\n", c.code, c.text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// usageError is a mistake on the command line, in the configuration, in the key
// or in what was given to be written.
type usageError struct{ error }

// Unwrap gives errors.Is the cause.
func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errNoFit means that a patch is made for another text.
var errNoFit = errors.New("the patch does not fit")

// codeOf maps an error to the exit code. The order matters where errors are
// several things at once.
func codeOf(err error) int {
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usageError{}):
		return exitUsage
	case is(thinker.ErrFailed, thinker.ErrBudget):
		return exitRelay
	case is(thinker.ErrAnswer):
		return exitUnreadable
	case is(thinker.ErrBusy):
		return exitConflict
	case is(client.ErrUnverified):
		return exitRelay
	case is(bundle.ErrInvalid, bundle.ErrLimit, bundle.ErrChanged, snapshots.ErrJournal, snapshot.ErrUnreadable):
		return exitUnreadable
	case is(snapshot.ErrNotFound, snapshot.ErrNoRecord, bundle.ErrEmpty):
		return exitNotFound
	case is(snapshot.ErrHeld, snapshot.ErrLastVerified, snapshot.ErrParent, snapshot.ErrPinned, snapshots.ErrMoving):
		return exitConflict
	case is(bundle.ErrName, bundle.ErrSource, bundle.ErrUntrusted, snapshot.ErrAmbiguous):
		return exitUsage
	case is(proposals.ErrAnswered):
		return exitConflict
	case is(proposals.ErrForm, proposals.ErrID, proposals.ErrListed, proposals.ErrForbidden, proposals.ErrRefused, proposals.ErrSelf, proposals.ErrUnopened, write.ErrField):
		return exitUsage
	case is(client.ErrUnreadable, client.ErrNotDisclosed, evidence.ErrInput, errEvidence):
		return exitUnreadable
	case is(attestation.ErrForm, attestation.ErrSignature, attestation.ErrForeign, attestation.ErrInconsistent, attestation.ErrUnknown):
		return exitUnreadable
	case is(plans.ErrRecord, transplant.ErrOrigin, transplant.ErrPackage):
		return exitUnreadable
	case is(client.ErrConflict, errNoFit, intentions.ErrClosed, consolidation.ErrChanged, plans.ErrStatus, plans.ErrBusy):
		return exitConflict
	case is(client.ErrPartial):
		return exitRelay
	case is(client.ErrNotFound, client.ErrTombstone, plans.ErrNoPlan, plans.ErrNoRecord, consolidation.ErrDreamless):
		return exitNotFound
	case is(client.ErrInvalid, client.ErrAmbiguous, client.ErrNoAPI, client.ErrNoManagement, client.ErrCleartext, client.ErrNoKey):
		return exitUsage
	case is(client.ErrAuth):
		return exitAuth
	case is(client.ErrNoRelay, client.ErrRefused, client.ErrTimeout, client.ErrMisbehaved, client.ErrNoHistory, context.DeadlineExceeded):
		return exitRelay
	case is(client.ErrIdentity, client.ErrCore, client.ErrEmpty, client.ErrTooLarge, client.ErrReadOnly, client.ErrReversed, client.ErrWhen,
		nipae.ErrKey, nipae.ErrSlug, nipae.ErrBody):
		return exitUsage
	}
	return exitRelay
}

// complain says on stderr why a command failed.
func complain(e *Env, cmd *cobra.Command, err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(e.err(), "%s: %s\n", cmd.CommandPath(), redact(line))
	}
	if errors.As(err, &usageError{}) && !e.started {
		fmt.Fprintf(e.err(), "Try: %s --help\n", cmd.CommandPath())
	}
}
