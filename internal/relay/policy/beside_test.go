package policy

import (
	"context"
	"strings"
	"testing"
	"unsafe"

	"github.com/nbd-wtf/go-nostr"
)

// What comes beside an event counts as an auth tag on it would: for the event's
// author alone, by the owner it names, on conditions that the event meets.
func TestAttestationBeside(t *testing.T) {
	const hint, doesNotCount = "restricted: no listed owner has vouched for this key: send his NIP-OA attestation",
		"restricted: no listed owner has vouched for this key: the attestation in AUTH or x-auth-tag does not count: "
	both := []string{ownerKey, vectorOwner}
	good := attest(t, agentKey, "")
	forged := attest(t, agentKey, "")
	forged[3] = vectorSig
	long := strings.TrimSuffix(strings.Repeat("kind=30174&", 30), "&")
	as := func(agent string, tags ...nostr.Tag) (list []*Attestation) {
		for _, tag := range tags {
			list = append(list, NewAttestation(agent, tag))
		}
		return list
	}
	tests := []struct {
		name   string
		owners []string
		beside []*Attestation
		ev     *nostr.Event
		want   string
	}{
		{"none", both, nil, engram(agentKey, vectorOwner), hint},
		{"engram", both, as(agentKey, good), engram(agentKey, vectorOwner), ""},
		{"note", both, as(agentKey, good), note(agentKey), ""},
		{"deletion", both, as(agentKey, good), withKind(5, note(agentKey)), ""},
		{"conditions that hold", both, as(agentKey, attest(t, agentKey, "kind=30174&created_at<1700000001")), engram(agentKey, vectorOwner), ""},
		{"another kind", both, as(agentKey, attest(t, agentKey, "kind=1")), engram(agentKey, vectorOwner), doesNotCount + "a condition does not hold"},
		{"too late", both, as(agentKey, attest(t, agentKey, "created_at<1700000000")), engram(agentKey, vectorOwner), doesNotCount + "a condition does not hold"},
		{"malformed conditions", both, as(agentKey, attest(t, agentKey, "kind=x")), engram(agentKey, vectorOwner), doesNotCount + "a condition is malformed"},
		{"long conditions", both, as(agentKey, attest(t, agentKey, long)), engram(agentKey, vectorOwner), doesNotCount + "its conditions have more"},
		{"signed for another author", both, as(agentKey, attest(t, strangerKey, "")), engram(agentKey, vectorOwner), doesNotCount + "the signature"},
		{"of another key", both, as(strangerKey, attest(t, strangerKey, "")), engram(agentKey, vectorOwner), hint},
		{"brought by another key", both, as(strangerKey, good), engram(agentKey, vectorOwner), hint},
		{"forged", both, as(agentKey, forged), engram(agentKey, vectorOwner), doesNotCount + "the signature"},
		{"by another listed owner", both, as(agentKey, good), engram(agentKey, ownerKey), doesNotCount + "it is by another key"},
		{"by an owner not listed", []string{ownerKey}, as(agentKey, good), note(agentKey), doesNotCount + "it is by another key"},
		{"engram of an owner not listed", []string{ownerKey}, as(agentKey, good), engram(agentKey, vectorOwner), "restricted: engrams are accepted here for listed owners only"},
		{"not a tag", both, as(agentKey, nil), engram(agentKey, vectorOwner), doesNotCount + "one auth tag of four elements"},
		{"another tag", both, as(agentKey, nostr.Tag{"p", good[1], good[2], good[3]}), engram(agentKey, vectorOwner), doesNotCount + "one auth tag of four"},
		{"the second of two", both, as(agentKey, nil, good), engram(agentKey, vectorOwner), ""},
		{"beside a bad tag on the event", both, as(agentKey, good), engram(agentKey, vectorOwner, nostr.Tag{"auth", "x"}), ""},
		{"a bad one beside a good tag on the event", both, as(agentKey, forged), engram(agentKey, vectorOwner, good), ""},
		{"the tag on the event alone, forged", both, nil, engram(agentKey, vectorOwner, forged),
			"restricted: no listed owner has vouched for this key: the auth tag on the event does not count: the signature"},
		{"the tag on the event alone, by another", both, nil, engram(agentKey, ownerKey, good),
			"restricted: no listed owner has vouched for this key: the auth tag on the event does not count: it is by another key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := mustPolicy(t, Options{Owners: tt.owners, Attested: func(context.Context) []*Attestation { return tt.beside }})
			for range 2 { // the second time by what is remembered
				check(t, p, tt.ev, tt.want)
			}
		})
	}
}

// It opens write.owners and no other rule.
func TestAttestationBesideIsNoWayAround(t *testing.T) {
	beside := []*Attestation{NewAttestation(agentKey, attest(t, agentKey, ""))}
	attested := func(context.Context) []*Attestation { return beside }
	check(t, mustPolicy(t, Options{Attested: attested, Authors: []string{ownerKey}}), engram(agentKey, vectorOwner), "restricted: only listed keys")
	banned := mustPolicy(t, Options{Attested: attested, Owners: []string{vectorOwner}, BannedAuthors: []string{agentKey}})
	check(t, banned, engram(agentKey, vectorOwner), "blocked: ")
	kinds := mustPolicy(t, Options{Attested: attested, Owners: []string{vectorOwner}, Kinds: []int{30174}})
	check(t, kinds, note(agentKey), "blocked: kind 1 ")
}

// What is kept of a connection must not keep the frame it came in.
func TestAttestationIsACopy(t *testing.T) {
	tag := attest(t, agentKey, "kind=30174")
	frame := strings.Join(tag, "") + strings.Repeat("x", 1<<10)
	parts := nostr.Tag{frame[:4], frame[4:68], frame[68:78], frame[78:206]}
	a := NewAttestation(agentKey, parts)
	if a.fault != nil || a.owner != tag[1] || a.conditions != tag[2] || a.sig != tag[3] {
		t.Fatalf("read %+v", a.attestation)
	}
	for _, kept := range []string{a.owner, a.conditions, a.sig} {
		at := uintptr(unsafe.Pointer(unsafe.StringData(kept)))
		if from := uintptr(unsafe.Pointer(unsafe.StringData(frame))); at >= from && at < from+uintptr(len(frame)) {
			t.Errorf("%q is a part of the frame", kept)
		}
	}
}
