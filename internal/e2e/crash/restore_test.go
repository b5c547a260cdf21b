package crash

import (
	"bytes"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/snapshot/bundle"
)

// folder is a data folder that no daemon has open.
type folder struct {
	t   *testing.T
	dir string
}

func newFolder(t *testing.T) folder { return folder{t, filepath.Join(t.TempDir(), "data")} }

func (f folder) command(args ...string) (*exec.Cmd, *bytes.Buffer) {
	f.t.Helper()
	bin, err := relaytest.Binary(rig.Plain)
	if err != nil {
		f.t.Fatal(err)
	}
	out := &bytes.Buffer{}
	cmd := exec.Command(bin, append(args, "--data", f.dir)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(relaytest.CleanEnv(), rig.AllowRestore), out, out
	return cmd, out
}

func (f folder) run(args ...string) string {
	f.t.Helper()
	cmd, out := f.command(args...)
	if err := cmd.Run(); err != nil {
		f.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	return out.String()
}

func (f folder) put(events []*nostr.Event) {
	f.t.Helper()
	var in bytes.Buffer
	for _, ev := range events {
		in.Write(append(wire.AppendEvent(nil, ev), '\n'))
	}
	cmd, out := f.command("import")
	cmd.Stdin = &in
	if err := cmd.Run(); err != nil {
		f.t.Fatalf("import: %v\n%s", err, out)
	}
}

// copied returns a copy that a test may damage.
func (f folder) copied() folder {
	f.t.Helper()
	c := folder{f.t, filepath.Join(f.t.TempDir(), "data")}
	if err := os.CopyFS(c.dir, os.DirFS(f.dir)); err != nil {
		f.t.Fatal(err)
	}
	return c
}

// heads returns the ids of the agent's current engrams and the number of rows
// left in staging, after a start.
func (f folder) heads() (ids map[string]bool, staged int) {
	f.t.Helper()
	table, err := gate.NewTable(gate.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	s, err := sqlite.Open(f.t.Context(), sqlite.Options{Options: engine.Options{Path: engine.File(f.dir)}, Table: table})
	if err != nil {
		f.t.Fatal(err)
	}
	ids = map[string]bool{}
	q := store.CaptureQuery{Agent: relaytest.Agent().Pub}
	err = s.Capture(f.t.Context(), gate.Operator(), q, func(v store.View) error {
		return v.Each(f.t.Context(), store.Heads, func(json []byte) error {
			ev, err := wire.ParseEvent(json)
			ids[ev.ID] = true
			return err
		})
	})
	if err != nil {
		f.t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		f.t.Fatal(err)
	}
	db, err := sql.Open("sqlite3", engine.File(f.dir))
	if err != nil {
		f.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM staged").Scan(&staged); err != nil {
		f.t.Fatal(err)
	}
	return ids, staged
}

// versions returns engrams of several slugs, all with the same time.
func versions(from, to int, at int64) (list []*nostr.Event) {
	for i := from; i < to; i++ {
		list = append(list, relaytest.Memory(relaytest.Agent(), relaytest.Owner().Pub, fmt.Sprintf("mem/restore/%d", i), fmt.Sprint("as of ", at), at))
	}
	return list
}

// TestRestoreKilled kills a repair and a rollback at random points. Each time
// either the state before or the state after is there, and nothing is left in
// staging; running it again completes it.
func TestRestoreKilled(t *testing.T) {
	const memories, base = 1000, 1_700_000_000
	then, old, newer := versions(0, memories, base+10), versions(0, memories/2, base), versions(memories/4, memories+40, base+20)
	src := newFolder(t)
	src.put(then)
	src.run("snapshot", "--agent", relaytest.Agent().Pub)
	bundles, err := filepath.Glob(filepath.Join(src.dir, "tenants", "default", "snapshots", "*", "*"+bundle.Extension))
	if err != nil || len(bundles) != 1 {
		t.Fatalf("%v, %v", bundles, err)
	}
	for mode, before := range map[string][][]*nostr.Event{"repair": {old, newer}, "rollback": {old, then, newer}} {
		t.Run(mode, func(t *testing.T) {
			args := []string{"snapshot", "restore", "--agent", relaytest.Agent().Pub, "--from", bundles[0], "--allow-unsigned", "--no-auto-pre-snapshot"}
			if mode == "rollback" {
				args = append(args, "--rollback")
			}
			template := newFolder(t)
			for _, events := range before {
				template.put(events)
			}
			was, _ := template.heads()
			whole := template.copied()
			began := time.Now()
			whole.run(args...)
			full := time.Since(began)
			want, _ := whole.heads()
			if mode == "rollback" && len(want) != memories || maps.Equal(was, want) {
				t.Fatalf("a whole one makes %d heads of %d", len(want), len(was))
			}
			rng := rand.New(rand.NewPCG(rig.Seed(t), 2))
			killed, done, rounds := 0, 0, max(crashRounds(t)/2, 1)
			for round := 0; round < rounds || killed == 0 && round < 20*rounds; round++ { // a busy machine may miss what a kill is for
				f := template.copied()
				cmd, out := f.command(args...)
				started := time.Now()
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				delay := time.Duration(rng.Int64N(int64(full)))
				if round%2 > 0 { // towards the end, where it switches
					delay = full*3/4 + delay/2
				}
				kill := time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
				err := cmd.Wait()
				kill.Stop()
				if err == nil { // the machine may have been busier when full was measured
					full = min(full, time.Since(started))
				}
				if err != nil && cmd.ProcessState.ExitCode() != -1 {
					t.Fatalf("round %d: %v\n%s", round, err, out)
				}
				got, staged := f.heads()
				switch {
				case maps.Equal(got, want):
					done++
				case !maps.Equal(got, was):
					t.Fatalf("round %d: %d heads, neither the %d before nor the %d after", round, len(got), len(was), len(want))
				}
				if err != nil {
					killed++
				}
				if staged != 0 {
					t.Errorf("round %d: %d rows stay in staging", round, staged)
				}
				f.run(args...)
				if got, _ := f.heads(); !maps.Equal(got, want) {
					t.Fatalf("round %d: running it again makes %d heads, want %d", round, len(got), len(want))
				}
				if out := f.run("check"); !strings.Contains(out, "ok") {
					t.Errorf("round %d: %s", round, out)
				}
			}
			t.Logf("%d of %d were killed, %d had switched; a whole one took %v", killed, rounds, done, full)
			if killed == 0 {
				t.Error("none was killed: the test shows nothing")
			}
		})
	}
}

// TestRestoreThreeTimes restores the same bundle three times: the later runs
// change nothing.
func TestRestoreThreeTimes(t *testing.T) {
	f := newFolder(t)
	f.put(versions(0, 5, 1_700_000_000))
	// A relay that was never started has no key to sign with, and the error says
	// so.
	id := regexp.MustCompile(`[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}`).FindString(f.run("snapshot", "--agent", relaytest.Agent().Pub))
	f.put(versions(2, 8, 1_700_000_050))
	var first map[string]bool
	for i := range 3 {
		out := f.run("snapshot", "restore", "--agent", relaytest.Agent().Pub, "--id", id, "--allow-unsigned", "--rollback")
		got, _ := f.heads()
		if i == 0 {
			first = got
		} else if !strings.Contains(out, "0 stored, 0 replaced older versions, 5 already there") || !maps.Equal(got, first) {
			t.Errorf("run %d: %s", i, out)
		}
	}
	if len(first) != 5 {
		t.Errorf("%d heads", len(first))
	}
}
