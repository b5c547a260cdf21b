package recall

import "slices"

// holding returns the slugs of the documents that have every term of every
// phrase. Whether the words follow each other, only the text can say.
func (x *Index) holding(phrases [][]string) map[string]bool {
	counts := make([]int, len(x.docs))
	needed := 0
	for _, phrase := range phrases {
		for _, text := range phrase {
			t := x.lang.term(word{text: text, whole: unbroken([]rune(text)[0])})
			if t == "" {
				continue
			}
			needed++
			id, ok := x.terms[t]
			if !ok {
				return map[string]bool{}
			}
			for _, p := range x.posts[id] {
				if doc := x.sections[p.section()].doc; doc >= 0 && counts[doc] == needed-1 {
					counts[doc] = needed
				}
			}
		}
	}
	only := make(map[string]bool)
	for id := range x.docs {
		if counts[id] == needed && x.docs[id].to > x.docs[id].from {
			only[x.docs[id].slug] = true
		}
	}
	return only
}

// says reports whether all phrases stand in a text.
func says(text string, phrases [][]string) bool {
	words := wordsOf(text)
	return !slices.ContainsFunc(phrases, func(p []string) bool { return !follows(words, p) })
}

// follows reports whether words have a run of others in them.
func follows(words, run []string) bool {
	for i := 0; i+len(run) <= len(words); i++ {
		if slices.Equal(words[i:i+len(run)], run) {
			return true
		}
	}
	return false
}
