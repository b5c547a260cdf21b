package proof

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/relaytest"
)

// figuresVar enables TestFigures, whose numbers are meaningful on a quiet
// machine only.
const figuresVar = "ENGRAMD_FIGURES"

// field is what is measured: one or more relays with the same memory.
type field struct {
	name   string
	relays []*relaytest.Child
	*nodes.Cluster
}

// figures are the measurements of a field.
type figures struct {
	publish, cpu float64 // events a second; microseconds of the relays' processors for each
	query        float64 // a second, on 8 connections
	many         float64 // the same on 64
	head         times
	perRead      float64 // messages of the log for each of these reads
	live         times   // from sending at the first to arrival at the last
	beside       times   // of one write at the last, while others flood the first
	besideRead   times   // the same of reading a head
}

// TestFigures prints how fast several nodes are compared with a single process.
func TestFigures(t *testing.T) {
	if os.Getenv(figuresVar) == "" {
		t.Skip("figures are asked for: make cluster-figures")
	}
	load, err := os.ReadFile("/proc/loadavg")
	t.Logf("load before: %s %v", strings.TrimSpace(string(load)), err)
	single := field{name: "single process"}
	single.relays = append(single.relays, relaytest.Start(t, relaytest.Options{}))
	base := measure(t, single)
	print(t, single.name, base, base)
	single.relays[0].Kill()
	for _, o := range []struct {
		name string
		nodes.Options
	}{
		{"one node", nodes.Options{Count: 1, Alone: true}},
		{"three nodes", nodes.Options{Alone: true}},
		{"three nodes, reads local", nodes.Options{Alone: true, Reads: "local"}},
	} {
		t.Run(strings.ReplaceAll(o.name, " ", "_"), func(t *testing.T) {
			f := field{name: o.name, Cluster: nodes.Start(t, o.Options)}
			for i := range f.Nodes() {
				f.relays = append(f.relays, f.Node(i).Child())
			}
			print(t, f.name, measure(t, f), base)
			if f.Nodes() == 3 && o.Reads == "" {
				stalls(t, f)
			}
		})
	}
}

func print(t *testing.T, name string, f, base figures) {
	t.Logf("%s: publish %.0f/s (%.2f of the single process), %.0f µs of processor each (%.2f); query %.0f/s (%.2f), on 64 connections %.0f/s (%.2f); read a head p50 %v p99 %v (%.2f), %.3f messages of the log for each read; live p50 %v p99 %v; beside a flood of another node: a write p50 %v p99 %v, a head p50 %v p99 %v",
		name, f.publish, f.publish/base.publish, f.cpu, f.cpu/base.cpu, f.query, f.query/base.query, f.many, f.many/base.many,
		f.head.at(50), f.head.at(99), float64(f.head.at(99))/float64(base.head.at(99)), f.perRead, f.live.at(50), f.live.at(99),
		f.beside.at(50), f.beside.at(99), f.besideRead.at(50), f.besideRead.at(99))
}

func measure(t *testing.T, f field) (out figures) {
	t.Helper()
	before := f.cpu(t)
	events, took := f.publish(t, 24000)
	out.publish = float64(events) / took.Seconds()
	out.cpu = float64((f.cpu(t) - before).Microseconds()) / float64(events)
	appended := f.marks(t)
	out.query, out.many = f.query(t, 8, 150), f.query(t, 64, 40)
	out.head = f.readHead(t, 600)
	out.perRead = float64(f.marks(t)-appended) / (8*150 + 64*40 + 600)
	out.live = f.live(t, 300)
	out.beside, out.besideRead = f.besideFlood(t, 10*time.Second)
	return out
}

// marks counts the messages of the log that were appended for reads alone.
func (f field) marks(t *testing.T) int {
	if f.Cluster == nil {
		return 0
	}
	return marksIn(t, openLog(t, f.Cluster))
}

func (f field) cpu(t *testing.T) (sum time.Duration) {
	for _, r := range f.relays {
		d, err := r.CPU()
		if err != nil {
			t.Fatal(err)
		}
		sum += d
	}
	return sum
}

func (f field) dial(t *testing.T, i int) *relaytest.Client {
	c, err := relaytest.Dial(f.relays[i%len(f.relays)].URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// stalls measures how long writes at node 0 stay unacknowledged after another
// node is killed, and after the log's leader is.
func stalls(t *testing.T, f field) {
	c := f.dial(t, 0)
	c.Patience = wait
	worst := func(what string, strike func(), until time.Duration) {
		var gap time.Duration
		last, began := time.Now(), time.Now()
		strike()
		for n := 0; time.Since(began) < until; n++ {
			ok, err := c.Publish(relaytest.Note(relaytest.NewKey(31), time.Now().Unix(), fmt.Sprint(what, n, began)))
			if err != nil {
				t.Fatal(err)
			}
			if ok.True {
				gap, last = max(gap, time.Since(last)), time.Now()
			}
		}
		t.Logf("%s: writes at another node stall %v", what, gap.Round(time.Millisecond))
	}
	for range 3 {
		worst("a node is killed", f.Node(2).Kill, 3*time.Second)
		f.Node(2).MustStart()
	}
	for range 3 {
		leader := f.Leader(stream)
		worst("the log's leader is killed", func() { f.Kill(leader) }, 15*time.Second)
		f.Rig.Start(leader)
		f.Settle()
	}
}
