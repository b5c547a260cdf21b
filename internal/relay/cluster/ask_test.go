package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// asks is the way beside the log by which hosts ask each other: it delays, loses and
// repeats what they say.
type asks struct {
	mu    sync.Mutex
	rng   *rand.Rand
	hosts []*host
	calm  bool
	alter func(from *host, a answer) answer // what comes instead of an answer, or nil
	asked int
}

// join lets a host ask the others.
func (k *asks) join(h *host) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hosts = append(k.hosts, h)
	h.o.Ask = func(q []byte) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.asked++
		for _, o := range k.hosts {
			if o != h {
				k.carry(func() { k.ask(h, o, q) })
			}
		}
	}
}

// carry does something after a while, never, or more than once.
func (k *asks) carry(fn func()) {
	delay := time.Duration(k.rng.IntN(2000)) * time.Microsecond
	if !k.calm {
		switch k.rng.IntN(40) {
		case 0:
			return
		case 1:
			delay += time.Duration(k.rng.IntN(4000)) * time.Millisecond
		case 2:
			time.AfterFunc(time.Duration(k.rng.IntN(3000))*time.Millisecond, fn)
		}
	}
	time.AfterFunc(delay, fn)
}

func (k *asks) ask(from, of *host, q []byte) {
	n := of.up()
	if n == nil {
		return
	}
	_, raw := AnswerTo(n, q)
	a, err := parseAnswer(raw)
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.alter != nil {
		a = k.alter(of, a)
	}
	k.carry(func() {
		if n := from.up(); n != nil {
			Hear(n, a.append(nil))
		}
	})
}

// change has answers be altered.
func (k *asks) change(alter func(from *host, a answer) answer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.alter = alter
}

// asked returns hosts that ask each other, once all are members.
func asked(t *testing.T, names ...string) (log *Memory, list []*host, k *asks) {
	t.Helper()
	log = NewMemory(time.Now)
	k = &asks{rng: rand.New(rand.NewPCG(1, 2)), calm: true}
	for i, name := range names {
		h := newHost(log, name, uint64(i))
		h.client.Fate = func() Fate { return Fate{Delay: 10 * time.Millisecond} }
		k.join(h)
		t.Cleanup(h.kill)
		list = append(list, h)
		begin(t, h)
	}
	raise(t, list)
	for _, h := range list {
		await(t, "it is known", func() bool { return h.up().Latest(t.Context()) == nil })
	}
	return log, list, k
}

// marks counts those in the log.
func (m *Memory) marks() (k int) {
	for _, m := range m.messages() {
		if msg, err := parseMessage(m.Data); err == nil && msg.counter == 0 {
			k++
		}
	}
	return k
}

func latest(t *testing.T, h *host) time.Duration {
	t.Helper()
	began := time.Now()
	if err := h.up().Latest(t.Context()); err != nil {
		t.Errorf("%s: %v", h.o.Name, err)
	}
	return time.Since(began)
}

// In health nothing is appended for reads, those that come together share a question,
// and the log needs no leader.
func TestReadsAppendNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list, k := asked(t, "a", "b", "c")
		before, asked := log.marks(), k.asked
		for i := range 50 {
			h := list[i%3]
			mustPut(t, h.up(), fmt.Sprint(i))
			other := list[(i+1)%3]
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					if d := latest(t, other); d > 10*time.Millisecond {
						t.Errorf("a read took %s", d)
					}
				})
			}
			all.Wait()
			if got := other.texts(); !slices.Contains(got, fmt.Sprint(i)) {
				t.Fatalf("%s does not show %d", other.o.Name, i)
			}
		}
		if k.asked-asked > 150 {
			t.Errorf("%d questions for 50 times ten reads at once", k.asked-asked)
		}
		log.Stop(true)
		for range 100 {
			for _, h := range list {
				if d := latest(t, h); d > 10*time.Millisecond {
					t.Fatalf("a read took %s while nothing can be appended", d)
				}
			}
		}
		log.Stop(false)
		if got := log.marks(); got != before {
			t.Errorf("%d marks", got-before)
		}
	})
}

