package plugin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
)

// script is a program in the test's own process: it is given lines and prints.
type script func(in *bufio.Scanner, out io.Writer)

// stage runs scripts as the processes of a Live: the first one first, the last
// one for all that come after.
type stage struct {
	mu      sync.Mutex
	scripts []script
	started int
}

func (s *stage) spawn([]string, []string) (*child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.scripts[min(s.started, len(s.scripts)-1)]
	s.started++
	if run == nil {
		return nil, errors.New("no such file")
	}
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	stderr, complaints := io.Pipe()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 1<<20)
		run(lines, out)
		in.Close()
		out.Close()
		complaints.Close()
	}()
	end := func() { stdin.Close(); stdout.Close(); in.Close() }
	return &child{stdin: stdin, stdout: stdout, stderr: stderr, end: end, wait: func() error { <-gone; return nil }}, nil
}

func (s *stage) starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

// on runs a test over scripts, in a time of its own.
func on(t *testing.T, test func(t *testing.T, l *Live, s *stage), scripts ...script) {
	synctest.Test(t, func(t *testing.T) {
		s := &stage{scripts: scripts}
		l := &Live{}
		l.Set(Options{Command: []string{"plugin"}, spawn: s.spawn})
		synctest.Wait() // it runs
		test(t, l, s)
		l.Close()
	})
}

// each answers every question by what say returns.
func each(say func(id string) string) script {
	return func(in *bufio.Scanner, out io.Writer) {
		for in.Scan() {
			var q struct{ Event struct{ ID string } }
			if json.Unmarshal(in.Bytes(), &q) != nil {
				return
			}
			if text := say(q.Event.ID); text != "" {
				fmt.Fprintln(out, text)
			}
		}
	}
}

func action(what string) func(string) string {
	return func(id string) string { return fmt.Sprintf(`{"id":%q,"action":%q,"msg":"blocked: no"}`, id, what) }
}

func event(n int) *nostr.Event {
	ev := &nostr.Event{ID: fmt.Sprintf("%064x", n), PubKey: strings.Repeat("ab", 32), Kind: 1, CreatedAt: 1700000000, Content: "hello", Sig: strings.Repeat("cd", 64)}
	return ev
}

func TestAnswers(t *testing.T) {
	for what, want := range map[string]string{
		"accept":       "",
		"reject":       "blocked: no",
		"shadowReject": "blocked: no", // an OK is a promise
	} {
		on(t, func(t *testing.T, l *Live, _ *stage) {
			rejected, msg := l.RejectEvent(t.Context(), event(1))
			if rejected != (want != "") || msg != want {
				t.Errorf("%s: rejected %v %q", what, rejected, msg)
			}
		}, each(action(what)))
	}
}

// TestMisbehaviour: whatever a program does wrong, its writer has an error:
// within the time of one answer, the program is started anew, and the next
// event gets its answer from the new one.
func TestMisbehaviour(t *testing.T) {
	good := each(action("accept"))
	for name, bad := range map[string]script{
		"dies":              func(in *bufio.Scanner, _ io.Writer) { in.Scan() },
		"wrong id":          each(func(string) string { return `{"id":"` + strings.Repeat("0", 64) + `","action":"accept"}` }),
		"no id":             each(func(string) string { return `{"action":"accept"}` }),
		"unknown action":    each(func(id string) string { return fmt.Sprintf(`{"id":%q,"action":"perhaps"}`, id) }),
		"an id of a number": each(func(string) string { return `{"id":7,"action":"accept"}` }),
		"twice":             each(func(id string) string { return action("reject")(id) + "\n" + action("reject")(id) }),
		"an endless line": func(in *bufio.Scanner, out io.Writer) {
			in.Scan()
			for {
				if _, err := io.WriteString(out, strings.Repeat("x", 4096)); err != nil {
					return
				}
			}
		},
		"endless lines": func(in *bufio.Scanner, out io.Writer) {
			in.Scan()
			for {
				if _, err := io.WriteString(out, "starting up\n"); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, func(t *testing.T, l *Live, s *stage) {
				begun := time.Now()
				rejected, msg := l.RejectEvent(t.Context(), event(1))
				if name != "twice" && (!rejected || !strings.HasPrefix(msg, "error: ")) {
					t.Errorf("rejected %v %q, want error:", rejected, msg)
				}
				if took := time.Since(begun); took > DefaultTimeout {
					t.Errorf("the writer waited %v", took)
				}
				time.Sleep(maxDelay)
				if rejected, msg := l.RejectEvent(t.Context(), event(2)); rejected {
					t.Errorf("after the restart: %q", msg)
				}
				if n := s.starts(); n != 2 {
					t.Errorf("%d processes, want 2", n)
				}
			}, bad, good)
		})
	}
}

