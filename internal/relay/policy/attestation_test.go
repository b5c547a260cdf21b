package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/btcec/v2"
	"github.com/btcsuite/btcd/btcec/v2/schnorr"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

// The published vector of NIP-OA.
const (
	vectorAgent      = "c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5"
	vectorOwner      = "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
	vectorConditions = "kind=1&created_at<1713957000"
	vectorSig        = "8b7df2575caf0a108374f8471722b233c53f9ff827a8b0f91861966c3b9dd5cb2e189eae9f49d72187674c2f5bd244145e10ff86c9f257ffe65a1ee5f108b369"
)

// vectorEvent is the vector's event: kind 1, a little before its bound.
func vectorEvent() *nostr.Event {
	return &nostr.Event{Kind: 1, PubKey: vectorAgent, CreatedAt: 1713956400,
		Tags: nostr.Tags{{"auth", vectorOwner, vectorConditions, vectorSig}}}
}

// attest is a tag by the owner of the vector, whose secret key is 1.
func attest(t testing.TB, agent, conditions string) nostr.Tag {
	t.Helper()
	secret := make([]byte, 32)
	secret[31] = 1
	key, _ := btcec.PrivKeyFromBytes(secret)
	digest := sha256.Sum256([]byte("nostr:agent-auth:" + agent + ":" + conditions))
	sig, err := schnorr.Sign(key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	return nostr.Tag{"auth", vectorOwner, conditions, hex.EncodeToString(sig.Serialize())}
}

// attestedOwner returns the owner that attestationOn finds.
func (m *memory) attestedOwner(ev *nostr.Event) (string, error) {
	a, err := m.attestationOn(ev)
	return a.owner, err
}

func TestAttestedOwnerVector(t *testing.T) {
	owner, err := newMemory().attestedOwner(vectorEvent())
	if err != nil || owner != vectorOwner {
		t.Errorf("got %q, %v", owner, err)
	}
	// The published signed event, through the parser.
	signed, err := wire.ParseEvent([]byte(`{"id":"d892a65e7677e0554ebb70ee16deeb6a0727dba46450fb4bc001291d7bff971b","pubkey":"` + vectorAgent +
		`","created_at":1713956400,"kind":1,"tags":[["auth","` + vectorOwner + `","` + vectorConditions + `","` + vectorSig +
		`"]],"content":"owner-attested agent event","sig":"7fd38992b70b5e9e113644e51b4c8ee2227f3bdd402b1855f8786c0600394ab3ec2621742a7bad0b0000b93d4d1ae6e39525f286a3c1029f43f46c3359a6c76f"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.Verify(signed); err != nil {
		t.Error(err)
	}
	if owner, err := newMemory().attestedOwner(signed); err != nil || owner != vectorOwner {
		t.Errorf("got %q, %v", owner, err)
	}
}

func TestAttestedOwnerRefuses(t *testing.T) {
	other := strings.Repeat("0", 127) + "1"
	tests := []struct {
		name  string
		spoil func(ev *nostr.Event)
	}{
		{"no tag", func(ev *nostr.Event) { ev.Tags = nil }},
		{"two tags", func(ev *nostr.Event) { ev.Tags = append(ev.Tags, ev.Tags[0]) }},
		{"a second tag without value", func(ev *nostr.Event) { ev.Tags = append(ev.Tags, nostr.Tag{"auth"}) }},
		{"three elements", func(ev *nostr.Event) { ev.Tags[0] = ev.Tags[0][:3] }},
		{"five elements", func(ev *nostr.Event) { ev.Tags[0] = append(ev.Tags[0], "") }},
		{"owner upper case", func(ev *nostr.Event) { ev.Tags[0][1] = strings.ToUpper(vectorOwner) }},
		{"owner short", func(ev *nostr.Event) { ev.Tags[0][1] = vectorOwner[1:] }},
		{"owner not on the curve", func(ev *nostr.Event) { ev.Tags[0][1] = strings.Repeat("f", 64) }},
		{"another owner", func(ev *nostr.Event) {
			ev.Tags[0][1] = "f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9"
		}},
		{"self", func(ev *nostr.Event) { ev.PubKey = vectorOwner }},
		{"another agent", func(ev *nostr.Event) { ev.PubKey = agentKey }},
		{"sig upper case", func(ev *nostr.Event) { ev.Tags[0][3] = strings.ToUpper(vectorSig) }},
		{"sig short", func(ev *nostr.Event) { ev.Tags[0][3] = vectorSig[1:] }},
		{"sig long", func(ev *nostr.Event) { ev.Tags[0][3] = vectorSig + "00" }},
		{"another sig", func(ev *nostr.Event) { ev.Tags[0][3] = other }},
		{"sig out of its field", func(ev *nostr.Event) { ev.Tags[0][3] = strings.Repeat("f", 128) }},
		{"kind differs", func(ev *nostr.Event) { ev.Kind = 2 }},
		{"too late", func(ev *nostr.Event) { ev.CreatedAt = 1713957000 }},
		{"conditions dropped", func(ev *nostr.Event) { ev.Tags[0][2] = "" }},
		{"conditions in another order", func(ev *nostr.Event) { ev.Tags[0][2] = "created_at<1713957000&kind=1" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev := vectorEvent()
			tt.spoil(ev)
			if owner, err := newMemory().attestedOwner(ev); !errors.Is(err, ErrAttestation) || owner != "" {
				t.Errorf("got %q, %v", owner, err)
			}
		})
	}
}

// Each of these is signed by the owner as it stands; only the conditions
// decide.
func TestAttestationConditions(t *testing.T) {
	tests := []struct {
		conditions string
		ok         bool
	}{
		{"", true},
		{"kind=1", true},
		{"kind=1&kind=1", true},
		{"created_at>999", true},
		{"created_at<1001", true},
		{"created_at>999&created_at<1001&kind=1", true},
		{"created_at<4294967295", true},
		{"created_at>0", true},
		{"kind=0", false},
		{"kind=1&kind=2", false},
		{"created_at>1000", false},
		{"created_at<1000", false},
		{"created_at>999&created_at<1000", false},
		{"kind=01", false},
		{"kind=+1", false},
		{"kind=", false},
		{"kind=1.0", false},
		{"kind=0x1", false},
		{"kind=1_0", false},
		{"kind=65536", false},
		{"created_at<4294967296", false},
		{"created_at<01001", false},
		{"created_at=1000", false},
		{"created_at<=1000", false},
		{"created_at>=1000", false},
		{"kind<2", false},
		{"kind>0", false},
		{"Kind=1", false},
		{"kind=1&", false},
		{"&kind=1", false},
		{"kind=1&&created_at>1", false},
		{"&", false},
		{" kind=1", false},
		{"kind=1 ", false},
		{"kind= 1", false},
		{"kind=1\n", false},
		{"pubkey=1", false},
		{"x", false},
		{"kind=１", false},
	}
	for _, tt := range tests {
		ev := &nostr.Event{Kind: 1, PubKey: agentKey, CreatedAt: 1000, Tags: nostr.Tags{attest(t, agentKey, tt.conditions)}}
		if _, err := newMemory().attestedOwner(ev); (err == nil) != tt.ok {
			t.Errorf("%q: %v", tt.conditions, err)
		}
	}
}

func TestAttestationMemory(t *testing.T) {
	m := newMemory()
	ev := &nostr.Event{Kind: 1, PubKey: agentKey, CreatedAt: 1000, Tags: nostr.Tags{attest(t, agentKey, "created_at<1001")}}
	for range 2 {
		if owner, err := m.attestedOwner(ev); err != nil || owner != vectorOwner {
			t.Fatal("a good attestation was refused")
		}
	}
	if m.attested.Len() != 1 {
		t.Errorf("%d attestations are remembered", m.attested.Len())
	}
	// Remembered is the signature; the conditions are judged for each event.
	ev.CreatedAt = 1001
	if _, err := m.attestedOwner(ev); err == nil {
		t.Error("a condition that no longer holds was not looked at")
	}
	ev.CreatedAt = 1000
	ev.Tags[0][3] = vectorSig
	if _, err := m.attestedOwner(ev); err == nil {
		t.Error("another signature passed by the memory of the good one")
	}
	ev.PubKey = strangerKey
	if _, err := m.attestedOwner(ev); err == nil {
		t.Error("another agent passed by the memory of the first")
	}
	long := strings.TrimSuffix(strings.Repeat("kind=1&", 50), "&")
	ev = &nostr.Event{Kind: 1, PubKey: agentKey, Tags: nostr.Tags{attest(t, agentKey, long)}}
	if _, err := m.attestedOwner(ev); err != nil || m.attested.Len() != 1 {
		t.Error("long conditions must hold and not be remembered")
	}
}

func FuzzAttestedOwner(f *testing.F) {
	f.Add(vectorAgent, vectorOwner, vectorConditions, vectorSig, 1, int64(1713956400))
	f.Add(vectorAgent, vectorOwner, "kind=&&created_at<", vectorSig, 1, int64(0))
	f.Fuzz(func(t *testing.T, agent, owner, conditions, sig string, kind int, at int64) {
		ev := &nostr.Event{Kind: kind, PubKey: agent, CreatedAt: nostr.Timestamp(at), Tags: nostr.Tags{{"auth", owner, conditions, sig}}}
		got, err := newMemory().attestedOwner(ev)
		if err == nil && (got != owner || owner == agent) {
			t.Fatalf("%s attested by %q", agent, got)
		}
		if err == nil && conditions != vectorConditions {
			t.Fatalf("a signature was forged: %v", ev)
		}
	})
}
