package recall

// registry numbers groups of documents and knows the sections of each.
type registry struct {
	byName map[string]int32
	all    []group
	free   []int32
}

type group struct {
	name     string
	docs     int
	words    int
	sections []int32 // in order
}

func newRegistry() registry { return registry{byName: map[string]int32{}} }

func (r *registry) take(name string) int32 {
	id, ok := r.byName[name]
	if !ok {
		if n := len(r.free); n > 0 {
			id, r.free = r.free[n-1], r.free[:n-1]
			r.all[id] = group{name: name}
		} else {
			id = int32(len(r.all))
			r.all = append(r.all, group{name: name})
		}
		r.byName[name] = id
	}
	r.all[id].docs++
	return id
}

func (r *registry) drop(id int32) {
	if r.all[id].docs--; r.all[id].docs == 0 {
		delete(r.byName, r.all[id].name)
		r.all[id] = group{}
		r.free = append(r.free, id)
	}
}
