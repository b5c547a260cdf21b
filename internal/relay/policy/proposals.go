package policy

import (
	"github.com/nbd-wtf/go-nostr"
)

const (
	listedOnly = "restricted: engrams are accepted here for listed owners only, and between agents for whom they have vouched"
	// notHisAgent is told to listed owners alone.
	notHisAgent = "restricted: you have not vouched for the agent that the engram names: store an approval (engramctl agents allow)"
)

// unproposable returns why an engram that names no listed owner is not taken,
// "" if it is. Such an engram proposes something, or answers: a listed owner
// writes to agents for whom he himself vouches, and an agent for whom a listed
// owner vouches to others of which that is true. Nobody writes to himself so.
//
// The author is judged first: who may not write here is told nothing that
// depends on the agent. That costs at most two reads of the store, with a look-up
// for each listed owner in each.
func (p *Policy) unproposable(k knowledge, ev *nostr.Event) string {
	agent := owner(ev)
	if agent == ev.PubKey {
		return listedOnly
	}
	by, refusal := []string{ev.PubKey}, notHisAgent
	if !has(p.owners, ev.PubKey) {
		switch why := p.unvouched(k, ev, p.ownerList); {
		case why == approvalsFailed:
			return why
		case why != "":
			return listedOnly
		}
		by, refusal = p.ownerList, listedOnly
	}
	switch ok, err := p.receives(k, agent, by); {
	case err != nil:
		return approvalsFailed
	case !ok:
		return refusal
	}
	return ""
}

// receives reports whether one of the owners vouches for an agent that has
// sent nothing along: the operator has let it write (write.authors, or a key
// that was made for it), an owner's stored list names it, or an owner's
// attestation has let it write since the relay started, and would now. That an
// agent is banned outweighs all of them.
func (p *Policy) receives(k knowledge, agent string, owners []string) (bool, error) {
	switch {
	case has(p.bannedAuthors, agent):
		return false, nil
	case has(p.authors, agent):
		return true, nil
	}
	if made, err := k.provisioned(agent); made || err != nil {
		return made, err
	}
	if k.hasVouched(owners, agent) {
		return true, nil
	}
	return k.approved(owners, agent)
}

// vouched remembers an attestation that has counted: its owner is listed. The
// newest of an owner for an agent takes the place of those before it.
func (m *memory) vouched(a attestation) {
	if len(a.conditions) > maxKeptConditions {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := voucher{a.owner, a.agent}
	if conditions, ok := m.vouches.Get(key); ok && conditions == a.conditions {
		return
	}
	kept := a.clone()
	m.vouches.Put(voucher{kept.owner, kept.agent}, kept.conditions)
}

// hasVouched reports whether one of the owners has vouched for the author of
// ev by an attestation that was seen, on conditions that hold for ev.
func (m *memory) hasVouched(owners []string, ev *nostr.Event) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range owners {
		conditions, ok := m.vouches.Get(voucher{o, ev.PubKey})
		if ok && (attestation{conditions: conditions}).conditionsHold(ev) == nil {
			return true
		}
	}
	return false
}
