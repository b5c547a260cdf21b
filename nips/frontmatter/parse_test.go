package frontmatter

import (
	"slices"
	"strings"
	"testing"
)

// What is front matter and what is text, and which keys are seen.
func TestWhereFrontMatterBegins(t *testing.T) {
	long := strings.Repeat("x", MaxHead)
	for _, tt := range []struct {
		name, text string
		keys       []string
		body       string
	}{
		{"no front matter", "Ada prefers tea.", nil, "Ada prefers tea."},
		{"empty", "", nil, ""},
		{"a fence alone", "---", nil, "---"},
		{"a fence and a line", "---\n", nil, "---\n"},
		{"a rule at the top", "---\nA rule above this.\n---\nmore", nil, "---\nA rule above this.\n---\nmore"},
		{"a rule, then a blank line", "---\n\ntype: semantic\n---\nx", nil, "---\n\ntype: semantic\n---\nx"},
		{"two fences", "---\n---\nx", nil, "---\n---\nx"},
		{"never closed", "---\ntype: semantic\nx", nil, "---\ntype: semantic\nx"},
		{"a URL is no key", "---\nhttp://a.example\n---\nx", nil, "---\nhttp://a.example\n---\nx"},
		{"words are no key", "---\nMy note: x\n---\nx", nil, "---\nMy note: x\n---\nx"},
		{"longer fences", "----\ntype: a\n----\nx", nil, "----\ntype: a\n----\nx"},
		{"a blank before", " ---\ntype: a\n---\nx", nil, " ---\ntype: a\n---\nx"},
		{"a byte order mark before", "\ufeff---\ntype: a\n---\nx", nil, "\ufeff---\ntype: a\n---\nx"},
		{"not at the top", "x\n---\ntype: a\n---\n", nil, "x\n---\ntype: a\n---\n"},
		{"closed too late", "---\na: " + long + "\n---\nx", nil, "---\na: " + long + "\n---\nx"},
		{"one key", "---\ntype: semantic\n---\nx", []string{"type"}, "x"},
		{"closed by the last line", "---\ntype: semantic\n---", []string{"type"}, ""},
		{"nothing after a key", "---\ntype:\n---\nx", []string{"type"}, "x"},
		{"lines end with \\r\\n", "---\r\ntype: semantic\r\n---\r\nx", []string{"type"}, "x"},
		{"strange lines between", "---\na: 1\n# note\nsome prose\n\"q\": 2\nb: 2\n---\nx", []string{"a", "b"}, "x"},
		{"twice", "---\na: 1\na: 2\n---\n", []string{"a", "a"}, ""},
		{"a fence in the body", "---\na: 1\n---\nx\n---\ny", []string{"a"}, "x\n---\ny"},
		{"bytes that are not UTF-8", "---\na: \xff\n---\n\xfe", []string{"a"}, "\xfe"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := Parse(tt.text)
			if !slices.Equal(d.Keys(), tt.keys) || d.Body() != tt.body || d.HasHead() != (tt.keys != nil) || d.Text() != tt.text {
				t.Errorf("keys %q, body %q, head %v", d.Keys(), d.Body(), d.HasHead())
			}
			checkWhole(t, tt.text)
		})
	}
	limit := "---\na: " + strings.Repeat("x", MaxHead-len("---\na: \n---")) + "\n---"
	if !Parse(limit).HasHead() || Parse(strings.Replace(limit, "x", "xx", 1)).HasHead() {
		t.Errorf("%d bytes are not the limit", MaxHead)
	}
}

// What a value is read as: what the subset does not take is the rest of its
// line, never an error and never a part.
func TestValues(t *testing.T) {
	for _, tt := range []struct {
		head string
		want Value
	}{
		{"k: plain words", String("plain words")},
		{"k:   blanks around  ", String("blanks around")},
		{"k:\ttab", String("tab")},
		{"k: Fix: use X", String("Fix: use X")},
		{"k: a # stays", String("a # stays")},
		{`k: "a \"b\" \u00e9\n\x41"`, String("a \"b\" é\nA")},
		{`k: "a" # b`, String(`"a" # b`)},
		{`k: "open`, String(`"open`)},
		{`k: "bad \q"`, String(`"bad \q"`)},
		{`k: "cut \u12"`, String(`"cut \u12"`)},
		{`k: "half \ud800"`, String(`"half \ud800"`)},
		{`k: 'it''s'`, String("it's")},
		{`k: 'a' b`, String(`'a' b`)},
		{"k: &anchor x", String("&anchor x")},
		{"k: *anchor", String("*anchor")},
		{"k: !!binary x", String("!!binary x")},
		{"k: |\n  a\n\n  b", String("|")},
		{"k: a\n  continued", String("a")},
		{"k: []", Strings()},
		{"k: [a, b c ,\"d, e\", 'f']", Strings("a", "b c", "d, e", "f")},
		{"k: [a,]", Strings("a")},
		{"k: [a, [b]]", String("[a, [b]]")},
		{"k: [a", String("[a")},
		{"k: [a] b", String("[a] b")},
		{"k: [,]", String("[,]")},
		{"k: [[mem/a]]", String("[[mem/a]]")},
		{"k: {}", Mapping()},
		{"k: {joy: 0.5, calm: \"x\"}", Mapping(Pair{"joy", "0.5"}, Pair{"calm", "x"})},
		{"k: {joy}", String("{joy}")},
		{"k: {a: {b: 1}}", String("{a: {b: 1}}")},
		{"k: {a: 1} x", String("{a: 1} x")},
		{"k:\n  - a\n  - 'b'\n\n  - c: d", Strings("a", "b", "c: d")},
		{"k:\n- a\n- b", Strings("a", "b")},
		{"k:\n- a\n  - b", Value{}},
		{"k:\n  joy: 0.5\n  calm: 1", Mapping(Pair{"joy", "0.5"}, Pair{"calm", "1"})},
		{"k:\n  type: x\n  deep:\n    er: y", Mapping(Pair{"type", "x"}, Pair{"deep", ""})},
		{"k:\n  words", Value{}},
		{"k:", Value{}},
		{"k: \"\"", Value{}},
	} {
		got, ok := Parse("---\n" + tt.head + "\n---\n").Value("k")
		if !ok || !got.Equal(tt.want) {
			t.Errorf("%q is %+v, not %+v", tt.head, got, tt.want)
		}
	}
	if v, ok := Parse("---\na: 1\n---\n").Value("b"); ok || !v.Equal(Value{}) {
		t.Error("a key that is not there has a value")
	}
}

// checkWhole: no text is changed by looking at it, nor by an edit of nothing, and
// no byte is in no part.
func checkWhole(t *testing.T, text string) {
	t.Helper()
	d := Parse(text)
	same, err := d.Edit()
	if err != nil || same != text || d.WithBody(d.Body()) != text && d.HasHead() {
		t.Errorf("an edit of nothing made %q of %q, %v", same, text, err)
	}
	at := d.open
	for _, e := range d.entries {
		if e.from != at || e.to <= at {
			t.Fatalf("%q: an entry from %d to %d after %d", text, e.from, e.to, at)
		}
		at = e.to
	}
	if at != d.shut || d.shut > d.body || d.HasHead() && d.shut+len(fence) > MaxHead {
		t.Errorf("%q: entries end at %d, the head at %d and %d", text, at, d.shut, d.body)
	}
}
