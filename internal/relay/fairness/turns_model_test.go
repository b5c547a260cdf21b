package fairness

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// model says whose turn it is by comparing all who wait, and remembers
// everybody for ever.
type model struct {
	free, kept, most int
	clock, floor     map[string]float64
	active, under    map[string]int
	order            map[string]int
	orders           int
	usual            [numSorts]float64
	turns            []*modelTurn // in the order in which they queued last
	underWay         int
}

type modelTurn struct {
	name  int
	path  [3]string
	sort  sort
	waits bool
	held  bool
	began bool
	paid  float64
	spent float64
}

func (m *model) enter(mt *modelTurn) {
	for i, name := range mt.path {
		if m.active[name] == 0 {
			m.orders++
			m.order[name] = m.orders
			m.clock[name] = max(m.clock[name], m.floor[m.above(mt, i)])
		}
		m.active[name]++
	}
}

func (m *model) above(mt *modelTurn, i int) string {
	if i == 0 {
		return ""
	}
	return mt.path[i-1]
}

func (m *model) charge(mt *modelTurn, units float64) {
	m.orders++
	for _, name := range mt.path {
		m.clock[name] += units
		m.order[name] = m.orders
	}
}

func (m *model) before(a, b *modelTurn) bool {
	for i := range a.path {
		x, y := a.path[i], b.path[i]
		if x != y {
			return m.clock[x] < m.clock[y] || m.clock[x] == m.clock[y] && m.order[x] < m.order[y]
		}
	}
	return false // by age: they are in order
}

// serve gives away what is free, and tells to whom.
func (m *model) serve() (given []int) {
	for m.free > 0 {
		var best *modelTurn
		for _, mt := range m.turns {
			slow := m.free > m.kept
			may := mt.sort == newQuick && m.underWay < m.most || slow && mt.sort == paused ||
				slow && mt.sort == newSlow && m.underWay < m.most-m.kept
			if mt.waits && may && (best == nil || m.before(mt, best)) {
				best = mt
			}
		}
		if best == nil {
			break
		}
		best.waits, best.held = false, true
		m.free--
		if !best.began {
			best.began = true
			m.underWay++
		}
		for i, name := range best.path {
			above := m.above(best, i)
			m.floor[above] = max(m.floor[above], m.clock[name])
		}
		best.paid = m.usual[best.sort]
		m.charge(best, best.paid)
		given = append(given, best.name)
	}
	return given
}

func (m *model) wait(mt *modelTurn) {
	mt.waits = true
	for i, other := range m.turns {
		if other == mt {
			m.turns = append(m.turns[:i], m.turns[i+1:]...)
			break
		}
	}
	m.turns = append(m.turns, mt)
}

func (m *model) putBack(mt *modelTurn) {
	m.free++
	mt.held = false
	m.charge(mt, mt.spent+1-mt.paid)
	m.usual[mt.sort] += (mt.spent + 1 - m.usual[mt.sort]) / 16
	mt.spent = 0
}

func (m *model) drop(i int) {
	mt := m.turns[i]
	m.turns = append(m.turns[:i], m.turns[i+1:]...)
	for _, name := range mt.path {
		m.active[name]--
	}
	if mt.began {
		m.underWay--
	}
}

// TestTurnsAreTheModels does the same at random to both, and compares who gets
// a place each time.
func TestTurnsAreTheModels(t *testing.T) {
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		places := 1 + rnd.IntN(4)
		kept := rnd.IntN(places)
		most := places + rnd.IntN(6)
		real := NewTurns(places, kept).Bound(most, 1e18)
		real.ending = 1 // nobody is ended here
		m := &model{
			free: places, kept: kept, most: most, clock: map[string]float64{}, floor: map[string]float64{},
			active: map[string]int{}, under: map[string]int{}, order: map[string]int{},
		}
		turns := map[int]*Turn{}
		for step := range 1500 {
			var want []int
			held := map[int]bool{}
			for name, turn := range turns {
				held[name] = turn.held
			}
			switch i := rnd.IntN(10); {
			case len(m.turns) < 3 || i < 4 && len(m.turns) < 40:
				want = m.take(real, turns, rnd, step)
			default:
				at := rnd.IntN(len(m.turns))
				mt := m.turns[at]
				turn := turns[mt.name]
				want = m.change(mt, at, turn, rnd)
				if turn.leaf == nil {
					delete(turns, mt.name)
				}
			}
			got := 0
			for _, name := range want {
				if turn := turns[name]; turn == nil || !turn.held {
					t.Fatalf("seed %d step %d: %v were to be served, not %d", seed, step, want, name)
				}
			}
			for name, turn := range turns {
				if turn.held && !held[name] {
					got++
				}
			}
			if got > len(want) {
				t.Fatalf("seed %d step %d: %d were served, %v were to be", seed, step, got, want)
			}
			if real.free != m.free || real.under.n != m.underWay {
				t.Fatalf("seed %d step %d: free %d under way %d, want %d %d", seed, step, real.free, real.under.n, m.free, m.underWay)
			}
		}
	}
}

// take begins a new turn in both.
func (m *model) take(real *Turns, turns map[int]*Turn, rnd *rand.Rand, step int) []int {
	who := Who{Share: fmt.Sprint("share", rnd.IntN(3)), Part: fmt.Sprint(rnd.IntN(2)), Conn: uint64(rnd.IntN(3))}
	mt := &modelTurn{name: step, sort: newSlow, path: [3]string{who.Share, who.Share + who.Part, fmt.Sprint(who.Share, who.Part, who.Conn)}}
	turn := &Turn{turns: real, sort: newSlow}
	if rnd.IntN(3) == 0 {
		mt.sort, turn.sort = newQuick, newQuick
	}
	turns[step] = turn
	m.enter(mt)
	m.wait(mt)
	turn.leaf = real.tree.enter(who)
	real.queue(turn)
	return m.serve()
}

// change lets a turn go on, give way, end, or lose patience, in both.
func (m *model) change(mt *modelTurn, at int, turn *Turn, rnd *rand.Rand) []int {
	if mt.held && rnd.IntN(2) == 0 {
		units := float64(rnd.IntN(50))
		mt.spent += units
		turn.Spend(units)
	}
	switch {
	case mt.held && rnd.IntN(2) == 0:
		m.putBack(mt)
		mt.sort = paused
		m.wait(mt)
		turn.turns.putBack(turn)
		turn.sort = paused
		turn.turns.queue(turn)
	case mt.held:
		m.putBack(mt)
		m.drop(at)
		turn.Done()
	case rnd.IntN(4) == 0:
		m.drop(at)
		turn.turns.leave(turn)
		turn.Done()
	}
	return m.serve()
}
