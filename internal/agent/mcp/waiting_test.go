package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
)

// mirrored is a local copy that has what a fake has.
type mirrored struct{ *fake }

func (m mirrored) Read(ctx context.Context, do func(recallanswer.View) error) error {
	l, _, err := m.ListAll(ctx)
	if err != nil {
		return err
	}
	source, err := recallanswer.Load(heldOf(l), recallanswer.State{})
	if err != nil {
		return err
	}
	return source.Read(ctx, do)
}

func TestWaiters(t *testing.T) {
	for name, tt := range map[string]struct {
		waiting []int // after each new episode
		said    string
		counts  int // at most
	}{
		"from nothing":             {upTo(1, 25), "8 16 24", 4},
		"this process begins late": {upTo(14, 25), "16 24", 3},
		"it begins at a batch":     {upTo(17, 25), "24", 2},
		"it fills one at once":     {upTo(16, 20), "16", 2},
		"others write too":         {[]int{3, 9, 12, 15, 18, 21, 30, 40, 50, 60, 70, 80}, "21 50", 5},
		"consolidated meanwhile":   {append(upTo(1, 20), upTo(3, 9)...), "8 16 8", 6},
	} {
		var w waiters
		var said []string
		counts := 0
		for _, n := range tt.waiting {
			got, err := w.another(func() (int, error) { counts++; return n, nil })
			if err != nil {
				t.Fatal(err)
			}
			if got > 0 {
				said = append(said, fmt.Sprint(got))
			}
		}
		if strings.Join(said, " ") != tt.said || counts > tt.counts {
			t.Errorf("%s: said at %v, want %s; counted %d times", name, said, tt.said, counts)
		}
	}
	w := waiters{}
	broken := errors.New("broken")
	if n, err := w.another(func() (int, error) { return 9, broken }); n != 0 || !errors.Is(err, broken) {
		t.Errorf("counting fails: %d, %v", n, err)
	}
	if n, err := w.another(func() (int, error) { return 8, nil }); n != 8 || err != nil {
		t.Errorf("after that: %d, %v", n, err)
	}
}

func upTo(from, to int) (all []int) {
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

// Each eighth new episode says how many wait, whichever tool wrote it, and nothing
// else does; without the profile nothing says so.
func TestWritesSayWhatWaits(t *testing.T) {
	f := newFake()
	p := connect(t, newServer(options{Memory: f, Copy: mirrored{f}, Mind: anyMind()}))
	var said []int
	for n := 1; n <= 20; n++ {
		var out waitingWrite
		switch n % 3 {
		case 0:
			out = ask[waitingWrite](p, "memory_write", args{"slug": slugf("day/%d", n), "text": "It rained.", "type": "episodic"})
		default:
			out = ask[waitingWrite](p, "memory_note", args{"text": "It rained."})
		}
		if out.Waiting > 0 {
			said = append(said, out.Waiting)
			if out.Waiting != n || !strings.Contains(out.Next, "memory_more with action prepare") {
				t.Errorf("%+v", out)
			}
		}
		ask[waitingWrite](p, "memory_write", args{"slug": slugf("fact/%d", n), "text": "Rain is wet."})
		ask[waitingWrite](p, "memory_write", args{"slug": "day/3", "text": fmt.Sprintf("It rained %d times.", n), "type": string(frontmatter.Episodic)})
	}
	if fmt.Sprint(said) != "[8 16]" {
		t.Errorf("said at %v", said)
	}
	plain := connect(t, newServer(options{Memory: f, Copy: mirrored{f}}))
	for range 16 {
		if out := ask[map[string]any](plain, "memory_note", args{"text": "It rained."}); out["next"] != nil || out["episodes_waiting"] != nil {
			t.Errorf("%v", out)
		}
	}
}
