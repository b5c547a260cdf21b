//go:build linux

package events_test

import (
	"context"
	"crypto/sha256"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"engramd/internal/e2e/notrun"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/migrations"
)

// sqlOldEvents fills a database without numbers: notes and engrams in turn, of
// 600 bytes, by 200 authors, who name one of 5,000 keys. Ids and signatures are
// not what they should be, which no migration looks at.
const (
	sqlOldEvents = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1),
		said AS (SELECT i, i % 2 AS gated, format('%064x', i % 200 + 1) AS author, format('%064x', i % 5000 + 1000) AS p FROM n)
		INSERT INTO events(seq, kind, created_at, class, d, readers, arrived_at, json)
		SELECT i, iif(gated, 30174, 1), 1700000000 + i, gated, iif(gated, randomblob(32), NULL), iif(gated, unhex(p), NULL), 1700000000 + i,
			CAST(format('{"id":"%s","pubkey":"%s","created_at":%d,"kind":%d,"tags":[["p","%s"]],"content":"%s","sig":"%s"}', lower(hex(randomblob(32))),
			author, 1700000000 + i, iif(gated, 30174, 1), p, hex(randomblob(55)), lower(hex(randomblob(64)))) AS BLOB) FROM said`
	sqlOldTags = `INSERT INTO tags SELECT 'p', unhex(format('%064x', seq % 5000 + 1000)) AS value, created_at, seq, kind FROM events ORDER BY value, created_at, seq`
)

// largeOldDatabase makes one and returns its path and size in bytes.
func largeOldDatabase(tb testing.TB, events int64) (path string, size int64) {
	tb.Helper()
	all, err := migrations.All()
	if err != nil {
		tb.Fatal(err)
	}
	path = filepath.Join(tb.TempDir(), "engramd.db")
	c := database(tb, path)
	run(tb, c, "PRAGMA page_size=8192", "PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF", "BEGIN")
	for _, m := range all[:beforeNumbers] {
		run(tb, c, m.SQL)
	}
	run(tb, c, strings.ReplaceAll(sqlOldEvents, "?1", strconv.FormatInt(events, 10)), sqlOldTags,
		fmt.Sprintf("PRAGMA application_id=%d", migrations.ApplicationID), fmt.Sprintf("PRAGMA user_version=%d", beforeNumbers), "COMMIT")
	if err := c.Close(); err != nil {
		tb.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		tb.Fatal(err)
	}
	return path, info.Size()
}

// migrateEnv tells a test's own binary, started again, which database to
// migrate.
const migrateEnv = "ENGRAMD_TEST_MIGRATE"

// migrated is what the other process says of its work: memory before it and at
// most, and the most that its files took, in bytes.
type migrated struct {
	Before, Peak, Disk int64
	Seconds            float64       // by the clock
	Processor          time.Duration `json:"-"`
}

// migrating ends the opening of a database when it has been brought up to date.
type migrating struct{ engine.Applier }

var errMigrated = errors.New("migrated")

func (migrating) Prepare(context.Context, *engine.Writer) error { return errMigrated }

// TestMigrateProcess is that other process.
func TestMigrateProcess(t *testing.T) {
	path, cache, ok := strings.Cut(os.Getenv(migrateEnv), "\n")
	if !ok {
		return
	}
	bytes, err := strconv.ParseInt(cache, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	out := migrated{Before: peakMemory(t)}
	stop, disk := make(chan struct{}), make(chan int64)
	go func() { disk <- mostOpen(stop) }()
	start := time.Now()
	if err := engine.New(engine.Options{Path: path, CacheBytes: bytes}).Open(t.Context(), migrating{}); !errors.Is(err, errMigrated) {
		t.Fatal(err)
	}
	out.Seconds, out.Peak = time.Since(start).Seconds(), peakMemory(t)
	close(stop)
	out.Disk = <-disk
	b, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".said", b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// peakMemory is the most that this process had resident.
func peakMemory(tb testing.TB) int64 {
	tb.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		notrun.Skip(tb, fmt.Sprintf("no /proc: %v", err))
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return kib << 10
}

// mostOpen looks now and then until stop what the open files of this process
// take, also those without a name, and returns the most.
func mostOpen(stop <-chan struct{}) (most int64) {
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		select {
		case <-stop:
			tick.Stop()
			return most
		case <-tick.C:
		}
		files, _ := filepath.Glob("/proc/self/fd/*")
		sum := int64(0)
		for _, name := range files {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
				sum += info.Size()
			}
		}
		most = max(most, sum)
	}
}

// migrateProcess is the command that migrates a database with so large a page
// cache.
func migrateProcess(ctx context.Context, path string, cache int64) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestMigrateProcess$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s\n%d", migrateEnv, path, cache))
	return cmd
}

// migrateElsewhere migrates a database in another process, and tells what that
// took.
func migrateElsewhere(tb testing.TB, path string, cache int64) (out migrated) {
	tb.Helper()
	cmd := migrateProcess(tb.Context(), path, cache)
	if text, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, text)
	}
	b, err := os.ReadFile(path + ".said")
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(b, &out); err != nil {
		tb.Fatal(err)
	}
	out.Processor = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return out
}

// watch gives something to read whenever a file in a folder was written to, for
// a minute (inotify).
func watch(t *testing.T, dir string) *os.File {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { _ = f.Close() })
	if _, err := syscall.InotifyAddWatch(fd, dir, syscall.IN_CREATE|syscall.IN_MODIFY); err != nil {
		t.Fatal(err)
	}
	if err := f.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return f
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// contents is a digest of what the tables of a database hold, of their schema,
// and of whether it is sound.
func contents(t *testing.T, path string) string {
	t.Helper()
	c, sum := database(t, path), sha256.New()
	for _, text := range []string{sqlAllEvents, sqlAllTags, sqlAllKeys, sqlWholeSpec, "PRAGMA user_version", "PRAGMA integrity_check"} {
		rows, err := c.Query(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]driver.Value, 1)
		for err = rows.Next(v); err == nil; err = rows.Next(v) {
			fmt.Fprintln(sum, v[0])
		}
		if !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// TestMigrateSpillsIntoTheDataFolder looks where SQLite puts a temporary file
// after PrepareDir, in a process that has opened no database before.
func TestMigrateSpillsIntoTheDataFolder(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestSpillProcess$")
	cmd.Env = append(os.Environ(), spillEnv+"="+dir)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

const spillEnv = "ENGRAMD_TEST_SPILL"

// TestSpillProcess is the process of TestMigrateSpillsIntoTheDataFolder.
func TestSpillProcess(t *testing.T) {
	dir := os.Getenv(spillEnv)
	if dir == "" {
		return
	}
	if err := engine.PrepareDir(dir); err != nil {
		t.Fatal(err)
	}
	c := database(t, filepath.Join(dir, "engramd.db"))
	run(t, c, "PRAGMA temp_store=FILE", "PRAGMA temp.cache_size=1", "CREATE TEMP TABLE spilled AS SELECT randomblob(1000000) AS b")
	files, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(files) == 0 {
		notrun.Skip(t, "no /proc")
	}
	for _, name := range files {
		if to, _ := os.Readlink(name); strings.HasPrefix(to, dir+"/etilqs_") && strings.HasSuffix(to, " (deleted)") {
			return
		}
	}
	t.Error("no temporary file in the data folder")
}

// BenchmarkNumbering migrates databases of before keys were numbered, with the
// page cache that the daemon has (docs/operating.md).
func BenchmarkNumbering(b *testing.B) {
	for _, events := range []int64{100_000, 1_000_000} {
		b.Run(fmt.Sprint(events), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				path, size := largeOldDatabase(b, events)
				b.StartTimer()
				out := migrateElsewhere(b, path, 64<<20)
				b.ReportMetric(float64(size)/1e6, "MB-database")
				b.ReportMetric(float64(out.Peak-out.Before)/1e6, "MB-memory")
				b.ReportMetric(float64(out.Disk)/1e6, "MB-disk")
				b.ReportMetric(out.Seconds, "s")
			}
		})
	}
}
