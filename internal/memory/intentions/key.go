package intentions

import (
	"strings"
	"time"

	"engramd/internal/memory/project"
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

// whereProject stands in a unit below its project's slug, in place of the name.
const whereProject = "project"

// Place is where a session works.
type Place struct {
	Project string // as internal/memory/project names it; "" is none
	// Old is the name that earlier versions gave it, if the folder reads what is there;
	// "" otherwise.
	Old string
	// Linked says that the folder is known to be that project's. Otherwise nothing of
	// it comes unasked: who made the folder chose the name.
	Linked bool
}

// ofProject reports whether a slug is of any project.
func ofProject(slug string) bool { return strings.HasPrefix(slug, project.Prefix) }

// Here reports whether an intention may come up at a place: that which it names, and
// that of which it is.
func (i *Intention) Here(at Place) bool {
	if ofProject(i.Slug) {
		return at.Linked && project.Own(i.Slug, at.Project, at.Old) && (i.Where == whereProject || at.named(i.Where))
	}
	return at.named(i.Where)
}

// named reports whether an intention that names a project, or none, may come up.
func (p Place) named(where string) bool {
	return where == "" || p.Linked && (where == p.Project || where == p.Old)
}

// What a key is of: an occurrence, an intention without due, one whose trigger fits.
const (
	keyOpen = "open"
	keyMay  = "may"
)

// key names what is shown. A moment that was snoozed to makes it another one.
func key(kind string, at time.Time) string {
	if at.IsZero() {
		return "intention " + kind
	}
	return "intention " + kind + " " + at.UTC().Format(time.RFC3339)
}

// Seen reports whether an intention was shown in a session, of which keys are those
// that it was shown by. An occurrence was also shown by a later one, which counted
// it: a clock that goes back shows nothing twice.
func Seen(shown []string, k string) bool {
	kind, at, timed := split(k)
	for _, s := range shown {
		if s == k {
			return true
		}
		if other, then, ok := split(s); ok && timed && other == kind && kind == keyDue && !then.Before(at) {
			return true
		}
	}
	return false
}

func split(k string) (kind string, at time.Time, ok bool) {
	rest, ok := strings.CutPrefix(k, "intention ")
	if !ok {
		return "", at, false
	}
	kind, written, _ := strings.Cut(rest, " ")
	at, err := time.Parse(time.RFC3339, written)
	return kind, at, err == nil
}
