package fairness

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func of(share string, conn uint64) Who { return Who{Share: share, Conn: conn} }

// drain takes up to n items.
func drain(q *Queue[string], n int) (out []string) {
	for range n {
		item, ok := q.Pop()
		if !ok {
			break
		}
		out = append(out, item)
	}
	return out
}

func TestQueueGivesSharesTheirTurns(t *testing.T) {
	var q Queue[string]
	for i := range 100 {
		q.Push(of("a", uint64(i)), "a", 1)
	}
	q.Push(of("b", 1000), "b1", 1)
	q.Push(of("b", 1000), "b2", 1)
	q.Push(of("c", 1001), "c1", 1)
	if got := drain(&q, 5); !slices.Equal(got, []string{"a", "b1", "c1", "a", "b2"}) {
		t.Errorf("%v", got)
	}
	if n, cost := q.Of("a"); n != 98 || cost != 98 {
		t.Errorf("%d, %v", n, cost)
	}
	if q.Shares() != 1 || q.Len() != 98 || q.Cost() != 98 {
		t.Errorf("%d shares, %d items, cost %v", q.Shares(), q.Len(), q.Cost())
	}
}

// Who sends small items now and then waits for none of the large ones that shares have waiting, however often he comes in
// a round of theirs, and within a share it is the same.
func TestQueueLetsSmallItemsThrough(t *testing.T) {
	for name, flood := range map[string]func(i int) Who{
		"shares":      func(i int) Who { return of(fmt.Sprint(i), uint64(i)) },
		"parts":       func(i int) Who { return Who{Share: "s", Part: fmt.Sprint(i), Conn: uint64(i)} },
		"connections": func(i int) Who { return of("s", uint64(i)) },
	} {
		var q Queue[string]
		victim := flood(1000)
		for i := range 11 {
			for range 30 {
				q.Push(flood(i), "large", 1000)
			}
		}
		for i := range 100 {
			q.Push(victim, "small", 1)
			if got := drain(&q, 1)[0]; got != "small" {
				t.Errorf("%s: %q is before the small one, the %dth time", name, got, i)
			}
			drain(&q, 1+i%3)
		}
	}
}

// A large item has its turn, however many come with small ones.
func TestQueueStarvesNoLargeItem(t *testing.T) {
	var q Queue[string]
	q.Push(of("large", 1), "large", 1000)
	for i := range 70_000 {
		q.Push(of(fmt.Sprint("small", i), uint64(i+2)), "small", 1)
		if drain(&q, 1)[0] == "large" {
			return
		}
		if i > 64_000 {
			t.Fatalf("it waits for %d small ones", i)
		}
	}
}

// Within a share a connection that has much waiting does not hold up another of it, and neither does one /64 another.
func TestQueueDividesAShare(t *testing.T) {
	var q Queue[string]
	for range 50 {
		q.Push(Who{Share: "v6", Part: "1", Conn: 1}, "flood", 1)
		q.Push(Who{Share: "v6", Part: "1", Conn: 2}, "second", 1)
	}
	q.Push(Who{Share: "v6", Part: "2", Conn: 3}, "other", 1)
	q.Push(Who{Share: "v6", Part: "1", Conn: 4}, "third", 1)
	if got := drain(&q, 5); !slices.Equal(got, []string{"flood", "other", "second", "third", "flood"}) {
		t.Errorf("%v", got)
	}
}

// Few costly items weigh as much as many cheap ones.
func TestQueueWeighsCost(t *testing.T) {
	var q Queue[string]
	for range 10 {
		q.Push(of("dear", 1), "dear", 100)
	}
	for range 200 {
		q.Push(of("cheap", 2), "cheap", 1)
	}
	cheap := 0
	for _, item := range drain(&q, 103) {
		if item == "cheap" {
			cheap++
		}
	}
	if cheap < 100 {
		t.Errorf("%d cheap ones beside %d dear ones", cheap, 103-cheap)
	}
}

// Who comes back after a pause is level with the others, and who has just had much waits for those who have not.
func TestQueueForgetsNoDebtWhileOthersWait(t *testing.T) {
	var q Queue[string]
	for range 200 {
		q.Push(of("steady", 1), "steady", 1)
	}
	q.Push(of("big", 2), "big", 50)
	if got := drain(&q, 52); !slices.Contains(got, "big") {
		t.Error("who wants 50 units is not served when others have had as many")
	}
	q.Push(of("big", 2), "big", 50)
	if got := drain(&q, 40); slices.Contains(got, "big") {
		t.Error("who had 50 units is served before others had 40")
	}
	q.Push(of("new", 3), "new", 1)
	q.Push(of("new", 3), "new", 1)
	if got := drain(&q, 6); !slices.Contains(got, "new") {
		t.Error("a newcomer waits for more than its turn")
	} else if i := slices.Index(got, "new"); slices.Contains(got[i+1:i+2], "new") {
		t.Error("a newcomer is ahead of the others")
	}
}

