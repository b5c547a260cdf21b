package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"engramd/internal/relay/store"
)

// inFlight is more than two nodes have on their way.
const inFlight = 2*mostUnread + 10

// rollBack simulates three nodes whose log comes back shorter, some of which had not
// read what it lost, and returns what is wrong after that.
func rollBack(seed uint64, behind int, faults Faults) []string {
	s := &sim{seed: seed, log: NewMemory(time.Now)}
	ctx, stop := context.WithCancel(context.Background())
	s.ctx = ctx
	for i, name := range []string{"a", "b", "c"} {
		h := s.host(i, name, faults)
		s.hosts = append(s.hosts, h)
		if _, err := h.start(); err != nil {
			panic(err)
		}
		for c := range 2 {
			s.all.Go(func() { s.connect(h, uint64(i*10+c)) })
		}
	}
	s.all.Go(s.raise)
	rng := s.rng(700)
	for s.version() < proofVersion {
		time.Sleep(time.Second)
	}
	time.Sleep(time.Duration(rng.IntN(5000)) * time.Millisecond)
	late := s.hosts[len(s.hosts)-behind:]
	for _, h := range late {
		h.cut(true)
	}
	end := s.log.Len()
	time.Sleep(2*time.Second + time.Duration(rng.IntN(4000))*time.Millisecond)
	for _, h := range s.hosts[:len(s.hosts)-behind] {
		if err := h.up().Latest(ctx); err != nil && ctx.Err() == nil {
			s.problem("%s: %v", h.o.Name, err)
		}
	}
	s.log.Stop(true)
	time.Sleep(time.Second)
	s.log.Back(end + rng.Uint64N(s.log.Len()-end-inFlight)) // or it is full again before the last one appends
	end = s.log.Len()
	for _, h := range late {
		h.cut(false)
	}
	s.log.Stop(false)
	time.Sleep(30 * time.Second)
	s.judge(behind, end)
	stop()
	for _, h := range s.hosts {
		h.kill()
	}
	s.all.Wait()
	return s.problems
}

func (s *sim) version() (version uint64) {
	for _, h := range s.hosts {
		if n := h.up(); n != nil {
			_, v := n.Configuration()
			version = max(version, v)
		}
	}
	return version
}

// judge looks what the nodes do after the log went back to a number: as many as had
// read on are the majority, or not.
func (s *sim) judge(behind int, end uint64) {
	open := uint64(0) // the first message that says so
	for _, m := range s.log.messages() {
		if msg, err := parseMessage(m.Data); err == nil && m.Number > end && msg.word != nil && msg.word.number >= m.Number {
			open = m.Number
			break
		}
	}
	for i, h := range s.hosts {
		err, ahead := h.up().Err(), i < len(s.hosts)-behind
		why := errors.Is(err, ErrWentBack) || errors.Is(err, ErrOtherLog) || errors.Is(err, ErrLogs)
		switch {
		case (ahead || behind == 1) && !why:
			s.problem("%s has read another log than others, and goes on: %v", h.o.Name, err)
		case !ahead && behind > 1 && err != nil:
			s.problem("%s is of the majority, and ended: %v", h.o.Name, err)
		}
		for _, r := range h.disk.copyRows() {
			if behind == 1 && !ahead && open > 0 && r.place.Number >= open {
				s.problem("%s has executed %d, and the log is in doubt from %d on", h.o.Name, r.place.Number, open)
				break
			}
		}
	}
}

// Servers come back from an older copy while nodes run. Nobody goes on who had read
// what is gone, and the majority decides.
func TestLogRolledBack(t *testing.T) {
	seeds := uint64(2)
	if testing.Short() {
		seeds = 1
	}
	for behind, name := range []string{"all ahead", "one behind", "two behind"} {
		t.Run(name, func(t *testing.T) {
			for seed := range seeds {
				synctest.Test(t, func(t *testing.T) {
					for _, p := range rollBack(seed, behind, Faults{}) {
						t.Errorf("seed %d: %s", seed, p)
					}
				})
			}
		})
	}
}

