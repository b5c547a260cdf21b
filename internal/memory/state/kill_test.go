package state

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// workVariable makes the test's program a process that writes until it is
// killed.
const workVariable = "ENGRAMD_TEST_STATE_WORKER"

func TestMain(m *testing.M) {
	if name := os.Getenv(workVariable); name != "" {
		work(name, os.Getenv(workVariable+"_DIR"))
	}
	os.Exit(m.Run())
}

// work counts a use of its own slug and shows a text of its own, again and
// again, and says each time when that was answered.
func work(name, dir string) {
	ctx := context.Background()
	s, err := Open(ctx, testPair, Options{Dir: dir, Machine: func() (string, error) { return "one", nil }, Warn: func(line string) { fmt.Println("warned", line) }})
	for n := 0; err == nil || errors.Is(err, sqlite3.BUSY); n++ { // others may hold it for as long as one waits
		if err = s.Counters.Count(ctx, Recalled, "mem/"+name); err != nil {
			continue
		}
		if _, err = s.Sessions.Show(ctx, name, "test", []Shown{{fmt.Sprintf("mem/%s/%d", name, n), strconv.Itoa(os.Getpid())}}); err != nil {
			continue
		}
		if err = s.Plans.Put(ctx, Plan{ID: name, Data: make([]byte, 20_000), Expires: time.Now().Add(time.Hour)}); err == nil {
			fmt.Println("ok")
		}
	}
	fmt.Println("failed", err)
	os.Exit(1)
}

// TestEightProcessesAndKills: processes that are killed in the middle of their
// writes lose nothing that was answered, and the file stays whole and its log
// small.
func TestEightProcessesAndKills(t *testing.T) {
	const processes, lives = 8, 3
	r := newRig(t)
	s := r.open(testPair)
	id := writer(t, s)
	answered := make([]int, processes)
	var largest int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			for life := range lives {
				n := live(t, strconv.Itoa(i), r.dir, 5+3*i+life)
				mu.Lock()
				answered[i] += n
				if info, err := os.Stat(s.file.Path() + "-wal"); err == nil {
					largest = max(largest, info.Size())
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if largest > 24<<20 {
		t.Errorf("the log grew to %d bytes", largest)
	}
	if writer(t, s) != id {
		t.Error("the writer changed")
	}
	all, _, err := s.Counters.All(t.Context())
	must(t, err)
	if len(all) != processes {
		t.Fatalf("%d counters", len(all))
	}
	for i, c := range all {
		// One that was under way when its process was killed may have been kept.
		if c.Recalled < int64(answered[i]) || c.Recalled > int64(answered[i]+lives) {
			t.Errorf("%s was counted %d times; %d were answered", c.Slug, c.Recalled, answered[i])
		}
		if shown, err := s.Sessions.Shown(t.Context(), strconv.Itoa(i)); len(shown) < answered[i] || err != nil {
			t.Errorf("session %d was shown %d texts, not %d, %v", i, len(shown), answered[i], err)
		}
		if p, err := s.Plans.Get(t.Context(), strconv.Itoa(i)); len(p.Data) != 20_000 || err != nil {
			t.Errorf("plan %d: %d bytes, %v", i, len(p.Data), err)
		}
	}
}

// live runs a process until it has said ok that often, kills it, and returns
// how often it said so in the end.
func live(t *testing.T, name, dir string, times int) (said int) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workVariable+"="+name, workVariable+"_DIR="+dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return 0
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if lines.Text() != "ok" {
			t.Errorf("process %s: %s", name, lines.Text())
		} else if said++; said == times {
			_ = cmd.Process.Kill()
		}
	}
	if cmd.Wait() == nil || said < times {
		t.Errorf("process %s said ok %d times and was not killed", name, said)
	}
	return said
}
