package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
)

// sim is three nodes over a log that fails, with their clients.
type sim struct {
	seed  uint64
	log   *Memory
	hosts []*host
	ctx   context.Context
	all   sync.WaitGroup

	mu       sync.Mutex
	acked    []string
	problems []string
}

func (s *sim) problem(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.problems) < 10 {
		s.problems = append(s.problems, fmt.Sprintf(format, args...))
	}
}

// wrong reports whether a fault was found.
func (s *sim) wrong() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.problems) > 0
}

// simulate runs a simulation in virtual time and returns the faults that it
// found.
func simulate(seed uint64, long time.Duration, faults Faults) []string {
	s := &sim{seed: seed}
	unsteady := s.rng(500) // the clock of whoever stamps messages
	s.log = NewMemory(func() time.Time { return time.Now().Add(-time.Duration(unsteady.IntN(2000)) * time.Millisecond) })
	ctx, stop := context.WithCancel(context.Background())
	s.ctx = ctx
	k := &asks{rng: s.rng(700)}
	for i, name := range []string{"a", "b", "c"} {
		s.hosts = append(s.hosts, s.host(i, name, faults))
		if seed/2%2 == 1 {
			k.join(s.hosts[i])
		}
	}
	for i, h := range s.hosts {
		if _, err := h.start(); err != nil {
			stop()
			return []string{err.Error()}
		}
		for c := range 2 {
			s.all.Go(func() { s.connect(h, uint64(i*10+c)) })
		}
		s.all.Go(func() { s.lead(h, uint64(100+i)) })
		s.all.Go(func() { s.look(h, uint64(200+i)) })
		s.all.Go(func() { s.watch(h) })
	}
	s.all.Go(s.raise)
	s.trouble(long)
	stop()
	s.all.Wait()
	if !s.wrong() {
		s.settle()
	}
	for _, h := range s.hosts {
		h.kill()
	}
	s.compare()
	return s.problems
}

// raise raises the cluster's version at some time, at once with every other seed.
func (s *sim) raise() {
	rng := s.rng(600)
	for most := time.Duration(s.seed%2)*40*time.Second + time.Second; s.pause(rng, most); most = time.Second {
		if n := s.hosts[rng.IntN(len(s.hosts))].up(); n != nil {
			if a, err := n.Submit(s.ctx, Raise{Version: proofVersion}); err == nil && a.Refused == "" {
				return
			}
		}
	}
}

// host makes a node whose appends fail now and then.
func (s *sim) host(i int, name string, faults Faults) *host {
	h := newHost(s.log, name, s.seed+uint64(i))
	h.o.Faults, h.slow = faults, 5*time.Millisecond
	h.o.Clock = func() time.Time { return time.Now().Add(time.Duration(i) * 5 * time.Second) }
	var mu sync.Mutex
	rng := s.rng(uint64(300 + i))
	h.client.Behind = 3
	h.client.Fate = func() Fate {
		mu.Lock()
		defer mu.Unlock()
		f := Fate{Delay: time.Duration(rng.IntN(3000)) * time.Microsecond, Timeout: time.Duration(rng.IntN(500)) * time.Millisecond}
		switch rng.IntN(60) {
		case 0:
			f.Lost = true
		case 1:
			f.Late = time.Duration(1+rng.IntN(4000)) * time.Millisecond
		case 2:
			f.Silent = true
		}
		return f
	}
	return h
}

func (s *sim) rng(n uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, n)) }

// pause sleeps for a random time, and reports whether the simulation goes on.
func (s *sim) pause(rng *rand.Rand, most time.Duration) bool {
	select {
	case <-s.ctx.Done():
		return false
	case <-time.After(time.Duration(rng.Int64N(int64(most)))):
		return true
	}
}

