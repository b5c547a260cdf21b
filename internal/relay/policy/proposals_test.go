package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

const (
	secondOwner = "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee5"
	secondAgent = "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff6"
)

// lists are owners' stored lists, and count how often they are read.
type lists struct {
	of    map[string][]string
	asked int
	fails string // the agent whose look-up fails
}

func (l *lists) approved(_ context.Context, owners []string, agent string) (bool, error) {
	l.asked++
	if agent == l.fails {
		return false, errors.New("disk")
	}
	for _, owner := range owners {
		if slices.Contains(l.of[owner], agent) {
			return true, nil
		}
	}
	return false, nil
}

// TestProposals: with write.owners, a listed owner writes to agents for whom he
// vouches, and agents for whom listed owners vouch to each other.
func TestProposals(t *testing.T) {
	const listed, notHis = "restricted: engrams are accepted here for listed owners only", "restricted: you have not vouched"
	l := &lists{of: map[string][]string{ownerKey: {agentKey}, secondOwner: {secondAgent}, strangerKey: {strangerKey, vectorAgent}}}
	bare := Options{Owners: []string{ownerKey, secondOwner, vectorOwner}, Approved: l.approved}
	authors, made, banned, alone := bare, bare, bare, bare
	authors.Authors = []string{vectorAgent}
	made.Provisioned = func(_ context.Context, key string) (bool, error) { return key == vectorAgent, nil }
	banned.BannedAuthors = []string{agentKey}
	alone.Owners = []string{ownerKey}
	for _, tt := range []struct {
		name string
		o    Options
		ev   *nostr.Event
		want string
	}{
		{"owner to his agent", bare, engram(ownerKey, agentKey), ""},
		{"owner to another owner's agent", bare, engram(ownerKey, secondAgent), notHis},
		{"owner to nobody's agent", bare, engram(ownerKey, strangerKey), notHis},
		{"owner to another owner", bare, engram(ownerKey, secondOwner), "restricted: no listed owner has vouched for this key"},
		{"owner to one whom a stranger approves", bare, engram(ownerKey, vectorAgent), notHis},
		{"agent to an agent of his owner, or another's", bare, engram(agentKey, secondAgent), ""},
		{"agent to a stranger", bare, engram(agentKey, strangerKey), listed},
		{"agent to one whom a stranger approves", bare, engram(agentKey, vectorAgent), listed},
		{"agent to an agent of an owner no longer listed", alone, engram(agentKey, secondAgent), listed},
		{"agent of an owner no longer listed", alone, engram(secondAgent, agentKey), listed},
		{"agent to another's owner", bare, engram(agentKey, secondOwner), "restricted: no listed owner has vouched for this key"},
		{"agent to himself", bare, engram(agentKey, agentKey), listed},
		{"stranger to an agent", bare, engram(strangerKey, agentKey), listed},
		{"stranger to a stranger", bare, engram(strangerKey, vectorAgent), listed},
		{"attested agent to an agent", bare, engram(strangerKey, agentKey, attest(t, strangerKey, "")), ""},
		{"agent attested on other conditions", bare, engram(strangerKey, agentKey, attest(t, strangerKey, "kind=1")), listed},
		{"agent attested by one not listed", alone, engram(strangerKey, agentKey, attest(t, strangerKey, "")), listed},
		{"owner to one of write.authors", authors, engram(ownerKey, vectorAgent), ""},
		{"one of write.authors to anybody", authors, engram(vectorAgent, strangerKey), ""},
		{"agent to one of write.authors", authors, engram(agentKey, vectorAgent), ""},
		{"owner to a provisioned agent", made, engram(ownerKey, vectorAgent), ""},
		{"agent to a provisioned agent", made, engram(agentKey, vectorAgent), ""},
		{"owner to a banned agent", banned, engram(ownerKey, agentKey), notHis},
		{"agent to a banned agent", banned, engram(secondAgent, agentKey), listed},
		{"banned agent", banned, engram(agentKey, secondAgent), "blocked: "},
		{"a note to an agent is a note", bare, note(strangerKey, nostr.Tag{"p", agentKey}), "restricted: no listed owner has vouched for this key"},
		{"without write.owners", Options{Authors: []string{ownerKey}, Approved: l.approved}, engram(agentKey, ownerKey), "restricted: only listed keys"},
	} {
		t.Run(tt.name, func(t *testing.T) { check(t, mustPolicy(t, tt.o), tt.ev, tt.want) })
	}
}

