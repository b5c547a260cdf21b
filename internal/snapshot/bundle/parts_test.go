package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// naiveRoot is RFC 6962, section 2.1, word by word.
func naiveRoot(leaves []Leaf) [32]byte {
	switch n := len(leaves); n {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return sha256.Sum256(append([]byte{0}, leaves[0][:]...))
	default:
		k := 1
		for 2*k < n {
			k *= 2
		}
		left, right := naiveRoot(leaves[:k]), naiveRoot(leaves[k:])
		return sha256.Sum256(slices.Concat([]byte{1}, left[:], right[:]))
	}
}

func TestHeadsRootIsThatOfRFC6962(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 70 {
		leaves := make([]Leaf, n)
		for i := range leaves {
			var d, id [32]byte
			d[0], id[0] = byte(i), byte(rng.Uint32())
			leaves[i] = NewLeaf(d, id, int64(i))
		}
		want := naiveRoot(leaves)
		rng.Shuffle(n, func(i, j int) { leaves[i], leaves[j] = leaves[j], leaves[i] })
		if got := HeadsRoot(leaves); got != want {
			t.Errorf("%d leaves: %x, want %x", n, got, want)
		}
	}
	empty := HeadsRoot(nil)
	if got := hex.EncodeToString(empty[:]); got != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("no leaves: %s", got)
	}
	leaf := NewLeaf([32]byte{1}, [32]byte{2}, 0x0102030405060708)
	if leaf[0] != 1 || leaf[32] != 2 || !bytes.Equal(leaf[64:], []byte{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("leaf: %x", leaf)
	}
}

func TestSorterSpillsAndMerges(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, total := range []int{0, 1 << 10, 2 << 20, 20 << 20} { // nothing, memory, one run, several
		s := &sorter{spool: filepath.Join(t.TempDir(), "spool")}
		var want []string
		for size := 0; size < total; {
			key := fmt.Sprintf("%012d", rng.Uint64N(1e9))
			line := key + strings.Repeat("x", rng.IntN(4000))
			if slices.Contains(want[max(0, len(want)-1):], line) {
				continue
			}
			if err := s.add([]byte(key), []byte(line)); err != nil {
				t.Fatal(err)
			}
			want = append(want, line)
			size += len(line)
		}
		if err := s.finish(); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(want, func(a, b string) int { return strings.Compare(a[:12], b[:12]) })
		want = slices.CompactFunc(want, func(a, b string) bool { return a[:12] == b[:12] })
		for range 2 {
			var got []string
			if err := s.each(func(line []byte) error { got = append(got, string(line[:12])); return nil }); err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, want, func(a, b string) bool { return a == b[:12] }) {
				t.Errorf("%d bytes: %d lines, want %d", total, len(got), len(want))
			}
		}
		if info, err := os.Stat(s.spool); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("the spool file has mode %v", info.Mode())
		} else if (err == nil) != (total > keepBytes) {
			t.Errorf("%d bytes: spool file: %v", total, err)
		}
		s.close()
		if _, err := os.Stat(s.spool); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the spool file is still there: %v", err)
		}
	}
}

func TestNames(t *testing.T) {
	for _, s := range []string{"default", "a", "a-b_c", "0", strings.Repeat("x", 64)} {
		if err := CheckTenant(s); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"", "Acme", "-a", "a-", "_a", "a_", "a.b", "a/b", "..", "a b", "é", "a\n", strings.Repeat("x", 65)} {
		if err := CheckTenant(s); !errors.Is(err, ErrName) {
			t.Errorf("tenant %q: %v", s, err)
		}
	}
	const id = "20261120T235100Z-0123456789abcdef"
	if err := CheckID(id); err != nil || !TimeOf(id).Equal(pinned) {
		t.Errorf("%v, %v", err, TimeOf(id))
	}
	for _, s := range []string{"", "../" + id, id + "/x", id[1:], "20261320T235100Z-0123456789abcdef", strings.ToUpper(id)} {
		if err := CheckID(s); !errors.Is(err, ErrName) {
			t.Errorf("id %q: %v", s, err)
		}
	}
	for _, s := range []string{"two\nlines", "\x1b[2J", "\xff", strings.Repeat("x", 257)} {
		if err := CheckLabel(s); !errors.Is(err, ErrName) {
			t.Errorf("label %q: %v", s, err)
		}
	}
}

