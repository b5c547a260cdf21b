package recalled

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"engramd/cmd/engram-load/internal/measure"
	"engramd/internal/memory/recall"
)

const (
	// atMostPoints and atMostQuestions are what a weight may cost on a set: the
	// larger of both.
	atMostPoints    = 0.01
	atMostQuestions = 2
)

// Without is what the recipe reaches on each set without one weight.
type Without struct {
	Weight          string // "" for the whole recipe
	Found, Returned []measure.Figures
	Costs           []string // sets on which the weight costs more than it may, and what
	// Early are sets on which it costs as much among the first five or as the first
	// result, which no bound holds it to.
	Early []string
}

// Offs takes each weight off alone, over all sets. Questions without an answer are
// left out where a weight may cost something, since none of the figures counts them.
func Offs(ctx context.Context, sets []*measure.Set, meaning measure.Meaning, clock func() time.Time) ([]Without, error) {
	all := []Without{{}}
	weights := []recall.Weights{recall.Recipe()}
	for _, off := range measure.Offs() {
		all, weights = append(all, Without{Weight: off.Name}), append(weights, off.Weights)
	}
	for i := range all {
		for _, set := range sets {
			ways := []measure.Config{measure.Weighted("found", weights[i]), measure.Returned("returned", weights[i])}
			ways[0].Meaning, ways[1].Meaning = meaning, meaning
			found, err := one(ctx, set, ways[0], clock)
			if err != nil {
				return nil, err
			}
			returned, err := one(ctx, answered(set), ways[1], clock)
			if err != nil {
				return nil, err
			}
			all[i].Found, all[i].Returned = append(all[i].Found, found), append(all[i].Returned, returned)
		}
		for j, set := range sets {
			for _, way := range []struct {
				name          string
				with, without *measure.Figures
			}{{"found", &all[0].Found[j], &all[i].Found[j]}, {"returned", &all[0].Returned[j], &all[i].Returned[j]}} {
				costs, early := costs(set, way.with, way.without, way.name)
				all[i].Costs, all[i].Early = append(all[i].Costs, costs...), append(all[i].Early, early...)
			}
		}
	}
	return all, nil
}

// answered is a set without the questions that have no answer.
func answered(set *measure.Set) *measure.Set {
	if set.Strict {
		return set
	}
	return kept(set, func(_ int, q measure.Question) bool { return len(q.Evidence) > 0 })
}

// gain is what taking a weight off brings.
type gain struct {
	what string
	is   float64
}

// costs says what a weight costs on a set beyond what it may, and beyond as much
// early in the ranking.
func costs(set *measure.Set, with, without *measure.Figures, way string) (costs, early []string) {
	may := max(atMostPoints, atMostQuestions/float64(max(1, with.Questions)))
	gains, soon := []gain{{"recall@10", without.At10 - with.At10}}, []gain{{"recall@5", without.At5 - with.At5}, {"first", without.First - with.First}}
	if set.Strict {
		may, gains, soon = 0, append(gains, soon...), nil
		if with.Answers != nil {
			gains = append(gains, gain{"precision", without.Precision - with.Precision}, gain{"updated", without.Updated - with.Updated},
				gain{"silence", with.False - without.False})
		}
	}
	beyond := func(gains []gain) (all []string) {
		for _, g := range gains {
			if g.is > may+1e-9 {
				all = append(all, fmt.Sprintf("%s (%s, %s: %.1f)", set.Name, way, g.what, 100*g.is))
			}
		}
		return all
	}
	return beyond(gains), beyond(soon)
}

// PrintOffs writes a column for each set, found@10 and returned@10, and a line for
// each weight that costs too much.
func PrintOffs(out io.Writer, sets []*measure.Set, all []Without) error {
	p := printer{out: out}
	head, rule := "| without |", "|---|"
	for _, set := range sets {
		head, rule = head+" "+set.Name+" |", rule+"--:|"
	}
	p.line("%s\n%s", head, rule)
	for _, w := range all {
		var line strings.Builder
		fmt.Fprintf(&line, "| %s |", w.Weight)
		for i := range sets {
			fmt.Fprintf(&line, " %s / %s |", percent(w.Found[i].At10), percent(w.Returned[i].At10))
		}
		p.line("%s", line.String())
	}
	p.line("")
	none := true
	for _, w := range all {
		if len(w.Costs) > 0 {
			none = false
			p.line("%s costs too much on %s.", w.Weight, strings.Join(w.Costs, "; "))
		}
	}
	if none {
		p.line("No weight costs more than one point, or two questions, on any set.")
	}
	for _, w := range all {
		if len(w.Early) > 0 {
			p.line("Early in the ranking, %s costs as much on %s.", w.Weight, strings.Join(w.Early, "; "))
		}
	}
	return p.err
}
