package recall

import "testing"

// What is only linked to a document that has the word, or lies beside it in a
// session, is not found by a search for the word.
func TestSearchLeavesOutWhatIsOnlyLinked(t *testing.T) {
	l := library{
		"mem/atlas": "Atlas keeps its data in sqlite, see [[mem/ana]].",
		"mem/ana":   "Ana lives in Porto.",
		"mem/j/1":   "---\nsession: s1\n---\nThe kettle broke.",
		"mem/j/2":   "---\nsession: s1\n---\nWe went home.",
	}
	x := l.index(t)
	for query, want := range map[string]string{"sqlit": "mem/atlas", "kettle": "mem/j/1"} {
		hits := x.Search(Query{Text: query, Now: now}, Recipe(), l.texts)
		if len(hits) != 1 || hits[0].Slug != want {
			t.Errorf("%q finds %+v", query, hits)
		}
	}
}
