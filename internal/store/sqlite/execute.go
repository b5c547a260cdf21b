package sqlite

import (
	"fmt"

	"engramd/internal/store"
)

// execute does what a command says, within a transaction.
func (w *writer) execute(c store.Command) (answer any, err error) {
	switch c := c.(type) {
	case store.Configure:
		return nil, w.configure(c.Live)
	case store.Administer:
		return nil, w.administer(c)
	case store.UseCalls:
		return w.useCalls(c.Calls, c.Before)
	case store.Stage:
		return nil, w.stageEvents(c)
	case store.Unstage:
		return w.unstage(c.Restore)
	case store.SwitchState:
		return w.switchStaged(c)
	case store.ReleaseQuarantine:
		return w.releaseQuarantine(c.Name)
	case store.DropQuarantine:
		return nil, w.dropQuarantine(c.Name)
	case store.RemoveRows:
		return w.removeRows(c.Rows)
	case store.Retire:
		return w.retireSome(c.Events)
	case store.GoOn:
		return w.goOn()
	case store.Housekeep:
		return w.housekeep(c)
	case store.Tighten:
		return w.tightenStep(looseChunk)
	case store.Followed:
		return nil, w.followed(c)
	case store.ForgetParties:
		return w.forgetParties()
	}
	return w.executeContract(c)
}

// executeContract is execute for identities, the outbox and contracts.
func (w *writer) executeContract(c store.Command) (answer any, err error) {
	switch c := c.(type) {
	case store.AddAgent:
		return w.addAgent(c.Agent, c.Token)
	case store.ReplaceToken:
		return nil, w.replaceToken(c.ID, c.Hash)
	case store.DropTokens:
		return nil, w.dropTokens(c.ID)
	case store.ForgetKey:
		return nil, w.forgetKey(c.ID, c.Sealed)
	case store.DropAgent:
		return nil, w.dropAgent(c.ID, c.WithKey)
	case store.SetVaultCheck:
		return w.setVaultCheck(c.Check)
	case store.SetRelayKey:
		return nil, w.setRelayKey(c.PubKey, c.Revoke)
	case store.RevokeRelayKey:
		return w.revokeRelayKey(c.PubKey)
	case store.QueueEvent:
		return nil, w.queue(c)
	case store.OutboxDone:
		return nil, w.offOutbox(c.Target, c.Numbers)
	case store.OutboxForget:
		return w.forgetOutbox(c.Target, c.Until)
	case store.OutboxWithdraw:
		return nil, w.withdrawFromOutbox(c.EventID)
	case store.OutboxKeep:
		return nil, w.keepOutbox(c.Targets)
	case store.OutboxRefused:
		return nil, w.refusedOutside(c)
	case store.SetContractTerms:
		return nil, w.setTerms(c)
	case store.DecideContract:
		return nil, w.decideContract(c)
	case store.LookAtDeadline:
		return nil, w.lookAtDeadline(c)
	case store.AddPrivateEntry:
		return nil, w.addPrivate(c.Contract, c.Entry, c.Most)
	case store.AddWaitingEntry:
		return nil, w.addWaiting(c.Contract, c.Entry)
	}
	return nil, fmt.Errorf("%T is no command that is executed here", c) // a PutEvent or PutCopy is a member with a record
}
