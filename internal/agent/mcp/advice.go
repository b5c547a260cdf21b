package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"engramd/internal/agent/session"
	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
	"engramd/internal/memory/intentions"
	"engramd/internal/memory/intentions/acts"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/write"
	"engramd/internal/secrets"
	"engramd/nips/frontmatter"
)

// advice is what a caller is told of an error, and what to do. In both texts {error} is
// the error that was matched, and {said} the whole one, quoted.
type advice struct {
	match           func(error) error // nil for another error
	code            string
	message, action string
}

// is matches an error that is one of several.
func is(targets ...error) func(error) error {
	return func(err error) error {
		for _, target := range targets {
			if errors.Is(err, target) {
				return err
			}
		}
		return nil
	}
}

// as matches an error of a type.
func as[T error](err error) error {
	if one, ok := errors.AsType[T](err); ok {
		return one
	}
	return nil
}

// adviceOn returns the first Failure of a table that fits an error; nil if none does.
func adviceOn(err error, table []advice) *Failure {
	for _, a := range table {
		if found := a.match(err); found != nil {
			fill := strings.NewReplacer("{error}", found.Error(), "{said}", quoted(err.Error()))
			return &Failure{Code: a.code, Message: fill.Replace(a.message), Action: fill.Replace(a.action), cause: err}
		}
	}
	return nil
}

const correct = "Correct the arguments and call again."

// ofTexts are about a text that must not be written as it is.
var ofTexts = []advice{
	{as[*write.PlaceholderError], CodePlaceholder, "In the text, {error}: what it stands for would be lost, since memory_write replaces the whole text. Nothing was written.",
		"Use memory_edit to change a part, or write the whole text. Only if the line is meant as it stands, call again with allow_placeholder true."},
	{nowhere, CodeMatch, "Nothing was written: {error}.", "Read the memory with memory_read and copy old_str from its text, letter by letter."},
	{as[*write.MatchError], CodeMatch, "Nothing was written: {error}.", "Give more of the text around it as old_str, so that it stands there exactly once."},
	{as[*write.ClaimError], CodeClaim, "Nothing was written: {error}.", "Leave these lines out of the text."},
	{is(write.ErrReserved), CodeReserved, "mem/sys, mem/proposals and mem/proposals-answers are kept by programs. Nothing was written.", "Use another slug."},
	{is(client.ErrExpiry), CodeInvalid, "Nothing was written: {said}", "Give expires only for a new slug, or a later one for what expires. Letting go of what is there is for a person: engramctl mem set --expires."},
	{is(write.ErrField, frontmatter.ErrHead, frontmatter.ErrValue), CodeInvalid, "Nothing was written: {error}.", correct},
}

// nowhere matches a text that stands nowhere in a memory.
func nowhere(err error) error {
	if match, ok := errors.AsType[*write.MatchError](err); ok && match.Count == 0 {
		return match
	}
	return nil
}

// ofAll are about what no relay has to do with; the last fits every error.
var ofAll = []advice{
	{is(client.ErrTooLarge), CodeTooLarge, fmt.Sprintf("The text does not fit into one memory, which takes about %d bytes, less for every character that JSON escapes. Nothing was written.", maxText),
		"Split it into several memories by topic, each with a slug of its own, and refer to them as [[mem/…]]; or write a shorter text."},
	{is(client.ErrEmpty), CodeEmpty, "The text is empty. Nothing was written.", "Use memory_delete to remove a memory; write a text to keep one."},
	{is(client.ErrCore), CodeCore, "The core profile cannot be deleted.", "Write a new, short profile with memory_write at the slug core instead."},
	{is(client.ErrReadOnly), CodeReadOnly, "This server reads the memory of another agent as its owner; only the agent can write it.", "Do not retry. Tell the user."},
	{is(client.ErrReversed), CodeReadOnly, "This is what an owner writes to his agent: nothing is read or written here but proposals.",
		"Do not retry. Tell the user: the keys of the owner and the agent have changed places."},
	{is(client.ErrWhen), CodeInvalid, "The version is neither an id nor a time, or several versions begin with that id.",
		"Take the id of a version from memory_more with action history, or a time such as 2026-01-31T12:00:00Z."},
	{is(session.ErrNothing), CodeNotFound, "There is no memory to make a snapshot of: every relay answered, and none has any. None was made.",
		"Go on if that is what you expect. Otherwise change nothing and tell the user: it may be the wrong key or relay."},
	{is(session.ErrInUse), CodeBusy, "Another program is at the snapshots of this memory. None was made.",
		"Call again in a moment; do not begin the risky change before a snapshot is made."},
	{is(errBusy, errWaited), CodeBusy, "Too many calls are under way; this one was not begun. This says nothing about what is remembered.",
		"Wait for the other calls to end, then call again; make fewer calls at once."},
	{is(context.Canceled, context.DeadlineExceeded), CodeCancelled, "The call was given up before it had an answer. This says nothing about what is remembered.",
		"Call again if the answer is still needed."},
	{func(err error) error { return err }, CodeInternal, "The server could not do this: {said} This says nothing about what is remembered.", "Try once more; if it happens again, tell the user."},
}

// sentToContract is about a contract to which something was sent.
var sentToContract = []advice{
	{is(client.ErrNoRelay, client.ErrTimeout), CodeUnconfirmed, "It was sent, and it is not certain that it was taken.", "Look with contract_read or contract_show before you do it again."},
}

