package frontmatter

import (
	"errors"
	"strings"
	"testing"
)

const obsidian = "---\n# mine\nkey: x\n---\n"

// Untouched bytes stay: every line that no change names, in its order.
func TestEditSplicesLines(t *testing.T) {
	const foreign = "---\naliases: [ \"A\",B ]   \n# a note\nType : x\ndescription: >\n  old\n\n  words\ncssclass:   wide\ntags:\n- a\n- b\n---\n\nBody.\n"
	for _, tt := range []struct {
		name, text string
		changes    []Change
		want       string
	}{
		{"a value", foreign, []Change{Set("description", String("New: words"))},
			strings.Replace(foreign, "description: >\n  old\n\n  words\n", "description: \"New: words\"\n", 1)},
		{"a list", foreign, []Change{Set("tags", Strings("c", "d, e"))}, strings.Replace(foreign, "tags:\n- a\n- b\n", "tags: [c, \"d, e\"]\n", 1)},
		{"a new key", foreign, []Change{Set("salience", Number(0.7))}, strings.Replace(foreign, "---\n\nBody", "salience: 0.7\n---\n\nBody", 1)},
		{"away", foreign, []Change{Remove("tags"), Remove("none")}, strings.Replace(foreign, "tags:\n- a\n- b\n", "", 1)},
		{"the same value keeps its bytes", foreign, []Change{Set("cssclass", String("wide")), Set("tags", Strings("a", "b"))}, foreign},
		{"the first key away", "---\na: 1\n# note\nb: 2\n---\nx", []Change{Remove("a")}, "---\nb: 2\n# note\n---\nx"},
		{"the last key away", "---\na: 1\n---\nx", []Change{Remove("a")}, "x"},
		{"the last key away beside a note", "---\na: 1\n# note\n---\nx", []Change{Remove("a")}, "---\ntype: semantic\n# note\n---\nx"},
		{"a body like front matter", "---\na: 1\n---\n---\nb: 2\n---\nx", []Change{Remove("a")}, "---\ntype: semantic\n---\n---\nb: 2\n---\nx"},
		{"repetitions", "---\na: 1\nb: 2\na: 3\n---\n", []Change{Set("a", String("one"))}, "---\na: one\nb: 2\n---\n"},
		{"a first key", "x", []Change{Set("pin", Truth(true))}, "---\npin: true\n---\nx"},
		{"a first key over what is no front matter", obsidian, []Change{Set("pin", Truth(true))}, "---\npin: true\n---\n" + obsidian},
		{"nothing of nothing", "x", []Change{Remove("pin")}, "x"},
		{"lines that end with \\r\\n", "---\r\na: 1\r\n---\r\nx\r\n", []Change{Set("b", String("c"))}, "---\r\na: 1\r\nb: c\r\n---\r\nx\r\n"},
		{"a last line without an end", "---\na: 1\n---", []Change{Set("a", Number(2))}, "---\na: 2\n---"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.text).Edit(tt.changes...)
			if err != nil || got != tt.want {
				t.Errorf("%q, %v; not %q", got, err, tt.want)
			}
			if Parse(got).Body() != Parse(tt.text).Body() {
				t.Errorf("the body is %q", Parse(got).Body())
			}
		})
	}
}

func TestEditRefuses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change Change
		err    error
	}{
		{"a key with a blank", Set("a b", String("x")), ErrValue},
		{"no key", Set("", String("x")), ErrValue},
		{"a key that ends the line", Set("a\n---\ntrust", String("told")), ErrValue},
		{"a long key", Set(strings.Repeat("k", maxKey+1), String("x")), ErrValue},
		{"bytes that are not UTF-8", Set("a", String("\xff")), ErrValue},
		{"a mapping's key", Set("a", Mapping(Pair{"b: c", "d"})), ErrValue},
		{"too much", Set("a", String(strings.Repeat("x", MaxHead))), ErrHead},
	} {
		if got, err := Parse("---\nb: 1\n---\nx").Edit(tt.change); !errors.Is(err, tt.err) || got != "" {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}

// What our tools write, they and others read as the same text: it cannot end
// its line or its quotes, and no reader of YAML takes it for something else.
func TestWhatIsWrittenIsReadAgain(t *testing.T) {
	for _, s := range []string{"", "plain", "two words", " blanks ", "two  blanks", "true", "No", "null", "~", "12", "-", "- a", "a: b", "a #b", "#a",
		"[a]", "{a}", "a, b", "a]", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`", "---", "---\ntrust: told", "it's", `say "x"`, `back\slash`,
		"line\nbreak", "\r", "\t", "\x00", "\x7f", "\u0085", "\u2028", "\ufeff", "é 日本 🙂", "\ufffd", "mem/people/ana", "2026-11-22", "ends:"} {
		for _, v := range []Value{String(s), Strings(s), Strings(s, s), Mapping(Pair{"k", s})} {
			line, err := v.line("key")
			if err != nil || strings.ContainsAny(line, "\n\r\x00\u0085\u2028") {
				t.Errorf("%q is written as %q, %v", s, line, err)
				continue
			}
			if got, _ := Parse("---\n" + line + "\n---\n").Value("key"); !got.Equal(v) {
				t.Errorf("%q is read as %+v", line, got)
			}
		}
	}
}

func TestWithBody(t *testing.T) {
	for _, tt := range []struct{ text, body, want string }{
		{"old", "new", "new"},
		{"---\na: 1\n---\nold", "new", "---\na: 1\n---\nnew"},
		{"---\na: 1\n---", "new", "---\na: 1\n---\nnew"},
		{"---\na: 1\n---", "", "---\na: 1\n---"},
		{"---\na: 1\n---\nold", "---\nb: 2\n---\n", "---\na: 1\n---\n---\nb: 2\n---\n"},
		{"old", "---\nb: 2\n---\n", "---\ntype: semantic\n---\n---\nb: 2\n---\n"},
	} {
		got := Parse(tt.text).WithBody(tt.body)
		if got != tt.want || Parse(got).Body() != tt.body {
			t.Errorf("%q with %q is %q", tt.text, tt.body, got)
		}
	}
}

func TestRender(t *testing.T) {
	got, err := Render([]Field{{"zebra", String("z")}, {"trust", String("derived")}, {"type", String("insight")}, {"tags", Strings("a")}}, "Body")
	if want := "---\ntype: insight\ntags: [a]\ntrust: derived\nzebra: z\n---\nBody"; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Render(nil, "Body"); err != nil || got != "Body" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := Render(nil, "---\na: 1\n---\n"); err != nil || Parse(got).Body() != "---\na: 1\n---\n" {
		t.Errorf("%q, %v", got, err)
	}
}
