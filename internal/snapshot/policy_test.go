package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/snapshot/bundle"
)

func TestPolicy(t *testing.T) {
	day := 24 * time.Hour
	now := start
	// entry: age in days, flags: v verified, a automatic, p pinned; >n rests on
	// entry n
	parse := func(specs ...string) []Info {
		list := make([]Info, len(specs))
		id := func(age int) string { return fmt.Sprintf("%04d", 2000-age) }
		for i, spec := range specs {
			var age, parent int
			fmt.Sscanf(spec, "%d", &age)
			in := Info{ID: id(age), CreatedAt: now.Add(-time.Duration(age) * day)}
			in.CreatedBy = bundle.ByCLI
			if strings.Contains(spec, "v") {
				in.VerifiedAt = now
			}
			if strings.Contains(spec, "a") {
				in.CreatedBy = bundle.ByScheduled
			}
			in.Pinned = strings.Contains(spec, "p")
			if _, rest, ok := strings.Cut(spec, ">"); ok {
				fmt.Sscanf(rest, "%d", &parent)
				in.Parent = id(parent)
			}
			list[i] = in
		}
		return list
	}
	for _, tt := range []struct {
		name string
		p    Policy
		list []Info // newest first
		want []Info
	}{
		{"nothing to do", Policy{2, 2, 90 * day}, parse("1v", "2v"), nil},
		{"oldest first", Policy{1, 1, 0}, parse("1v", "2v", "3v"), parse("3", "2")},
		{"too old", Policy{9, 9, 90 * day}, parse("1v", "90v", "91v", "92v"), parse("92", "91")},
		{"the last verified one stays", Policy{1, 1, 90 * day}, parse("1", "2", "200v"), parse("2")},
		{"all too old", Policy{9, 9, 90 * day}, parse("100v", "101v", "102v"), parse("102", "101")},
		{"pinned are exempt and not counted", Policy{1, 1, 90 * day}, parse("1v", "2vp", "300vp"), nil},
		{"automatic ones have their own count", Policy{2, 1, 0}, parse("1v", "2va", "3va", "4v"), parse("3")},
		{"no bounds", Policy{}, parse("1v", "1000v"), nil},
		{"a parent goes after its child", Policy{1, 1, 0}, parse("1v", "2v>3", "3v"), parse("2", "3")},
		{"a parent of one that stays", Policy{1, 1, 0}, parse("1v>3", "2v", "3v"), parse("2")},
		{"never verified ones may all go", Policy{9, 9, 90 * day}, parse("100", "101"), parse("101", "100")},
		{"of a chain the newest are kept, and what they rest on", Policy{2, 2, 90 * day}, parse("1v", "2v>3", "3v>4", "4v>5", "5v"), nil},
		{"a chain of which all is beyond", Policy{1, 1, 0}, parse("1v", "2v>3", "3v>4", "4v"), parse("2", "3", "4")},
		{"made by a clock that was ahead", Policy{2, 2, 90 * day}, parse("-400v", "-399v", "1v", "2v", "3v"), parse("3")},
		{"the last verified one is none of those", Policy{9, 9, 90 * day}, parse("-400v", "100v", "101v"), parse("101")},
		{"unless there is no other", Policy{9, 9, 90 * day}, parse("-400v", "100"), parse("100")},
		{"records that rest on each other", Policy{1, 1, 0}, parse("1v", "2v>3", "3v>2"), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.p.Expired(tt.list, now); !slices.Equal(got, ids(tt.want)) {
				t.Errorf("%q go, want %q", got, ids(tt.want))
			}
		})
	}
}

// damage flips a byte of a bundle, or of its .sha256 file.
func damage(tb testing.TB, path string) {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// TestDamagedIsNotTheLastVerified: the bundle that is kept in any case is one
// that is as it was when it was verified.
func TestDamagedIsNotTheLastVerified(t *testing.T) {
	for name, breakIt := range map[string]func(t *testing.T, newest Info){
		"file":    func(t *testing.T, i Info) { damage(t, i.Path) },
		"sibling": func(t *testing.T, i Info) { damage(t, i.Path+bundle.SumExtension) },
		"no sibling": func(t *testing.T, i Info) {
			if err := os.Remove(i.Path + bundle.SumExtension); err != nil {
				t.Fatal(err)
			}
		},
		"cut": func(t *testing.T, i Info) {
			if err := os.Truncate(i.Path, 100); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(t.TempDir())
			l := mustLock(t, s)
			src := memory{engram(t, "mem/a", "one", 1)}
			var made []Info
			for i := range 3 {
				made = append(made, mustCreate(t, l, src, start.Add(time.Duration(i)*time.Minute), bundle.ByCLI, nil))
			}
			breakIt(t, made[2])
			swept, err := l.Sweep(start.Add(time.Hour), Policy{Keep: 1})
			if err != nil || !slices.Equal(swept.Deleted, []string{made[0].ID}) {
				t.Errorf("retention deleted %q, %v; want the oldest only", swept.Deleted, err)
			}
			if info, err := s.Find("default", agentKey, made[2].ID); err != nil || info.Verified() {
				t.Errorf("the damaged one: %+v, %v", info.Record, err)
			}
			if err := l.Delete(made[1].ID, Deletion{}); !errors.Is(err, ErrLastVerified) {
				t.Errorf("deleting the one that is whole: %v", err)
			}
			if err := l.Delete(made[2].ID, Deletion{}); err != nil {
				t.Errorf("deleting the damaged one: %v", err)
			}
		})
	}
}

