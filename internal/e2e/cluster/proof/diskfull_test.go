package proof

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/cluster/work"
	"engramd/internal/e2e/relaytest"
	e2e "engramd/internal/e2e/rig"
	"engramd/internal/relay/cluster/verify"
)

// TestDiskFull: a node whose disk is full stops and the others go on; with room
// again it continues where it was. It runs in a mount namespace of its own.
func TestDiskFull(t *testing.T) {
	if os.Getenv(e2e.InNamespace) == "" {
		t.Parallel()
		e2e.RerunInNamespace(t)
		return
	}
	dir := t.TempDir()
	err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	if err == nil {
		err = syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m")
	}
	if err != nil {
		fmt.Println(e2e.NoMount, err)
		return
	}
	fmt.Println(e2e.Mounted)
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	fullDisk(t, dir)
}

func fullDisk(t *testing.T, dir string) {
	c := nodes.Start(t, nodes.Options{Data: map[int]string{2: filepath.Join(dir, "data")}})
	w, n := work.NewWorld(c, nodes.ManagerKey(), nodes.Name, 3), c.Node(2)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 10<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	at, k, text := w.Conn(0), relaytest.NewKey(403), strings.Repeat("x", 20_000)
	defer at.Close()
	writes := func() bool {
		return w.Publish(at, relaytest.Note(k, time.Now().Unix(), fmt.Sprint(time.Now().UnixNano(), text))).Outcome == verify.Stored
	}
	for i := 0; n.Runs(); i++ {
		if !writes() {
			t.Fatal("node 0 does not store, with room")
		}
		if i == 2000 {
			t.Fatal("the disk never is full")
		}
	}
	for range 20 {
		if !writes() {
			t.Fatal("node 0 does not go on without node 2")
		}
	}
	if !n.Said("full") {
		t.Error("node 2 does not say why it stopped")
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(n.Start(), w.Judge()); err != nil {
		t.Fatal(err)
	}
	for _, v := range w.Violations() {
		t.Error(v)
	}
	wantSame(t, c)
}
