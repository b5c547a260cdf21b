package power

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"engramd/internal/e2e/notrun"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// control is struct control of powercut.c.
type control struct{ file, call, skip, times, fail, half, failed uint64 }

// layer is what the library writes down, and what it is told.
type layer struct {
	root string // the disk: data and backups are below it
	log  string
	told *control
	env  []string
}

// data is the relay's folder.
func (l *layer) data() string { return filepath.Join(l.root, "data") }

// newLayer compiles the library.
func newLayer(t *testing.T) *layer {
	t.Helper()
	dir, lib := t.TempDir(), rig.Preloaded(t, "powercut")
	l := &layer{root: filepath.Join(dir, "disk"), log: filepath.Join(dir, "log")}
	if err := os.MkdirAll(filepath.Join(l.root, "backups"), 0o700); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, "control")
	l.told = rig.Shared[control](t, page)
	l.env = []string{
		"LD_PRELOAD=" + lib, "E2E_POWER_ROOT=" + l.root, "E2E_POWER_LOG=" + l.log, "E2E_POWER_CONTROL=" + page,
		"E2E_POWER_BESIDE=" + filepath.Join(l.data(), markName),
		"ENGRAMD_HISTORY_VERSIONS=1000000", // pruning would look like loss
	}
	return l
}

// markName is the file beside the database that says how far it is.
const markName = "engramd.mark"

// start runs a relay on the disk.
func (l *layer) start(t *testing.T) *relaytest.Child {
	t.Helper()
	relay := relaytest.Start(t, relaytest.Options{Build: rig.Plain, Data: l.data(), Env: l.env})
	if l.moment() == 0 {
		notrun.Skip(t, "nothing comes between this engramd and the C library: it is linked statically, or the system has no LD_PRELOAD")
	}
	return relay
}

// kill ends a relay at once, and not between a call and its record.
func (l *layer) kill(t *testing.T, relay *relaytest.Child) {
	t.Helper()
	f, err := os.Open(l.log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatalf("lock the log: %v", err)
	}
	relay.Kill()
}

// moment is how much of the log there is: what is acknowledged now was done by then.
func (l *layer) moment() int64 {
	info, err := os.Stat(l.log)
	if err != nil {
		return 0
	}
	return info.Size()
}

// fail makes calls fail: after skip good ones, so many of that kind.
func (l *layer) fail(f fault) {
	atomic.StoreUint64(&l.told.call, 0)
	atomic.StoreUint64(&l.told.failed, 0)
	atomic.StoreUint64(&l.told.file, f.file)
	atomic.StoreUint64(&l.told.skip, f.skip)
	atomic.StoreUint64(&l.told.times, f.times)
	atomic.StoreUint64(&l.told.fail, uint64(f.errno))
	atomic.StoreUint64(&l.told.half, f.half)
	atomic.StoreUint64(&l.told.call, f.call)
}

// failed is how many calls have failed.
func (l *layer) failed() uint64 { return atomic.LoadUint64(&l.told.failed) }

// fault is a kind of call that fails.
type fault struct {
	name              string
	file, call        uint64
	skip, times, half uint64
	errno             unix.Errno
}

// The files and calls of powercut.c.
const (
	onDatabase = 1
	onLog      = 2
	onWrite    = 1
	onSync     = 2
	onTruncate = 3
)

// ops returns what was written down, and fails unless it explains the files.
func (l *layer) ops(t *testing.T) []op {
	t.Helper()
	text, err := os.ReadFile(l.log)
	if err != nil {
		t.Fatal(err)
	}
	ops, err := parseOps(text)
	if err != nil {
		t.Fatal(err)
	}
	d := newDisk(l.root)
	for i, o := range ops {
		if err := d.apply(o); err != nil {
			t.Fatalf("call %d of %d: %v", i, len(ops), err)
		}
	}
	if err := d.same(); err != nil {
		t.Fatal(err)
	}
	if d.beside == nil {
		t.Fatalf("%s was not seen", markName)
	}
	return ops
}

// others copies what the layer did not see, as it is at the end: keys, and what is
// in folders of their own.
func (l *layer) others(folder string, seen map[string]*inode) error {
	return filepath.WalkDir(l.data(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || seen[path] != nil || strings.HasSuffix(path, "-shm") || entry.Name() == markName {
			return err
		}
		rel, err := filepath.Rel(l.root, path)
		if err != nil {
			return err
		}
		to := filepath.Join(folder, rel)
		switch {
		case entry.IsDir():
			return os.MkdirAll(to, 0o700)
		case entry.Type().IsRegular():
			text, err := os.ReadFile(path)
			if errors.Is(err, os.ErrNotExist) {
				return nil
			}
			return errors.Join(err, os.WriteFile(to, text, 0o600))
		}
		return nil // a socket
	})
}