// TestDamagedParentIsNotVerified: a bundle is no better than what it rests on.
func TestDamagedParentIsNotVerified(t *testing.T) {
	s := New(t.TempDir())
	l := mustLock(t, s)
	a := engram(t, "mem/a", "one", 1)
	old := mustCreate(t, l, memory{a}, start, bundle.ByCLI, nil)
	full := mustCreate(t, l, memory{a}, start.Add(time.Minute), bundle.ByCLI, nil)
	b, _, err := bundle.Open(t.Context(), full.Path, bundle.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mustCreate(t, l, memory{a, engram(t, "mem/b", "two", 2)}, start.Add(2*time.Minute), bundle.ByCLI, b)
	damage(t, full.Path)
	if err := l.Delete(old.ID, Deletion{}); !errors.Is(err, ErrLastVerified) {
		t.Errorf("deleting the only one that is whole: %v", err)
	}
}

// TestVerifyTakesTheMarkBack: what is found damaged was not verified, whatever
// the record said; a key that does not fit takes nothing back.
func TestVerifyTakesTheMarkBack(t *testing.T) {
	s := New(t.TempDir())
	l := mustLock(t, s)
	info := mustCreate(t, l, memory{engram(t, "mem/a", "one", 1)}, start, bundle.ByCLI, nil)
	if r, err := l.Verify(t.Context(), info.ID, start, bundle.VerifyOptions{Signers: []string{ownerKey}}); err != nil || r.OK() {
		t.Fatalf("by a signer who did not: %v, %v", r.Err(), err)
	}
	if info, err := s.Find("default", agentKey, info.ID); err != nil || !info.Verified() {
		t.Errorf("after a question that did not fit: %+v, %v", info.Record, err)
	}
	damage(t, info.Path)
	if r, err := s.Verify(t.Context(), "default", agentKey, info.ID, bundle.VerifyOptions{}); err != nil || r.OK() {
		t.Fatalf("%v, %v", r.Err(), err)
	}
	if info, err := s.Find("default", agentKey, info.ID); err != nil || !info.Verified() {
		t.Errorf("without the lock: %+v, %v", info.Record, err)
	}
	if r, err := l.Verify(t.Context(), info.ID, start, bundle.VerifyOptions{}); err != nil || r.OK() {
		t.Fatalf("%v, %v", r.Err(), err)
	}
	if info, err := s.Find("default", agentKey, info.ID); err != nil || info.Verified() || info.Label != "l" {
		t.Errorf("damaged: %+v, %v", info.Record, err)
	}
}

// TestCreateThatCannotBeRecorded leaves nothing behind, as on a full disk.
func TestCreateThatCannotBeRecorded(t *testing.T) {
	src := memory{engram(t, "mem/a", "one", 1)}
	id := mustCreate(t, mustLock(t, New(t.TempDir())), src, start, bundle.ByCLI, nil).ID
	s := New(t.TempDir())
	l := mustLock(t, s)
	dir, err := s.Dir("default", agentKey)
	if err != nil {
		t.Fatal(err)
	}
	inTheWay := filepath.Join(dir, "."+id+".json")
	if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	o := bundle.Options{CreatedAt: start, CreatedBy: bundle.ByCLI, Label: "l", Consistency: bundle.Transaction, Software: "test"}
	if _, _, err := l.Create(t.Context(), src, o); err == nil {
		t.Fatal("it was made without a record")
	}
	if err := os.RemoveAll(inTheWay); err != nil {
		t.Fatal(err)
	}
	if files, err := names(dir); err != nil || !slices.Equal(files, []string{lockName}) {
		t.Errorf("left are %q, %v", files, err)
	}
	if _, _, err := l.Create(t.Context(), src, o); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestCreateAt makes many at one instant, of one state and of others: each
// comes after those before it, and retention keeps the last.
func TestCreateAt(t *testing.T) {
	s := New(t.TempDir())
	l := mustLock(t, s)
	o := bundle.Options{CreatedBy: bundle.ByCLI, Consistency: bundle.Transaction, Software: "test"}
	toCome := mustCreate(t, l, memory{engram(t, "mem/a", "one", 1)}, start.Add(48*time.Hour), bundle.ByCLI, nil)
	now := start.Add(700 * time.Millisecond)
	made := []string{toCome.ID}
	for n := range 8 {
		o.Label = fmt.Sprint("label ", n/2) // two of each have nothing but their time to differ in
		info, err := l.CreateAt(t.Context(), memory{engram(t, "mem/a", "one", 1)}, o, now)
		if err != nil {
			t.Fatal(err)
		}
		if late := info.CreatedAt.Sub(now); late <= -time.Second || late > time.Duration(n)*time.Second {
			t.Errorf("number %d is dated %v after the clock", n, late)
		}
		made = slices.Insert(made, 1, info.ID)
	}
	list, err := s.List("default", agentKey)
	if err != nil || !slices.Equal(ids(list), made) {
		t.Errorf("listed are %q, made were %q, %v", ids(list), made, err)
	}
	if _, err := l.Sweep(now, Policy{Keep: 1}); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List("default", agentKey); err != nil || !slices.Equal(ids(list), made[:2]) {
		t.Errorf("left are %q, want %q, %v", ids(list), made[:2], err)
	}

	// A pinned time is taken as it is, and a clock that is past the newest one
	// too.
	pinned := mustCreate(t, l, memory{engram(t, "mem/a", "one", 1)}, start, bundle.ByCLI, nil)
	if !pinned.CreatedAt.Equal(start) {
		t.Errorf("pinned to %v: %v", start, pinned.CreatedAt)
	}
	later := start.Add(time.Hour)
	if info, err := l.CreateAt(t.Context(), memory{engram(t, "mem/a", "one", 1)}, o, later); err != nil || !info.CreatedAt.Equal(later) {
		t.Errorf("an hour later: %v, %v", info.CreatedAt, err)
	}
}

// TestRemoveKeepsTheRestOfWhatStays: a bundle that cannot be deleted keeps its
// hash.
func TestRemoveKeepsTheRestOfWhatStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "20261120T235100Z-0123456789abcdef"+bundle.Extension)
	if err := errors.Join(os.MkdirAll(filepath.Join(path, "x"), 0o700), os.WriteFile(path+bundle.SumExtension, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := remove([]Info{{ID: "i", Path: path}}, "i"); err == nil {
		t.Error("a folder was deleted")
	}
	if _, err := os.Stat(path + bundle.SumExtension); err != nil {
		t.Errorf("its hash: %v", err)
	}
}

// TestExportOfDamaged: no hash is written that fits a damaged bundle, also
// where nothing but the .sha256 file tells.
func TestExportOfDamaged(t *testing.T) {
	s := New(t.TempDir())
	l := mustLock(t, s)
	info := mustCreate(t, l, memory{engram(t, "mem/a", "one", 1)}, start, bundle.ByCLI, nil)
	if err := os.Remove(filepath.Join(filepath.Dir(info.Path), info.ID+recordExtension)); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy")
	if err := s.Export("default", agentKey, info.ID, to); err != nil {
		t.Errorf("without a record: %v", err)
	}
	damage(t, info.Path)
	if err := s.Export("default", agentKey, info.ID, to+"2"); !errors.Is(err, bundle.ErrChanged) {
		t.Errorf("damaged: %v", err)
	}
	if err := os.Remove(info.Path + bundle.SumExtension); err != nil {
		t.Fatal(err)
	}
	if err := s.Export("default", agentKey, info.ID, to+"2"); !errors.Is(err, bundle.ErrChanged) {
		t.Errorf("without a hash: %v", err)
	}
	if _, err := os.Stat(to + "2"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was left: %v", err)
	}
}

// TestParentBeside verifies a chain that was copied elsewhere.
func TestParentBeside(t *testing.T) {
	s := New(t.TempDir())
	l := mustLock(t, s)
	full, child := mustChain(t, l)
	alone, together := t.TempDir(), t.TempDir()
	for dir, ids := range map[string][]string{alone: {child.ID}, together: {child.ID, full.ID}} {
		for _, id := range ids {
			if err := s.Export("default", agentKey, id, filepath.Join(dir, bundle.FileName(id, false))); err != nil {
				t.Fatal(err)
			}
		}
	}
	verify := func(dir string, or func(string) (string, error)) *bundle.Report {
		path := filepath.Join(dir, bundle.FileName(child.ID, false))
		r, err := bundle.Verify(t.Context(), path, bundle.VerifyOptions{Parent: ParentBeside(path, or)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := verify(together, nil); !r.OK() {
		t.Errorf("with its parent beside it: %v", r.Err())
	}
	if r := verify(alone, nil); r.OK() || r.Check(bundle.CheckParent).State != bundle.NotChecked {
		t.Errorf("without its parent: %+v", r.Check(bundle.CheckParent))
	}
	if r := verify(alone, s.ParentOf("default", agentKey)); !r.OK() {
		t.Errorf("with the parent elsewhere: %v", r.Err())
	}
	for _, id := range []string{"../" + full.ID, full.Path, ""} {
		if _, err := ParentBeside(child.Path, nil)(id); !errors.Is(err, bundle.ErrName) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

// TestCannotWrite tells a folder that can only be read from one that is in use.
func TestCannotWrite(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{&os.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}, true},
		{&os.PathError{Op: "open", Path: "x", Err: errors.New("disk full")}, false},
		{&HeldError{Agent: agentKey, PID: 1}, false},
		{nil, false},
	} {
		if got := CannotWrite(tt.err); got != tt.want {
			t.Errorf("%v: %v", tt.err, got)
		}
	}
}