func TestManifestIsStrict(t *testing.T) {
	w := mustWrite(t, t.TempDir(), sample(t, 1), options())
	good, err := w.Manifest.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseManifest(good); err != nil {
		t.Fatal(err)
	}
	for _, tt := range [][2]string{
		{`"label":"before the dream"`, `"Label":"before the dream"`},
		{`"label":"before the dream"`, `"label":"before the dream","label":"x"`},
		{`"label":"before the dream"`, `"label":"before the dream","x":1`},
		{`"label":"before the dream"`, `"label":"\u0062efore the dream"`},
		{`"label":"before the dream",`, ``},
		{`{"agent"`, `{ "agent"`},
		{`"schema":7`, `"schema":7.0`},
		{`"schema":7`, `"schema":-7`},
		{`"created_by":"cli"`, `"created_by":"me"`},
		{`"consistency":"transaction"`, `"consistency":"hope"`},
		{`"tenant":"default"`, `"tenant":"Default"`},
		{`2026-11-20T23:51:00Z`, `2026-11-20T23:51:00.5Z`},
		{`2026-11-20T23:51:00Z`, `2026-11-21T00:51:00+01:00`},
		{`"parent":""`, `"parent":"x"`},
		{`"path":"heads.jsonl"`, `"path":"../heads.jsonl"`},
		{`"recipients":[]`, `"recipients":["age1xyz"]`},
		{`"recipients":[]`, `"recipients":null`},
		{Format, "engramd-snapshot-v2"},
	} {
		bad := strings.ReplaceAll(string(good), tt[0], tt[1])
		if bad == string(good) {
			t.Fatalf("%q is not in the manifest", tt[0])
		}
		if _, err := ParseManifest([]byte(bad)); !errors.Is(err, ErrManifest) {
			t.Errorf("%s for %s: %v", tt[1], tt[0], err)
		}
	}
}

