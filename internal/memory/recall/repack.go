package recall

// repack numbers sections and documents anew, without dead ones, and drops terms
// that no section has.
func (x *Index) repack() {
	docs := make(map[int32]int32, len(x.bySlug)) // old → new
	var kept []document
	for id := range x.docs {
		if doc := x.docs[id]; doc.to > doc.from {
			docs[int32(id)] = int32(len(kept))
			kept = append(kept, doc)
		}
	}
	moved := make([]int32, len(x.sections)+1) // old → new; -1 for the dead
	var parts []section
	for s, sec := range x.sections {
		if moved[s] = -1; sec.doc >= 0 {
			moved[s] = int32(len(parts))
			sec.doc = docs[sec.doc]
			parts = append(parts, sec)
		}
	}
	to := func(s int32) int32 {
		if s < 0 {
			return s
		}
		return moved[s]
	}
	for s := range parts {
		parts[s].prev, parts[s].next = to(parts[s].prev), to(parts[s].next)
	}
	for id := range kept {
		kept[id].to -= kept[id].from
		kept[id].from = to(kept[id].from)
		kept[id].to += kept[id].from
		x.bySlug[kept[id].slug] = int32(id)
	}
	for g := range x.groups.all {
		for i, s := range x.groups.all[g].sections {
			x.groups.all[g].sections[i] = to(s)
		}
	}
	x.sections, x.docs = parts, kept
	x.follows.Store(nil)
	x.repost(moved)
}

// repost renumbers the sections of all postings.
func (x *inverted) repost(moved []int32) {
	terms, posts := make(map[string]int32, len(x.terms)), [][]posting{}
	for t, n := range x.terms {
		var list []posting
		for _, p := range x.postings(n) {
			if s := moved[p.section()]; s >= 0 {
				list = append(list, posting(s)<<8|p&maxCount)
			}
		}
		if list != nil {
			terms[t] = int32(len(posts))
			posts = append(posts, list)
		}
	}
	x.terms, x.posts, x.packed = terms, posts, nil
	x.near.Store(nil)
}