// TestHangs: a program that answered before and then does not is started anew
// after the time for one answer; all who wait are told at that moment.
func TestHangs(t *testing.T) {
	once := func(in *bufio.Scanner, out io.Writer) {
		in.Scan()
		var q struct{ Event struct{ ID string } }
		_ = json.Unmarshal(in.Bytes(), &q)
		fmt.Fprintln(out, action("accept")(q.Event.ID))
		for in.Scan() { // reads, and says nothing
		}
	}
	on(t, func(t *testing.T, l *Live, s *stage) {
		if rejected, msg := l.RejectEvent(t.Context(), event(1)); rejected {
			t.Fatal(msg)
		}
		begun := time.Now()
		var writers sync.WaitGroup
		for n := range 20 {
			writers.Go(func() {
				if rejected, msg := l.RejectEvent(t.Context(), event(2+n)); !rejected || !strings.HasPrefix(msg, "error: ") {
					t.Errorf("rejected %v %q", rejected, msg)
				}
			})
		}
		writers.Wait()
		if took := time.Since(begun); took != DefaultTimeout {
			t.Errorf("the writers waited %v", took)
		}
		time.Sleep(maxDelay)
		if s.starts() != 2 {
			t.Errorf("%d processes", s.starts())
		}
	}, once)
}

// TestSlowStart: a program that needs longer for its first answer than for the
// others is not killed over and over; its writers have error: meanwhile.
func TestSlowStart(t *testing.T) {
	on(t, func(t *testing.T, l *Live, s *stage) {
		begun := time.Now()
		if rejected, msg := l.RejectEvent(t.Context(), event(1)); !rejected || !strings.HasPrefix(msg, "error: ") || time.Since(begun) != DefaultTimeout {
			t.Errorf("rejected %v %q after %v", rejected, msg, time.Since(begun))
		}
		time.Sleep(5 * time.Second)
		if rejected, msg := l.RejectEvent(t.Context(), event(2)); rejected {
			t.Errorf("once it is up: %q", msg)
		}
		if s.starts() != 1 {
			t.Errorf("%d processes", s.starts())
		}
	}, func(in *bufio.Scanner, out io.Writer) {
		time.Sleep(4 * time.Second)
		each(action("accept"))(in, out)
	})
	on(t, func(t *testing.T, l *Live, s *stage) {
		l.RejectEvent(t.Context(), event(1))
		time.Sleep(startTime + time.Second)
		if s.starts() != 2 {
			t.Errorf("%d processes: one that never answers must go", s.starts())
		}
	}, func(in *bufio.Scanner, _ io.Writer) {
		for in.Scan() { // never answers
		}
	})
}

// TestSlowButSteady: a program that takes its time for each event is asked by
// all writers without anybody's failing.
func TestSlowButSteady(t *testing.T) {
	on(t, func(t *testing.T, l *Live, s *stage) {
		var writers sync.WaitGroup
		for n := range 60 {
			writers.Go(func() {
				if rejected, msg := l.RejectEvent(t.Context(), event(n)); rejected {
					t.Errorf("event %d: %s", n, msg)
				}
			})
		}
		writers.Wait()
		if s.starts() != 1 {
			t.Errorf("%d processes", s.starts())
		}
	}, each(func(id string) string {
		time.Sleep(100 * time.Millisecond)
		return action("accept")(id)
	}))
}

