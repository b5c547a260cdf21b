package hook

import (
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/quote"
	"engramd/nips/frontmatter"
)

// Bounds of the replay.
const (
	// MaxReplay is how many episodes come back.
	MaxReplay = 12
	// episodeBudget is how much of one stands there, so that one is not all.
	episodeBudget = 600
	// leastReplay is below what nothing is worth a title.
	leastReplay = 200
)

// Episode is one that may come back.
type Episode struct {
	Slug, Text string
	When       time.Time
	// Weight is salience × activation.
	Weight float64
	// Note says how it stands, beside its slug; "" for nothing.
	Note string
}

// Alive orders episodes by their weight, the most alive first.
func Alive(a, b Episode) int {
	switch {
	case a.Weight != b.Weight && a.Weight > b.Weight:
		return -1
	case a.Weight != b.Weight:
		return 1
	case !a.When.Equal(b.When):
		return b.When.Compare(a.When)
	}
	return strings.Compare(a.Slug, b.Slug)
}

// Replay is the section with episodes as they were written, in at most budget:
// the most alive of them that fit, oldest first, and of one second the most alive last.
// It also returns what stands there whole.
func Replay(m Measure, episodes []Episode, c Copy, budget int) (Section, []Unit) {
	title := "[Agent Memory — replay" + c.mark() + "]\nEpisodes of earlier sessions as they were written, and not what happens now.\n" + quote.Notice
	left := budget - m(title)
	if left < leastReplay {
		return Section{}, nil
	}
	episodes = slices.SortedFunc(slices.Values(episodes), Alive)
	type shown struct {
		Episode
		text  string
		whole bool
	}
	var all []shown
	for _, e := range episodes[:min(len(episodes), MaxReplay)] {
		head := "## " + e.Slug + " (" + stamp(e.When)
		if e.Note != "" {
			head += "; " + e.Note
		}
		head += ")\n"
		body := quote.Text(frontmatter.Parse(e.Text).Body(), false)
		short := m.cut(body, episodeBudget, "memory_read gives all of it")
		if text := head + short; body != "" && m(text) <= left {
			all = append(all, shown{e, text, short == body})
			left -= m(text)
		}
	}
	if len(all) == 0 {
		return Section{}, nil
	}
	slices.Reverse(all) // of one second, the most alive stands last
	slices.SortStableFunc(all, func(a, b shown) int { return a.When.Compare(b.When) })
	out := title
	var whole []Unit
	for _, e := range all {
		out += e.text
		if e.whole {
			whole = append(whole, Unit{Slug: e.Slug, Text: e.Text})
		}
	}
	return Section{Text: out, Budget: budget}, whole
}