// A node without others asks nobody.
func TestAloneNobodyIsAsked(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list, k := asked(t, "a")
		mustPut(t, list[0].up(), "x")
		before, asked := log.marks(), k.asked
		if d := latest(t, list[0]); d != 0 || log.marks() != before || k.asked != asked {
			t.Errorf("%s, %d marks, %d questions", d, log.marks()-before, k.asked-asked)
		}
	})
}

// Where a member gives no answer that counts, this read and those of the next second use
// a mark: at once where it is wrong, after 30 ms where there is none, or where the log
// does not show what it says.
func TestAnswersThatDoNotCount(t *testing.T) {
	type change func(own *state, a *answer)
	for name, c := range map[string]struct {
		alter change
		after time.Duration // until the mark is appended
	}{
		"none":                    {func(_ *state, a *answer) { a.to.cluster[0]++ }, askLimit},
		"to another question":     {func(_ *state, a *answer) { a.to.count-- }, askLimit},
		"to another node's":       {func(_ *state, a *answer) { a.to.node[0]++ }, askLimit},
		"to another boot's":       {func(_ *state, a *answer) { a.to.boot++ }, askLimit},
		"of no member":            {func(_ *state, a *answer) { a.node[0]++ }, askLimit},
		"of another boot":         {func(_ *state, a *answer) { a.boot++ }, 0},
		"below what is durable":   {func(s *state, a *answer) { a.number = s.members[1].durable - 1 }, 0},
		"far beyond the end":      {func(s *state, a *answer) { a.number = s.number + 3*(mostUnread+1) + 1 }, 0},
		"beyond the end":          {func(s *state, a *answer) { a.number = s.number + 3*(mostUnread+1) }, askLimit},
		"the largest number":      {func(_ *state, a *answer) { a.number = ^uint64(0) }, 0},
		"a little behind the end": {func(s *state, a *answer) { a.number = s.members[1].durable }, -1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				log, list, k := asked(t, "a", "b", "c")
				time.Sleep(20 * time.Second)
				a, lying := list[0], true
				k.change(func(from *host, an answer) answer {
					if lying && from == list[1] && an.to.node == a.o.NodeID {
						n := a.up()
						n.mu.Lock()
						defer n.mu.Unlock()
						c.alter(n.seen, &an)
					}
					return an
				})
				marks, asked := log.marks(), k.asked
				took, most := latest(t, a), c.after+20*time.Millisecond
				if c.after < 0 {
					if log.marks() != marks {
						t.Error("a mark was appended")
					}
					return
				}
				if took < c.after || took > most || log.marks() != marks+1 {
					t.Errorf("it took %s, and %d marks; want %s and one", took, log.marks()-marks, c.after)
				}
				time.Sleep(askAgain / 2)
				if took := latest(t, a); took > 20*time.Millisecond || log.marks() != marks+2 || k.asked != asked+1 {
					t.Errorf("soon after it a read took %s, %d marks, %d questions", took, log.marks()-marks-1, k.asked-asked-1)
				}
				time.Sleep(askAgain)
				lying = false
				if latest(t, a); log.marks() != marks+2 || k.asked != asked+2 {
					t.Errorf("later it took %d marks, %d questions", log.marks()-marks-2, k.asked-asked-1)
				}
			})
		})
	}
}

