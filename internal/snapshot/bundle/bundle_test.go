package bundle

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// Keys that stand for nobody.
var (
	agentSecret = fmt.Sprintf("%064x", 1)
	ownerSecret = fmt.Sprintf("%064x", 2)
	otherSecret = fmt.Sprintf("%064x", 3)
	agentKey    = publicKey(agentSecret)
	ownerKey    = publicKey(ownerSecret)
	otherKey    = publicKey(otherSecret)
)

var pinned = time.Date(2026, 11, 20, 23, 51, 0, 0, time.UTC)

func publicKey(secret string) string {
	key, err := nostr.GetPublicKey(secret)
	if err != nil {
		panic(err)
	}
	return key
}

// memory is a Source.
type memory map[Class][][]byte

func (m memory) Events(_ context.Context, class Class, yield func([]byte) error) error {
	for _, b := range m[class] {
		if err := yield(b); err != nil {
			return err
		}
	}
	return nil
}

func (m memory) add(class Class, events ...*nostr.Event) {
	for _, ev := range events {
		m[class] = append(m[class], wire.AppendEvent(nil, ev))
	}
}

func (m memory) shuffled(seed uint64) memory {
	out := memory{}
	rng := rand.New(rand.NewPCG(seed, 1))
	for class, lines := range m {
		out[class] = append([][]byte{}, lines...)
		rng.Shuffle(len(lines), func(i, j int) { out[class][i], out[class][j] = out[class][j], out[class][i] })
	}
	return out
}

func sign(tb testing.TB, secret string, ev *nostr.Event) *nostr.Event {
	tb.Helper()
	s, err := NewSigner(secret)
	if err != nil {
		tb.Fatal(err)
	}
	if err := s(ev); err != nil {
		tb.Fatal(err)
	}
	return ev
}

// engram seals a body for the owner; text "" is a tombstone.
func engram(tb testing.TB, slug nipae.Slug, text string, at int64) *nostr.Event {
	tb.Helper()
	var body nipae.Body
	var err error
	switch {
	case slug.IsCore():
		body = nipae.NewProfile(text)
	case text == "":
		body, err = nipae.NewTombstone(slug)
	default:
		body, err = nipae.NewMemory(slug, text)
	}
	if err != nil {
		tb.Fatal(err)
	}
	k, err := nipae.DeriveConversationKey(agentSecret, ownerKey)
	if err != nil {
		tb.Fatal(err)
	}
	var aux [32]byte
	nonce := [32]byte{31: 1}
	copy(nonce[:], fmt.Sprintf("%s/%d", slug, at))
	ev, err := nipae.Seal(k, body, nipae.Sealing{Secret: agentSecret, Owner: ownerKey, CreatedAt: at, Nonce: nonce, Aux: &aux})
	if err != nil {
		tb.Fatal(err)
	}
	return ev
}

// sample is a memory with something in every class.
func sample(tb testing.TB, n int) memory {
	tb.Helper()
	m := memory{}
	m.add(Heads, engram(tb, nipae.Core, "I am Sami. [[mem/tea]]", 1000))
	for i := range n {
		slug := nipae.Slug(fmt.Sprintf("mem/n%d", i))
		m.add(History, engram(tb, slug, "first", 1000+int64(i)))
		m.add(Heads, engram(tb, slug, fmt.Sprintf("second %d", i), 2000+int64(i)))
	}
	m.add(Heads, engram(tb, "mem/gone", "", 3000))
	m.add(Deletions, sign(tb, agentSecret, &nostr.Event{Kind: 5, CreatedAt: 1500, Tags: nostr.Tags{{"e", hex.EncodeToString(make([]byte, 32))}}}))
	m.add(Relays, sign(tb, agentSecret, &nostr.Event{Kind: 10002, CreatedAt: 1500, Tags: nostr.Tags{{"r", "wss://relay.example"}}}))
	m.add(Contracts, sign(tb, otherSecret, &nostr.Event{Kind: 30090, CreatedAt: 1500, Content: `{"type":"message","content":"hello"}`,
		Tags: nostr.Tags{{"d", "contract-1"}, {"t", "message"}, {"p", agentKey}}}))
	return m
}

func options() Options {
	return Options{
		Agent: agentKey, Label: "before the dream", CreatedAt: pinned, CreatedBy: ByCLI,
		Consistency: Transaction, Software: "engramd test", Schema: 7,
	}
}

func mustWrite(tb testing.TB, dir string, src Source, o Options) *Written {
	tb.Helper()
	w, err := Write(context.Background(), dir, src, o)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

func mustVerify(tb testing.TB, path string, o VerifyOptions) *Report {
	tb.Helper()
	r, err := Verify(context.Background(), path, o)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// ls lists a folder.
func ls(tb testing.TB, dir string) []string {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWrittenBundleVerifies(t *testing.T) {
	dir := t.TempDir()
	keys, err := KeysOf(ownerSecret, ownerKey)
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Sign, err = NewSigner(agentSecret)
	if err != nil {
		t.Fatal(err)
	}
	w := mustWrite(t, dir, sample(t, 20), o)
	r := mustVerify(t, w.Path, VerifyOptions{Tenant: "default", Agent: agentKey, Keys: keys, Signers: []string{agentKey}})
	if !r.OK() {
		t.Fatal(r.Err())
	}
	for _, c := range r.Checks {
		if c.State != OK || !c.Asked {
			t.Errorf("check %s: %s, asked %v: %s", c.Name, c.State, c.Asked, c.Reason)
		}
	}
	if got, want := ls(t, dir), []string{filepath.Base(w.Path), filepath.Base(w.Path) + ".sha256"}; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("the folder holds %q, want %q", got, want)
	}
	if r.Manifest.Events() != 45 || len(r.Manifest.Owners) != 1 || r.Manifest.Owners[0] != ownerKey {
		t.Errorf("manifest: %+v", r.Manifest)
	}
}

func TestEqualMemoryGivesEqualBytes(t *testing.T) {
	src := sample(t, 50)
	o := options()
	var err error
	if o.Sign, err = NewSigner(agentSecret); err != nil {
		t.Fatal(err)
	}
	first := mustWrite(t, t.TempDir(), src, o)
	second := mustWrite(t, t.TempDir(), src.shuffled(7), o)
	a, _ := os.ReadFile(first.Path)
	b, _ := os.ReadFile(second.Path)
	if len(a) == 0 || string(a) != string(b) || first.ID != second.ID {
		t.Errorf("%s with %d bytes and %s with %d bytes differ", first.ID, len(a), second.ID, len(b))
	}

	o.CreatedAt = o.CreatedAt.Add(time.Hour)
	later := mustWrite(t, t.TempDir(), src, o)
	if later.ID == first.ID {
		t.Error("another time gave the same id")
	}
	if later.Manifest.HeadsRoot != first.Manifest.HeadsRoot || later.Manifest.BundleSHA256 != first.Manifest.BundleSHA256 {
		t.Error("another time gave another root or other artifacts")
	}
}