func TestRollingBackFindsEveryFault(t *testing.T) {
	for name, f := range map[string]Faults{
		"IgnoreNumbers": {IgnoreNumbers: true},
		"IgnoreTrails":  {IgnoreTrails: true},
		"NoHold":        {NoHold: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(24) {
				for behind := range 2 {
					var problems []string
					synctest.Test(t, func(*testing.T) { problems = rollBack(seed, behind, f) })
					if len(problems) > 0 {
						t.Logf("seed %d, %d behind: %s", seed, behind, problems[0])
						return
					}
				}
			}
			t.Error("no simulation has found it")
		})
	}
}

// lie appends a mark of a member that says to have read something else.
func lie(t *testing.T, log *Memory, h *host, number uint64, beat bool) {
	t.Helper()
	m := message{cluster: h.o.ClusterID, node: h.o.NodeID, boot: h.disk.boot, word: &word{clock: 1, number: number, hash: trailHash{66}, beat: beat}}
	enter(t, log, mustEncode(t, m))
}

// One member of three that says something else stops nobody else, and holds nothing
// a second time. While it is open what most have read, nothing is acknowledged.
func TestOneThatDiffersStopsNobody(t *testing.T) {
	for name, beyond := range map[string]uint64{"another hash": 0, "beyond the end": 1000} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				log, list := hosts(t, "a", "b", "c")
				mustPut(t, list[0].up(), "before")
				list[2].kill()
				list[1].cut(true)
				lie(t, log, list[2], log.Len()+beyond, false)
				k := newTicket(nil)
				if err := list[0].up().Append(t.Context(), say("open"), k); err != nil {
					t.Fatal(err)
				}
				for range 20 { // as heartbeats, which silence nobody
					lie(t, log, list[2], log.Len(), true)
				}
				time.Sleep(3 * time.Second)
				select {
				case <-k.ended:
					t.Fatalf("acknowledged while it is open what most have read: %v", k.err)
				default:
				}
				if err := list[0].up().Latest(t.Context()); !errors.Is(err, ErrUnknown) {
					t.Errorf("a read is answered while it is open: %v", err)
				}
				list[1].cut(false)
				<-k.ended
				if k.err != nil {
					t.Fatal(k.err)
				}
				lie(t, log, list[2], log.Len(), false)
				for _, h := range list[:2] {
					mustPut(t, h.up(), "after "+h.o.Name)
					h.kill()
					mustPut(t, begin(t, h), "again "+h.o.Name)
				}
				ended(t, begin(t, list[2]), ErrOtherLog)
				mustPut(t, list[0].up(), "on")
			})
		})
	}
}

// A member that is gone, and has not answered, is waited for no longer than it
// counts; what two of two say is no majority's.
func TestWithoutAMajorityAllStop(t *testing.T) {
	for name, names := range map[string][]string{"two members": {"a", "b"}, "one of three is gone": {"a", "b", "c"}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				log, list := hosts(t, names...)
				mustPut(t, list[0].up(), "before")
				for _, h := range list[1:] {
					h.kill()
				}
				lie(t, log, list[1], log.Len(), false)
				ended(t, list[0].up(), ErrLogs)
				list[0].kill()
				ended(t, begin(t, list[0]), ErrLogs)
			})
		})
	}
}

// Of five the majority is found among those that are there.
func TestTheGoneDoNotDecide(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a", "b", "c", "d", "e")
		mustPut(t, list[0].up(), "before")
		for _, h := range list[2:] {
			h.kill()
		}
		lie(t, log, list[2], log.Len(), false)
		await(t, "the others are not waited for", func() bool { return put(t.Context(), list[0].up(), "after") == nil })
	})
}

// A node to which a server gives other bytes, or another time, stops; the others go
// on.
func TestWhoReadsAnotherLogStops(t *testing.T) {
	for name, alter := range map[string]func(*Message){
		"another time":   func(m *Message) { m.At = m.At.Add(time.Nanosecond) },
		"another sender": func(m *Message) { m.Data = append([]byte(nil), m.Data...); m.Data[20]++ },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				log, list := hosts(t, "a", "b", "c")
				c := list[2]
				c.kill()
				mustPut(t, list[0].up(), "missed")
				odd := log.Len()
				c.client.Alter = func(m Message) Message {
					if m.Number == odd {
						alter(&m)
					}
					return m
				}
				ended(t, begin(t, c), ErrOtherLog)
				time.Sleep(time.Minute)
				for i := range 2 {
					mustPut(t, list[i].up(), fmt.Sprint("on ", i))
				}
			})
		})
	}
}

