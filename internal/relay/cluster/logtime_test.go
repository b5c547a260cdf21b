package cluster

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// wrong is how far a clock is off, which tests change.
type wrong struct{ atomic.Int64 }

func (w *wrong) set(by time.Duration) { w.Store(int64(by)) }
func (w *wrong) now() time.Time       { return time.Now().Add(time.Duration(w.Load())) }

// clocked is nodes with clocks of their own, over a log with another one.
type clocked struct {
	log    *Memory
	server wrong
	clocks []*wrong
	hosts  []*host
}

func newClocked(faults Faults, names ...string) *clocked {
	c := &clocked{}
	c.log = NewMemory(c.server.now)
	for i, name := range names {
		h, w := newHost(c.log, name, uint64(i)), &wrong{}
		h.o.Clock, h.o.Faults = w.now, faults
		c.clocks, c.hosts = append(c.clocks, w), append(c.hosts, h)
	}
	return c
}

// run starts all nodes, ends them after fn and returns its error.
func (c *clocked) run(t *testing.T, fn func() error) (err error) {
	synctest.Test(t, func(t *testing.T) {
		for _, h := range c.hosts {
			begin(t, h)
		}
		raise(t, c.hosts)
		err = fn()
		for _, h := range c.hosts {
			h.kill()
		}
	})
	return err
}

// apart returns an error if a node's time is further from the right one.
func (c *clocked) apart(most time.Duration) error {
	for _, h := range c.hosts {
		if n := h.up(); n != nil {
			if by := n.Clock().Sub(time.Now()); by.Abs() > most {
				return fmt.Errorf("the log's time at %s is %s off", h.o.Name, by)
			}
		}
	}
	return nil
}

// leader waits for one that leads, for as long as a lease that was not renewed.
func (c *clocked) leader() (*host, error) {
	for range 40 {
		for _, h := range c.hosts {
			if n := h.up(); n != nil && n.Leads() {
				return h, nil
			}
		}
		time.Sleep(time.Second)
	}
	return nil, fmt.Errorf("nobody leads")
}

func (c *clocked) members(want int) error {
	for _, h := range c.hosts {
		if n := h.up(); n != nil && len(n.Members()) != want {
			return fmt.Errorf("%s knows %d members, of %d", h.o.Name, len(n.Members()), want)
		}
	}
	return nil
}

// aServerIsWrong simulates that servers of the log whose clocks are an hour ahead, and
// behind, stamp messages for some minutes.
func (c *clocked) aServerIsWrong() error {
	for i, by := range []time.Duration{time.Hour, 0, -time.Hour, time.Hour, 24 * 366 * time.Hour, 0} {
		c.server.set(by)
		for range 24 {
			time.Sleep(5 * time.Second)
			if err := c.apart(2 * clockSlack); err != nil {
				return err
			}
		}
		if err := c.members(3); err != nil {
			return err
		}
		if i != 1 && i != 3 {
			continue
		}
		h, err := c.leader()
		if err != nil {
			return err
		}
		h.kill()
		if _, err := c.leader(); err != nil {
			return fmt.Errorf("%s was killed: %w", h.o.Name, err)
		}
		if _, err := h.start(); err != nil {
			return err
		}
	}
	return nil
}

// aloneForHours simulates one of three that runs on alone.
func (c *clocked) aloneForHours() error {
	c.hosts[1].kill()
	c.hosts[2].kill()
	time.Sleep(20 * time.Second)
	for range 120 {
		if err := c.apart(clockSlack); err != nil {
			return err
		}
		if err := put(context.Background(), c.hosts[0].up(), "alone"); err != nil { // else nobody is struck out
			return err
		}
		time.Sleep(time.Minute)
	}
	if err := c.members(1); err != nil { // the others were struck out
		return err
	}
	_, err := c.leader()
	return err
}

// offForAWhile simulates that everything is off, and that one node starts earlier
// than the others.
func (c *clocked) offForAWhile() error {
	for _, h := range c.hosts {
		h.kill()
	}
	time.Sleep(35 * time.Minute)
	for i, h := range c.hosts {
		if _, err := h.start(); err != nil {
			return err
		}
		if i == 0 {
			time.Sleep(40 * time.Second)
		}
	}
	time.Sleep(time.Minute)
	if err := c.members(3); err != nil {
		return err
	}
	return c.apart(clockSlack)
}

