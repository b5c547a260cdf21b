package recall

import (
	"slices"
	"strings"
)

const peoplePrefix = "mem/people/"

// person returns a person's name as it is compared: the words of a name or of
// the last part of a slug. "" is nobody.
func person(who string) string {
	who = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(who), "[["), "]]")
	if strings.HasPrefix(who, "mem/") {
		who = who[strings.LastIndexByte(who, '/')+1:]
	}
	return strings.Join(wordsOf(strings.ReplaceAll(who, "_", " ")), " ")
}

// peopleOf returns whom a document is by or about: who, and the slug and tags
// where they name a person.
func peopleOf(d Document) (by []string, tagged []string) {
	for _, who := range d.Who {
		by = append(by, person(who))
	}
	if rest, ok := strings.CutPrefix(d.Slug, peoplePrefix); ok {
		name, _, _ := strings.Cut(rest, "/")
		by = append(by, person(name))
	}
	for _, tag := range d.Tags {
		tagged = append(tagged, person(tag))
	}
	nobody := func(s string) bool { return s == "" }
	return slices.DeleteFunc(by, nobody), slices.DeleteFunc(tagged, nobody)
}

// people are the names that an index knows, each with how many documents have
// it, and the names that a word belongs to.
type people struct {
	count  map[string]int
	byWord map[string][]string
}

func (p people) add(name string) {
	if p.count[name]++; p.count[name] > 1 {
		return
	}
	for w := range strings.SplitSeq(name, " ") {
		if !slices.Contains(p.byWord[w], name) {
			p.byWord[w] = append(p.byWord[w], name)
		}
	}
}

func (p people) remove(name string) {
	if p.count[name]--; p.count[name] > 0 {
		return
	}
	delete(p.count, name)
	for w := range strings.SplitSeq(name, " ") {
		kept := slices.DeleteFunc(p.byWord[w], func(n string) bool { return n == name })
		if p.byWord[w] = kept; len(kept) == 0 {
			delete(p.byWord, w)
		}
	}
}

// named returns which people words that follow each other name: whose whole name
// they are, else those to whom all of the words belong, else those to whom any does.
func (p people) named(words []string) []string {
	var all, any []string
	for i, w := range words {
		names := p.byWord[w]
		if i == 0 {
			all = slices.Clone(names)
		} else {
			all = slices.DeleteFunc(all, func(n string) bool { return !slices.Contains(names, n) })
		}
		for _, n := range names {
			if !slices.Contains(any, n) {
				any = append(any, n)
			}
		}
	}
	if name := strings.Join(words, " "); p.count[name] > 0 {
		return []string{name}
	}
	if len(all) > 0 {
		return all
	}
	return any
}

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
				for _, p := range x.postings(id) {
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