// A node that is started again does not go on with a log that is longer again. What was
// trimmed it cannot compare.
func TestALogThatIsLongerAgain(t *testing.T) {
	for name, c := range map[string]struct {
		back uint64
		trim bool
		want error
	}{"it went back": {3, false, ErrWentBack}, "it is the same": {0, false, nil}, "trimmed": {3, true, nil}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				log, list := hosts(t, "a")
				h := list[0]
				for i := range 9 {
					mustPut(t, h.up(), fmt.Sprint(i))
				}
				h.kill()
				log.Back(log.Len() - c.back)
				raw := mustEncode(t, message{cluster: h.o.ClusterID, node: h.o.NodeID, boot: h.disk.boot})
				for range 5 {
					enter(t, log, raw)
				}
				if c.trim {
					if err := log.Client(MemoryOptions{}).Trim(t.Context(), log.Len()-1); err != nil {
						t.Fatal(err)
					}
				}
				n := begin(t, h)
				if c.want != nil {
					ended(t, n, c.want)
					return
				}
				mustPut(t, n, "on")
			})
		})
	}
}

// Who differs is struck out although it goes on to send: it would hold the trimming
// for ever.
func TestWhoDiffersIsStruckOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a", "b", "c")
		list[2].kill()
		for range 45 {
			lie(t, log, list[2], log.Len(), true)
			time.Sleep(time.Minute)
		}
		if got := len(list[0].up().Members()); got != 2 {
			t.Errorf("%d members", got)
		}
	})
}

// What was read longer ago than hashes are kept is unknown, and not different.
func TestWhatIsNotKeptIsUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a", "b")
		for i := range 2 * mostTrail {
			mustPut(t, list[i%2].up(), fmt.Sprint(i))
		}
		n := list[0].up()
		n.mu.Lock()
		kept := len(n.seen.trail.last)
		n.mu.Unlock()
		if kept != mostTrail {
			t.Errorf("%d hashes are kept", kept)
		}
		lie(t, log, list[1], log.Len()-mostTrail-5, false)
		mustPut(t, list[0].up(), "on")
		mustPut(t, list[1].up(), "on")
	})
}

// lines counts what is logged as an error.
type lines struct {
	slog.Handler
	errors atomic.Int64
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		l.errors.Add(1)
	}
	return nil
}

// A gap that nothing can fill is an error in the log, once; one that the sender's
// next tries fill is none.
func TestMissedBatchesAreNoticed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, said := NewMemory(time.Now), &lines{}
		h := newHost(log, "a", 1)
		h.o.Logger = slog.New(said)
		t.Cleanup(h.kill)
		mustPut(t, begin(t, h), "x")
		send := func(boot, counter uint64, c Command) {
			enter(t, log, mustEncode(t, message{cluster: h.o.ClusterID, node: node("b"), boot: boot, counter: counter, items: []item{{own: c}}}))
			if err := h.up().Latest(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		send(1, 1, Join{Name: "b", Version: proofVersion})
		for _, c := range []struct {
			boot, counter uint64
			want          int64
		}{{1, 3, 0}, {1, 1 + mostUnread, 0}, {1, 2, 0}, {1, 3 + mostUnread, 1}, {1, 4 + mostUnread, 1}, {2, 2, 2}} {
			send(c.boot, c.counter, Heartbeat{})
			if got := said.errors.Load(); got != c.want {
				t.Errorf("boot %d, batch %d: %d errors, want %d", c.boot, c.counter, got, c.want)
			}
		}
	})
}

// Marks that come while the store executes nothing are not read without an end.
func TestMarksAreHeldBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list := hosts(t, "a")
		h := list[0]
		h.kill()
		gate := make(chan struct{})
		h.fail = func(store.Placed) error { <-gate; return nil }
		n := begin(t, h)
		if err := n.Append(t.Context(), say("x"), newTicket(nil)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		raw := mustEncode(t, message{cluster: h.o.ClusterID, node: h.o.NodeID, boot: h.disk.boot})
		for range mostSteps + 5000 {
			enter(t, log, raw)
		}
		synctest.Wait()
		n.mu.Lock()
		steps := len(n.steps)
		n.mu.Unlock()
		if steps > mostSteps {
			t.Errorf("%d steps wait", steps)
		}
		close(gate)
		await(t, "all is read", func() bool { return n.Latest(t.Context()) == nil })
	})
}
