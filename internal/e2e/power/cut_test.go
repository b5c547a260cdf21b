package power

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/relay/daemon/command"
)

// cut is one disk: the power went behind a call, and left this.
type cut struct {
	call   int
	moment int64
	kind   string
	folder string
}

func (c cut) String() string { return fmt.Sprintf("power cut behind call %d, disk %q", c.call, c.kind) }

// cuts builds the disks of some moments and has each judged; it returns how many
// there were.
func (l *layer) cuts(t *testing.T, ops []op, calls []int, seed uint64, judge func(*testing.T, cut)) int {
	t.Helper()
	t.Setenv("SQLITE_TMPDIR", t.TempDir()) // commands here would choose the first disk's
	whole := newDisk(l.root)
	for _, o := range ops {
		if o.kind == opOpen {
			whole.names[o.path] = &inode{}
		}
	}
	work := make(chan cut)
	var judging sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		judging.Go(func() {
			for c := range work {
				judge(t, c)
				if err := os.RemoveAll(c.folder); err != nil {
					t.Error(err)
				}
			}
		})
	}
	made, top := 0, memory(t)
	d, next := newDisk(l.root), 0
	for _, call := range slices.Sorted(slices.Values(calls)) {
		for ; next <= call; next++ {
			if err := d.apply(ops[next]); err != nil {
				t.Fatalf("call %d: %v", next, err)
			}
		}
		for i, kind := range kinds {
			rng := rand.New(rand.NewPCG(seed, uint64(call)<<8|uint64(i)))
			left := d.left(kind, rng)
			if kind != "none" && len(left) == 0 {
				continue // the disk called none
			}
			c := cut{call: call, moment: ops[call].end, kind: kind, folder: filepath.Join(top, fmt.Sprint(made))}
			if err := d.write(c.folder, left); err != nil {
				t.Fatal(err)
			}
			if err := l.others(c.folder, whole.names); err != nil {
				t.Fatal(err)
			}
			made++
			work <- c
		}
	}
	close(work)
	judging.Wait()
	return made
}

// memory is a folder for disks: what they hold needs to last a moment only.
func memory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "engramd-power-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// some picks moments: half of them anywhere, half of them where the database
// itself is written, which is rarer than its log.
func some(ops []op, first, n int, rng *rand.Rand) []int {
	var database []int
	for i, o := range ops {
		if i >= first && strings.HasSuffix(o.path, ".db") {
			database = append(database, i)
		}
	}
	picked := map[int]bool{}
	for len(picked) < min(n, len(ops)-first) {
		if len(picked)%2 == 0 && len(database) > 0 {
			i := rng.IntN(len(database))
			picked[database[i]] = true
			database = slices.Delete(database, i, i+1)
		} else {
			picked[first+rng.IntN(len(ops)-first)] = true
		}
	}
	var calls []int
	for i := range picked {
		calls = append(calls, i)
	}
	return calls
}

// operate runs a command of engramd in this process.
func operate(args ...string) (code int, stdout, stderr string) {
	var out, says bytes.Buffer
	m := &command.Main{Version: "dev", Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &says}
	return m.Main(context.Background()), out.String(), says.String()
}

// holds judges the folder of one relay by the books as they were at a moment.
func holds(data string, books []*rig.Ledger, moment int64) []string {
	return holdsUntil(data, books, moment, moment)
}

// holdsUntil: what was acknowledged by one moment is there, nothing is that was
// not sent by another.
func holdsUntil(data string, books []*rig.Ledger, kept, sent int64) (wrong []string) {
	if code, out, says := operate("check", "--data", data); code != 0 {
		wrong = append(wrong, fmt.Sprintf("check: exit code %d\n%s%s", code, out, says))
	}
	var read [2]rig.Events
	for i, flags := range [][]string{nil, {"--history"}} {
		code, out, says := operate(append([]string{"export", "--data", data}, flags...)...)
		if code != 0 {
			return append(wrong, fmt.Sprintf("export: exit code %d\n%s", code, says))
		}
		events, err := rig.ParseEvents([]byte(out))
		if err != nil {
			return append(wrong, err.Error())
		}
		read[i] = events
	}
	for _, b := range books {
		wrong = append(wrong, b.Verify(read[0], read[1], kept, sent)...)
	}
	return wrong
}

// life is what a relay did, with the books of what it acknowledged.
type life struct {
	*layer
	books   []*rig.Ledger
	backups []backup
	born    int64 // the moment at which it was ready for the first time
}

// backup is a copy that was reported as done.
type backup struct {
	file        string
	begun, done int64
}

func newLife(t *testing.T, writers int, seed uint64) *life {
	t.Helper()
	l := &life{layer: newLayer(t)}
	for i := range writers {
		b := rig.NewLedger(uint64(2000+i), seed)
		b.Moment = l.moment
		l.books = append(l.books, b)
	}
	return l
}

// publish has every book publish so many events.
func (l *life) publish(t *testing.T, relay *relaytest.Child, events int) {
	t.Helper()
	var publishing sync.WaitGroup
	for _, b := range l.books {
		c, err := relaytest.Dial(relay.URL)
		if err != nil {
			t.Fatalf("dial: %v", err)
		}
		publishing.Go(func() {
			defer c.Close()
			b.Publish(c, events, nil)
		})
	}
	publishing.Wait()
}

// backUp copies the database beside the relay.
func (l *life) backUp(t *testing.T, relay *relaytest.Child) {
	t.Helper()
	b := backup{file: filepath.Join(l.root, "backups", fmt.Sprintf("b%d.db", len(l.backups))), begun: l.moment()}
	if r := relay.Run(nil, "backup", "--data", relay.Data, b.file); r.Code != 0 {
		t.Fatalf("backup: exit code %d\n%s", r.Code, r.Stderr)
	}
	b.done = l.moment()
	l.backups = append(l.backups, b)
}

// stop ends a relay well.
func stop(t *testing.T, relay *relaytest.Child) {
	t.Helper()
	if code, _ := relay.Stop(); code != 0 {
		t.Errorf("exit code %d after SIGTERM\n%s", code, relay.Log.Text())
	}
}

func (l *life) acknowledged() (n int) {
	for _, b := range l.books {
		n += b.Acknowledged()
	}
	return n
}

// behind is the first call that lies whole behind a moment.
func behind(ops []op, moment int64) int {
	i, _ := slices.BinarySearchFunc(ops, moment, func(o op, m int64) int { return int(o.end - m) })
	return min(i, len(ops)-1)
}

// data is the relay's folder on a disk.
func (c cut) data() string { return filepath.Join(c.folder, "data") }
