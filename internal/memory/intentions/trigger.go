package intentions

import (
	"engramd/internal/memory/recall"
)

// Threshold is the share of what a trigger's words say that a prompt must say. It
// was chosen on the first half of the set in testdata: see TestTriggers.
const Threshold = 0.35

// idle are the words by which people say that a trigger is one. They say nothing of
// what it is about.
const idle = `user owner human person people someone somebody anyone asks asked asking wants wanted mentions mentioned talks talking
topic subject comes come coming next time again whenever happens about start starts started begin begins need needs
prompt question session conversation work working make makes made go goes going went back get gets got new use used look take give put`

// Matcher compares triggers with one prompt or query.
type Matcher struct {
	index *recall.Index
	says  map[string]bool // terms of the prompt
	idle  map[string]bool
	worth map[string]float64
}

// NewMatcher returns one for a text, of which at most recall.MaxQuery bytes are
// read. How much a word says is taken from the memory's own index.
func NewMatcher(x *recall.Index, text string) *Matcher {
	m := &Matcher{index: x, says: map[string]bool{}, idle: map[string]bool{}, worth: map[string]float64{}}
	for _, t := range recall.Terms(text[:min(len(text), recall.MaxQuery)]) {
		m.says[t] = true
	}
	for _, t := range recall.Terms(idle) {
		m.idle[t] = true
	}
	return m
}

// Share is how much of what a trigger says the text says too, 0 to 1.
func (m *Matcher) Share(trigger string) float64 {
	terms := recall.Terms(trigger)
	has := false
	for _, t := range terms {
		has = has || m.says[t]
	}
	if !has {
		return 0
	}
	about := make([]string, 0, len(terms))
	for _, t := range terms {
		if !m.idle[t] {
			about = append(about, t)
		}
	}
	if len(about) == 0 { // it is about such a word
		about = terms
	}
	total, said := 0., 0.
	for _, t := range about {
		w := m.weight(t)
		total += w
		if m.says[t] {
			said += w
		}
	}
	if total == 0 {
		return 0
	}
	return said / total
}

func (m *Matcher) weight(term string) float64 {
	w, ok := m.worth[term]
	if !ok {
		w = m.index.IDF(term)
		m.worth[term] = w
	}
	return w
}
