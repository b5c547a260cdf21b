package snapshot

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// TestPolicyByKind: bundles of less than the whole memory take no whole one's
// place, and the last verified whole one stays.
func TestPolicyByKind(t *testing.T) {
	list := func(kinds ...bundle.Kind) (out []Info) {
		for i, k := range kinds {
			in := Info{ID: string(rune('z' - i)), CreatedAt: start.Add(-time.Duration(i) * time.Hour)}
			in.Kind, in.VerifiedAt, in.CreatedBy = k, start, bundle.ByCLI
			out = append(out, in)
		}
		return out
	}
	const whole, part, partial, empty = bundle.KindWhole, bundle.KindOwners, bundle.KindPartial, bundle.KindEmpty
	for _, tt := range []struct {
		name string
		p    Policy
		list []Info
		want []string
	}{
		{"each kind has its own count", Policy{Keep: 1}, list(empty, part, partial, whole, whole, part, empty), []string{"t", "u", "v"}},
		{"the floor is a whole one", Policy{Keep: 9, MaxAge: time.Minute}, list(partial, part, empty, whole), []string{"x", "y"}},
		{"without one the nearest to it", Policy{Keep: 9, MaxAge: time.Minute}, list(whole, partial, empty, part)[1:], []string{"x", "y"}},
		{"an empty one is no floor", Policy{Keep: 9, MaxAge: time.Minute}, list(whole, empty)[1:], []string{"y"}},
		{"one that nobody looked into", Policy{Keep: 9, MaxAge: time.Minute}, list(whole, part, bundle.KindUnknown)[1:], []string{"y"}},
	} {
		if got := tt.p.Expired(tt.list, start); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q go, want %q", tt.name, got, tt.want)
		}
	}
	managed := list(empty, whole, empty)
	for i := range managed {
		managed[i].Managed = "m"
	}
	if got := (Policy{Keep: 1}).Expired(managed, start); !slices.Equal(got, []string{"x"}) {
		t.Errorf("made over the network: %q go", got)
	}
}

// TestKindOfOldBundles: what has no kind in its record is classified by its
// manifest, or else by what the record tells.
func TestKindOfOldBundles(t *testing.T) {
	for _, tt := range []struct {
		name, consistency, by string
		heads                 memory
		encrypted             bool
		want                  bundle.Kind
	}{
		{"the operator's", bundle.Transaction, bundle.ByCLI, memory{engram(t, "mem/a", "x", 1)}, false, bundle.KindWhole},
		{"an owner's", bundle.StableListing, bundle.ByCLI, memory{engram(t, "mem/a", "x", 1)}, false, bundle.KindOwners},
		{"partial", bundle.PartialListing, bundle.ByAgent, memory{engram(t, "mem/a", "x", 1)}, false, bundle.KindPartial},
		{"empty", bundle.StableListing, bundle.ByAgent, nil, false, bundle.KindEmpty},
	} {
		s := New(t.TempDir())
		l := mustLock(t, s)
		o := bundle.Options{CreatedAt: start, CreatedBy: tt.by, Consistency: tt.consistency, Software: "test"}
		info, _, err := l.Create(t.Context(), tt.heads, o)
		if err != nil || info.Kind != tt.want {
			t.Errorf("%s, new: %q, %v", tt.name, info.Kind, err)
		}
		info.Record.Kind = ""
		if err := writeRecord(filepath.Dir(info.Path), info.ID, info.Record); err != nil {
			t.Fatal(err)
		}
		if info, err := s.Find("default", agentKey, info.ID); err != nil || info.Kind != tt.want || info.Marks()[0] != string(tt.want) {
			t.Errorf("%s, old: %q, %v", tt.name, info.Kind, err)
		}
	}
	for by, want := range map[string]bundle.Kind{bundle.ByScheduled: bundle.KindWhole, bundle.ByCLI: bundle.KindUnknown} {
		i := Info{Encrypted: true, Record: Record{CreatedBy: by, HeadsRoot: "x"}}
		if got := i.oldKind(); got != want {
			t.Errorf("encrypted, by %s: %q", by, got)
		}
	}
}