// connect simulates one connection after another: each appends without waiting
// until something fails.
func (s *sim) connect(h *host, id uint64) {
	rng := s.rng(id)
	for conn := 0; s.pause(rng, 100*time.Millisecond); conn++ {
		n := h.up()
		if n == nil {
			continue
		}
		ctx := fairness.With(s.ctx, fairness.Who{Share: fmt.Sprint(id), Conn: id<<32 + uint64(conn)})
		failed := make(chan struct{})
		var once sync.Once
		for i := 0; ; i++ {
			text := fmt.Sprintf("conn %d.%d %d", id, conn, i)
			t := newTicket(func(err error) {
				if err == nil {
					s.mu.Lock()
					s.acked = append(s.acked, text)
					s.mu.Unlock()
					return
				}
				once.Do(func() { close(failed) })
			})
			if n.Append(ctx, say(text), t) != nil {
				break
			}
			if !s.pause(rng, 60*time.Millisecond) {
				return
			}
			select {
			case <-failed:
			default:
				continue
			}
			break
		}
	}
}

// lead does what the leader does, and sometimes too late.
func (s *sim) lead(h *host, id uint64) {
	rng := s.rng(id)
	for i := 0; s.pause(rng, 400*time.Millisecond); i++ {
		n := h.up()
		if n == nil || !n.Leads() {
			continue
		}
		ctx := n.Lease(s.ctx)
		epoch, _ := ctx.Value(leaseKey{}).(uint64)
		if epoch == noLease {
			continue
		}
		most := 10 * time.Millisecond
		if rng.IntN(2) == 0 {
			most = 25 * time.Second
		}
		if !s.pause(rng, most) {
			return
		}
		n.Append(ctx, say(fmt.Sprintf("epoch %d %d.%d", epoch, id, i)), newTicket(nil))
	}
}

// look reads, and checks that everything acknowledged before is there.
func (s *sim) look(h *host, id uint64) {
	rng, checked := s.rng(id), 0
	for s.pause(rng, 150*time.Millisecond) {
		n := h.up()
		if n == nil {
			continue
		}
		s.mu.Lock()
		acked := len(s.acked)
		s.mu.Unlock()
		if n.Latest(s.ctx) != nil {
			continue
		}
		s.mu.Lock()
		want := s.acked[checked:max(checked, acked)]
		s.mu.Unlock()
		h.disk.mu.Lock()
		for _, text := range want {
			if h.disk.has[text] == 0 {
				s.problem("%s does not show %q, which was acknowledged before", h.o.Name, text)
				break
			}
		}
		h.disk.mu.Unlock()
		checked = max(checked, acked)
	}
}

