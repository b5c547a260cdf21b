package measure

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/activity"
	"engramd/internal/memory/recall"
)

const (
	// shown is how many results of a question that was asked before count as
	// used.
	shown = 10
	// usedFor is the time over which those questions were asked, after the last
	// memory was written.
	usedFor = 60 * 24 * time.Hour
	// draws is how often chance is tried.
	draws = 5
)

// KeptShares are the shares of all tokens that are kept.
var KeptShares = []float64{0.75, 0.50, 0.25}

// Forgetting says what a way of forgetting leaves: recall@10 at each of
// KeptShares, the mean over questions.
type Forgetting struct {
	Name string
	At10 []float64
}

// Forgotten is what all of them leave.
type Forgotten struct {
	All       float64 // recall@10 with everything kept
	Questions int
	Ways      []Forgetting
}

// unitUsed is a document with every use of it.
type unitUsed struct {
	activity.Unit
	at     []time.Time
	degree int
	drawn  float64
}

// keeps says how much a unit is worth keeping, and whether that is for each token
// as metabolism has it, or as it is.
type keeps struct {
	name string
	of   func(u *unitUsed, now time.Time) float64
	each bool
}

// ways of forgetting.
var ways = []keeps{
	{"random", func(u *unitUsed, _ time.Time) float64 { return u.drawn }, false},
	{"oldest first", func(u *unitUsed, _ time.Time) float64 { return float64(u.Created.Unix()) }, false},
	{"LRU", func(u *unitUsed, _ time.Time) float64 {
		last := u.Created
		if n := len(u.at); n > 0 {
			last = u.at[n-1]
		}
		return float64(last.Unix())
	}, false},
	{"ACT-R", func(u *unitUsed, now time.Time) float64 {
		sum := 0.
		for _, t := range append([]time.Time{u.Created}, u.at...) {
			sum += 1 / math.Sqrt(1+now.Sub(t).Hours()/24)
		}
		return math.Log(sum)
	}, false},
	{"ENGRAM 0.1's utility", func(u *unitUsed, now time.Time) float64 {
		lately := 0
		for _, t := range u.at {
			if now.Sub(t) <= 30*24*time.Hour {
				lately++
			}
		}
		return 0.6*float64(lately) + 0.3*u.Salience + 0.1*float64(u.degree)
	}, false},
	{"activation", func(u *unitUsed, now time.Time) float64 { return u.Activation(now) }, true},
	{"activation and links", func(u *unitUsed, now time.Time) float64 {
		return u.Activation(now) + 0.1*math.Log2(1+float64(u.degree))
	}, true},
	{"activation without information", func(u *unitUsed, now time.Time) float64 { return u.Activation(now) - u.Information }, true},
	{"activation without uses", func(u *unitUsed, now time.Time) float64 {
		v := u.Unit
		v.Uses = activity.Use{}
		return v.Activation(now)
	}, true},
}

// Forget asks every second question beforehand, which is the use that ways of
// forgetting know of, lets each of them keep a share of the tokens, and asks the
// others; then the other way round.
func Forget(set *Set) (Forgotten, error) {
	var f Forgotten
	for _, w := range ways {
		f.Ways = append(f.Ways, Forgetting{Name: w.name, At10: make([]float64, len(KeptShares))})
	}
	for i := range set.Memories {
		for half := range 2 {
			if err := f.memory(&set.Memories[i], half); err != nil {
				return f, err
			}
		}
	}
	n := float64(max(1, f.Questions))
	f.All /= n
	for _, w := range f.Ways {
		for i := range w.At10 {
			w.At10[i] /= n
		}
	}
	return f, nil
}