// TestProposalsToAttestedAgents: an attestation that has let an agent write
// counts for what is written to it, by the owner who gave it, as long as its
// conditions would let the agent write memory now.
func TestProposalsToAttestedAgents(t *testing.T) {
	const notHis = "restricted: you have not vouched"
	o := Options{Owners: []string{ownerKey, vectorOwner}}
	proposal := func() *nostr.Event { return engram(vectorOwner, agentKey) }
	t.Run("on an event", func(t *testing.T) {
		p := mustPolicy(t, o)
		check(t, p, proposal(), notHis)
		check(t, p, engram(agentKey, vectorOwner, attest(t, agentKey, "")), "")
		check(t, p, proposal(), "")
		check(t, p, engram(ownerKey, agentKey), notHis)
		check(t, p, engram(strangerKey, agentKey, attest(t, strangerKey, "")), "")
	})
	t.Run("beside an event", func(t *testing.T) {
		beside := o
		beside.Attested = func(context.Context) []*Attestation {
			return []*Attestation{NewAttestation(agentKey, attest(t, agentKey, ""))}
		}
		p := mustPolicy(t, beside)
		check(t, p, proposal(), notHis)
		check(t, p, note(agentKey), "")
		check(t, p, proposal(), "")
	})
	t.Run("that did not count", func(t *testing.T) {
		p := mustPolicy(t, o)
		forged := attest(t, agentKey, "")
		forged[3] = vectorSig
		check(t, p, note(agentKey, forged), "restricted:")
		check(t, p, engram(agentKey, ownerKey, attest(t, agentKey, "")), "restricted:") // for another owner
		check(t, p, proposal(), notHis)
	})
	t.Run("for another kind", func(t *testing.T) {
		p := mustPolicy(t, o)
		check(t, p, note(agentKey, attest(t, agentKey, "kind=1")), "")
		check(t, p, proposal(), notHis)
	})
	t.Run("run out", func(t *testing.T) {
		now := start
		at := o
		at.Clock = func() time.Time { return now }
		p := mustPolicy(t, at)
		check(t, p, engram(agentKey, vectorOwner, attest(t, agentKey, fmt.Sprintf("created_at<%d", start.Unix()+10))), "")
		check(t, p, proposal(), "")
		now = start.Add(10 * time.Second)
		check(t, p, proposal(), notHis) // though it is dated back
		check(t, p, engram(agentKey, vectorOwner, attest(t, agentKey, "")), "")
		check(t, p, proposal(), "")
	})
	t.Run("after a reload", func(t *testing.T) {
		p := mustPolicy(t, o)
		check(t, p, note(agentKey, attest(t, agentKey, "")), "")
		without, err := p.Reload(Options{Owners: []string{ownerKey}, Authors: []string{vectorOwner}, Clock: clockAt(start)})
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := without.receives(here{without, context.Background()}, agentKey, without.ownerList); ok || err != nil {
			t.Errorf("an owner who is not listed any more vouches: %v", err)
		}
		again, err := without.Reload(Options{Owners: o.Owners, Clock: clockAt(start)})
		if err != nil {
			t.Fatal(err)
		}
		check(t, again, proposal(), "")
	})
}

// TestVouchersAreBounded: an owner may attest any number of keys.
func TestVouchersAreBounded(t *testing.T) {
	m := newMemory()
	for i := range maxVouched + 10 {
		m.vouched(attestation{owner: ownerKey, agent: fmt.Sprintf("%064x", i)})
	}
	m.vouched(attestation{owner: ownerKey, agent: agentKey, conditions: strings.Repeat("x", maxKeptConditions+1)})
	if m.vouches.Len() != maxVouched {
		t.Errorf("%d are remembered", m.vouches.Len())
	}
	at := func(i int) *nostr.Event { return engram(fmt.Sprintf("%064x", i), ownerKey) }
	if m.hasVouched([]string{ownerKey}, at(9)) || !m.hasVouched([]string{strangerKey, ownerKey}, at(10)) {
		t.Error("not the oldest are forgotten")
	}
}

// TestProposalsCost: who may not write here is told the same whoever he writes
// to, and for nobody is the store read more than twice, however many owners there
// are.
func TestProposalsCost(t *testing.T) {
	l := &lists{of: map[string][]string{ownerKey: {agentKey}}, fails: secondAgent}
	p := mustPolicy(t, Options{Owners: []string{ownerKey, secondOwner, vectorOwner}, Approved: l.approved})
	for _, tt := range []struct {
		name   string
		ev     *nostr.Event
		want   string
		atMost int
	}{
		{"stranger to an agent", engram(strangerKey, agentKey), listedOnly, 1},
		{"stranger to nobody", engram(strangerKey, vectorAgent), listedOnly, 1},
		{"stranger to one who cannot be looked up", engram(strangerKey, secondAgent), listedOnly, 1},
		{"agent to nobody", engram(agentKey, vectorAgent), listedOnly, 2},
		{"agent to one who cannot be looked up", engram(agentKey, secondAgent), "error: ", 2},
		{"one who cannot be looked up", engram(secondAgent, agentKey), "error: ", 1},
		{"owner", engram(ownerKey, agentKey), "", 1},
		{"himself", engram(agentKey, agentKey), listedOnly, 0},
	} {
		l.asked = 0
		check(t, p, tt.ev, tt.want)
		if l.asked > tt.atMost {
			t.Errorf("%s: %d reads, want at most %d", tt.name, l.asked, tt.atMost)
		}
	}
}
