package identity

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/contracts"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

var (
	alice = storetest.NewKey("alice")
	bob   = storetest.NewKey("bob")
)

type rig struct {
	*Registry
	path  string
	clock *storetest.Clock
}

func newRig(t *testing.T) *rig {
	t.Helper()
	master := append([]byte("0"), bytes.Repeat([]byte("1"), 31)...)
	v, err := vault.New(master, strings.NewReader(strings.Repeat("nonce", 10_000)))
	if err != nil {
		t.Fatal(err)
	}
	clock := storetest.NewClock()
	o := storetest.Options(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	s := storetest.MustOpen(t, func(c *sqlite.Options) { *c = o })
	return &rig{New(Options{Store: s, Vault: v, Clock: clock.Now}), o.Path, clock}
}

func (r *rig) provision(t *testing.T, name string) contracts.Provisioned {
	t.Helper()
	p, err := r.Provision(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wantCode(t *testing.T, what string, err error, want contracts.Code) {
	t.Helper()
	if contracts.CodeOf(err) != want {
		t.Errorf("%s: %v, want code %d", what, err, want)
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"agent-0000", "e4dd4d3eba02", "A", "a.b_c-D", strings.Repeat("x", 64), strings.Repeat("a", 15), "3f2b9c1e-7d1a-4c5e-9d2f-0a1b2c3d4e5f", "Operator-7"} {
		if err := CheckName(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", " ", "a b", "é", "a/b", "a\n", strings.Repeat("x", 65), alice.Pub, strings.ToUpper(alice.Pub), "npub1x", "NPUB1x", "nsec1x",
		alice.Pub[:63], alice.Pub[:16], "x" + alice.Pub[:16] + "-x", "operator", "Admin", "ad-min", "P0STER", "w.o.r.k.e.r", "arb1trator", "..", "-_."} {
		wantCode(t, fmt.Sprintf("%q", bad), CheckName(bad), contracts.Invalid)
	}
}

func TestBindIsFirstCome(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	id, err := r.Bind(ctx, "agent-0000", alice.Pub)
	npub, _ := nip19.EncodePublicKey(alice.Pub)
	if err != nil || id.AgentID != "agent-0000" || id.PubKey != alice.Pub || id.Npub != npub || id.Provisioned || !id.CreatedAt.Equal(storetest.Start) {
		t.Errorf("bound %+v, %v", id, err)
	}
	if again, err := r.Bind(ctx, "agent-0000", alice.Pub); err != nil || again != id {
		t.Errorf("once more: %+v, %v", again, err)
	}
	for what, call := range map[string]func() error{
		"taken by another":       func() error { _, err := r.Bind(ctx, "agent-0000", bob.Pub); return err },
		"a second name":          func() error { _, err := r.Bind(ctx, "agent-1", alice.Pub); return err },
		"provisioned over it":    func() error { _, err := r.Provision(ctx, "agent-0000"); return err },
		"claimed, never held":    func() error { _, err := r.Claim(ctx, "agent-0000"); return err },
		"a token for a free key": func() error { _, err := r.Rotate(ctx, "agent-0000"); return err },
	} {
		wantCode(t, what, call(), contracts.Conflict)
	}
	_, err = r.Bind(ctx, bob.Pub, bob.Pub)
	wantCode(t, "a key as name", err, contracts.Invalid)
	_, err = r.Bind(ctx, "x", "npub")
	wantCode(t, "no key", err, contracts.Invalid)
	byName, err1 := r.ByAgent(ctx, "agent-0000")
	byKey, err2 := r.ByPubKey(ctx, alice.Pub)
	none, err3 := r.ByAgent(ctx, "nobody")
	if err := errors.Join(err1, err2, err3); err != nil || *byName != id || *byKey != id || none != nil {
		t.Errorf("found %+v, %+v, %+v, %v", byName, byKey, none, err)
	}
}

// TestBindersRace: of many agents that bind one name at once, one gets it.
func TestBindersRace(t *testing.T) {
	r := newRig(t)
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { _, errs[i] = r.Bind(t.Context(), "name", storetest.NewKey(fmt.Sprint(i)).Pub) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		wantCode(t, "loser", err, contracts.Conflict)
	}
	if won != 1 {
		t.Errorf("%d have the name", won)
	}
}

func TestProvisionedLife(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	p := r.provision(t, "agent-0000")
	if !p.Provisioned || !strings.HasPrefix(p.Token, TokenPrefix) || !nostr.IsValidPublicKey(p.PubKey) {
		t.Fatalf("provisioned %+v", p.Identity)
	}
	if c, err := r.Authenticate(ctx, p.Token); err != nil || c.PubKey != p.PubKey || c.AgentID != "agent-0000" || !c.Provisioned || c.Operator {
		t.Errorf("caller %+v, %v", c, err)
	}
	for _, bad := range []string{"", p.Token[:len(p.Token)-1], p.Token + "A", TokenPrefix + strings.Repeat("A", 43), strings.ToUpper(p.Token)} {
		_, err := r.Authenticate(ctx, bad)
		wantCode(t, "bad token", err, contracts.Unauthenticated)
	}
	next, err := r.Rotate(ctx, "agent-0000")
	if err != nil || next.Token == p.Token || next.PubKey != p.PubKey {
		t.Fatalf("rotated: %v", err)
	}
	_, err = r.Authenticate(ctx, p.Token)
	wantCode(t, "rotated token", err, contracts.Unauthenticated)
	if c, err := r.Authenticate(ctx, next.Token); err != nil || c.PubKey != p.PubKey || !c.Provisioned {
		t.Errorf("new token: %+v, %v", c, err)
	}
	before, err := r.o.Store.AgentByID(ctx, "agent-0000")
	if err != nil {
		t.Fatal(err)
	}
	claimed, err := r.Claim(ctx, "agent-0000")
	if err != nil || claimed.Provisioned || claimed.PubKey != p.PubKey {
		t.Fatalf("claimed: %v", err)
	}
	_, secret, err := nip19.Decode(claimed.Nsec)
	if pub, _ := nostr.GetPublicKey(fmt.Sprint(secret)); err != nil || pub != p.PubKey {
		t.Errorf("the key given away is another one (%v)", err)
	}
	_, err = r.Claim(ctx, "agent-0000")
	wantCode(t, "claimed twice", err, contracts.Conflict)
	_, err = r.Authenticate(ctx, next.Token)
	wantCode(t, "token after the claim", err, contracts.Unauthenticated)
	wantCode(t, "sign after the claim", r.Sign(ctx, entry(p.PubKey, "c", 0)), contracts.Forbidden)
	if id, err := r.Bind(ctx, "agent-0000", p.PubKey); err != nil || id.Provisioned {
		t.Errorf("its name is still its own: %+v, %v", id, err)
	}
	_, err = r.Claim(ctx, "nobody")
	wantCode(t, "claim of nobody", err, contracts.NotFound)
	_, err = r.Rotate(ctx, "nobody")
	wantCode(t, "token of nobody", err, contracts.NotFound)
	if err := r.o.Store.(*sqlite.Store).Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(r.path)
	if err != nil || bytes.Contains(file, before.Sealed) {
		t.Errorf("the sealed key is still in the file (%v)", err)
	}
	raw, _ := hex.DecodeString(fmt.Sprint(secret))
	for _, trace := range [][]byte{raw, []byte(fmt.Sprint(secret)), []byte(p.Token), []byte(next.Token)} {
		if bytes.Contains(file, trace) {
			t.Error("a key or a token lies in the file")
		}
	}
}

// TestClaimersRace: of many claims at once, one gets the key.
func TestClaimersRace(t *testing.T) {
	r := newRig(t)
	r.provision(t, "a")
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { _, errs[i] = r.Claim(context.Background(), "a") })
	}
	wg.Wait()
	got := 0
	for _, err := range errs {
		if err == nil {
			got++
			continue
		}
		wantCode(t, "loser", err, contracts.Conflict)
	}
	if got != 1 {
		t.Errorf("%d got the key", got)
	}
}

func entry(pubkey, contract string, at int64) *nostr.Event {
	return &nostr.Event{PubKey: pubkey, Kind: 30090, CreatedAt: nostr.Timestamp(storetest.Start.Unix() + at), Content: `{"type":"message","content":"x"}`,
		Tags: nostr.Tags{{"d", contract}, {"t", "message"}, {"p", bob.Pub}}}
}

func TestSignedTimesRise(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	p := r.provision(t, "a")
	sign := func(contract string, at int64) *nostr.Event {
		t.Helper()
		ev := entry(p.PubKey, contract, at)
		if err := r.Sign(ctx, ev); err != nil {
			t.Fatal(err)
		}
		if err := wire.Verify(ev); err != nil || ev.PubKey != p.PubKey {
			t.Fatalf("signed wrongly: %v", err)
		}
		return ev
	}
	wantAt := func(ev *nostr.Event, at int64) {
		t.Helper()
		if got := int64(ev.CreatedAt) - storetest.Start.Unix(); got != at {
			t.Errorf("signed at %d, want %d", got, at)
		}
	}
	wantAt(sign("c", 0), 0)
	wantAt(sign("c", 0), 1)
	wantAt(sign("c", 9), 9)
	wantAt(sign("c", 3), 10)
	last := sign("c", 0)
	wantAt(last, 11)
	wantAt(sign("d", 0), 0)
	// What was signed before a restart is found in the relay or in the outbox.
	if res := r.o.Store.(*sqlite.Store).Put(ctx, last, store.PutOptions{}); !res.Outcome.OK() {
		t.Fatalf("%v", res)
	}
	r.Registry = New(r.o)
	wantAt(sign("c", 0), 12)
	wantAt(sign("d", 0), 0)
	if err := r.o.Store.(*sqlite.Store).Tell(ctx, store.QueueEvent{Event: wire.AppendEvent(nil, sign("c", 20)), Targets: []string{"wss://x.example"}}); err != nil {
		t.Fatal(err)
	}
	r.Registry = New(r.o)
	wantAt(sign("c", 0), 21)

	wantCode(t, "ahead of the clock", r.Sign(ctx, entry(p.PubKey, "c", 601)), contracts.RateLimited)
	wantAt(sign("c", 600), 600)
	wantCode(t, "one too many", r.Sign(ctx, entry(p.PubKey, "c", 0)), contracts.RateLimited)
	r.clock.Add(time.Second)
	wantAt(sign("c", 0), 601)
	wantCode(t, "somebody's key", r.Sign(ctx, entry(bob.Pub, "c", 0)), contracts.Forbidden)
}

func TestSignersRace(t *testing.T) {
	r := newRig(t)
	p := r.provision(t, "a")
	seen := map[nostr.Timestamp]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			ev := entry(p.PubKey, "c", 0)
			if err := r.Sign(t.Context(), ev); err != nil {
				t.Error(err)
			}
			mu.Lock()
			seen[ev.CreatedAt] = true
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(seen) != 32 {
		t.Errorf("%d times for 32 events", len(seen))
	}
}

func TestWithoutMasterKey(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	p := r.provision(t, "a")
	o := r.o
	o.Vault = vault.Off(`contracts.master_key is "off"`)
	off := New(o)
	_, provisioning := off.Provision(ctx, "b")
	_, claiming := off.Claim(ctx, "a")
	for what, err := range map[string]error{"provision": provisioning, "claim": claiming, "sign": off.Sign(ctx, entry(p.PubKey, "c", 0)), "seal": Sealer{o.Vault}.Ready()} {
		wantCode(t, what, err, contracts.Unavailable)
		if err != nil && !strings.Contains(err.Error(), "contracts.master_key") {
			t.Errorf("%s does not say why: %v", what, err)
		}
	}
	if _, err := off.Bind(ctx, "free", alice.Pub); err != nil {
		t.Errorf("binding needs no master key: %v", err)
	}
	if err := (Sealer{r.o.Vault}).Ready(); err != nil {
		t.Error(err)
	}
}

// TestMovedKeyDoesNotOpen: a sealed key put into another agent's row is not
// used.
func TestMovedKeyDoesNotOpen(t *testing.T) {
	r, ctx := newRig(t), t.Context()
	p := r.provision(t, "a")
	a, err := r.o.Store.AgentByID(ctx, p.AgentID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.o.Store.AddAgent(ctx, store.Agent{ID: "thief", PubKey: bob.Pub, Sealed: a.Sealed}, [32]byte{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Claim(ctx, "thief"); !errors.Is(err, vault.ErrSealed) {
		t.Errorf("claimed another's key: %v", err)
	}
	if err := r.Sign(ctx, entry(bob.Pub, "c", 0)); !errors.Is(err, vault.ErrSealed) {
		t.Errorf("signed with another's key: %v", err)
	}
}

// TestConversationOfAKeptKey: it is the same on both sides, and there is none
// for a key that is not kept.
func TestConversationOfAKeptKey(t *testing.T) {
	r := newRig(t)
	kept, err := r.Provision(t.Context(), "kept")
	if err != nil {
		t.Fatal(err)
	}
	key, err := r.Conversation(t.Context(), kept.PubKey, bob.Pub)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := nip44.GenerateConversationKey(kept.PubKey, bob.Secret)
	if err != nil || key != theirs {
		t.Errorf("the two sides have different keys (%v)", err)
	}
	if _, err := r.Conversation(t.Context(), alice.Pub, bob.Pub); contracts.CodeOf(err) != contracts.Forbidden {
		t.Errorf("a key that is not kept: %v", err)
	}
	if _, err := r.Claim(t.Context(), "kept"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Conversation(t.Context(), kept.PubKey, bob.Pub); contracts.CodeOf(err) != contracts.Forbidden {
		t.Errorf("a key that was claimed: %v", err)
	}
	if _, err := r.Conversation(t.Context(), kept.PubKey, "no key"); err == nil || strings.Contains(err.Error(), "no key") {
		t.Errorf("with no key: %v", err)
	}
}