// memory forgets in one memory, and adds what its questions of one half find.
func (f *Forgotten) memory(m *Memory, half int) error {
	x, err := BuildIndex(m)
	if err != nil {
		return err
	}
	var before, after []Question
	for _, q := range m.Questions {
		if len(q.Evidence) == 0 {
			continue
		}
		if (len(before)+len(after))%2 == half {
			before = append(before, q)
		} else {
			after = append(after, q)
		}
	}
	units := m.used(x, before)
	f.Questions += len(after)
	f.All += found(x, m, after)
	now := m.Now.Add(usedFor)
	for w, way := range ways {
		tries := 1
		if way.name == "random" {
			tries = draws
		}
		for try := range tries {
			rnd := rand.New(rand.NewPCG(uint64(try), uint64(half)))
			for i := range units {
				units[i].drawn = rnd.Float64()
			}
			for s, kept := range KeptShares {
				y, err := BuildIndex(&Memory{Documents: m.keep(units, way, kept, now)})
				if err != nil {
					return err
				}
				f.Ways[w].At10[s] += found(y, m, after) / float64(tries)
			}
		}
	}
	return nil
}

// found sums recall@10 of questions.
func found(x *recall.Index, m *Memory, questions []Question) (sum float64) {
	for _, q := range questions {
		var slugs []string
		for _, h := range x.Rank(recall.Query{Text: q.Text, Now: m.Now}, recall.Recipe(), shown) {
			slugs = append(slugs, h.Slug)
		}
		sum += recallAt(slugs, q.Evidence, shown)
	}
	return sum
}

// used returns a memory's units as they are after questions were asked one after
// the other.
func (m *Memory) used(x *recall.Index, questions []Question) []unitUsed {
	says := activity.Informations(x.Said())
	units, bySlug := make([]unitUsed, len(m.Documents)), map[string]int{}
	for i, d := range m.Documents {
		units[i] = unitUsed{Unit: activity.Unit{Slug: d.Slug, Tokens: activity.Tokens(len(d.Body)), Created: d.Created, Information: says[d.Slug]}, degree: len(d.Links)}
		bySlug[d.Slug] = i
	}
	for _, d := range m.Documents {
		for _, l := range d.Links {
			if i, ok := bySlug[l.Target]; ok {
				units[i].degree++
			}
		}
	}
	for i, q := range questions {
		at := m.Now.Add(usedFor * time.Duration(i+1) / time.Duration(len(questions)+1))
		for _, h := range x.Rank(recall.Query{Text: q.Text, Now: m.Now}, recall.Recipe(), shown) {
			u := &units[bySlug[h.Slug]]
			u.at = append(u.at, at)
			u.Uses = activity.Use{N: int64(len(u.at)), Last: at}
		}
	}
	return units
}

// keep returns the documents that a way of forgetting keeps.
func (m *Memory) keep(units []unitUsed, way keeps, kept float64, now time.Time) []recall.Document {
	type ranked struct {
		at    int
		worth float64
	}
	order, total := make([]ranked, len(units)), 0
	for i := range units {
		worth := way.of(&units[i], now)
		if way.each {
			worth = activity.Worth(worth, units[i].Tokens)
		}
		order[i] = ranked{i, worth}
		total += units[i].Tokens
	}
	slices.SortFunc(order, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.worth, a.worth), cmp.Compare(units[b.at].drawn, units[a.at].drawn))
	})
	budget := int(kept * float64(total))
	stays := make([]bool, len(units))
	for _, r := range order {
		if t := units[r.at].Tokens; t <= budget {
			budget -= t
			stays[r.at] = true
		}
	}
	var docs []recall.Document
	for i, d := range m.Documents {
		if stays[i] {
			docs = append(docs, d)
		}
	}
	return docs
}

// Print writes the table in Markdown.
func (f Forgotten) Print(out io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "recall@10 of %d questions; all kept: %s\n\n| kept by | 75 %% | 50 %% | 25 %% |\n|---|--:|--:|--:|\n", f.Questions, percent(f.All))
	for _, w := range f.Ways {
		fmt.Fprintf(&b, "| %s |", w.Name)
		for _, v := range w.At10 {
			fmt.Fprintf(&b, " %s |", percent(v))
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(out, b.String())
	return err
}