// What was shown at one node is waited for at another, for 3 s.
func TestReach(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		_, list, k := asked(t, "a", "b")
		mustPut(t, list[0].up(), "x")
		number, asked := Shown(list[0].up()), k.asked
		if err := Reach(t.Context(), list[1].up(), number); err != nil || !slices.Contains(list[1].texts(), "x") || k.asked != asked {
			t.Errorf("%v, %q", err, list[1].texts())
		}
		began := time.Now()
		list[1].cut(true)
		mustPut(t, list[0].up(), "y")
		if err := Reach(t.Context(), list[1].up(), Shown(list[0].up())); err != ErrUnknown || time.Since(began) < latestTime {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// A new member acknowledges nothing before two others have read its Join, or one where
// only one is there.
func TestANewMemberIsKnownFirst(t *testing.T) {
	for name, c := range map[string]struct {
		gone, cut []int // of the others
		waits     bool
	}{
		"all are there":    {},
		"one is gone":      {gone: []int{2}},
		"one reads":        {cut: []int{1, 2}, waits: true}, // in the first seconds
		"one gone, one on": {gone: []int{1}, cut: []int{2}},
		"nobody reads":     {cut: []int{0, 1, 2}, waits: true},
		"all are gone":     {gone: []int{0, 1, 2}, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				log, list, k := asked(t, "a", "b", "c")
				for _, i := range c.gone {
					list[i].kill()
				}
				time.Sleep(time.Minute)
				for _, i := range c.cut {
					list[i].cut(true)
				}
				d := newHost(log, "d", 9)
				k.join(d)
				t.Cleanup(d.kill)
				n := begin(t, d)
				ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
				defer cancel()
				p := newTicket(nil)
				if err := n.Append(ctx, say("early"), p); err != nil {
					t.Fatal(err)
				}
				err := n.Latest(ctx)
				if waits := err != nil; waits != c.waits && !slices.Equal(c.cut, []int{2}) {
					t.Errorf("a read: %v", err)
				}
				if said := slices.Contains(d.texts(), "early"); said && c.waits {
					t.Error("it has executed what its own clients sent")
				}
				for _, i := range c.cut {
					list[i].cut(false)
				}
				if len(c.gone) == 3 {
					d.kill()
					time.Sleep(time.Minute)
					n = begin(t, d)
					if err := n.Latest(t.Context()); !errors.Is(err, ErrUnknown) {
						t.Errorf("after a restart: %v", err)
					}
					begin(t, list[0])
				}
				await(t, "it is known", func() bool { return put(t.Context(), n, "on") == nil })
				d.kill()
				for _, h := range list[1:] {
					h.kill()
				}
				list[0].kill()
				mustPut(t, begin(t, d), "known once for all")
			})
		})
	}
}

// A new member whose only acquaintance leaves is on its own.
func TestANewMemberIsLeftAlone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		log, list, k := asked(t, "a")
		a := list[0]
		mustPut(t, a.up(), "x")
		d := newHost(log, "d", 9)
		k.join(d)
		t.Cleanup(d.kill)
		a.cut(true)
		n := begin(t, d)
		await(t, "it is a member", func() bool { return len(n.Members()) == 2 })
		time.Sleep(time.Minute)
		if err := n.Latest(t.Context()); !errors.Is(err, ErrUnknown) {
			t.Errorf("a read before anybody knows it: %v", err)
		}
		a.kill()
		i := message{cluster: a.o.ClusterID, node: a.o.NodeID, boot: 2, counter: 1, items: []item{{own: Join{Name: "a", Version: proofVersion}}, {own: Remove{Node: a.o.NodeID}}}}
		enter(t, log, mustEncode(t, i))
		mustPut(t, n, "alone")
	})
}

// readings is three nodes whose clients read the latest state, beside a log that some of
// them read late.
type readings struct {
	*sim
	asks *asks
	calm atomic.Bool // nothing fails
	rng  *rand.Rand
}

// readAtLength simulates them, and returns the faults that it found.
func readAtLength(seed uint64, faults Faults) []string {
	s := &readings{sim: &sim{seed: seed, log: NewMemory(time.Now)}}
	s.rng, s.asks = s.sim.rng(810), &asks{rng: s.sim.rng(800)}
	ctx, stop := context.WithCancel(context.Background())
	s.ctx = ctx
	for i, name := range []string{"a", "b", "c"} {
		s.hosts = append(s.hosts, s.reader(i, name, faults))
	}
	for i, h := range s.hosts {
		s.start(h)
		s.all.Go(func() { s.connect(h, uint64(i*10)) })
		s.all.Go(func() { s.look(h, uint64(200+i)) })
		s.all.Go(func() { s.watch(h) })
	}
	s.all.Go(s.raise)
	for s.version() < proofVersion {
		time.Sleep(time.Second)
	}
	blows := []func(){s.ghost, s.below, s.beyond, s.repeated, s.late}
	for _, i := range s.rng.Perm(len(blows)) {
		if !s.wrong() {
			time.Sleep(time.Duration(s.rng.IntN(3000)) * time.Millisecond)
			blows[i]()
			s.asks.change(nil)
		}
	}
	time.Sleep(10 * time.Second)
	stop()
	s.all.Wait()
	if !s.wrong() {
		s.settle()
	}
	for _, h := range s.hosts {
		h.kill()
	}
	if !s.wrong() {
		s.compare()
	}
	return s.problems
}

