package recall

import (
	"maps"
	"slices"
)

// With returns an index that has documents more, each in place of the one at its slug.
// The index itself stays as it is, and may change later. What cannot be taken in is
// left out.
func (x *Index) With(more []Document) *Index {
	y := New()
	y.live, y.liveWords, y.langs = x.live, x.liveWords, x.langs
	y.terms, y.bySlug = maps.Clone(x.terms), maps.Clone(x.bySlug)
	y.sections, y.docs = slices.Clone(x.sections), slices.Clone(x.docs)
	y.posts, y.packed = make([][]posting, len(x.posts)), x.packed
	y.packedOf = x.packedOf
	for i, list := range x.posts { // what is added behind goes into a list of its own
		y.posts[i] = slices.Clip(list)
	}
	y.groups = registry{byName: maps.Clone(x.groups.byName), all: slices.Clone(x.groups.all), free: slices.Clone(x.groups.free)}
	for i := range y.groups.all {
		y.groups.all[i].sections = slices.Clone(y.groups.all[i].sections)
	}
	y.people.count = maps.Clone(x.people.count)
	for word, names := range x.people.byWord {
		y.people.byWord[word] = slices.Clone(names)
	}
	for _, d := range more {
		_ = y.Put(d) // it is full, or the text too long: then it is listed all the same
	}
	return y
}
