package harness

import (
	"bytes"
	"encoding/json"
	"strings"
)

// render writes one entry whose first line is indented already.
func render(b *strings.Builder, f field, named bool, st style, in string) {
	if named {
		b.WriteString(quote(f.name) + ": ")
	}
	deeper := in + st.unit
	switch v := f.value.(type) {
	case object:
		renderAll(b, '{', v, st, in, deeper)
	case list:
		if flat(v) {
			parts := make([]string, len(v))
			for i, e := range v {
				parts[i] = quote(e)
			}
			b.WriteString("[" + strings.Join(parts, ", ") + "]")
			return
		}
		all := make(object, len(v))
		for i, e := range v {
			all[i].value = e
		}
		renderAll(b, '[', all, st, in, deeper)
	case lines:
		all := make(object, len(v))
		for i, e := range v {
			all[i].value = e
		}
		renderAll(b, '[', all, st, in, deeper)
	case off:
		b.WriteString(" false")
	default:
		b.WriteString(quote(v))
	}
}

func renderAll(b *strings.Builder, open byte, all object, st style, in, deeper string) {
	b.WriteByte(open)
	for i, e := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(st.newline + deeper)
		render(b, e, open == '{', st, deeper)
	}
	b.WriteString(st.newline + in)
	b.WriteByte(open + 2)
}

func flat(v list) bool {
	for _, e := range v {
		if _, ok := e.(string); !ok {
			return false
		}
	}
	return true
}

func quote(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // texts, numbers and booleans always can be
	return strings.TrimSuffix(b.String(), "\n")
}
