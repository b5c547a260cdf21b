package recall

import (
	"cmp"
	"slices"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

const core = string(nipae.Core)

// relation is what kind of link an edge is, as far as the index tells them apart.
type relation uint8

const (
	otherRelation relation = iota
	supersedes
	derivedFrom
	contradicts
)

func relationOf(name string) relation {
	return relation(max(0, slices.Index([]string{"", "supersedes", "derived_from", "contradicts"}, name)))
}

// maxBeside is how many documents are kept as what stands against one, and how many
// are named beside it.
const maxBeside = 3

// Truth is what follows from what is superseded and contradicted, for one state of
// the index: it is good until that changes. All of it is by document; each list has
// at most maxBeside, the most trusted and then the newest first.
type Truth struct {
	documents
	by      map[int32][]int32 // superseded ones: what superseded them
	said    map[int32][]int32 // those that are not active: what says so, with whatever trust
	stale   map[int32][]int32 // active ones that do not hold any more: the superseded ones
	partly  map[int32][]int32 // active ones of which a part does not: likewise
	against map[int32][]int32 // active ones: active ones that contradict them
}

// Truth returns what follows, found out once for each state of the index.
func (x *Index) Truth() *Truth {
	if t := x.follows.Load(); t != nil {
		return t
	}
	t := &Truth{documents: x.documents, by: map[int32][]int32{}, said: map[int32][]int32{}, stale: map[int32][]int32{}, partly: map[int32][]int32{}, against: map[int32][]int32{}}
	for id := range x.docs {
		t.claims(int32(id))
	}
	if len(t.by) > 0 {
		t.rests()
	}
	x.follows.Store(t)
	return t
}

// claims notes what a document supersedes and contradicts. What is external claims
// nothing of the agent's own: its slug would stand beside that.
func (t *Truth) claims(id int32) {
	doc := &t.docs[id]
	for _, l := range doc.links {
		if l.kind != supersedes && l.kind != contradicts {
			continue
		}
		to, ok := t.bySlug[l.target]
		if !ok || to == id || doc.trust < min(frontmatter.Derived, t.docs[to].trust) {
			continue
		}
		old := &t.docs[to]
		switch {
		case l.kind == contradicts && doc.state == frontmatter.Active && old.state == frontmatter.Active:
			t.note(t.against, to, id)
			t.note(t.against, id, to)
		case l.kind == supersedes && old.state != frontmatter.Active:
			t.note(t.said, to, id)
			if old.state == frontmatter.Superseded && t.outranks(doc, old) {
				t.note(t.by, to, id)
			}
		}
	}
}

// note adds a document to those of another one.
func (t *Truth) note(to map[int32][]int32, of, id int32) { to[of] = t.with(to[of], id) }

// with returns a list with a document more, if it is among the first.
func (x *documents) with(list []int32, id int32) []int32 {
	at, found := slices.BinarySearchFunc(list, id, x.weightier)
	if found || at == maxBeside {
		return list
	}
	list = slices.Insert(list, at, id)
	return list[:min(len(list), maxBeside)]
}

// weightier orders documents by trust and time, highest first.
func (x *documents) weightier(a, b int32) int {
	return cmp.Or(cmp.Compare(x.docs[b].trust, x.docs[a].trust), before(&x.docs[b], &x.docs[a]))
}

// uses counts what was derived from an episode.
type uses struct {
	all, gone int
	by        []int32 // of those that are gone
}

// rests notes what rests on superseded documents.
func (t *Truth) rests() {
	of := map[int32]*uses{} // of episodes of which something is gone
	for id := range t.by {
		for _, l := range t.docs[id].links {
			if to, ok := t.bySlug[l.target]; ok && l.kind == derivedFrom && of[to] == nil {
				of[to] = &uses{}
			}
		}
	}
	for id := range t.docs {
		doc := &t.docs[id]
		if doc.from < doc.to {
			t.restsOn(int32(id), of)
		}
	}
	for episode, u := range of {
		switch {
		case u.gone == 0:
		case u.gone == u.all:
			t.stale[episode] = u.by
		default:
			t.partly[episode] = u.by
		}
	}
}

func (t *Truth) restsOn(id int32, of map[int32]*uses) {
	doc := &t.docs[id]
	var corrects []int32 // what is corrected by the document itself does not make it stale
	for _, l := range doc.links {
		if l.kind != derivedFrom && (doc.slug != core || l.kind == supersedes) {
			continue
		}
		to, ok := t.bySlug[l.target]
		if !ok || to == id {
			continue
		}
		on := &t.docs[to]
		if u := of[to]; u != nil && on.typ == frontmatter.Episodic && on.state == frontmatter.Active && doc.counts(on) {
			u.all++
			if t.by[id] != nil {
				u.gone++
				u.by = t.with(u.by, id)
			}
		}
		if t.by[to] == nil || doc.state != frontmatter.Active {
			continue
		}
		switch {
		case doc.slug == core, doc.typ == frontmatter.Narrative, doc.typ == frontmatter.Prospective:
			t.note(t.partly, id, to)
		case doc.typ != frontmatter.Episodic:
			if corrects == nil {
				corrects = append(t.corrected(id), id)
			}
			if !slices.Contains(corrects, to) {
				t.note(t.stale, id, to)
			}
		}
	}
}

// counts reports whether a document that was derived from an episode says what has
// become of that: the story of the agent does not, and nothing external of what is
// the agent's own.
func (d *document) counts(episode *document) bool {
	return d.slug != core && d.typ != frontmatter.Narrative && d.trust >= min(frontmatter.Derived, episode.trust)
}
