package nipae

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

// TestProposalAddress: its address is that of the published vector, depends on
// every part, and on the conversation key in nothing.
func TestProposalAddress(t *testing.T) {
	v := readVectors(t)
	a, o, id := v.Derived.PubKeyA, v.Derived.PubKeyO, strings.Repeat("0f", 16)
	d, err := ProposalAddress(o, a, id)
	if err != nil || !nostr.IsValid32ByteHex(d) {
		t.Fatal(d, err)
	}
	seen := map[string]bool{d: true}
	for _, c := range [][3]string{{a, o, id}, {o, strings.Repeat("1", 64), id}, {o, a, strings.Repeat("f0", 16)}} {
		other, err := ProposalAddress(c[0], c[1], c[2])
		if err != nil || seen[other] {
			t.Errorf("%v: %s, %v", c, other, err)
		}
		seen[other] = true
	}
	for _, c := range [][3]string{{o, o, id}, {"", a, id}, {o, strings.ToUpper(a), id}, {o, a[:63], id}} {
		if _, err := ProposalAddress(c[0], c[1], c[2]); !errors.Is(err, ErrKey) {
			t.Errorf("%v: %v", c, err)
		}
	}
	for _, bad := range []string{"", id[:31], id + "0", strings.ToUpper(id), "g" + id[1:], id[:31] + "/"} {
		if _, err := ProposalAddress(o, a, bad); !errors.Is(err, ErrSlug) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestProposalIsSealedAndOpened: a proposal is found at its own address, by Seal,
// HeadFilter, SelectHead and Open alike, and one at the address of any other slug
// is none.
func TestProposalIsSealedAndOpened(t *testing.T) {
	v := readVectors(t)
	owner, agent := v.Derived.PubKeyO, v.Derived.PubKeyA
	k, err := DeriveConversationKey(v.Inputs.SecretO, agent)
	if err != nil {
		t.Fatal(err)
	}
	id := strings.Repeat("0f", 16)
	slug := Slug(ProposalPrefix + id)
	body, err := NewMemory(slug, "propose")
	if err != nil {
		t.Fatal(err)
	}
	ev, err := Seal(k, body, Sealing{Secret: v.Inputs.SecretO, Owner: agent, CreatedAt: 1700000000, Nonce: [32]byte{1}})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := ProposalAddress(owner, agent, id)
	if ev.Tags.GetD() != want || HeadFilter(k, owner, agent, slug).Tags["d"][0] != want {
		t.Errorf("it lies at %s, and is %s", ev.Tags.GetD(), want)
	}
	if e, err := Open(k, owner, agent, ev); err != nil || e.Slug() != slug {
		t.Error(e.Slug(), err)
	}
	if r, err := SelectHead(k, owner, agent, slug, []*nostr.Event{ev}); err != nil || r.Head == nil {
		t.Error(err)
	}
	for _, s := range []Slug{Slug(ProposalPrefix + "x"), Slug(AnswerPrefix + id), "mem/a", Core} {
		if got := AddressIn(k, owner, agent, s); got != k.Address(s) {
			t.Errorf("%s lies at %s", s, got)
		}
	}
	ev.Tags[0][1] = k.Address(slug)
	if err := sign(ev, v.Inputs.SecretO, [32]byte{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(k, owner, agent, ev); !errors.Is(err, ErrBody) {
		t.Errorf("a proposal at the address of an engram: %v", err)
	}
}

// TestVectorsProposalAddress: the published vectors, and what has no address.
func TestVectorsProposalAddress(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/vectors/proposal-address.json")
	if err != nil {
		t.Fatal(err)
	}
	type vector struct{ Proposer, Agent, ID, D, Why string }
	var v struct{ Addresses, None []vector }
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Addresses) < 3 || len(v.None) < 3 {
		t.Fatalf("%d addresses, %d without", len(v.Addresses), len(v.None))
	}
	for _, c := range v.Addresses {
		if d, err := ProposalAddress(c.Proposer, c.Agent, c.ID); err != nil || d != c.D {
			t.Errorf("%s: %s, %v, want %s", c.ID, d, err, c.D)
		}
		slug := Slug(ProposalPrefix + c.ID)
		if d := AddressIn(ConversationKey{1}, c.Proposer, c.Agent, slug); d != c.D {
			t.Errorf("%s: lies at %s, want %s", slug, d, c.D)
		}
	}
	for _, c := range v.None {
		if d, err := ProposalAddress(c.Proposer, c.Agent, c.ID); err == nil || d != "" {
			t.Errorf("%s: %s", c.Why, d)
		}
	}
}

// TestNoProposalToOneself: in the memory of who owns himself, the slug is one
// like any other, which others' tools may have written, and Seal makes none.
func TestNoProposalToOneself(t *testing.T) {
	v := readVectors(t)
	self := v.Derived.PubKeyA
	k, err := DeriveConversationKey(v.Inputs.SecretA, self)
	if err != nil {
		t.Fatal(err)
	}
	sealing := Sealing{Secret: v.Inputs.SecretA, Owner: self, CreatedAt: 1700000000, Nonce: [32]byte{1}}
	slug := Slug(ProposalPrefix + strings.Repeat("0f", 16))
	body, err := NewMemory(slug, "propose")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Seal(k, body, sealing); !errors.Is(err, ErrKey) {
		t.Errorf("sealed: %v", err)
	}
	if d := AddressIn(k, self, self, slug); d != k.Address(slug) {
		t.Errorf("it lies at %s", d)
	}
	if _, err := Seal(k, memory(t, "mem/a", "x"), sealing); err != nil {
		t.Errorf("a memory of who owns himself: %v", err)
	}
}

func TestIsExchange(t *testing.T) {
	for slug, want := range map[Slug]bool{
		"mem/proposals/0f": true, "mem/proposals-answers/0f": true, "mem/proposals": false, "mem/proposals-of-ana/x": false,
		"mem/sys/log": false, "mem/a": false, Core: false,
	} {
		if got := IsExchange(slug); got != want {
			t.Errorf("%s: %v", slug, got)
		}
	}
}
