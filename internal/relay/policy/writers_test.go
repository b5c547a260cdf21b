package policy

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
)

func TestWriteAuthors(t *testing.T) {
	p := mustPolicy(t, Options{Authors: []string{agentKey}})
	check(t, p, note(agentKey), "")
	check(t, p, engram(agentKey, ownerKey), "")
	check(t, p, engram(agentKey, strangerKey), "")
	check(t, p, note(strangerKey), "restricted: only listed keys")
	check(t, p, engram(strangerKey, agentKey), "restricted: only listed keys")
	check(t, p, withKind(5, note(strangerKey)), "restricted: only listed keys")
}

func TestWriteOwners(t *testing.T) {
	const unlisted, unvouched = "restricted: engrams are accepted here for listed owners only", "restricted: no listed owner has vouched"
	approves := func(owner, agent string) func(context.Context, []string, string) (bool, error) {
		return func(_ context.Context, o []string, a string) (bool, error) {
			return slices.Contains(o, owner) && a == agent, nil
		}
	}
	attested := func(ev *nostr.Event, by nostr.Tag) *nostr.Event { ev.Tags = append(ev.Tags, by); return ev }
	bare := Options{Owners: []string{ownerKey, vectorOwner}}
	approving := bare
	approving.Approved = approves(ownerKey, agentKey)
	both := bare
	both.Authors = []string{strangerKey}
	tests := []struct {
		name string
		o    Options
		ev   *nostr.Event
		want string
	}{
		{"engram, nobody vouches", bare, engram(agentKey, ownerKey), unvouched},
		{"engram, owner attests", bare, attested(engram(agentKey, vectorOwner), attest(t, agentKey, "")), ""},
		{"engram, owner attests, on conditions that hold", bare, attested(engram(agentKey, vectorOwner), attest(t, agentKey, "kind=30174")), ""},
		{"engram, owner attests, on others", bare, attested(engram(agentKey, vectorOwner), attest(t, agentKey, "kind=1")), unvouched},
		{"engram, attested for another agent", bare, attested(engram(agentKey, vectorOwner), attest(t, strangerKey, "")), unvouched},
		{"engram, another listed owner attests", bare, attested(engram(agentKey, ownerKey), attest(t, agentKey, "")), unvouched},
		{"engram, owner approves", approving, engram(agentKey, ownerKey), ""},
		{"engram, owner approves another", approving, engram(strangerKey, ownerKey), unvouched},
		{"engram, another listed owner approves", approving, engram(agentKey, vectorOwner), unvouched},
		{"engram, owner not listed", approving, engram(agentKey, strangerKey), unlisted},
		{"engram, owner not listed attests", Options{Owners: []string{ownerKey}},
			attested(engram(agentKey, vectorOwner), attest(t, agentKey, "")), unlisted},
		{"engram, owner for himself", bare, engram(ownerKey, ownerKey), ""},
		{"engram, listed owner as the agent of another", bare, engram(ownerKey, vectorOwner), unvouched},
		{"engram, agent its own owner, not listed", bare, engram(agentKey, agentKey), unlisted},
		{"note, stranger", approving, note(strangerKey), unvouched},
		{"note naming an owner is no claim", approving, note(strangerKey, nostr.Tag{"p", ownerKey}), unvouched},
		{"note, owner", bare, note(ownerKey), ""},
		{"note, approved agent", approving, note(agentKey), ""},
		{"note, attested agent", bare, attested(note(agentKey), attest(t, agentKey, "")), ""},
		{"note, attested by an owner not listed", Options{Owners: []string{ownerKey}}, attested(note(agentKey), attest(t, agentKey, "")), unvouched},
		{"deletion, approved agent", approving, withKind(5, note(agentKey)), ""},
		{"both lists, listed author", both, engram(strangerKey, agentKey), ""},
		{"both lists, listed author, note", both, note(strangerKey), ""},
		{"both lists, neither", both, engram(agentKey, ownerKey), unvouched},
		{"both lists, owner", both, note(ownerKey), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, mustPolicy(t, tt.o), tt.ev, tt.want) })
	}
}

// A failure of the store is no answer to who may write.
func TestWriteOwnersStoreFails(t *testing.T) {
	p := mustPolicy(t, Options{Owners: []string{ownerKey, vectorOwner}, Approved: func(context.Context, []string, string) (bool, error) {
		return false, errors.New("disk")
	}})
	check(t, p, engram(agentKey, ownerKey), "error: ")
	check(t, p, note(strangerKey), "error: ")
	check(t, p, engram(agentKey, strangerKey), "error: ")
	// Who needs no approval is not held up.
	check(t, p, note(ownerKey), "")
	ev := engram(agentKey, vectorOwner, attest(t, agentKey, ""))
	check(t, p, ev, "")
	check(t, p, engram(agentKey, agentKey), "restricted: ")
}

// An owner may keep his approval list under every list of kinds, but nobody
// else, and nothing else of the kind.
func TestOwnApprovalList(t *testing.T) {
	p := mustPolicy(t, Options{Owners: []string{ownerKey}, Kinds: []int{30174}})
	list := nostr.Tag{"d", gate.ApprovalD}
	check(t, p, withKind(30078, note(ownerKey, list, nostr.Tag{"p", agentKey})), "")
	check(t, p, withKind(30078, note(ownerKey, nostr.Tag{"d", "settings"})), "blocked: kind 30078")
	check(t, p, withKind(30078, note(agentKey, list)), "blocked: kind 30078")
	banned := mustPolicy(t, Options{Owners: []string{ownerKey}, BannedAuthors: []string{ownerKey}})
	check(t, banned, withKind(30078, note(ownerKey, list)), "blocked: this key")
}

// TestOwnKeys: what the relay signs as a contract's decider or expirer passes
// lists and rates.
func TestOwnKeys(t *testing.T) {
	own := Options{Authors: []string{agentKey}, Own: func(key string) bool { return key == strangerKey },
		Rates: Rates{Key: fairness.Rate{PerSecond: 0.001, Burst: 1}}}
	p := mustPolicy(t, own)
	decision := func() *nostr.Event {
		return &nostr.Event{Kind: 30091, PubKey: strangerKey, CreatedAt: note(strangerKey).CreatedAt, Content: `{"contract_id":"c","status":"completed","previous_status":"disputed"}`,
			Tags: nostr.Tags{{"d", "c"}, {"p", agentKey}, {"p", ownerKey}}}
	}
	for range 3 {
		check(t, p, decision(), "")
	}
	check(t, p, note(strangerKey), "restricted: only listed keys") // a former key, which somebody else may have, writes nothing else
	check(t, p, note(agentKey), "")
	check(t, p, note(agentKey), "rate-limited:")
	check(t, p, note(ownerKey), "restricted: only listed keys")
}
