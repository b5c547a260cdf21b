package recalled

import (
	"fmt"
	"io"
	"slices"

	"engramd/cmd/engram-load/internal/measure"
	"engramd/internal/memory/recall"
)

// mostShown is how many results of a miss are printed.
const mostShown = 4

// Misses is a way that prints what goes wrong: a question whose evidence is not whole
// among the first five, and one without an answer that gets something strong.
func Misses(out io.Writer, way measure.Config) measure.Config {
	ask := way.Make
	way.Make = func(m *measure.Memory) (measure.Ranker, error) {
		rank, err := ask(m)
		if err != nil {
			return nil, err
		}
		asked := make(map[string]*measure.Question, len(m.Questions))
		for i := range m.Questions {
			asked[m.Questions[i].Text] = &m.Questions[i]
		}
		return func(q recall.Query) []measure.Hit {
			hits := rank(q)
			missed(out, way.Name, m.Name, asked[q.Text], hits)
			return hits
		}, nil
	}
	return way
}

func missed(out io.Writer, way, memory string, q *measure.Question, hits []measure.Hit) {
	first := hits[:min(5, len(hits))]
	wrong := slices.ContainsFunc(q.Evidence, func(s string) bool {
		return !slices.ContainsFunc(first, func(h measure.Hit) bool { return h.Slug == s })
	})
	if len(q.Evidence) == 0 {
		wrong = slices.ContainsFunc(hits, func(h measure.Hit) bool { return h.Strong })
	}
	if !wrong {
		return
	}
	var got []string
	for _, h := range hits[:min(mostShown, len(hits))] {
		if h.Strong {
			h.Slug += " (strong)"
		}
		got = append(got, h.Slug)
	}
	fmt.Fprintf(out, "%s, %s, %s: %q wants %q, got %d: %q\n", way, memory, q.Kind, q.Text, q.Evidence, len(hits), got)
}