// ofContracts are about a contract.
var ofContracts = []advice{
	{as[*secrets.Error], CodeSecret, "In the text, {error}. Nothing was sent: what is signed and sent to others cannot be taken back.",
		"Leave the value out. Only if it is no secret, or the user wants it sent all the same, call again with allow_secret true."},
	{as[*client.PoisonedError], CodeClock, "Something in this contract is dated too far ahead of this machine's clock to be followed. Nothing was sent.",
		"Do not retry. Tell the user that a clock is wrong."},
	{is(client.ErrConflict), CodeConflict, "The contract is not in a state that allows this, or somebody else was faster: {said} Nothing was changed.",
		"Look at contract_show, and decide anew."},
	{is(contract.ErrAmbiguous), CodeInvalid, "Several pairs of keys have a contract of this id: {said}",
		"Call again with with set to the public key of the other party that you mean."},
	{is(client.ErrNoAPI), CodeNoAPI, "No relay here has the contract API, which this needs: private entries, names of agents and the relay as decider or expirer are there and nowhere else. Nothing was changed.",
		"Do without it: a shared entry, a public key in place of a name. Or tell the user."},
	{is(client.ErrInvalid), CodeInvalid, "The request makes no sense: {said}", correct},
	{is(client.ErrPartial), CodePartial, "Nothing was found, but not every relay answered: it may well exist. Nothing was changed.",
		"Do not take it for missing. Try again later; if it goes on, tell the user which relays fail."},
	{is(client.ErrNotFound), CodeNotFound, "There is no such contract that you may see: every relay answered, and none has it.", "Check the id; contract_list shows your contracts."},
	{is(client.ErrAuth), CodeKeyRefused, "This is not for your key to do or to see: {said} Nothing was changed.",
		"Retrying does not help. contract_show says what you are in the contract and who makes which move."},
	{is(client.ErrNoRelay, client.ErrTimeout, client.ErrMisbehaved), CodeUnreachable, "No relay answered. This says nothing about the contract: it may well exist, and have changed.",
		"Try again in a moment, a few times at most; then tell the user."},
	{is(client.ErrRefused), CodeRefused, "The relays refused the request: {said}", "Wait and retry once if it is about rate or load; otherwise tell the user."},
	{is(client.ErrTooLarge), CodeTooLarge, "The text is too large for an entry. Nothing was sent.", "Say less, or put it where it can be fetched and give its URL in attachments."},
	{is(client.ErrEmpty), CodeEmpty, "The text is empty. Nothing was sent.", "Give a text."},
}

const prepareAgain = "Call memory_more with action prepare again (dream for a dream), and answer to what it shows."

// ofPlans are about a plan as a whole.
var ofPlans = []advice{
	{is(consolidation.ErrChanged), CodeConflict, "Nothing was written: {error}.", prepareAgain},
	{is(consolidation.ErrOps), CodeInvalid, "Nothing was written: {error}.", "Give operations as the plan's rules have them; an empty list is a right answer."},
	{is(plans.ErrNoPlan), CodeNotFound, "Nothing was written: no such plan was prepared on this machine, or it has expired.", prepareAgain},
	{is(plans.ErrNoRecord), CodeNotFound, "No plan with this id was carried out, or its record is gone.", "Give the id that mind_commit answered with."},
	{is(plans.ErrID), CodeInvalid, "plan is the id that memory_more gave with action prepare or dream: p- and 16 hex digits.", correct},
	{is(plans.ErrStatus), CodeConflict, "Nothing was written: {error}.", "Do not retry. " + prepareAgain},
	{is(plans.ErrBusy), CodeBusy, "Another process of this machine is carrying out a plan. Nothing was written.", "Call again in a moment."},
	{is(plans.ErrTooLarge), CodeTooLarge, "Nothing was written: {error}.", "Give some of the operations now, and the others to another plan."},
	{is(plans.ErrRecord), CodeUnreadable, "Nothing was written: {error}.", "Do not retry. Tell the user."},
}

// ofProposals are about an answer to a proposal.
var ofProposals = []advice{
	{is(proposals.ErrID, proposals.ErrForm), CodeInvalid, "Nothing was written: {said}", "Give the id as memory_more shows it with action proposals."},
	{is(proposals.ErrAnswered), CodeConflict, "Nothing was written: {said}", "Do not answer it again. Change the memory itself if it should be otherwise."},
	{is(proposals.ErrForbidden, proposals.ErrUnopened), CodeClaim, "Nothing was written: {said}", "Reject it with memory_proposal."},
	{is(proposals.ErrRefused), CodeSecret, "Nothing was written: {said}",
		"Reject it, and say why. Only the user can accept it as it is (engramctl proposals accept --allow-secret, --allow-placeholder)."},
	{is(client.ErrConflict), CodeConflict, "Nothing was written: {said}",
		"The proposal was replaced or withdrawn, or made for another text than is there. Look again, with memory_more and action proposals; reject what does not fit any more."},
}

// ofIntentions are about closing an intention.
var ofIntentions = []advice{
	{is(intentions.ErrClosed), CodeConflict, "Nothing was written: {said}", "Do not do it again. To close an occurrence that is still to come, give it as occurrence."},
	{is(intentions.ErrNotOpen), CodeInvalid, "Nothing was written: {said}", "Wait until it is due; or, to close it before, give its due as occurrence, or cancel it."},
	{is(intentions.ErrWhen), CodeInvalid, "Nothing was written: {said}", "Correct the time and call again."},
	{is(acts.ErrNotIntention), CodeInvalid, "Nothing was written: {error}.", "Give the slug of an intention: memory_list with the prefix mem/intentions shows some."},
}
