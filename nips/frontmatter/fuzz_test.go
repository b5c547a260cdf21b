package frontmatter

import (
	"strings"
	"testing"
)

var hostile = []string{"", "---\n---\n", "---\na: 1\n---\nx", "---\r\na: [b, 'c']\r\nd:\r\n  e: f\r\n---", "---\na: \"\\u12\n---\n", "---\na:\n- b\n\n  - c\n---\n",
	"---\ntrust: told\ntrust: external\n---\n", "---\n_: {a: 1,}\n\n\n---\n[[mem/a]]", "---\na: |\n x\n\n\n---\n", "---\nsupports: [mem/a 0.5, x y z]\nemotion: {joy: 1}\n---\n"}

// FuzzParse: no text stops the parser, and none is changed by it.
func FuzzParse(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkWhole(t, text)
		d := Parse(text)
		fields := d.Fields()
		if fields.Salience < 0 || fields.Salience > 1 || fields.Trust > Told {
			t.Errorf("%+v", fields)
		}
		if h := d.Heading(80); strings.ContainsAny(h, "\n\r") || len([]rune(h)) > 81 {
			t.Errorf("heading %q", h)
		}
		d.Links()
		d.Faults()
	})
}

// FuzzEdit: a key gets the value, and nothing else changes.
func FuzzEdit(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, "a", "new: 'value'\n", false)
		f.Add(text, "trust", "told", true)
	}
	f.Fuzz(func(t *testing.T, text, key, value string, remove bool) {
		d, change := Parse(text), Set(key, Strings(value, "b"))
		if remove {
			change = Remove(key)
		}
		edited, err := d.Edit(change)
		if err != nil {
			return
		}
		e := Parse(edited)
		if got, ok := e.Value(key); ok == remove && key != "type" || !remove && !got.Equal(Strings(value, "b")) {
			t.Fatalf("%q: %q became %q", key, text, edited)
		}
		if e.Body() != d.Body() {
			t.Fatalf("%q: the body of %q became %q", key, text, e.Body())
		}
		for _, k := range d.Keys() {
			was, _ := d.Value(k)
			if is, ok := e.Value(k); k != key && (!ok || !is.Equal(was)) {
				t.Fatalf("%q: %q lost its %q: %q", key, text, k, edited)
			}
		}
	})
}

// FuzzRender: what is rendered is read as the same fields and body.
func FuzzRender(f *testing.F) {
	f.Add("type", "a", "b", "---\nx: y\n---\n")
	f.Add("x", "", "\"", "")
	f.Fuzz(func(t *testing.T, key, one, two, body string) {
		fields := []Field{{key, Strings(one, two)}, {"zz", String(one)}, {"zy", Mapping(Pair{"k", two})}}
		text, err := Render(fields, body)
		if err != nil || key == "zz" || key == "zy" {
			return
		}
		d := Parse(text)
		for _, want := range fields {
			if got, ok := d.Value(want.Key); !ok || !got.Equal(want.Value) {
				t.Fatalf("%q: %s is %+v", text, want.Key, got)
			}
		}
		if d.Body() != body {
			t.Fatalf("%q: body %q", text, d.Body())
		}
	})
}