// offWithAServerWrong simulates that everything is off, and starts at once with a
// server whose clock is an hour ahead.
func (c *clocked) offWithAServerWrong() error {
	for _, h := range c.hosts { // reads move no database on: who starts again has read less than before
		for range 3 {
			if err := h.up().Latest(context.Background()); err != nil {
				return err
			}
		}
	}
	for _, h := range c.hosts {
		h.kill()
	}
	c.server.set(time.Hour)
	time.Sleep(20 * time.Minute)
	for _, h := range c.hosts {
		if _, err := h.start(); err != nil {
			return err
		}
	}
	time.Sleep(500 * time.Millisecond)
	return c.apart(2 * clockSlack)
}

// twoAreWrong simulates that the clocks of two nodes are wrong in opposite ways, one
// of which led.
func (c *clocked) twoAreWrong() error {
	h, err := c.leader()
	if err != nil {
		return err
	}
	led := slices.Index(c.hosts, h)
	c.clocks[led].set(time.Hour)
	c.clocks[(led+1)%3].set(-time.Hour)
	time.Sleep(time.Minute)
	if err := c.apart(clockSlack); err != nil {
		return err
	}
	if h, err = c.leader(); err == nil && h != c.hosts[(led+2)%3] {
		err = fmt.Errorf("%s leads, whose clock is wrong", h.o.Name)
	}
	return err
}

var clockTrials = map[string]func(*clocked) error{
	"a server one hour ahead, one behind":       (*clocked).aServerIsWrong,
	"one of three alive for two hours":          (*clocked).aloneForHours,
	"everything off for 35 minutes":             (*clocked).offForAWhile,
	"everything off, and a server ahead":        (*clocked).offWithAServerWrong,
	"two nodes' clocks wrong, in opposite ways": (*clocked).twoAreWrong,
}

