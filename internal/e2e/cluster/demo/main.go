// Command demo runs three nodes over three servers of a log, has clients write at
// all of them, and kills something every few seconds for half a minute. Each
// second it prints how many events were acknowledged, how many of these are lost,
// and who is up. It ends with 1 if any is lost.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/e2e/cluster/work"
	"engramd/internal/e2e/relaytest"
)

const (
	lasts = 30 * time.Second
	every = 4 * time.Second // between two kills
)

// stage is the test that this is not.
type stage struct{ *relaytest.Program }

func (stage) Failed() bool { return false }

func main() {
	t := stage{relaytest.NewProgram("cluster-demo")}
	show(t)
	t.Cleanup(func() {
		if err := rig.Clean(); err != nil {
			t.Errorf("%v", err)
		}
	})
	if err := t.Finish(); err != nil {
		fmt.Fprintln(os.Stderr, "cluster-demo:", err)
		os.Exit(1)
	}
}

func show(t stage) {
	fmt.Println("three servers of the log and three nodes start")
	c := nodes.Start(t, nodes.Options{})
	w := work.NewWorld(c, nodes.ManagerKey(), nodes.Name, uint64(rand.Uint32()))
	ctx, cancel := context.WithTimeout(context.Background(), lasts)
	defer cancel()
	wrote, struck := make(chan struct{}), make(chan error, 1)
	go func() { defer close(wrote); w.Write(ctx) }()
	said := make(chan string, 1)
	go func() { struck <- strikes(ctx, c, said) }()
	began, tick := time.Now(), time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
			line(c, w, began, said)
		case <-ctx.Done():
		}
	}
	<-wrote
	if err := <-struck; err != nil {
		t.Errorf("%v", err)
	}
	if err := c.AllReady(); err != nil {
		t.Errorf("%v", err)
	}
	if err := w.Judge(); err != nil {
		t.Errorf("%v", err)
	}
	for _, v := range w.Violations() {
		t.Errorf("%s", v)
	}
	fmt.Printf("in the end: %s\n", w.Summary())
	if difference, err := c.Same(context.Background()); err != nil || difference != "" {
		t.Errorf("%s %v", difference, err)
	} else {
		fmt.Println("lost 0: every node has every event that was acknowledged, and the three databases are equal row by row")
	}
}

// strikes kills nodes and servers in turn.
func strikes(ctx context.Context, c *nodes.Cluster, said chan<- string) error {
	chance := rand.New(rand.NewPCG(rand.Uint64(), 0))
	kills := nodes.Kills()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
		b := kills[n%len(kills)]
		select {
		case said <- b.Name:
		default:
		}
		if err := b.Strike(context.Background(), c, chance); err != nil {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
	}
}

// line prints what is known now: by a node that runs, of what was acknowledged
// until it was asked.
func line(c *nodes.Cluster, w *work.World, began time.Time, said <-chan string) {
	what := ""
	select {
	case text := <-said:
		what = "  " + text
	default:
	}
	up := c.Up()
	lost := "?"
	if len(up) > 0 {
		if n, err := w.Lost(up[0]); err == nil {
			lost = fmt.Sprint(n)
		}
	}
	fmt.Printf("%4.0f s  acknowledged %6d  lost %s  nodes up %d of %d%s\n", time.Since(began).Seconds(), w.Acknowledged(), lost, len(up), c.Nodes(), what)
}