// watch reports a node that ended without being killed.
func (s *sim) watch(h *host) {
	for {
		if n := h.up(); n != nil {
			select {
			case <-n.Done():
				if err := n.Err(); !errors.Is(err, context.Canceled) {
					s.problem("%s: %v", h.o.Name, err)
					return
				}
			default:
				if err := n.wantAfoot(); err != nil {
					s.problem("%s: %v", h.o.Name, err)
					return
				}
			}
		}
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// trouble kills, cuts off and stops nodes for a while.
func (s *sim) trouble(long time.Duration) {
	rng := s.rng(400)
	for end := time.Now().Add(long); time.Now().Before(end) && !s.wrong(); {
		h := s.hosts[rng.IntN(len(s.hosts))]
		time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
		away := time.Duration(rng.IntN(3000)) * time.Millisecond
		switch rng.IntN(6) {
		case 0, 1, 2:
			h.kill()
			time.Sleep(away)
			if _, err := h.start(); err != nil {
				s.problem("%s: %v", h.o.Name, err)
				return
			}
		case 3, 4:
			h.cut(true)
			if rng.IntN(2) == 0 {
				away += 11 * time.Second
			}
			time.Sleep(away)
			h.cut(false)
		default:
			s.log.Stop(true)
			time.Sleep(away)
			s.log.Stop(false)
		}
	}
}

// settle waits until all nodes have shown the same for 5 s, a minute at most: what
// was sent before may still be on its way.
func (s *sim) settle() {
	var last string
	same := 0
	for range 600 {
		time.Sleep(100 * time.Millisecond)
		lens := make([]string, 0, len(s.hosts))
		for _, h := range s.hosts {
			if n := h.up(); n == nil || n.Latest(context.Background()) != nil {
				break
			}
			lens = append(lens, fmt.Sprint(len(h.disk.copyRows())))
		}
		if now := strings.Join(lens, " "); len(lens) == len(s.hosts) && now == last && lens[0] == lens[1] && lens[1] == lens[2] {
			if same++; same == 50 {
				return
			}
		} else {
			last, same = now, 0
		}
	}
	s.problem("the nodes did not settle: rows %s", last)
}

// compare compares all disks with each other and with what was acknowledged.
func (s *sim) compare() {
	first := s.hosts[0].disk
	for _, h := range s.hosts[1:] {
		if !slices.Equal(first.rows, h.disk.rows) {
			i := 0
			for i < min(len(first.rows), len(h.disk.rows)) && first.rows[i] == h.disk.rows[i] {
				i++
			}
			s.problem("%s and %s differ from row %d of %d and %d on", s.hosts[0].o.Name, h.o.Name, i, len(first.rows), len(h.disk.rows))
		}
		for place, sum := range h.disk.states {
			if other, ok := first.states[place]; ok && other != sum {
				s.problem("%s has another state at %+v", h.o.Name, place)
				break
			}
		}
	}
	for _, text := range s.acked {
		if n := first.has[text]; n != 1 {
			s.problem("%q was acknowledged, and is there %d times", text, n)
		}
	}
	s.order(first.rows)
}

// order checks the order of what was executed.
func (s *sim) order(rows []row) {
	last, newest, at, place := map[string]int{}, uint64(0), int64(0), store.LogPlace{}
	for _, r := range rows {
		if r.at < at || r.place.Number < place.Number || r.place.Number == place.Number && r.place.Index <= place.Index {
			s.problem("%+v comes after %+v at %d", r, place, at)
		}
		at, place = r.at, r.place
		var conn string
		var i int
		var epoch uint64
		if _, err := fmt.Sscanf(r.text, "conn %s %d", &conn, &i); err == nil {
			if before, ok := last[conn]; ok && i <= before {
				s.problem("connection %s: %d comes after %d", conn, i, before)
			}
			last[conn] = i
		} else if _, err := fmt.Sscanf(r.text, "epoch %d", &epoch); err == nil {
			if epoch < newest {
				s.problem("%q comes after epoch %d", r.text, newest)
			}
			newest = max(newest, epoch)
		}
	}
}

// simulated runs simulate in a bubble of virtual time.
func simulated(t *testing.T, seed uint64, long time.Duration, faults Faults) (problems []string) {
	synctest.Test(t, func(*testing.T) { problems = simulate(seed, long, faults) })
	return problems
}

func TestNodesExecuteTheSame(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			for _, p := range simulated(t, seed, 90*time.Second, Faults{}) {
				t.Error(p)
			}
		})
	}
}

// The simulation finds every fault that is built in, so that it can be trusted
// to find others.
func TestSimulationFindsEveryFault(t *testing.T) {
	for name, faults := range map[string]Faults{
		"OKBeforeAppend": {OKBeforeAppend: true},
		"NoWaitForReads": {NoWaitForReads: true},
		"SkipACommand":   {SkipACommand: true},
		"OwnTime":        {OwnTime: true},
		"EndFromLog":     {EndFromLog: true},
		"IgnoreCounters": {IgnoreCounters: true},
		"IgnoreEpochs":   {IgnoreEpochs: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(8) {
				if problems := simulated(t, seed, time.Minute, faults); len(problems) > 0 {
					t.Logf("seed %d: %s", seed, problems[0])
					return
				}
			}
			t.Error("no simulation has found it")
		})
	}
}
