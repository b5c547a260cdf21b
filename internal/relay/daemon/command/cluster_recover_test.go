package command

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/storetest"
)

// A recovery refuses what it cannot compare before it connects to anything, and changes
// nothing: neither this folder nor a named one.
func TestRecoverRefuses(t *testing.T) {
	own, same := nodeFolder(t), nodeFolder(t)
	halted := func(cluster string) {
		t.Helper()
		if err := (&membership.Halt{Cluster: cluster, Why: "a test", At: time.Now()}).Save(own); err != nil {
			t.Fatal(err)
		}
	}
	halted("01000000000000000000000000000000")
	damaged := nodeFolder(t)
	text, err := os.ReadFile(engine.File(damaged))
	if err == nil {
		err = os.WriteFile(engine.File(damaged), append(text[:4096:4096], make([]byte, len(text)-4096)...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(engine.File(foreign), []byte("no database at all, whatever it is called"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing to compare with": {nil, "names no server"},
		"a folder of the cluster": {[]string{"--folder", same}, "names no server"},
		"this folder":             {[]string{"--folder", own}, "of this node itself"},
		"this folder, by another": {[]string{"--folder", own + "/../" + filepath.Base(own)}, "of this node itself"},
		"no folder":               {[]string{"--folder", filepath.Join(own, "nothing")}, "is no data folder with a database"},
		"an empty folder":         {[]string{"--folder", t.TempDir()}, "is no data folder with a database"},
		"a damaged database":      {[]string{"--folder", damaged}, damaged},
		"no database":             {[]string{"--folder", foreign}, foreign},
	} {
		t.Run(name, func(t *testing.T) {
			code, said := recoverIn(t, own, c.args...)
			if code == exitOK || !strings.Contains(said, c.want) {
				t.Errorf("%d: %s", code, said)
			}
		})
	}
	wantNothingLeft(t, own)
	halted("02000000000000000000000000000000")
	if code, said := recoverIn(t, own, "--folder", same); code == exitOK || !strings.Contains(said, "is of cluster 01000000000000000000000000000000, and this node of 02") {
		t.Errorf("%d: %s", code, said)
	}
	if code, said := recoverIn(t, t.TempDir()); code == exitOK || !strings.Contains(said, "belongs to no cluster") {
		t.Errorf("a folder that is no node's: %d: %s", code, said)
	}
	wantNothingLeft(t, own)
}

func recoverIn(t *testing.T, dir string, args ...string) (int, string) {
	t.Helper()
	var said strings.Builder
	m := &Main{Args: append([]string{"cluster", "recover", "--yes", "--data", dir}, args...), Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said}
	return m.Main(t.Context()), said.String()
}

// wantNothingLeft looks for what a recovery leaves that found nothing.
func wantNothingLeft(t *testing.T, dir string) {
	t.Helper()
	for _, pattern := range []string{"recover-*", "*.before-recover-*"} {
		if left, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	}
	if halt, err := membership.ReadHalt(dir); err != nil || halt == nil {
		t.Errorf("it has not halted any more: %v", err)
	}
}

// What only this node has stays where it is the one from which all begins: it is neither
// imported nor proposed again. What others have is both, and what is refused is changed
// nowhere.
func TestRecoverReports(t *testing.T) {
	own, other := storetest.MustOpen(t), storetest.MustOpen(t)
	key, params := storetest.NewKey("alice"), `["x"]`
	for n, s := range []*sqlite.Store{own, other} {
		storetest.Put(t, s, key.Note(int64(n), "of one"), store.Stored)
		call := store.AdminCall{Key: key.Pub, Auth: key.Pub, Method: fmt.Sprintf("ban%d", n), Params: &params, Outcome: "ok"}
		if err := s.Administer(t.Context(), nil, call); err != nil {
			t.Fatal(err)
		}
	}
	var said strings.Builder
	m := &Main{Stdout: &said}
	r := &recovering{clusterCommand: &clusterCommand{base: base{Main: m, cfg: config.Default()}}, halt: &membership.Halt{}, dir: t.TempDir(), in: bufio.NewReader(strings.NewReader("yes\nno\n"))}
	r.cfg.Data = t.TempDir()
	a, b := looked{name: "this node", file: "own", store: own}, looked{name: "node b", file: "b", store: other}
	if err := errors.Join(r.report(t.Context(), a, []looked{b}, stays), r.report(t.Context(), b, []looked{a}, "this node lacks")); err != nil {
		t.Fatal(err)
	}
	if text := said.String(); strings.Contains(text, "call ban0") || !strings.Contains(text, "engramctl admin call ban1 '\"x\"'\n") || strings.Count(text, "operator's call, 1") != 2 {
		t.Errorf("%s", text)
	}
	if want := filepath.Join(r.dir, "b.jsonl"); len(r.files) != 1 || r.files[0] != want {
		t.Errorf("to be imported: %v", r.files)
	}
	for _, name := range []string{"own.jsonl", "b.jsonl"} {
		if info, err := os.Stat(filepath.Join(r.dir, name)); err != nil || info.Mode().Perm() != 0o600 || info.Size() == 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if err := r.report(t.Context(), b, []looked{a}, "once more"); !errors.Is(err, os.ErrExist) {
		t.Errorf("a file is written twice: %v", err)
	}
	if err := r.choose("go on?"); !errors.Is(err, errNotAgreed) {
		t.Errorf("without a yes: %v", err)
	}
	if halt, err := membership.ReadHalt(r.cfg.Data); halt != nil || err != nil {
		t.Errorf("it is noted: %+v, %v", halt, err)
	}
}