func TestSourcesOfOtherThingsAreRefused(t *testing.T) {
	stranger := sign(t, otherSecret, &nostr.Event{Kind: 5, CreatedAt: 1, Tags: nostr.Tags{{"a", "30174:" + agentKey + ":" + agentKey}}})
	vanishing := sign(t, otherSecret, &nostr.Event{Kind: 62, CreatedAt: 1, Tags: nostr.Tags{{"relay", "ALL_RELAYS"}}})
	note := sign(t, agentSecret, &nostr.Event{Kind: 1, CreatedAt: 1, Content: "hi"})
	a1, a2 := engram(t, "mem/a", "one", 1), engram(t, "mem/a", "two", 2)
	for _, tt := range []struct {
		name string
		make func(m memory)
		want error
	}{
		{"another author", func(m memory) { m.add(Deletions, stranger) }, ErrSource},
		{"another who vanishes", func(m memory) { m.add(Deletions, vanishing) }, ErrSource},
		{"another kind", func(m memory) { m.add(Heads, note) }, ErrSource},
		{"no event", func(m memory) { m[Heads] = append(m[Heads], []byte("{}")) }, ErrSource},
		{"two heads", func(m memory) { m.add(Heads, a1, a2) }, ErrSource},
		{"head and history", func(m memory) { m.add(Heads, a1); m.add(History, a1) }, ErrSource},
		{"an old head", func(m memory) { m.add(Heads, a1); m.add(History, a2) }, ErrInvalid},
		{"a forged event", func(m memory) {
			forged := *a1
			forged.Sig = a2.Sig
			m.add(Heads, &forged)
		}, ErrInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, src := t.TempDir(), memory{}
			tt.make(src)
			if _, err := Write(t.Context(), dir, src, options()); !errors.Is(err, tt.want) {
				t.Errorf("the error is %v, want %v", err, tt.want)
			}
			if left := ls(t, dir); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
	dir, src := t.TempDir(), memory{}
	src.add(Heads, a1, a1) // twice the same is forgiven
	mustWrite(t, dir, src, options())
	if _, err := Write(t.Context(), dir, src, options()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the same bundle again: %v", err)
	}
}

func TestRequestAndSigners(t *testing.T) {
	o := options()
	var err error
	if o.Sign, err = NewSigner(otherSecret); err != nil {
		t.Fatal(err)
	}
	w := mustWrite(t, t.TempDir(), sample(t, 1), o)
	for _, tt := range []struct {
		name, check string
		o           VerifyOptions
		state       CheckState
		ok          bool
		says        string
	}{
		{"other tenant", CheckRequest, VerifyOptions{Tenant: "staging"}, Failed, false, `"default", tenant "staging"`},
		{"other agent", CheckRequest, VerifyOptions{Agent: otherKey}, Failed, false, agentKey + ", agent " + otherKey},
		{"no request", CheckRequest, VerifyOptions{}, NotChecked, true, ""},
		{"unknown signer", CheckSignature, VerifyOptions{}, NotChecked, true, otherKey},
		{"trusted signer", CheckSignature, VerifyOptions{Signers: []string{ownerKey, otherKey}}, OK, true, otherKey},
		{"another signer", CheckSignature, VerifyOptions{Signers: []string{ownerKey}}, Failed, false, "none of the keys"},
		{"stranger's key", CheckDecrypts, VerifyOptions{Keys: mustKeys(t, otherSecret)}, NotChecked, false, "neither"},
		{"agent's key", CheckDecrypts, VerifyOptions{Keys: mustKeys(t, agentSecret)}, OK, true, "4 engrams"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := mustVerify(t, w.Path, tt.o)
			c := r.Check(tt.check)
			if c.State != tt.state || r.OK() != tt.ok || !strings.Contains(c.Reason, tt.says) {
				t.Errorf("%+v, OK %v", c, r.OK())
			}
		})
	}
	unsigned := mustWrite(t, t.TempDir(), sample(t, 1), options())
	if r := mustVerify(t, unsigned.Path, VerifyOptions{Signers: []string{agentKey}}); r.OK() || r.Check(CheckSignature).State != Failed {
		t.Errorf("no signature where one is asked for: %+v", r.Check(CheckSignature))
	}
}

func mustKeys(tb testing.TB, secret string) Keys {
	tb.Helper()
	k, err := KeysOf(secret, publicKey(secret))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// TestUndecryptableEngramFails has an engram whose d is not its slug's.
func TestUndecryptableEngramFails(t *testing.T) {
	a, b := engram(t, "mem/a", "one", 1), engram(t, "mem/b", "one", 1)
	moved := *a
	moved.Tags = b.Tags
	src := memory{}
	src.add(Heads, sign(t, agentSecret, &moved))
	w := mustWrite(t, t.TempDir(), src, options())
	r := mustVerify(t, w.Path, VerifyOptions{Keys: mustKeys(t, ownerSecret)})
	expectFailed(t, "wrong address", r, []string{CheckDecrypts})
	if r.Check(CheckEvents).State != OK {
		t.Errorf("events: %+v", r.Check(CheckEvents))
	}
}

func TestStagingOfTheDeadIsSwept(t *testing.T) {
	dir := t.TempDir()
	alive, err := NewStaging(dir)
	if err != nil {
		t.Fatal(err)
	}
	dead, err := NewStaging(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dead.Path("bundle"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	dead.lock.Close() // as the end of its process does
	fresh, old := filepath.Join(dir, stagingPrefix+"fresh"), filepath.Join(dir, stagingPrefix+"old")
	now := time.Now()
	for path, at := range map[string]time.Time{fresh: now, old: now.Add(-time.Hour)} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	n, err := SweepStaging(dir, now)
	if err != nil || n != 2 {
		t.Errorf("swept %d, %v; want 2", n, err)
	}
	want := []string{filepath.Base(alive.dir), filepath.Base(fresh)}
	slices.Sort(want)
	if got := ls(t, dir); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
	if err := alive.Close(); err != nil {
		t.Error(err)
	}
}
