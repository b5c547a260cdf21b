package snapshots

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// TestSnapshotsContend: two processes and the daemon make snapshots of one
// agent while retention sweeps, again and again. Every snapshot that was made
// is complete, is there or was swept in order of age; the last one verifies, a
// pinned one stays, and no partial file is left.
func TestSnapshotsContend(t *testing.T) {
	const rounds, keep = 8, 3
	agent := relaytest.Agent()
	relay := rig.Start(t, "ENGRAMD_SNAPSHOT_EVERY=1s",
		fmt.Sprint("ENGRAMD_SNAPSHOT_KEEP=", keep), fmt.Sprint("ENGRAMD_SNAPSHOT_KEEP_AUTOMATIC=", keep))
	c := rig.Dial(t, relay)
	c.Store(relaytest.Memory(agent, relaytest.Owner().Pub, "mem/0", "x", rig.Now()-1000))
	first := made(t, rig.Engramd(t, relay, "snapshot", "--agent", agent.Pub, "--pin", "--json"))

	var mu sync.Mutex
	all := map[string]bool{}
	var wg sync.WaitGroup
	for process := range 2 {
		wg.Go(func() {
			for round := range rounds {
				r := relay.Run(nil, "snapshot", "--agent", agent.Pub, "--label", fmt.Sprintf("%d/%d", process, round), "--json", "--data", relay.Data)
				if r.Code != 0 {
					t.Errorf("process %d: %s", process, r.Stderr)
					return
				}
				mu.Lock()
				all[made(t, string(r.Stdout)).ID] = true
				mu.Unlock()
			}
		})
	}
	wg.Go(func() {
		for range rounds {
			if r := relay.Run(nil, "snapshot", "gc", "--keep", fmt.Sprint(keep), "--data", relay.Data); r.Code != 0 {
				t.Errorf("gc: %s", r.Stderr)
			}
		}
	})
	for n := range int64(rounds) { // so that the daemon's schedule has work
		c.Store(relaytest.Memory(agent, relaytest.Owner().Pub, fmt.Sprint("mem/", n), "y", rig.Now()-900+n))
	}
	wg.Wait()
	if len(all) != 2*rounds {
		t.Errorf("%d snapshots have ids of their own, want %d", len(all), 2*rounds)
	}
	if code, _ := relay.Stop(); code != 0 {
		t.Errorf("the daemon ends with code %d", code)
	}

	rig.Engramd(t, relay, "snapshot", "gc", "--keep", fmt.Sprint(keep), "--keep-automatic", fmt.Sprint(keep))
	list, err := snapshot.New(relay.Data).List(bundle.DefaultTenant, agent.Pub)
	if err != nil {
		t.Fatal(err)
	}
	byHand, automatic, pinned := 0, 0, false
	for _, info := range list {
		report, err := bundle.Verify(t.Context(), info.Path, bundle.VerifyOptions{Tenant: bundle.DefaultTenant, Agent: agent.Pub})
		if err != nil || !report.OK() {
			t.Errorf("%s: %v, %v", info.ID, report.Err(), err)
		}
		switch {
		case info.ID == first.ID:
			pinned = info.Pinned
		case info.Automatic():
			automatic++
		case !all[info.ID]:
			t.Errorf("nobody made %s", info.ID)
		default:
			byHand++
		}
	}
	if byHand != keep || !pinned || automatic > keep || !list[0].Verified() {
		t.Errorf("%d by hand, %d automatic, pinned %v: %+v", byHand, automatic, pinned, list)
	}
	wantFilesOf(t, relay.Data, agent.Pub, list)
}

// made is what snapshot --json printed.
func made(t *testing.T, out string) (info snapshot.Info) {
	t.Helper()
	if err := json.Unmarshal([]byte(out), &info); err != nil || info.ID == "" {
		t.Errorf("%s: %v", out, err)
	}
	return info
}

// wantFilesOf fails unless an agent's folder contains exactly these snapshots'
// files and the lock.
func wantFilesOf(t *testing.T, root, agent string, list []snapshot.Info) {
	t.Helper()
	left := map[string]bool{}
	for _, info := range list {
		name := filepath.Base(info.Path)
		for _, of := range []string{name, name + bundle.SumExtension, info.ID + ".json"} {
			left[of] = true
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, "tenants", bundle.DefaultTenant, "snapshots", agent))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != ".lock" && !left[e.Name()] {
			t.Errorf("left behind: %s", e.Name())
		}
		delete(left, e.Name())
	}
	for name := range left {
		t.Errorf("missing: %s", name)
	}
}

// TestDiskFull_Snapshot makes a snapshot that does not fit: the error says so,
// nothing is left of it, and earlier ones are unchanged.
func TestDiskFull_Snapshot(t *testing.T) {
	if os.Getenv(rig.InNamespace) == "" {
		rig.RerunInNamespace(t)
		return
	}
	root := t.TempDir()
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fmt.Println(rig.NoMount, err)
		return
	}
	if err := syscall.Mount("tmpfs", root, "tmpfs", 0, "size=256k"); err != nil {
		fmt.Println(rig.NoMount, err)
		return
	}
	fmt.Println(rig.Mounted)
	defer func() {
		if err := syscall.Unmount(root, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	}()
	agent := relaytest.Agent()
	relay := rig.Start(t, "ENGRAMD_SNAPSHOT_ROOT="+root)
	run := func(args ...string) (string, error) {
		bin, err := relaytest.Binary(rig.Watched)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(bin, append(args, "--data", relay.Data)...)
		cmd.Env = append(relaytest.CleanEnv(), "ENGRAMD_SNAPSHOT_ROOT="+root)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	c := rig.Dial(t, relay)
	c.Store(relaytest.Memory(agent, relaytest.Owner().Pub, "mem/small", "x", rig.Now()-1000))
	if out, err := run("snapshot", "--agent", agent.Pub); err != nil {
		t.Fatalf("the first one: %v\n%s", err, out)
	}
	list, err := snapshot.New(root).List(bundle.DefaultTenant, agent.Pub)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	for n := range int64(60) { // 8 KiB each, incompressible
		c.Store(relaytest.Memory(agent, relaytest.Owner().Pub, fmt.Sprint("mem/", n), strings.Repeat("large ", 1000), rig.Now()-900+n))
	}
	for range 2 {
		out, err := run("snapshot", "--agent", agent.Pub)
		if err == nil || !strings.Contains(out, "no space left on device") {
			t.Errorf("%v: %s", err, out)
		}
	}
	out, err := run("snapshot", "verify", "--agent", agent.Pub, "--id", list[0].ID)
	if err != nil {
		t.Errorf("the one before: %v\n%s", err, out)
	}
	if list, err = snapshot.New(root).List(bundle.DefaultTenant, agent.Pub); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	wantFilesOf(t, root, agent.Pub, list)
	c.Store(relaytest.Memory(agent, relaytest.Owner().Pub, "mem/after", "the relay goes on", rig.Now()))
}
