package intentions

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// told is one trigger of the set, with prompts that it is meant for.
type told struct {
	trigger string
	prompts []string // these use some of its words
	others  []string // these say it in other words
}

func linesOf(t testing.TB, name string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

func triggers(t testing.TB) (all []told) {
	t.Helper()
	for _, l := range linesOf(t, "triggers.txt") {
		switch {
		case strings.HasPrefix(l, "? "):
			all = append(all, told{trigger: l[2:]})
		case strings.HasPrefix(l, "+ ") && len(all) > 0:
			last := &all[len(all)-1]
			last.prompts = append(last.prompts, l[2:])
		case strings.HasPrefix(l, "~ ") && len(all) > 0:
			last := &all[len(all)-1]
			last.others = append(last.others, l[2:])
		default:
			t.Fatalf("the set has a line %q", l)
		}
	}
	return all
}

// memoryOf returns an index in which each text is a memory.
func memoryOf(t testing.TB, texts []string) *recall.Index {
	t.Helper()
	x := recall.New()
	for i, text := range texts {
		if err := x.Put(recall.Of(fmt.Sprintf("mem/n/%d", i), frontmatter.Parse(text), time.Unix(int64(i), 0))); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// caught counts matches: with the prompts of a trigger, and with foreign ones.
type caught struct{ own, of, other, ofOther, alarms, pairs, disturbed, foreign int }

func (c caught) recall() float64    { return float64(c.own) / float64(c.of) }
func (c caught) alarm() float64     { return float64(c.alarms) / float64(c.pairs) }
func (c caught) precision() float64 { return float64(c.own) / float64(c.own+c.alarms) }

func (c caught) String() string {
	return fmt.Sprintf("caught %d of %d (%.1f %%), %d of %d in other words, false alarms %d of %d pairs (%.2f %%), in %d of %d foreign prompts, precision %.1f %%",
		c.own, c.of, 100*c.recall(), c.other, c.ofOther, c.alarms, c.pairs, 100*c.alarm(), c.disturbed, c.foreign, 100*c.precision())
}

func measure(x *recall.Index, set []told, foreign []string, threshold float64) (c caught) {
	c.foreign = len(foreign)
	for _, one := range set {
		for _, p := range one.prompts {
			c.of++
			if NewMatcher(x, p).Share(one.trigger) >= threshold {
				c.own++
			}
		}
		for _, p := range one.others {
			c.ofOther++
			if NewMatcher(x, p).Share(one.trigger) >= threshold {
				c.other++
			}
		}
	}
	for _, p := range foreign {
		m, before := NewMatcher(x, p), c.alarms
		for _, one := range set {
			c.pairs++
			if m.Share(one.trigger) >= threshold {
				c.alarms++
			}
		}
		if c.alarms > before {
			c.disturbed++
		}
	}
	return c
}

// The threshold was chosen on the first half of the set, every other trigger;
// this test checks it on both. The figures are those of docs/mind.md.
func TestTriggers(t *testing.T) {
	all, foreign := triggers(t), linesOf(t, "foreign.txt")
	if len(all) < 60 || len(foreign) < 300 {
		t.Fatalf("the set has %d triggers and %d foreign prompts", len(all), len(foreign))
	}
	var halves [2][]told
	for i, one := range all {
		halves[i%2] = append(halves[i%2], one)
	}
	for _, tt := range []struct {
		memory       string
		half         int
		recall       float64 // of prompts with some of the words, at least
		alarm        float64 // of pairs of a trigger and a foreign prompt, at most
		precision    float64 // at least
		inOtherWords int     // at least
	}{
		{"a memory", 0, 0.906, 0.0018, 0.763, 4},
		{"a memory", 1, 0.880, 0.0017, 0.776, 2},
		{"nothing", 0, 0.906, 0.0010, 0.852, 2},
		{"nothing", 1, 0.865, 0.0008, 0.878, 2},
	} {
		var texts []string
		if tt.memory != "nothing" {
			texts = linesOf(t, "memory.txt")
		}
		got := measure(memoryOf(t, texts), halves[tt.half], foreign, Threshold)
		t.Logf("%s, half %d: %v", tt.memory, tt.half+1, got)
		if got.recall() < tt.recall || got.alarm() > tt.alarm || got.precision() < tt.precision || got.other < tt.inOtherWords {
			t.Errorf("%s, half %d: %v; want %+v", tt.memory, tt.half+1, got, tt)
		}
	}
}
