package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func mustOpen(tb testing.TB, path string, o VerifyOptions) *Bundle {
	tb.Helper()
	b, _, err := Open(context.Background(), path, o)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// inDir finds parents in a folder.
func inDir(dir string) func(string) (string, error) {
	return func(id string) (string, error) { return filepath.Join(dir, FileName(id, false)), nil }
}

// everything returns the lines of a source by class, sorted.
func everything(tb testing.TB, src Source) map[Class][]string {
	tb.Helper()
	out := map[Class][]string{}
	for _, class := range Classes() {
		err := src.Events(context.Background(), class, func(b []byte) error {
			out[class] = append(out[class], string(b))
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
		slices.Sort(out[class])
	}
	return out
}

func same(a, b map[Class][]string) error {
	for _, class := range Classes() {
		if !slices.Equal(a[class], b[class]) {
			return fmt.Errorf("%s: %d lines and %d lines differ", class, len(a[class]), len(b[class]))
		}
	}
	return nil
}

// growing returns the memory at three instants: at the first two versions, then
// one overwritten, one deleted and one new, then an old version put back.
func growing(tb testing.TB) []memory {
	a1, a2 := engram(tb, "mem/a", "one", 1000), engram(tb, "mem/a", "two", 2000)
	b1, b2 := engram(tb, "mem/b", "one", 1001), engram(tb, "mem/b", "two", 2001)
	c1, d1 := engram(tb, "mem/c", "one", 1002), engram(tb, "mem/d", "one", 1003)
	first, second, third := memory{}, memory{}, memory{}
	first.add(Heads, a1, b2, c1)
	first.add(History, b1)
	second.add(Heads, a2, b2, d1) // c is gone without a trace
	second.add(History, a1, b1)
	third.add(Heads, a2, b1, d1) // b2 was taken away
	third.add(History, a1)
	return []memory{first, second, third}
}

func TestIncrementalBundles(t *testing.T) {
	dir := t.TempDir()
	instants := growing(t)
	o := options()
	full := mustWrite(t, dir, instants[0], o)
	path := full.Path
	wantOwn := []int64{4, 2, 1}
	for i, src := range instants[1:] {
		o.CreatedAt = o.CreatedAt.Add(time.Minute)
		o.Parent = mustOpen(t, path, VerifyOptions{Parent: inDir(dir)})
		w := mustWrite(t, dir, src, o)
		if w.Manifest.Events() != wantOwn[i+1] || w.Manifest.Parent != o.Parent.ID {
			t.Errorf("instant %d: %d events of its own, parent %s", i+1, w.Manifest.Events(), w.Manifest.Parent)
		}
		whole := mustWrite(t, t.TempDir(), src, options())
		if w.Manifest.HeadsRoot != whole.Manifest.HeadsRoot {
			t.Errorf("instant %d: the root is not that of a full bundle", i+1)
		}
		got := mustOpen(t, w.Path, VerifyOptions{Parent: inDir(dir)})
		if err := same(everything(t, got), everything(t, src)); err != nil {
			t.Errorf("instant %d: %v", i+1, err)
		}
		if n := len(got.Report.Parents); n != i+1 {
			t.Errorf("instant %d: %d reports on parents", i+1, n)
		}
		path = w.Path
	}

	alone := mustVerify(t, path, VerifyOptions{})
	if alone.OK() || alone.Check(CheckParent).State != NotChecked || alone.Check(CheckRoot).State != NotChecked ||
		alone.Check(CheckHeads).State != NotChecked || alone.Check(CheckEvents).State != OK {
		t.Errorf("without its parents: %+v", alone.Checks)
	}
	wrong := mustVerify(t, path, VerifyOptions{Parent: func(string) (string, error) { return full.Path, nil }})
	if wrong.OK() || wrong.Check(CheckParent).State != Failed {
		t.Errorf("with another parent: %+v", wrong.Check(CheckParent))
	}
	missing := mustVerify(t, path, VerifyOptions{Parent: func(string) (string, error) { return "", fs.ErrNotExist }})
	if missing.OK() || missing.Check(CheckParent).State != NotChecked {
		t.Errorf("with a missing parent: %+v", missing.Check(CheckParent))
	}
	short := mustVerify(t, path, VerifyOptions{Parent: inDir(dir), Limits: Limits{Chain: 1}})
	if short.OK() {
		t.Error("a chain longer than the limit is OK")
	}
	few := mustVerify(t, path, VerifyOptions{Parent: inDir(dir), Limits: Limits{Events: 4}})
	if few.OK() {
		t.Error("a chain of more events than the limit is OK")
	}
}

func TestDamagedParentFailsTheChild(t *testing.T) {
	dir := t.TempDir()
	instants := growing(t)
	o := options()
	full := mustWrite(t, dir, instants[0], o)
	o.CreatedAt = o.CreatedAt.Add(time.Minute)
	o.Parent = mustOpen(t, full.Path, VerifyOptions{})
	child := mustWrite(t, dir, instants[1], o)
	good := unpack(t, full.Path)
	good[len(good)-1025-512] ^= 1
	put(t, full.Path, compressed(t, good))
	r := mustVerify(t, child.Path, VerifyOptions{Parent: inDir(dir)})
	expectFailed(t, "damaged parent", r, []string{CheckParent})
	if r.Check(CheckRoot).State == OK {
		t.Error("the root is OK although the parent is not")
	}
}

func TestIncrementalForgeriesAreFound(t *testing.T) {
	dir := t.TempDir()
	instants := growing(t)
	o := options()
	full := mustWrite(t, dir, instants[0], o)
	o.CreatedAt = o.CreatedAt.Add(time.Minute)
	o.Parent = mustOpen(t, full.Path, VerifyOptions{})
	child := mustWrite(t, dir, instants[1], o)
	lines := func(path string) map[string][]string {
		files := map[string][]string{}
		for kind, body := range artifactsOf(t, path) {
			if body != "" {
				files[kind] = strings.Split(strings.TrimSuffix(body, "\n"), "\n")
			}
		}
		return files
	}
	for _, tt := range []struct {
		name, check string
		change      func(f, parent map[string][]string)
	}{
		{"repeats what the parent has", CheckDeclared, func(f, p map[string][]string) { f["history"] = p["history"] }},
		{"nothing is gone", CheckRoot, func(f, _ map[string][]string) { f["gone"] = nil }},
		{"gone was never there", CheckHeads, func(f, _ map[string][]string) {
			f["gone"] = append([]string{string(goneLine([32]byte{}))}, f["gone"]...)
		}},
		{"gone and there", CheckHeads, func(f, _ map[string][]string) {
			f["gone"] = []string{`{"id":` + f["heads"][0][6:72] + `}`}
		}},
		{"gone is no id", CheckEvents, func(f, _ map[string][]string) { f["gone"] = []string{`{"id":"x"}`} }},
		{"gone twice", CheckOrder, func(f, _ map[string][]string) { f["gone"] = append(f["gone"], f["gone"]...) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := lines(child.Path)
			tt.change(f, lines(full.Path))
			m := *child.Manifest
			path := reseal(t, dir, &m, f)
			expectFailed(t, tt.name, mustVerify(t, path, VerifyOptions{Parent: inDir(dir)}), []string{tt.check})
		})
	}
}

func TestBundleGivesWhatItWasGiven(t *testing.T) {
	src := sample(t, 30)
	w := mustWrite(t, t.TempDir(), src, options())
	b := mustOpen(t, w.Path, VerifyOptions{})
	if err := same(everything(t, b), everything(t, src)); err != nil {
		t.Error(err)
	}
	stop := errors.New("stop")
	if err := b.Events(t.Context(), Heads, func([]byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the error of yield became %v", err)
	}

	tarBytes := unpack(t, w.Path)
	put(t, w.Path, compressed(t, append(tarBytes[:len(tarBytes)-1024], make([]byte, 2048)...)))
	if err := b.Events(t.Context(), Heads, func([]byte) error { return nil }); !errors.Is(err, ErrChanged) {
		t.Errorf("a changed file: %v", err)
	}
}
