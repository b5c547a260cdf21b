package cluster_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
)

// grow waits until more appends of a load are acknowledged.
func grow(t *testing.T, r *rig.Rig, loads []*load, by int) {
	t.Helper()
	for _, l := range loads {
		want := l.count() + by
		r.Until(fmt.Sprintf("writer %d goes on", l.writer), wait, func() error {
			if have := l.count(); have < want {
				return fmt.Errorf("%d acknowledged, not %d", have, want)
			}
			return nil
		})
	}
}

// scene is a rig with two writers and two readers on four separate connections
// to the servers.
type scene struct {
	*rig.Rig
	t         *testing.T
	conns     []*jetstream.Conn
	loads     []*load
	followers []*follower
}

func newScene(t *testing.T) *scene {
	s := &scene{Rig: rig.Start(t, nil), t: t}
	for i := range 2 {
		c := s.Client()
		var conn *jetstream.Conn
		if i == 0 {
			conn = create(t, c.Options())
		} else {
			conn = open(t, c.Options())
		}
		s.conns = append(s.conns, conn)
	}
	for i, conn := range s.conns {
		s.followers = append(s.followers, follow(t, open(t, s.Client().Options())))
		s.loads = append(s.loads, begin(conn, byte('a'+i)))
	}
	grow(t, s.Rig, s.loads, 200)
	return s
}

// finish ends the writers and checks what every reader got.
func (s *scene) finish() {
	s.t.Helper()
	for _, l := range s.loads {
		l.end()
	}
	s.judge()
}

func (s *scene) judge() {
	s.t.Helper()
	last := appendUntil(s.t, s.conns[0], numbered('z', 1))
	for _, f := range s.followers {
		all := f.reached(s.t, s.Rig, last)
		for _, l := range s.loads {
			l.judge(s.t, all)
		}
		for _, m := range all {
			if age := time.Since(m.At); age < -time.Minute || age > time.Hour {
				s.t.Fatalf("message %d was stored at %v", m.Number, m.At)
			}
		}
	}
}

// resumed prints how long it takes, from now, until every writer's next append
// is acknowledged and every reader has it.
func (s *scene) resumed(after string) {
	s.t.Helper()
	began := time.Now()
	number := uint64(0)
	for i, conn := range s.conns {
		number = max(number, appendUntil(s.t, conn, numbered('r', uint64(i))))
	}
	acknowledged := time.Since(began)
	for _, f := range s.followers {
		f.reached(s.t, s.Rig, number)
	}
	s.t.Logf("%s killed: acknowledged again after %v, read after %v", after,
		acknowledged.Round(10*time.Millisecond), time.Since(began).Round(10*time.Millisecond))
}

// Acknowledged appends are in the log after a server, and the leader, was
// killed, in their order, and readers see each message once.
func TestAcknowledgedSurvivesKills(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	leader := s.Leader("ENGRAMD_LOG")
	follower := (leader + 1) % s.Count()
	s.Kill(follower)
	s.resumed("a follower")
	grow(t, s.Rig, s.loads, 200)
	s.Start(follower)
	s.Settle()
	grow(t, s.Rig, s.loads, 200)

	leader = s.Leader("ENGRAMD_LOG")
	s.Kill(leader)
	s.resumed("the leader")
	grow(t, s.Rig, s.loads, 200)
	s.Start(leader)
	s.Settle()
	grow(t, s.Rig, s.loads, 200)
	s.finish()
}

// With two of three servers gone, nothing is acknowledged and nothing
// acknowledged is lost.
func TestWithoutAMajority(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Kill(0)
	s.Kill(1)
	for _, l := range s.loads {
		l.end()
	}
	// Appends that were in flight get an answer; new ones cannot be acknowledged.
	for i := range 5 {
		if o := appendOne(t, s.conns[0], numbered('y', uint64(i))); o.err == nil {
			t.Fatalf("append %d was acknowledged by one server of three", i)
		}
	}
	s.Start(0)
	s.Start(1)
	s.Settle()
	s.judge()
}

// TestKilledAgainAndAgain is a soak: fifty kills of any server at any time.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	kills := 2
	if os.Getenv("ENGRAMD_SOAK") != "" {
		kills = 50
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	s := newScene(t)
	for range kills {
		victim := random.IntN(s.Count())
		s.Kill(victim)
		grow(t, s.Rig, s.loads, 1+random.IntN(200))
		s.Start(victim)
		s.Settle()
		grow(t, s.Rig, s.loads, 1+random.IntN(200))
	}
	s.finish()
}

// An append that timed out may enter later. Its writer is told that the outcome
// is unknown, and readers see it.
func TestAppendEntersLate(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	c := r.Client()
	conn := create(t, c.Options())
	for attempt := 1; !entersLate(t, r, c, conn); attempt++ {
		if attempt == 6 {
			t.Fatal("the leader is another one each time")
		}
	}
}

// entersLate reports whether the leader was stopped so briefly that it stayed
// the leader: else what was sent to it may never enter.
func entersLate(t *testing.T, r *rig.Rig, c *rig.Client, conn *jetstream.Conn) bool {
	t.Helper()
	leader := r.Leader("ENGRAMD_LOG")
	o := c.Options()
	o.URLs, o.AppendTimeout = []string{c.URL(leader)}, 500*time.Millisecond
	late := open(t, o)
	before := appendUntil(t, late, numbered('a', 1))
	r.Stop(leader)
	if o := appendOne(t, late, numbered('a', 2)); !errors.Is(o.err, cluster.ErrUnknown) {
		t.Errorf("an append to a server that is stopped: %v", o.err)
	}
	r.Cont(leader)
	if r.Leader("ENGRAMD_LOG") != leader {
		return false
	}
	all := readTo(t, conn, before+1, before+1)
	if writer, n, err := parse(all[0].Data); err != nil || writer != 'a' || n != 2 {
		t.Errorf("%c %d %v came instead of the late append", writer, n, err)
	}
	return true
}
