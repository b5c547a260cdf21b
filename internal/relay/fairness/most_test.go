package fairness

import (
	"fmt"
	"testing"
)

// TestBudgetKeeps: those who never give way have their part of the budget, whatever
// others hold, and no more of it; among the others, who holds most gives way as
// if they were not there.
func TestBudgetKeeps(t *testing.T) {
	p := NewBudget(BudgetLimits{Share: 16, Total: 256, Kept: 128})
	var others []*pouch
	for i := range 16 {
		h := open(p, from(fmt.Sprintf("192.0.2.%d", i), uint64(i)))
		h.take(8)
		h.take(8)
		others = append(others, h)
	}
	if !p.Keep(41) || p.Used() > 256 {
		t.Fatalf("others keep everything: %d are held", p.Used())
	}
	late := open(p, from("198.51.100.1", 99))
	if late.take(8) != Within {
		t.Error("what is kept switches off that who has most gives way")
	}
	if !p.Keep(87) || p.Keep(1) {
		t.Error("not their part, or more")
	}
	gave, held := 0, int64(0)
	// The last to give way may be the late one: in the end all have as much as it has.
	for _, h := range append(others, late) {
		gave += h.gave
		held += h.Used()
	}
	if gave != 17 || held != 256+8-17*8 || p.Used() != held+128 {
		t.Errorf("%d gave way, who may give way holds %d, all %d", gave, held, p.Used())
	}
	p.GiveKept(128)
	if p.Used() != held || !p.Keep(128) {
		t.Errorf("%d are held", p.Used())
	}
}

// TestBudgetPassesOverWhoSaysNo: the next largest is asked, but not without end.
func TestBudgetPassesOverWhoSaysNo(t *testing.T) {
	p := NewBudget(BudgetLimits{Total: 100})
	stuck, loose := open(p, from("192.0.2.1", 1)), open(p, from("192.0.2.2", 2))
	stuck.take(60)
	stuck.stuck = true
	loose.take(20)
	loose.take(20)
	if got := open(p, from("192.0.2.3", 3)).take(10); got != Within || loose.gave != 1 {
		t.Errorf("%v, gave %d", got, loose.gave)
	}
	for i := range 2 * asked {
		p = NewBudget(BudgetLimits{Total: int64(i+1) * 10})
		questions := 0
		for n := range i {
			p.Open(from(fmt.Sprintf("192.0.2.%d", n), uint64(n)), func() bool { questions++; return false }).Take(10)
		}
		last := open(p, from("198.51.100.1", 99))
		last.take(9)
		last.stuck = true
		if got := open(p, from("198.51.100.2", 100)).take(2); got != OverTotal && i > 0 || questions != min(i, asked) {
			t.Errorf("%d say no: %v after %d questions", i, got, questions)
		}
	}
}