// TestOutOfOrder: a program may answer in any order, and print other things
// between.
func TestOutOfOrder(t *testing.T) {
	on(t, func(t *testing.T, l *Live, _ *stage) {
		var writers sync.WaitGroup
		for n := range 10 {
			writers.Go(func() {
				rejected, msg := l.RejectEvent(t.Context(), event(n))
				if want := n%2 == 1; rejected != want {
					t.Errorf("event %d: rejected %v %q", n, rejected, msg)
				}
			})
		}
		writers.Wait()
	}, func(in *bufio.Scanner, out io.Writer) {
		var ids []string
		for in.Scan() {
			var q struct{ Event struct{ ID string } }
			_ = json.Unmarshal(in.Bytes(), &q)
			if ids = append(ids, q.Event.ID); len(ids) < 10 {
				continue
			}
			for i := range ids {
				id := ids[len(ids)-1-i]
				fmt.Fprintln(out, "debug: looking at an event")
				fmt.Fprintln(out, action(map[bool]string{true: "reject", false: "accept"}[(id[63]-'0')%2 == 1])(id))
			}
		}
	})
}

// TestMissing: a program that cannot be started refuses everything, at once,
// and is tried again ever more seldom.
func TestMissing(t *testing.T) {
	on(t, func(t *testing.T, l *Live, s *stage) {
		begun := time.Now()
		if rejected, msg := l.RejectEvent(t.Context(), event(1)); !rejected || !strings.HasPrefix(msg, "error: ") || time.Since(begun) != 0 {
			t.Errorf("rejected %v %q after %v", rejected, msg, time.Since(begun))
		}
		time.Sleep(time.Hour)
		if n := s.starts(); n < 300 || n > 400 {
			t.Errorf("%d attempts in an hour", n)
		}
	}, nil)
}

// TestGone: a writer who goes away is waited for no longer.
func TestGone(t *testing.T) {
	on(t, func(t *testing.T, l *Live, _ *stage) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.RejectEvent(ctx, event(1))
		}()
		synctest.Wait()
		cancel()
		synctest.Wait()
		select {
		case <-done:
		default:
			t.Error("still waiting")
		}
	}, func(in *bufio.Scanner, _ io.Writer) {
		for in.Scan() {
		}
	})
}

// TestReload: the program of a new configuration is asked from then on; the old
// one answers what it was asked. None at all lets everything pass.
func TestReload(t *testing.T) {
	slow := each(func(id string) string {
		time.Sleep(500 * time.Millisecond)
		return action("reject")(id)
	})
	on(t, func(t *testing.T, l *Live, s *stage) {
		under := make(chan string)
		go func() {
			_, msg := l.RejectEvent(t.Context(), event(1))
			under <- msg
		}()
		synctest.Wait()
		l.Set(Options{Command: []string{"plugin"}, spawn: s.spawn}) // nothing has changed
		l.Set(Options{Command: []string{"plugin"}, Version: "2", spawn: s.spawn})
		synctest.Wait()
		if rejected, msg := l.RejectEvent(t.Context(), event(2)); rejected {
			t.Errorf("the new program: %q", msg)
		}
		if msg := <-under; msg != "blocked: no" {
			t.Errorf("what the old one was asked: %q", msg)
		}
		l.Set(Options{})
		if rejected, _ := l.RejectEvent(t.Context(), event(3)); rejected {
			t.Error("refused without a program")
		}
		if s.starts() != 2 {
			t.Errorf("%d processes", s.starts())
		}
	}, slow, each(action("accept")))
}

// TestVanish: what a relay must take from everybody is not the program's.
func TestVanish(t *testing.T) {
	on(t, func(t *testing.T, l *Live, _ *stage) {
		ev := event(1)
		ev.Kind = kind.Vanish
		if rejected, msg := l.RejectEvent(t.Context(), ev); rejected {
			t.Error(msg)
		}
	}, each(action("reject")))
}

// TestComplaints: what a program says on standard error is logged at a rate and
// without keys.
func TestComplaints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		log := slog.New(slog.NewTextHandler(&out, nil))
		r := newRunner(Options{Log: log, spawn: (&stage{scripts: []script{nil}}).spawn}.withDefaults())
		r.stop()
		key := strings.Repeat("5e", 32)
		logLines(strings.NewReader("bad key "+key+"\n"+strings.Repeat("y", 10_000)+"\n"+strings.Repeat("noise\n", 10_000)), log, r.stderr)
		lines := strings.Count(out.String(), "the write policy program says")
		if strings.Contains(out.String(), key) || lines < 3 || lines > complaintsBurst {
			t.Errorf("%d lines; key there: %v", lines, strings.Contains(out.String(), key))
		}
		if out.Len() > complaintsBurst*400 {
			t.Errorf("%d bytes", out.Len())
		}
	})
}