func TestTimeOfTheLog(t *testing.T) {
	for name, trial := range clockTrials {
		t.Run(name, func(t *testing.T) {
			c := newClocked(Faults{}, "a", "b", "c")
			if err := c.run(t, func() error { return trial(c) }); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestClocksFindEveryFault(t *testing.T) {
	for name, f := range map[string]Faults{
		"TrustStamps":    {TrustStamps: true},
		"CountTheGone":   {CountTheGone: true},
		"StrikeByStamps": {StrikeByStamps: true},
		"LeadByAnyClock": {LeadByAnyClock: true},
	} {
		t.Run(name, func(t *testing.T) {
			for trial, fn := range clockTrials {
				c := newClocked(f, "a", "b", "c")
				if err := c.run(t, func() error { return fn(c) }); err != nil {
					t.Logf("%s: %v", trial, err)
					return
				}
			}
			t.Error("no trial has found it")
		})
	}
}

// With two clocks that are wrong the same way the log's time is theirs, and who is
// right does not lead.
func TestMostClocksWrong(t *testing.T) {
	c := newClocked(Faults{}, "a", "b", "c")
	err := c.run(t, func() error {
		c.clocks[0].set(time.Hour)
		c.clocks[2].set(time.Hour)
		time.Sleep(time.Minute)
		if by := c.hosts[1].up().Clock().Sub(time.Now()); (by - time.Hour).Abs() > 2*clockSlack {
			return fmt.Errorf("the log's time is %s off", by)
		}
		for range 60 {
			if c.hosts[1].up().Leads() {
				return fmt.Errorf("b leads, whose clock is an hour from the log's time")
			}
			time.Sleep(time.Second)
		}
		_, err := c.leader()
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A clock that is not trusted is not carried.
func TestAClockThatIsNotTrustedIsNotCarried(t *testing.T) {
	c := newClocked(Faults{}, "a", "b", "c")
	for i := range c.hosts {
		c.hosts[i].o.Trusts = func(time.Time) bool { return i == 1 }
	}
	err := c.run(t, func() error {
		c.clocks[0].set(time.Hour)
		c.clocks[2].set(time.Hour)
		time.Sleep(time.Minute)
		return c.apart(2 * clockSlack)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestBounded(t *testing.T) {
	const s = int64(time.Second)
	for _, c := range []struct {
		clocks   []int64 // 0 for none
		at, want int64
	}{
		{nil, 7 * s, 7 * s},
		{[]int64{0, 0}, 7 * s, 7 * s},
		{[]int64{100 * s}, 90 * s, 90 * s},
		{[]int64{100 * s}, 200 * s, 100 * s},
		{[]int64{100 * s, 0, 0}, 200 * s, 100 * s},
		{[]int64{100 * s, 200 * s}, 150 * s, 150 * s},
		{[]int64{100 * s, 200 * s}, 300 * s, 205 * s},
		{[]int64{100 * s, 200 * s}, 50 * s, 95 * s},
		{[]int64{100 * s, 101 * s, 900 * s}, 102 * s, 102 * s},
		{[]int64{100 * s, 101 * s, 900 * s}, 500 * s, 106 * s},
		{[]int64{1 * s, 101 * s, 102 * s}, 50 * s, 96 * s},
		{[]int64{latestClock, latestClock, latestClock}, 1<<63 - 1, latestClock + 5*s},
		{[]int64{1, 1, 1}, -1 << 63, 1 - 5*s},
	} {
		st := &state{version: proofVersion}
		for i, clock := range c.clocks {
			st.members = append(st.members, member{id: NodeID{byte(i)}, clock: clock})
		}
		if got := bounded(st, c.at); got != c.want {
			t.Errorf("%v at %d: %d, want %d", c.clocks, c.at, got, c.want)
		}
	}
}

// A log that begins on a server whose clock is ahead begins at the time of who begins it.
func TestBeginsAtItsOwnTime(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for by, want := range map[time.Duration]time.Time{time.Hour: now, 0: now, -time.Second: now.Add(-time.Second)} {
		raw, err := Beginning(ClusterID{1}, NodeID{2}, 1, now, Join{Name: "a", Version: proofVersion}, Raise{Version: proofVersion})
		if err != nil {
			t.Fatal(err)
		}
		m, err := parseMessage(raw)
		if err != nil {
			t.Fatal(err)
		}
		h := m.header(raw)
		s := &state{}
		if v := s.Take(h, 1, now.Add(by).UnixNano()); v != taken || s.time != want.UnixNano() {
			t.Errorf("a server %v ahead: %s, the log begins at %v, not %v", by, v, time.Unix(0, s.time), want)
		}
	}
}

// Who does not trust its clock begins a log without: it is at the time of the server.
func TestBeginsWithoutAClock(t *testing.T) {
	raw, err := Beginning(ClusterID{1}, NodeID{2}, 1, time.Time{}, Join{Name: "a", Version: proofVersion}, Raise{Version: proofVersion})
	if err != nil {
		t.Fatal(err)
	}
	m, err := parseMessage(raw)
	if err != nil || m.word == nil || m.word.clock != 0 {
		t.Fatal(m.word, err)
	}
	s, at := &state{}, time.Unix(1_800_000_000, 0).UnixNano()
	if v := s.Take(m.header(raw), 1, at); v != taken || s.time != at {
		t.Errorf("%s, the log begins at %v", v, time.Unix(0, s.time))
	}
}

// A member counts until a third heartbeat of one other follows its last message.
func TestWhoCounts(t *testing.T) {
	s := newScript(t).at(time.Hour)
	s.ok("a", Join{Name: "a", Version: proofVersion})
	s.ok("b", Join{Name: "b", Version: proofVersion})
	s.ok("c", Join{Name: "c", Version: proofVersion})
	s.ok("a", Raise{Version: proofVersion})
	who := func() (out []bool) {
		for i := range s.s.members {
			out = append(out, s.s.counts(i))
		}
		return out
	}
	beat := func(name string) { s.ok(name, Heartbeat{Version: proofVersion}) }
	for _, c := range []struct {
		say  func()
		want []bool
	}{
		{func() { beat("a"); beat("a"); beat("b"); beat("b") }, []bool{true, true, true}},
		{func() { beat("b") }, []bool{false, true, false}},
		{func() { s.ok("a", Lease{Epoch: 1}) }, []bool{true, true, false}},
		{func() { beat("c") }, []bool{true, true, true}},
		{func() { beat("c"); beat("c") }, []bool{false, false, true}},
		{func() { s.ok("d", Join{Name: "d", Version: proofVersion}) }, []bool{false, false, true, true}},
	} {
		if c.say(); !slices.Equal(who(), c.want) {
			t.Errorf("%v, want %v", who(), c.want)
		}
	}
}

// What a member says of its clock replaces what it said before, and not what it said
// since: batches enter late, as they were made.
func TestTheNewestClockOfAMember(t *testing.T) {
	s := &state{version: proofVersion, number: 100, members: []member{{id: node("a"), boot: 1}}}
	for i, c := range []struct {
		boot, number uint64
		clock, want  int64
	}{
		{1, 50, 1000, 1000},
		{1, 60, 900, 900}, // it was set back
		{1, 50, 2000, 900},
		{1, 60, 950, 950},
		{1, 60, 920, 950}, // as long ago as the log is away
		{1, 100, 3000, 950},
		{2, 40, 1500, 1500},
		{1, 90, 800, 1500}, // late, of the boot before
	} {
		s.hear(&header{node: node("a"), boot: c.boot, word: &word{number: c.number, clock: c.clock}})
		s.members[0].boot = max(s.members[0].boot, c.boot)
		if got := s.members[0].clock; got != c.want {
			t.Errorf("%d: clock %d, want %d", i, got, c.want)
		}
	}
}
