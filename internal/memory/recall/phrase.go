package recall

import "slices"

// holding returns the slugs of the documents that have every term of every
// phrase. Whether the words follow each other, only the text can say.
func (x *Index) holding(phrases [][]word, lang language) map[string]bool {
	counts := make([]int, len(x.docs))
	needed := 0
	for _, phrase := range phrases {
		for _, w := range phrase {
			if x.stopped(w) {
				continue
			}
			needed++
			for _, text := range x.stemsOf(w, lang) {
				id, ok := x.terms[text]
				if !ok {
					continue
				}
				for _, p := range x.posts[id] {
					if doc := x.sections[p.section()].doc; doc >= 0 && counts[doc] == needed-1 {
						counts[doc] = needed
					}
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

// stopped reports whether a word has no term in some language of the memory.
func (x *inverted) stopped(w word) bool {
	for l, sections := range x.langs {
		if sections > 0 && language(l).stopped(w) {
			return true
		}
	}
	return false
}

// says reports whether all phrases stand in a text.
func says(text string, phrases [][]word) bool {
	words := wordsOf(text)
	return !slices.ContainsFunc(phrases, func(p []word) bool {
		run := make([]string, len(p))
		for i, w := range p {
			run[i] = fold(w.text)
		}
		return !follows(words, run)
	})
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
