package harness

import "slices"

// several are the forms of entries that stand in one document.
type several []form

func (all several) install(src []byte, exists, force bool) (result, error) {
	return one(all, src, exists, func(f form, src []byte, exists bool) (result, error) { return f.install(src, exists, force) })
}

// remove takes them out in the other order: what an empty document became for the first
// goes with it.
func (all several) remove(src []byte, exists, force bool) (result, error) {
	back := slices.Clone(all)
	slices.Reverse(back)
	return one(back, src, exists, func(f form, src []byte, exists bool) (result, error) { return f.remove(src, exists, force) })
}

// one edits a document in one form after the other.
func one(all several, src []byte, exists bool, edit func(form, []byte, bool) (result, error)) (result, error) {
	out := result{text: src, exists: exists}
	for _, f := range all {
		next, err := edit(f, out.text, out.exists)
		if err != nil {
			return result{}, err
		}
		out.text, out.exists, out.edited = next.text, next.exists, append(out.edited, next.edited...)
	}
	return out, nil
}

func (all several) look(src []byte) (seen, error) {
	var s seen
	for _, f := range all {
		in, err := f.look(src)
		if err != nil {
			return s, err
		}
		s.present, s.missing, s.edited = append(s.present, in.present...), append(s.missing, in.missing...), append(s.edited, in.edited...)
		if in.binary != "" {
			s.binary, s.profile = in.binary, in.profile
		}
	}
	return s, nil
}
