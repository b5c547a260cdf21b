package harness

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

func (f jsonForm) install(src []byte, exists, force bool) (result, error) {
	out := result{text: src, exists: exists}
	for _, p := range f.parts {
		d, err := scan(out.text, f.strict)
		if err != nil {
			return result{}, err
		}
		if p.keep != nil || p.without {
			if out, err = f.only(p, out); err != nil {
				return result{}, err
			}
			continue
		}
		spots := d.find(p)
		if !force && slices.ContainsFunc(spots, func(s spot) bool { return s.claim == edited }) {
			out.edited = append(out.edited, p.label)
			continue
		}
		if d, err = f.single(d, p, &out); err != nil {
			return result{}, err
		}
		if spots = d.find(p); len(spots) == 0 {
			out.text, err = f.insert(d, p, out.exists)
			out.exists = true
		} else {
			out.text = d.update(spots[0].kid(), p.value)
		}
		if err != nil {
			return result{}, err
		}
	}
	return out, nil
}

// only leaves of a part what is kept, and adds what is missing of that.
func (f jsonForm) only(p part, out result) (result, error) {
	missing := slices.Clone(p.keep)
	for i := 0; ; {
		d, err := scan(out.text, f.strict)
		if err != nil {
			return result{}, err
		}
		spots := d.find(p)
		if i < len(spots) {
			name := d.string(spots[i].kid().v)
			at := slices.IndexFunc(missing, func(v any) bool { return v == name })
			if at < 0 {
				out.text, out.exists = f.cut(d, spots[i].steps)
				continue
			}
			missing = slices.Delete(missing, at, at+1)
			i++
			continue
		}
		if len(missing) == 0 {
			return out, nil
		}
		last := len(p.path) - 1
		if list := d.at(p.path); list.kindOf() == '[' {
			var entries object
			for _, v := range missing {
				entries = append(entries, field{value: v})
			}
			out.text = d.add(list, entries)
		} else if out.text, err = f.insert(d, part{path: p.path[:last], name: p.path[last], value: missing}, out.exists); err != nil {
			return result{}, err
		}
		return result{text: out.text, exists: true, edited: out.edited}, nil
	}
}

// at is what stands at the end of a path; nil for nothing.
func (d *document) at(path []string) *node {
	n := d.root
	for _, name := range path {
		n = n.member(name)
	}
	return n
}

// single leaves at most one entry of a part, of its name, and none that a person changed.
func (f jsonForm) single(d *document, p part, out *result) (*document, error) {
	for {
		spots := d.find(p)
		i := len(spots) - 1
		for i >= 0 && spots[i].claim != edited && len(spots) == 1 && spots[i].kid().name == p.name {
			i--
		}
		if i < 0 {
			return d, nil
		}
		out.text, out.exists = f.cut(d, spots[i].steps)
		var err error
		if d, err = scan(out.text, f.strict); err != nil {
			return nil, err
		}
	}
}

// update puts a value in place of another, unless they mean the same.
func (d *document) update(k kid, value any) []byte {
	var text strings.Builder
	in, _ := d.indent(k.at)
	render(&text, field{value: value}, false, styleOf(d), in)
	if before := string(d.src[k.v.s:k.v.e]); before == strings.TrimSpace(text.String()) || same([]byte(before), []byte(text.String())) {
		return d.src
	}
	return append(append(append([]byte{}, d.src[:k.v.s]...), text.String()...), d.src[k.v.e:]...)
}

// same compares two values. An empty env, which a program may add, says nothing.
func same(a, b []byte) bool {
	var x, y map[string]any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	if env, ok := x["env"].(map[string]any); ok && len(env) == 0 {
		delete(x, "env")
	}
	return reflect.DeepEqual(x, y)
}

// insert adds an entry and what is missing on the way to it.
func (f jsonForm) insert(d *document, p part, exists bool) ([]byte, error) {
	if d.root == nil {
		var text strings.Builder
		st := styleOf(d)
		render(&text, field{value: append(object{p.from(0)}, f.rest...)}, false, st, "")
		if !exists {
			text.WriteString(st.newline)
		}
		return append(slices.Clone(d.src), text.String()...), nil
	}
	n, whole := d.root, "the document"
	for i := 0; ; i++ {
		want, what := byte('{'), "an object"
		if i == len(p.path) && p.name == "" {
			want, what = '[', "a list"
		}
		if n.kind != want {
			return nil, d.wrong(n.s, fmt.Sprintf("%s is to be %s", whole, what))
		}
		if i == len(p.path) {
			return d.add(n, object{{p.name, p.value}}), nil
		}
		next := n.member(p.path[i])
		if next == nil {
			entries := object{p.from(i)}
			if n == d.root && len(n.kids) == 0 {
				entries = append(entries, f.rest...)
			}
			return d.add(n, entries), nil
		}
		n, whole = next, quote(p.path[i])
	}
}

// from is the member at depth i that leads to the entry.
func (p part) from(i int) field {
	if i == len(p.path) {
		return field{p.name, p.value}
	}
	if i == len(p.path)-1 && p.name == "" {
		return field{p.path[i], list{p.value}}
	}
	return field{p.path[i], object{p.from(i + 1)}}
}

func (f jsonForm) remove(src []byte, exists, force bool) (result, error) {
	out := result{text: src, exists: exists}
	for left := true; left; {
		d, err := scan(out.text, f.strict)
		if err != nil {
			return result{}, err
		}
		left = false
		var last spot
		out.edited = nil
		for _, p := range f.parts {
			for _, at := range d.find(p) {
				if at.claim == edited && !force {
					out.edited = append(out.edited, p.label)
				} else if !left || at.kid().at > last.kid().at {
					last, left = at, true
				}
			}
		}
		if left {
			out.text, out.exists = f.cut(d, last.steps)
		}
	}
	return out, nil
}

// cut takes an entry out, and with it the objects and lists that we made for it.
func (f jsonForm) cut(d *document, steps []step) ([]byte, bool) {
	at := len(steps) - 1
	for ; at >= 0; at-- {
		if n, i := steps[at].n, steps[at].i; !d.only(n, i, at == 0, f.rest) {
			if at == 0 && len(n.kids) == 2 && d.restBehind(n, i, f.rest) {
				with, err := scan(d.drop(n, 1), f.strict)
				if err == nil {
					return with.drop(with.root, 0), true
				}
			}
			return d.drop(n, i), true
		}
	}
	before, behind := d.src[:d.root.s], d.src[d.root.e:]
	if len(before) == 0 && len(behind) > 0 && strings.TrimSpace(string(behind)) == "" {
		return nil, false
	}
	return append(slices.Clone(before), behind...), true
}

// only says that a container was made for its entry i: it holds nothing else.
func (d *document) only(n *node, i int, root bool, rest object) bool {
	k := n.kids[i]
	if d.marked(n) || k.comma >= 0 && len(n.kids) == 1 || d.holds(n.s, k.at) || d.holds(k.v.e, n.e) {
		return false
	}
	return len(n.kids) == 1 || root && d.restBehind(n, i, rest)
}

// restBehind says that entry i is followed by just what we write behind it.
func (d *document) restBehind(n *node, i int, rest object) bool {
	if i != 0 || len(rest) == 0 || len(n.kids) != 1+len(rest) {
		return false
	}
	for j, f := range rest {
		k := n.kids[1+j]
		if k.name != f.name || string(d.src[k.v.s:k.v.e]) != quote(f.value) {
			return false
		}
	}
	return true
}