// TestGCNamesTheDamaged and the list shows it.
func TestGCNamesTheDamaged(t *testing.T) {
	s := New(t.TempDir())
	l := mustLock(t, s)
	src := memory{engram(t, "mem/a", "one", 1)}
	var made []Info
	for i := range 3 {
		made = append(made, mustCreate(t, l, src, start.Add(time.Duration(i)*time.Minute), bundle.ByCLI, nil))
	}
	damage(t, made[2].Path)
	swept, err := l.Sweep(start.Add(time.Hour), Policy{Keep: 1})
	if err != nil || !slices.Equal(swept.Damaged, []string{made[2].ID}) {
		t.Errorf("%+v, %v", swept, err)
	}
	if info, err := s.Find("default", agentKey, made[2].ID); err != nil || info.Marks()[1] != "damaged" {
		t.Errorf("%v, %v", info.Marks(), err)
	}
}

// TestPinnedNeedsForce to be deleted.
func TestPinnedNeedsForce(t *testing.T) {
	l := mustLock(t, New(t.TempDir()))
	src := memory{engram(t, "mem/a", "one", 1)}
	first := mustCreate(t, l, src, start, bundle.ByCLI, nil)
	mustCreate(t, l, src, start.Add(time.Minute), bundle.ByCLI, nil)
	if err := l.Pin(first.ID, true); err != nil {
		t.Fatal(err)
	}
	if err := l.Delete(first.ID, Deletion{}); !errors.Is(err, ErrPinned) {
		t.Errorf("%v", err)
	}
	if err := l.Delete(first.ID, Deletion{Force: true}); err != nil {
		t.Errorf("by force: %v", err)
	}
}

// TestFindElsewhere tells an unknown id from somebody else's.
func TestFindElsewhere(t *testing.T) {
	s := New(t.TempDir())
	info := mustCreate(t, mustLock(t, s), memory{engram(t, "mem/a", "one", 1)}, start, bundle.ByCLI, nil)
	_, err := s.Find("prod", agentKey, info.ID)
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "tenant prod") || !strings.Contains(err.Error(), "it is of agent "+agentKey+", tenant default") {
		t.Errorf("another tenant's: %v", err)
	}
	if err := os.Remove(info.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find("prod", agentKey, info.ID); !errors.Is(err, ErrNotFound) || strings.Contains(err.Error(), "it is of") {
		t.Errorf("nobody's: %v", err)
	}
}

// TestRevertLeavesAlone what is not the agent's own account.
func TestRevertLeavesAlone(t *testing.T) {
	at := func(d string) Address { return Address{Kind: nipae.Kind, PubKey: agentKey, D: d} }
	head := func(slug nipae.Slug, id string, body byte) Head {
		return Head{Kind: nipae.Kind, PubKey: agentKey, D: string(slug), ID: id, Slug: slug, body: [32]byte{body}}
	}
	then, now := Heads{}, Heads{}
	for _, slug := range []nipae.Slug{"mem/sys/a", "mem/proposals/a", "mem/proposals-answers/a", "mem/system", "mem/proposals"} {
		then[at(string(slug))], now[at(string(slug))] = head(slug, "1", 1), head(slug, "2", 2)
	}
	now[at("new")] = head("mem/sys/new", "3", 3)
	actions, err := Plan(Revert, then, now)
	if err != nil || len(actions) != 6 {
		t.Fatalf("%+v, %v", actions, err)
	}
	for _, a := range actions {
		if (a.Op == Write) != (a.Slug == "mem/system" || a.Slug == "mem/proposals") || a.Op == Keep && a.Reason == "" {
			t.Errorf("%s: %s", a.Slug, a.Op)
		}
	}
}
