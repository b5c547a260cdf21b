package answer

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"engramd/internal/memory/quote"
	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// maxTitle is how much of a title is shown, in characters.
const maxTitle = 80

// Answer is what recall returns.
type Answer struct {
	// Fit says how well the best hits fit: none without any.
	Fit recall.Fit
	// Block is ready to be shown to a model: a line that says what it is, the best
	// texts and titles of others, within the budget. Empty without hits.
	Block string
	Hits  []Hit // those that stand in the block, best first
	More  int   // how many fit besides, for which it had no room
	// Others is how many the scope left out that would fit by themselves.
	Others int
	// Try says what may give more, where there is no hit.
	Try   string
	State State
}

// Hit is a memory that was found.
type Hit struct {
	Head
	Title   string
	Type    frontmatter.Type
	Trust   frontmatter.Trust
	State   frontmatter.State
	Project string // whose it is, what another project than the asker's is called; "" for none
	When    time.Time
	Fit     recall.Fit
	Why     []string // words, meaning, link, time, person, beside
	Words   []string // of the query, that it has
	recall.Standing
	Alike []recall.Alike // near duplicates, which are not listed; without the words of somebody else
	Whole bool           // its whole text is in the block
	Part  int            // the section of it that is there, counted from 0; -1 for none
}

// weakly begins a block of which no hit fits well.
const weakly = "No memory fits well; these are the nearest.\n"

// Recall returns what fits a query best as one block. Its error is a Mistake.
func Recall(v View, q Query, now time.Time) (Answer, error) {
	r, err := q.recall(v, now)
	return r.Answer, err
}

// recalled is an answer with what it was made from.
type recalled struct {
	Answer
	asked recall.Query
	found []recall.Found
	shown []recall.Shown // how each stands in the block
}

func (q *Query) recall(v View, now time.Time) (r recalled, err error) {
	asked, err := q.read(now)
	if err != nil {
		return r, err
	}
	q.within(v, &asked)
	texts := texts(v)
	found := v.Index().Recall(asked, recall.Recipe(), texts)
	q.reorder(found)
	a := Answer{State: v.State(), Fit: recall.FitOf(found), Others: others(v, asked, func(rest recall.Query) int { return v.Index().Fitting(rest, recall.Recipe(), texts) })}
	first := quote.Mixed
	if a.Fit == recall.Weak {
		first = weakly + first
	}
	shown := q.show(v, &a, asked, found, texts, first)
	switch {
	case len(found) == 0:
		a.Try = q.try(v, asked)
	case len(a.Hits) == 0 && a.More > 0:
		a.Try = "a larger budget: the best has no room"
	}
	return recalled{a, asked, found, shown}, nil
}

// Tell returns what is told at a prompt that asks for nothing: few memories, or none
// (recall.Told). Its error is a Mistake.
func Tell(v View, q Query, now time.Time) (Answer, error) {
	asked, err := q.read(now)
	if err != nil {
		return Answer{}, err
	}
	q.within(v, &asked)
	texts := texts(v)
	a := Answer{State: v.State()}
	found := v.Index().Told(asked, recall.Recipe(), texts)
	if len(found) > 0 { // without, nothing is said of what was left out either
		a.Fit = recall.Strong
		a.Others = others(v, asked, func(rest recall.Query) int { return len(v.Index().Told(rest, recall.Recipe(), texts)) })
	}
	q.show(v, &a, asked, found, texts, quote.Mixed)
	return a, nil
}

// show writes the block of an answer behind a first line, and its hits, and says how
// each stands there.
func (q *Query) show(v View, a *Answer, asked recall.Query, found []recall.Found, texts recall.Texts, first string) (shown []recall.Shown) {
	for i := range found {
		found[i].Project = asked.Within.Of(found[i].Slug)
		found[i].Beneath = WordsOf(v)[found[i].Slug].Beneath()
		found[i].Corrected = found[i].Beneath != ""
		found[i].Kept = q.Shown != nil && q.Shown(found[i].Slug, found[i].Section)
	}
	last := q.elsewhere(a.Others)
	if n := a.State.Behind; n > 0 {
		last += fmt.Sprintf("(newer here than relays show: %d; engramctl repair)\n", n)
	}
	if a.Block, shown = recall.Block(found, texts, cmp.Or(q.Budget, DefaultBudget)-len(first)-len(last)); a.Block != "" {
		a.Block = first + a.Block + last
	}
	for i := range found {
		if found[i].Kept {
			continue
		}
		if shown[i] == recall.NotShown {
			a.More++
			continue
		}
		h := hitOf(v, &found[i].Hit, texts)
		h.Project = found[i].Project
		h.Alike, h.Whole, h.Part = ownWords(h.Trust, found[i].Alike), shown[i] == recall.Whole, -1
		if shown[i] == recall.AsPart {
			h.Part = found[i].Section
		}
		a.Hits = append(a.Hits, h)
	}
	return shown
}

// try names what may find more: without the filter that left something out, else a
// search for other words.
func (q *Query) try(v View, asked recall.Query) string {
	for _, h := range v.Index().Rank(unfiltered(asked), recall.Recipe(), 1) {
		if why := refused(v, asked, &h); why != "" {
			return fmt.Sprintf("a wider filter: %s is left out (%s)", h.Slug, why)
		}
	}
	return "memory_search with single words, or memory_list"
}

// ownWords leaves out in what near duplicates differ, where one of both is somebody
// else's: nothing beside those words would say so.
func ownWords(trust frontmatter.Trust, all []recall.Alike) []recall.Alike {
	all = slices.Clone(all)
	for i := range all {
		if trust == frontmatter.External || all[i].Trust == frontmatter.External {
			all[i].Differs = nil
		}
	}
	return all
}

// Title is what a memory is called where its text is not shown: quoted and called
// somebody else's words if it is external.
func Title(d frontmatter.Doc) string {
	title := quote.Line(d.Heading(maxTitle))
	if title != "" && d.Trust() == frontmatter.External {
		return fmt.Sprintf("(external: somebody else's words) %q", title)
	}
	return title
}

func hitOf(v View, f *recall.Hit, texts recall.Texts) Hit {
	h := Hit{Fit: f.Fit, Type: f.Type, Trust: f.Trust, State: f.State, When: f.When, Words: f.Words, Standing: f.Standing}
	h.Head, _ = v.Head(f.Slug)
	h.Slug = f.Slug
	if text, ok := texts(f.Slug); ok {
		h.Title = Title(frontmatter.Parse(text))
	}
	h.Why = f.Why.Names()
	return h
}
