package plans

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"engramd/internal/client"
	"engramd/internal/memory/consolidation"
	"engramd/nips/frontmatter"
)

// scheduler lets one of several processes go on at a time, drawn by a seed, from one
// of its calls to the next; and kills some.
type scheduler struct {
	rand    *rand.Rand
	kills   int
	waiting map[int]chan bool // whether it is killed
	came    chan int          // who waits now, or has ended
}

func (s *scheduler) pass(who int) {
	go_ := make(chan bool)
	s.waiting[who] = go_
	s.came <- who
	if <-go_ {
		panic(killed)
	}
}

// run lets the processes run to their ends.
func (s *scheduler) run(all ...func()) {
	s.waiting, s.came = map[int]chan bool{}, make(chan int)
	running := len(all)
	for i, do := range all {
		go func() {
			defer func() {
				if e := recover(); e != nil && e != killed {
					panic(e)
				}
				s.came <- -1
			}()
			s.pass(i)
			do()
		}()
		<-s.came
	}
	for running > 0 {
		var ids []int
		for i := range all {
			if s.waiting[i] != nil {
				ids = append(ids, i)
			}
		}
		who := ids[s.rand.IntN(len(ids))]
		go_ := s.waiting[who]
		delete(s.waiting, who)
		kill := s.kills > 0 && s.rand.IntN(25) == 0
		if kill {
			s.kills--
		}
		go_ <- kill
		if <-s.came < 0 {
			running--
		}
	}
}

// TestTwoMachines at one memory, with plans that are the same, or overlap, and are
// taken back, and processes that are killed: whatever the order, each unit is what one
// of them made of it or what it was, nothing is lost, no trust is raised, and the
// records of both can be read.
func TestTwoMachines(t *testing.T) {
	left, rounds := 0, 600
	if testing.Short() {
		rounds = 40
	}
	for seed := range rounds {
		left += round(t, uint64(seed))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if left == 0 {
		t.Error("the two were never in each other's way")
	}
}

// answers are two that overlap.
func answers(same bool) [2][]consolidation.Op {
	if same {
		return [2][]consolidation.Op{answer(), answer()}
	}
	other := []consolidation.Op{
		{Op: consolidation.OpWrite, Slug: "mem/facts/newer", Text: "Atlas runs PostgreSQL 17.", DerivedFrom: []string{"mem/journal/e2", "mem/journal/e3"}},
		{Op: consolidation.OpWrite, Slug: "mem/facts/new", Text: "Two machines hold the data of Atlas.", DerivedFrom: []string{"mem/journal/e1", "mem/journal/e2"}},
		{Op: consolidation.OpSupersede, Old: "mem/facts/old", New: "mem/facts/newer", Why: "it moved"},
		{Op: consolidation.OpArchive, Slug: "mem/journal/e3", Why: "said"},
	}
	return [2][]consolidation.Op{answer(), other}
}

// round is one run of two machines. It returns how many units were left.
func round(t *testing.T, seed uint64) (left int) {
	draw := rand.New(rand.NewPCG(seed, 1))
	before := memory()
	r := newRelay(before)
	machines := [2]*machine{newMachine(t, "one", r), newMachine(t, "two", r)}
	plan := shown(before)
	ops := answers(draw.IntN(2) == 0)
	s := &scheduler{rand: draw, kills: draw.IntN(4)}
	results := [2]Result{}
	work := func(i int, undo bool) func() {
		m := machines[i]
		m.keep(plan)
		p, d := m.start()
		d.pass = func(string) { s.pass(i) }
		return func() {
			var err error
			results[i], err = p.Commit(context.Background(), plan.ID, ops[i])
			if err != nil && !expected(err) {
				t.Errorf("commit: %v", err)
			}
			if err == nil && undo && results[i].ID != "" {
				if _, err := p.Undo(context.Background(), results[i].ID, draw.IntN(2) == 0); err != nil && !expected(err) {
					t.Errorf("undo: %v", err)
				}
			}
		}
	}
	s.run(work(0, draw.IntN(3) == 0), work(1, draw.IntN(3) == 0))
	for _, i := range draw.Perm(2) {
		p, _ := machines[i].start()
		if _, err := p.ResumeOpen(t.Context()); err != nil {
			t.Errorf("resume: %v", err)
		}
	}
	records := machines[0].settled()
	machines[1].settled()
	made := map[string][]string{}
	p, _ := machines[0].start()
	for _, one := range records {
		whole, err := p.Review(t.Context(), one.ID)
		if err != nil {
			if one.Status != Dropped {
				t.Errorf("%s (%s): %v", one.ID, one.Status, err)
			}
			continue
		}
		left += len(one.Left)
		for _, step := range whole.Steps {
			for _, ch := range step.Changes {
				made[ch.Slug] = append(made[ch.Slug], ch.New)
			}
		}
	}
	now := r.texts()
	for slug, text := range now {
		if text != before[slug] && !slices.Contains(made[slug], text) {
			t.Errorf("%s is what nobody made of it: %q", slug, text)
		}
		if was, ok := before[slug]; ok && (frontmatter.Parse(text).Trust() > frontmatter.Parse(was).Trust() || frontmatter.Parse(text).Body() != frontmatter.Parse(was).Body()) {
			t.Errorf("%s has another trust or body: %q", slug, text)
		}
	}
	for slug := range before {
		if _, ok := now[slug]; !ok {
			t.Errorf("%s is gone", slug)
		}
	}
	lost(t, nil, now, fmt.Sprint("seed ", seed))
	return left
}

// expected are errors of who came too late.
func expected(err error) bool {
	var wrong *consolidation.OpError
	return errors.Is(err, consolidation.ErrChanged) || errors.As(err, &wrong) || errors.Is(err, ErrStatus) || errors.Is(err, client.ErrConflict)
}
