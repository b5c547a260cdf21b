package sealedfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// counted is the system's files, with how often a log was synced.
type counted struct {
	vfs.VFS
	syncs *atomic.Int64
}

// OpenFilename implements vfs.VFSFilename.
func (c counted) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	file, out, err := vfsutil.WrapOpenFilename(c.VFS, name, flags)
	if err == nil && flags&vfs.OPEN_WAL != 0 {
		// The driver syncs once more where a log may be made.
		if out&vfs.OPEN_CREATE != 0 {
			c.syncs.Add(1)
		}
		file = countedLog{file, c.syncs}
	}
	return file, out, err
}

type countedLog struct {
	vfs.File
	syncs *atomic.Int64
}

func (c countedLog) Sync(flags vfs.SyncFlag) error {
	c.syncs.Add(1)
	return c.File.Sync(flags)
}

// TestSyncs: a process that opens a file, writes once and closes it syncs once, and
// not at all where a write need not outlast a loss of power.
func TestSyncs(t *testing.T) {
	for _, c := range []struct {
		durable bool
		want    int64
	}{{true, 20}, {false, 0}} {
		t.Run(fmt.Sprint(c.durable), func(t *testing.T) {
			var syncs atomic.Int64
			before := system
			t.Cleanup(func() { system = before })
			system = func() vfs.VFS { return counted{before(), &syncs} }
			path := filepath.Join(t.TempDir(), "one.db")
			write := func(i int, text string) {
				f, _, err := opened(t, path, testKey, func(o *Options) { o.Durable = c.durable })
				must(t, err)
				must(t, put(f, fmt.Sprint(i), text))
				must(t, f.Close())
			}
			write(0, "the first one makes the file")
			syncs.Store(0)
			for i := range 20 {
				write(1+i, "text")
			}
			if got := syncs.Load(); got != c.want {
				t.Errorf("20 processes synced %d times, want %d", got, c.want)
			}
			// What is much goes into the file all the same.
			for i := range 4 {
				write(100+i, strings.Repeat("much", 100_000))
			}
			if size := logSize(t, path); size > logRestBytes {
				t.Errorf("a log of %d bytes is left", size)
			}
		})
	}
}

func logSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	must(t, err)
	return info.Size()
}
