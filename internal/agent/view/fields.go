package view

import "engramd/nips/frontmatter"

// FieldsOf returns the fields of a text as they stand there.
func FieldsOf(d frontmatter.Doc) map[string]any {
	fields := map[string]any{}
	for _, key := range d.Keys() {
		v, _ := d.Value(key)
		if s, ok := v.Scalar(); ok {
			fields[key] = s
		} else if pairs := v.Pairs(); len(pairs) > 0 {
			members := map[string]string{}
			for _, p := range pairs {
				members[p.Key] = p.Value
			}
			fields[key] = members
		} else {
			fields[key] = v.Items()
		}
	}
	return fields
}
