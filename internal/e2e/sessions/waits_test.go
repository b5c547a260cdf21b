//go:build nightly && linux

package sessions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/relaytest"
)

// waits are what one operation cost: the processor's time and the clock's, each run.
type waits struct{ busy, clock []time.Duration }

func (w *waits) add(busy, clock time.Duration) {
	w.busy, w.clock = append(w.busy, busy), append(w.clock, clock)
}

// at returns the share of runs that took no longer, of the two.
func (w *waits) at(share float64) (busy, clock time.Duration) {
	slices.Sort(w.busy)
	slices.Sort(w.clock)
	i := int(share * float64(len(w.busy)-1))
	return w.busy[i], w.clock[i]
}

// most is what an operation may cost at 10,000 memories, in processor time, beside much
// else that runs: docs/benchmarks/WAITS.md has what is aimed at.
var most = map[string]time.Duration{
	"mem set": 150 * time.Millisecond, "mem ls": 700 * time.Millisecond, "recall, cold": 600 * time.Millisecond, "hook": 300 * time.Millisecond,
	"hook, server running": 300 * time.Millisecond, "MCP recall": 60 * time.Millisecond, "memory_note": 30 * time.Millisecond,
}

// TestWaits measures what an agent and its person wait for, over the built programs and
// a relay on loopback: with 300 memories, and with ENGRAMD_SOAK=1 with 1,000, 10,000 and
// 100,000. docs/benchmarks/WAITS.md has the figures. ENGRAMD_WAITS names sizes instead.
func TestWaits(t *testing.T) {
	sizes := []int{300}
	if os.Getenv("ENGRAMD_SOAK") == "1" {
		sizes = []int{1000, 10_000, 100_000}
	}
	named := strings.Fields(os.Getenv("ENGRAMD_WAITS"))
	if len(named) > 0 {
		sizes = nil
	}
	for _, s := range named {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) { wait(t, n) })
	}
}

func wait(t *testing.T, n int) {
	m, relay, questions := full(t, n)
	m.ctlOK("mem", "stats", "--wait", "2m")
	all := map[string]*waits{}
	of := func(name string) *waits {
		if all[name] == nil {
			all[name] = &waits{}
		}
		return all[name]
	}
	runs := 15
	if n > 50_000 {
		runs = 7
	}
	for i := range runs {
		of("mem set").add(m.timed(t, "", "mem", "set", fmt.Sprint("bench/", i), "The harbour's boat number "+strconv.Itoa(i)+" is painted in spring."))
		of("recall, cold").add(m.timed(t, "", "recall", questions[i%len(questions)]))
		of("hook").add(m.hooked(t, fmt.Sprint("cold", i), questions[i%len(questions)]))
		if i%3 == 0 {
			of("mem ls").add(m.timed(t, "", "mem", "ls"))
		}
	}
	a := m.serve()
	for i := range 60 {
		q := questions[i%len(questions)]
		of("MCP recall").add(a.timed(t, "memory_recall", map[string]any{"query": strings.Join(strings.Fields(q)[2:6], " ")}))
	}
	for i := range runs {
		of("hook, server running").add(m.hooked(t, fmt.Sprint("warm", i), questions[i%len(questions)]))
		of("memory_note").add(a.timed(t, "memory_note", map[string]any{"text": fmt.Sprintf("Boat %d was painted today, in the colour of spring %d.", i, i*i)}))
	}
	a.end()
	relay.Stop()
	for _, name := range []string{"mem set", "mem ls", "recall, cold", "hook", "hook, server running", "MCP recall", "memory_note"} {
		busy, clock := all[name].at(0.5)
		busy95, clock95 := all[name].at(0.95)
		t.Logf("| %d | %s | processor %.1f, p95 %.1f | clock %.1f, p95 %.1f | ms", n, name, ms(busy), ms(busy95), ms(clock), ms(clock95))
		if n <= 10_000 && busy > most[name] {
			t.Errorf("%s: it may compute for %v", name, most[name])
		}
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// full is a machine whose local copy and relay have n memories.
func full(t *testing.T, n int) (*machine, *relaytest.Child, []string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	events, questions := memories(n, "")
	var lines bytes.Buffer
	for _, ev := range events {
		text, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(text, '\n'))
	}
	if got := relaytest.RunBinary(t, relaytest.Build{}, nil, lines.Bytes(), "import", "--data", data, "-"); got.Code != 0 {
		t.Fatalf("%+v", got)
	}
	relay := relaytest.Start(t, relaytest.Options{Data: data, Listen: "127.0.0.1:0", Args: []string{"--limits-frames-burst", "10000000", "--limits-frames-rate", "10000000", "--limits-author-events", "1000000", "--limits-author-bytes", "10737418240"}})
	m := newMachine(t, relay.URL)
	keepEvents(t, m, relay.URL, events)
	return m, relay, questions
}

// timed runs a command and returns what it cost.
func (m *machine) timed(t *testing.T, stdin string, args ...string) (busy, clock time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), m.ctl, append([]string{"--timeout", "2m"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = m.project, m.env, strings.NewReader(stdin)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil || out.Len() == 0 {
		t.Fatalf("%v: %v, %d bytes\n%s", args, err, out.Len(), &stderr)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), time.Since(began)
}

func (m *machine) hooked(t *testing.T, session, prompt string) (busy, clock time.Duration) {
	t.Helper()
	return m.timed(t, m.input(session, map[string]any{"prompt": prompt}), "hook", "prompt", "--harness", "claude")
}

// timed calls a tool and returns what the server computed, and how long the caller waited.
func (a *agent) timed(t *testing.T, tool string, args map[string]any) (busy, clock time.Duration) {
	t.Helper()
	before, began := ran(t, a.cmd.Process.Pid), time.Now()
	a.call(tool, args)
	clock = time.Since(began)
	return ran(t, a.cmd.Process.Pid) - before, clock
}

// ran is the processor time of all threads of a process.
func ran(t *testing.T, pid int) (all time.Duration) {
	t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the thread ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all += time.Duration(ns)
	}
	return all
}