func (s *readings) reader(i int, name string, faults Faults) *host {
	h := s.host(i, name, faults)
	fate, rng := h.client.Fate, s.sim.rng(uint64(820+i))
	h.client.Fate = func() Fate {
		if f := fate(); !s.calm.Load() {
			return f
		}
		return Fate{Delay: time.Millisecond}
	}
	h.client.Alter = func(m Message) Message {
		if !s.calm.Load() && rng.IntN(30) == 0 {
			time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
		}
		return m
	}
	s.asks.join(h)
	return h
}

func (s *readings) start(h *host) {
	if _, err := h.start(); err != nil {
		s.problem("%s: %v", h.o.Name, err)
	}
}

// behind has all but some be cut off from the log for a while; they go on to ask.
func (s *readings) behind(but ...*host) {
	for _, h := range s.hosts {
		h.cut(!slices.Contains(but, h))
	}
	time.Sleep(time.Second + time.Duration(s.rng.IntN(1000))*time.Millisecond)
	for _, h := range s.hosts {
		h.cut(false)
	}
	time.Sleep(3 * time.Second)
}

// know reports whether all nodes know the newest boot of one.
func (s *readings) know(of *host) bool {
	for _, h := range s.hosts {
		n := h.up()
		if n == nil {
			continue
		}
		n.mu.Lock()
		i, found := n.seen.find(of.o.NodeID)
		same := found && n.seen.members[i].boot == of.disk.boot && n.met
		n.mu.Unlock()
		if !same {
			return false
		}
	}
	return true
}

// ghost has an earlier boot of a member go on to answer.
func (s *readings) ghost() {
	h := s.hosts[s.rng.IntN(3)]
	n := h.up()
	n.mu.Lock()
	boot, number := n.o.Boot, n.seen.number
	n.mu.Unlock()
	h.kill()
	s.start(h)
	for !s.know(h) {
		time.Sleep(50 * time.Millisecond)
	}
	s.asks.change(func(from *host, a answer) answer {
		if from == h {
			a.boot, a.number = boot, number
		}
		return a
	})
	s.behind(h)
}

// below has a member answer what it was before it stored anything.
func (s *readings) below() {
	h := s.hosts[s.rng.IntN(3)]
	time.Sleep(2 * beatEvery)
	s.asks.change(func(from *host, a answer) answer {
		if from == h {
			a.number = 0
		}
		return a
	})
	s.behind(h)
}

// beyond has a member answer what nobody can have read: no read waits for it.
func (s *readings) beyond() {
	h := s.hosts[s.rng.IntN(3)]
	s.asks.change(func(from *host, a answer) answer {
		if from == h {
			a.number += 1 << 30
		}
		return a
	})
	s.quiet(true)
	time.Sleep(10 * time.Second)
	n := s.hosts[(slices.Index(s.hosts, h)+1)%3].up()
	for range 100 {
		time.Sleep(20 * time.Millisecond)
		began := time.Now()
		if err := n.Latest(s.ctx); err != nil || time.Since(began) >= askLimit {
			s.problem("a read waits %s for what a member made up: %v", time.Since(began), err)
			break
		}
	}
	s.quiet(false)
}

// repeated has a node that reads nothing hear what others answered it before.
func (s *readings) repeated() {
	i := s.rng.IntN(3)
	h, kept := s.hosts[i], map[*host]answer{}
	s.asks.change(func(from *host, a answer) answer {
		if a.to.node != h.o.NodeID {
			return a
		}
		if _, said := kept[from]; !said {
			kept[from] = a
		}
		return kept[from]
	})
	s.behind(append(slices.Clone(s.hosts[:i]), s.hosts[i+1:]...)...)
}

// quiet has nothing fail, or ends that.
func (s *readings) quiet(so bool) {
	s.calm.Store(so)
	s.asks.mu.Lock()
	defer s.asks.mu.Unlock()
	s.asks.calm = so
}

// late has one node read nothing for a while.
func (s *readings) late() {
	for range 4 {
		i := s.rng.IntN(3)
		s.behind(append(slices.Clone(s.hosts[:i]), s.hosts[i+1:]...)...)
	}
}

