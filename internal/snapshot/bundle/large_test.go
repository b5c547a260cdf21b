package bundle

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

const (
	largeDir  = "ENGRAMD_SNAPSHOT_LARGE" // set in the child process
	largeSize = "ENGRAMD_SNAPSHOT_EVENTS"
	maxPeak   = 128 << 10 // KiB
)

// linesIn is a Source over one file of lines for each class.
type linesIn string

func (f linesIn) Events(_ context.Context, class Class, yield func([]byte) error) error {
	in, err := os.Open(filepath.Join(string(f), class.Path()))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	lines := &lineReader{r: bufio.NewReader(in), max: 1 << 20}
	for {
		line, err := lines.next()
		if err != nil {
			return nil
		}
		if err := yield(line); err != nil {
			return err
		}
	}
}

// TestLargeBundleInBoundedMemory creates and verifies a bundle in a process of
// its own, whose peak memory is read afterwards. ENGRAMD_SNAPSHOT_EVENTS=100000
// is the size that the benchmark page is about.
func TestLargeBundleInBoundedMemory(t *testing.T) {
	if dir := os.Getenv(largeDir); dir != "" {
		largeChild(t, dir)
		return
	}
	if testing.Short() {
		t.Skip("signs thousands of events")
	}
	n := 5000
	if testing.Short() {
		n = 500
	}
	if s := os.Getenv(largeSize); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	makeLarge(t, dir, n)
	cmd := exec.Command(os.Args[0], "-test.run=^TestLargeBundleInBoundedMemory$", "-test.v")
	cmd.Env = append(os.Environ(), largeDir+"="+dir)
	out, err := cmd.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "large:") {
			t.Log(strings.TrimSpace(line[strings.Index(line, "large:"):]))
		}
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	peak := int64(0)
	fmt.Sscanf(after(string(out), "large: peak KiB "), "%d", &peak)
	if testing.Short() {
		return // its shadow memory counts too
	}
	if peak == 0 || peak > maxPeak {
		t.Errorf("%d events took %d KiB at their peak, at most %d are allowed", n, peak, maxPeak)
	}
}

func after(s, sep string) string { _, rest, _ := strings.Cut(s, sep); return rest }

func largeChild(t *testing.T, dir string) {
	o := options()
	start := time.Now()
	w := mustWrite(t, dir, linesIn(dir), o)
	t.Logf("large: create %d events: %.2f s, %d KiB, peak KiB so far %d", w.Manifest.Events(), time.Since(start).Seconds(), w.Size>>10, peakKiB(t))
	start = time.Now()
	keys, err := KeysOf(ownerSecret, ownerKey)
	if err != nil {
		t.Fatal(err)
	}
	r := mustVerify(t, w.Path, VerifyOptions{Keys: keys})
	if !r.OK() {
		t.Fatal(r.Err())
	}
	t.Logf("large: verify with the owner's key: %.2f s", time.Since(start).Seconds())
	start = time.Now()
	n := 0
	if err := mustOpen(t, w.Path, VerifyOptions{}).Events(t.Context(), Heads, func([]byte) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	t.Logf("large: open and read %d heads: %.2f s", n, time.Since(start).Seconds())
	t.Logf("large: peak KiB %d", peakKiB(t))
}

func peakKiB(t *testing.T) int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	fmt.Sscanf(after(string(b), "VmHWM:"), "%d", &n)
	return n
}

// makeLarge writes n engrams of about 1 kB, half of them history.
func makeLarge(t *testing.T, dir string, n int) {
	t.Helper()
	k, err := nipae.DeriveConversationKey(agentSecret, ownerKey)
	if err != nil {
		t.Fatal(err)
	}
	lines := make([][]byte, n)
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for worker := range workers {
		wg.Go(func() {
			for i := worker; i < n; i += workers {
				body, err := nipae.NewMemory(nipae.Slug(fmt.Sprintf("mem/n%d", i/2)), fmt.Sprintf("version %d %s", i%2, strings.Repeat("x", 400)))
				if err != nil {
					panic(err)
				}
				var nonce, aux [32]byte
				copy(nonce[:], fmt.Sprintf("n%d", i))
				nonce[31] = 1
				ev, err := nipae.Seal(k, body, nipae.Sealing{Secret: agentSecret, Owner: ownerKey, CreatedAt: int64(1000 + i), Nonce: nonce, Aux: &aux})
				if err != nil {
					panic(err)
				}
				lines[i] = append(wire.AppendEvent(nil, ev), '\n')
			}
		})
	}
	wg.Wait()
	for class, odd := range map[Class]int{History: 0, Heads: 1} {
		var out bytes.Buffer
		for i := odd; i < n; i += 2 {
			out.Write(lines[i])
		}
		if err := os.WriteFile(filepath.Join(dir, class.Path()), out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
