package localcopy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

const (
	childDir = "ENGRAMD_MIRROR_TEST_DIR"
	childNo  = "ENGRAMD_MIRROR_TEST_NO"
	// most is how long the log may be beside the file after all processes: that
	// of one transaction and a kept index.
	mostLog = 8 << 20
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir, os.Getenv(childNo)); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child writes, reads, keeps the index and reopens until it is killed, and says
// each event that is in the copy for certain.
func child(dir, no string) error {
	t := &testing.B{} // newAuthor wants a TB; nothing fails in it
	a := newAuthor(t, "agent", "owner")
	number, err := strconv.Atoi(no)
	if err != nil {
		return err
	}
	a.nonce = uint64(os.Getpid())<<32 | uint64(number)<<24
	warn := func(s string) { fmt.Println("warned:", s) }
	ctx := context.Background()
	for round := 0; ; round++ {
		m, err := Open(ctx, a.Pair, Options{Dir: dir, Warn: warn})
		if err != nil {
			return err
		}
		for i := range 20 {
			at := time.Now().UnixNano()
			slug := fmt.Sprintf("mem/p%d/s%d", number, i)
			ev := a.write(slug, fmt.Sprintf("%s %d %s", slug, at, strings.Repeat("words of it ", 40)), at)
			if _, err := m.Put(ctx, near, []*nostr.Event{ev}); err != nil {
				return fmt.Errorf("put: %w", err)
			}
			fmt.Println("put:", slug, at)
			if i%7 == 3 {
				if err := keepIndex(ctx, m, 1); err != nil {
					return fmt.Errorf("keep: %w", err)
				}
			}
			err := m.Read(ctx, func(v *View) error {
				text, ok := v.Text(slug)
				if !ok || !strings.HasPrefix(text, fmt.Sprintf("%s %d ", slug, at)) || !v.Index().Has(slug) {
					return errors.New("what was just put in is not there")
				}
				return nil
			})
			if err != nil {
				return fmt.Errorf("read: %w", err)
			}
		}
		if err := m.Close(); err != nil {
			return fmt.Errorf("close: %w", err)
		}
	}
}

// TestEightProcesses: eight processes that write and read one copy and are
// killed at any moment leave it whole, with all that they were told is in it,
// nothing set aside, and a small log.
func TestEightProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts processes for seconds")
	}
	dir := t.TempDir()
	a := newAuthor(t, "agent", "owner")
	rounds := 3
	if os.Getenv("ENGRAMD_SOAK") == "1" {
		rounds = 30
	}
	var mu sync.Mutex
	last, total, largest := map[string]string{}, 0, int64(0)
	for round := range rounds {
		var each sync.WaitGroup
		for p := range 8 {
			// Each is killed after another number of its writes.
			limit := 5 + (p*7+round*5)%23
			each.Go(func() {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), childDir+"="+dir, childNo+"="+strconv.Itoa(p))
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Error(err)
					return
				}
				cmd.Stderr = os.Stderr
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				lines, n := bufio.NewScanner(out), 0
				for n < limit && lines.Scan() {
					rest, ok := strings.CutPrefix(lines.Text(), "put: ")
					if !ok {
						t.Errorf("process %d: %s", p, lines.Text())
						break
					}
					n++
					slug, at, _ := strings.Cut(rest, " ")
					mu.Lock()
					last[slug], total = at, total+1
					mu.Unlock()
				}
				cmd.Process.Kill()
				for lines.Scan() { // what it said before it ended
					if rest, ok := strings.CutPrefix(lines.Text(), "put: "); ok {
						slug, at, _ := strings.Cut(rest, " ")
						mu.Lock()
						last[slug] = at
						mu.Unlock()
					}
				}
				cmd.Wait()
				if n < limit {
					t.Errorf("process %d ended by itself after %d writes", p, n)
				}
			})
		}
		each.Wait()
		largest = max(largest, longestLog(t, dir))
	}
	if largest > mostLog {
		t.Errorf("the log is %d bytes long", largest)
	}
	var said lines
	m := open(t, a.Pair, Options{Dir: dir, Warn: said.add})
	err := m.Read(context.Background(), func(v *View) error {
		for slug, at := range last {
			text, ok := v.Text(slug)
			has := strings.Fields(text + " - -")[1]
			// It may have been killed between the write and the line about it.
			if !ok || has < at || !v.Index().Has(slug) {
				t.Errorf("%s: %s, and %s was put in; in the index %v", slug, has, at, v.Index().Has(slug))
			}
		}
		return nil
	})
	if err != nil || len(said.take()) > 0 {
		t.Errorf("%v", err)
	}
	shown(t, m)
	put(t, m, near, a.write("mem/after", "all", 1))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if size := longestLog(t, dir); size > mostLog {
		t.Errorf("the log is %d bytes long in the end", size)
	}
	t.Logf("%d writes of 24 processes, the log at most %d bytes", total, largest)
}

func longestLog(t *testing.T, dir string) (size int64) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*-wal"))
	if err != nil {
		t.Fatal(err)
	}
	for _, log := range logs {
		info, err := os.Stat(log)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		size = max(size, info.Size())
	}
	return size
}
