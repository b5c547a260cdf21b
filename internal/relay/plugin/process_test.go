package plugin

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"engramd/internal/e2e/notrun"
)

// TestMain lets the tests' own binary be the program.
func TestMain(m *testing.M) {
	if what := os.Getenv("PROGRAM_IS"); what != "" {
		beProgram(what)
		return
	}
	os.Exit(m.Run())
}

func beProgram(what string) {
	if what == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var q struct{ Event struct{ ID, Content string } }
		if json.Unmarshal(in.Bytes(), &q) != nil {
			os.Exit(3)
		}
		switch {
		case q.Event.Content == "hang":
			select {}
		case q.Event.Content == "pid":
			fmt.Printf(`{"id":%q,"action":"reject","msg":"blocked: %d %s"}`+"\n", q.Event.ID, os.Getpid(), os.Getenv("SETTING"))
		default:
			fmt.Printf(`{"id":%q,"action":"accept"}`+"\n", q.Event.ID)
		}
	}
	if what == "stubborn" {
		select {}
	}
}

// process runs the tests' own binary as a program.
func process(tb testing.TB, what string, timeout time.Duration) *Live {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	l := &Live{}
	l.Set(Options{Command: []string{self}, Timeout: timeout, Env: []string{"PROGRAM_IS=" + what, "SETTING=given"}})
	tb.Cleanup(l.Close)
	return l
}

// pid asks the program who it is, as often as it is only starting.
func pid(t *testing.T, l *Live) int {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for n := 1000; time.Now().Before(deadline); n++ {
		ev := event(n)
		ev.Content = "pid"
		_, msg := l.RejectEvent(t.Context(), ev)
		if strings.HasPrefix(msg, "error:") {
			continue
		}
		words := strings.Fields(msg)
		if len(words) != 3 || words[2] != "given" {
			t.Fatalf("answer %q", msg)
		}
		id, err := strconv.Atoi(words[1])
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	t.Fatal("the program does not come up")
	return 0
}

// TestProcess: a real process is asked, hangs, is killed though it ignores
// being asked to end, is replaced, and is gone when the daemon ends.
func TestProcess(t *testing.T) {
	l := process(t, "stubborn", 200*time.Millisecond)
	first := pid(t, l)
	ev := event(1)
	ev.Content = "hang"
	if rejected, msg := l.RejectEvent(t.Context(), ev); !rejected || !strings.HasPrefix(msg, "error: ") {
		t.Fatalf("rejected %v %q", rejected, msg)
	}
	second := pid(t, l)
	if first == second {
		t.Error("the same process answers after it hung")
	}
	l.Close()
	for _, id := range []int{first, second} {
		if err := syscall.Kill(id, 0); err == nil {
			t.Errorf("process %d is still there", id)
		}
	}
}

// TestFamily: what a program has started does not outlive it, nor keep the
// daemon from ending.
func TestFamily(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		notrun.Skip(t, "no sh")
	}
	l := &Live{}
	l.Set(Options{Command: []string{"sh", "-c", "sleep 1000 & sleep 1000 2>/dev/null & wait"}, Timeout: 50 * time.Millisecond, Env: os.Environ()})
	l.RejectEvent(t.Context(), event(1))
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.Close()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

// BenchmarkProgram measures how many events a trivial program lets through: by
// one writer, each waiting for the answer before, and by many at once.
func BenchmarkProgram(b *testing.B) {
	python, _ := exec.LookPath("python3")
	for name, command := range map[string][]string{
		"go":     nil,
		"python": {python, "-c", "import sys,json\nfor l in sys.stdin:\n print(json.dumps({'id':json.loads(l)['event']['id'],'action':'accept'}),flush=True)"},
	} {
		for _, writers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/writers=%d", name, writers), func(b *testing.B) {
				var l *Live
				if command == nil {
					l = process(b, "quick", time.Second)
				} else if python == "" {
					notrun.Skip(b, "no python3")
				} else {
					l = &Live{}
					l.Set(Options{Command: command, Env: os.Environ()})
					b.Cleanup(l.Close)
				}
				for {
					if rejected, _ := l.RejectEvent(b.Context(), event(0)); !rejected {
						break // it is up
					}
				}
				next := make(chan int)
				var all sync.WaitGroup
				b.ResetTimer()
				for range writers {
					all.Go(func() {
						for n := range next {
							if rejected, msg := l.RejectEvent(b.Context(), event(n)); rejected {
								b.Error(msg)
							}
						}
					})
				}
				for n := range b.N {
					next <- n
				}
				close(next)
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			})
		}
	}
}