// Whatever comes and goes, nothing is lost, nothing is given twice, and a connection's items keep their order.
func TestQueueAgainstModel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	var q Queue[[2]int]
	sent, got := map[int]int{}, map[int]int{}
	waiting := 0
	for range 200_000 {
		if r.IntN(waiting/4+2) < 2 {
			conn := r.IntN(300)
			q.Push(Who{Share: fmt.Sprint(conn % 17), Part: fmt.Sprint(conn % 2), Conn: uint64(conn)}, [2]int{conn, sent[conn]}, r.Float64()*10)
			sent[conn]++
			waiting++
			continue
		}
		want, _, _ := q.Next()
		item, ok := q.Pop()
		if !ok != (waiting == 0) || item != want {
			t.Fatalf("%v, %v, want %v", item, ok, want)
		}
		if ok {
			if waiting--; item[1] != got[item[0]] {
				t.Fatalf("connection %d: item %d, want %d", item[0], item[1], got[item[0]])
			}
			got[item[0]]++
		}
		if q.Len() != waiting {
			t.Fatalf("%d waiting, want %d", q.Len(), waiting)
		}
	}
	for {
		if _, ok := q.Pop(); !ok {
			break
		}
	}
	if len(q.root.below) != 0 || q.Cost() > 1e-6 || q.Cost() < -1e-6 {
		t.Errorf("%d lanes and a cost of %v are left", len(q.root.below), q.Cost())
	}
}

// Shares that come once and never again are forgotten.
func TestQueueIsBounded(t *testing.T) {
	var q Queue[int]
	q.Push(of("steady", 0), 0, 1)
	for i := range 3 * maxIdle {
		q.Push(of(fmt.Sprint(i), uint64(i)), i, 1)
		q.Push(of("steady", 0), 0, 1)
		q.Pop()
		q.Pop()
	}
	if n := len(q.root.below); n > maxIdle {
		t.Errorf("%d lanes", n)
	}
}

func TestQueueDoesNotAllocateForOne(t *testing.T) {
	var q Queue[int]
	who := of("192.0.2.1", 4711)
	if n := testing.AllocsPerRun(1000, func() { q.Push(who, 1, 1); q.Pop() }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkQueue(b *testing.B) {
	for _, conns := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(conns), func(b *testing.B) {
			var q Queue[int]
			for i := range conns {
				q.Push(of("a", uint64(i)), i, 1)
			}
			for i := 0; b.Loop(); i++ {
				q.Push(of("a", uint64(i%conns)), i, 1)
				q.Pop()
			}
		})
	}
}

// What is put back comes first of its connection again, and costs its share nothing.
func TestQueuePutBack(t *testing.T) {
	var q Queue[string]
	for _, item := range []string{"a1", "a2", "a3"} {
		q.Push(of("a", 1), item, 10)
	}
	q.Push(of("b", 2), "b1", 10)
	taken := drain(&q, 4) // all, so that nothing of the connections is remembered
	if !slices.Equal(taken, []string{"a1", "b1", "a2", "a3"}) {
		t.Fatal(taken)
	}
	q.Push(of("a", 1), "a4", 10)
	q.PutBack(of("a", 1), "a3", 10)
	q.PutBack(of("a", 1), "a2", 10)
	q.PutBack(of("b", 2), "b1", 10)
	if n, cost := q.Of("a"); n != 3 || cost != 30 || q.Len() != 4 || q.Shares() != 2 {
		t.Errorf("%d items that cost %v, %d in all of %d shares", n, cost, q.Len(), q.Shares())
	}
	if got := drain(&q, 9); !slices.Equal(got, []string{"a2", "b1", "a3", "a4"}) {
		t.Errorf("%v", got)
	}
	// Beside one that waits on, who got something back is level with it.
	for i := range 3 {
		q.Push(of("a", 1), fmt.Sprint("a", i), 10)
		q.Push(of("b", 2), fmt.Sprint("b", i), 10)
	}
	if got := drain(&q, 3); !slices.Equal(got, []string{"a0", "b0", "a1"}) {
		t.Fatal(got)
	}
	q.PutBack(of("a", 1), "a1", 10)
	if got := drain(&q, 9); !slices.Equal(got, []string{"a1", "b1", "a2", "b2"}) {
		t.Errorf("%v", got)
	}
}
