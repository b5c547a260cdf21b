package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"engramd/internal/e2e/relaytest"
)

// fsyncEntries is ENTRIES of fsynccount.c.
const fsyncEntries = 4096

// syncedWAL is WAL of fsynccount.c.
const syncedWAL = 1

type fsyncEntry struct{ start, end, file, failed uint64 }

// fsyncShared is struct shared of fsynccount.c.
type fsyncShared struct {
	calls, delayUS, fail, failReads uint64
	_                               [4]uint64
	entries                         [fsyncEntries]fsyncEntry
}

// Fsyncs sees and steers the fsyncs of a child that runs with the library.
type Fsyncs struct {
	shared *fsyncShared
	Env    []string
}

// Preloaded compiles a library of testdata/power, for LD_PRELOAD. A machine without a
// C compiler cannot build the daemon either, so that is a failure.
func Preloaded(t *testing.T, name string) (lib string) {
	t.Helper()
	root, err := relaytest.Root()
	if err != nil {
		t.Fatal(err)
	}
	lib = filepath.Join(t.TempDir(), name+".so")
	source := filepath.Join(root, "testdata", "power", name+".c")
	out, err := exec.Command("gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", lib, source, "-ldl", "-lpthread").CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return lib
}

// Shared maps a new file, in which a library and the test tell each other what T holds.
func Shared[T any](t *testing.T, path string) *T {
	t.Helper()
	size := int(unsafe.Sizeof(*new(T)))
	if err := os.WriteFile(path, make([]byte, size), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mem, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatalf("mmap: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(mem); err != nil {
			t.Errorf("munmap: %v", err)
		}
	})
	return (*T)(unsafe.Pointer(&mem[0]))
}

// WatchFsyncs compiles the library and maps the file that it writes to. A
// machine without a C compiler cannot build the daemon either, so that is a
// failure.
func WatchFsyncs(t *testing.T) *Fsyncs {
	t.Helper()
	lib, path := Preloaded(t, "fsynccount"), filepath.Join(t.TempDir(), "fsyncs")
	shared := Shared[fsyncShared](t, path)
	return &Fsyncs{
		shared: shared,
		Env:    []string{"LD_PRELOAD=" + lib, "E2E_FSYNCS=" + path},
	}
}

// Delay makes every sync take us microseconds longer.
func (f *Fsyncs) Delay(us uint64) { atomic.StoreUint64(&f.shared.delayUS, us) }

// Fail makes every sync of the WAL fail with errno; 0 ends it.
func (f *Fsyncs) Fail(errno uint64) { atomic.StoreUint64(&f.shared.fail, errno) }

// FailReads makes every read of the database and its WAL fail with errno; 0 ends it.
func (f *Fsyncs) FailReads(errno uint64) { atomic.StoreUint64(&f.shared.failReads, errno) }

// Calls is how many syncs have begun.
func (f *Fsyncs) Calls() uint64 { return atomic.LoadUint64(&f.shared.calls) }

// WalWithin says whether a sync of the WAL began at or after from, succeeded
// and had returned by to. Only the entries from call number since on are read.
func (f *Fsyncs) WalWithin(since, from, to uint64) bool {
	for n := since; n < f.Calls(); n++ {
		e := &f.shared.entries[n%fsyncEntries]
		start, end := atomic.LoadUint64(&e.start), atomic.LoadUint64(&e.end)
		if atomic.LoadUint64(&e.file) == syncedWAL && atomic.LoadUint64(&e.failed) == 0 && start >= from && end != 0 && end <= to {
			return true
		}
	}
	return false
}