// backup returns what a node that joins begins with.
func (d *disk) backup() *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &disk{rows: slices.Clone(d.rows), has: maps.Clone(d.has), state: d.state, states: maps.Clone(d.states)}
}

// joining simulates a node that joins three others, some of which read nothing now and
// then, and what these show of its client's.
func joining(t *testing.T, seed uint64, faults Faults) []string {
	log := NewMemory(time.Now)
	s := &sim{seed: seed, log: log}
	rng, k := s.rng(900), &asks{rng: s.rng(901), calm: true}
	ctx, stop := context.WithCancel(context.Background())
	s.ctx = ctx
	for i, name := range []string{"a", "b", "c", "d"} {
		h := newHost(log, name, seed+uint64(i))
		h.o.Faults, h.client.Fate = faults, func() Fate { return Fate{Delay: time.Millisecond} }
		k.join(h)
		t.Cleanup(h.kill)
		s.hosts = append(s.hosts, h)
	}
	others, d := s.hosts[:3], s.hosts[3]
	for _, h := range others {
		begin(t, h)
	}
	raise(t, others)
	for _, h := range others {
		await(t, "it is known", func() bool { return h.up().Latest(ctx) == nil })
	}
	time.Sleep(10 * time.Second)
	d.disk = others[0].disk.backup()
	for i, h := range others {
		s.all.Go(func() { s.glance(h, uint64(910+i)) })
	}
	for step := range 100 {
		for _, h := range others {
			h.cut(rng.IntN(3) > 0)
		}
		if step == 1 {
			n := begin(t, d)
			s.all.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					if text := fmt.Sprint(i); put(ctx, n, text) == nil {
						s.mu.Lock()
						s.acked = append(s.acked, text)
						s.mu.Unlock()
					}
				}
			})
		}
		time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
	}
	stop()
	d.kill()
	s.all.Wait()
	for _, h := range others {
		h.kill()
	}
	return s.problems
}

// glance reads as often as it is answered soon, and checks what it sees.
func (s *sim) glance(h *host, id uint64) {
	for rng := s.rng(id); s.pause(rng, 20*time.Millisecond); {
		s.mu.Lock()
		acked := len(s.acked)
		s.mu.Unlock()
		ctx, cancel := context.WithTimeout(s.ctx, 40*time.Millisecond)
		err := h.up().Latest(ctx)
		cancel()
		s.mu.Lock()
		if err == nil && acked > 0 && !slices.Contains(h.texts(), s.acked[acked-1]) {
			s.problems = append(s.problems, fmt.Sprintf("%s does not show %q, which was acknowledged before", h.o.Name, s.acked[acked-1]))
		}
		s.mu.Unlock()
	}
}

// The latest state is what was acknowledged anywhere, whatever becomes of questions and
// answers, and whoever is behind.
func TestReadsAreTheLatest(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, p := range readAtLength(seed, Faults{}) {
					t.Error(p)
				}
			})
		})
	}
	for seed := range 25 * seeds {
		synctest.Test(t, func(t *testing.T) {
			for _, p := range joining(t, seed, Faults{}) {
				t.Errorf("joining, seed %d: %s", seed, p)
			}
		})
	}
}

func TestReadingFindsEveryFault(t *testing.T) {
	reads := func(_ *testing.T, seed uint64, f Faults) []string { return readAtLength(seed, f) }
	for name, c := range map[string]struct {
		simulate func(*testing.T, uint64, Faults) []string
		faults   Faults
	}{
		"AnyQuestion":  {reads, Faults{AnyQuestion: true}},
		"AnyBoot":      {reads, Faults{AnyBoot: true}},
		"BelowDurable": {reads, Faults{BelowDurable: true}},
		"AnyEnd":       {reads, Faults{AnyEnd: true}},
		"SameMembers":  {joining, Faults{SameMembers: true}},
		"AckUnknown":   {joining, Faults{AckUnknown: true}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(100) {
				var problems []string
				synctest.Test(t, func(t *testing.T) { problems = c.simulate(t, seed, c.faults) })
				if len(problems) > 0 {
					t.Logf("seed %d: %s", seed, problems[0])
					return
				}
			}
			t.Error("no simulation has found it")
		})
	}
}
