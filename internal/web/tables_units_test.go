package web_test

import (
	"strings"
	"testing"
	"unicode"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// unitCase is a text, and what it says of itself.
type unitCase struct {
	Text   string   `json:"text"`
	Head   bool     `json:"head"`
	Body   string   `json:"body"`
	Fields [][2]any `json:"fields"` // key, and a scalar, a list, or pairs under "pairs"
	Type   string   `json:"type"`
	State  string   `json:"state"`
	Trust  string   `json:"trust"`
	Tags   []string `json:"tags"`
	About  string   `json:"description"`
	Title  string   `json:"title"`
	Source string   `json:"source"`
	Links  []string `json:"links"`
}

func unitCaseOf(text string) unitCase {
	d := frontmatter.Parse(text)
	f := d.Fields()
	c := unitCase{Text: text, Head: d.HasHead(), Body: d.Body(), Fields: [][2]any{}, Type: string(f.Type), State: string(f.State), Trust: f.Trust.String(),
		Tags: append([]string{}, f.Tags...), About: f.Description, Title: d.Heading(120), Source: f.Source, Links: []string{}}
	seen := map[string]bool{}
	for _, key := range d.Keys() {
		if v, _ := d.Value(key); !seen[key] {
			c.Fields = append(c.Fields, [2]any{key, shown(v)})
		}
		seen[key] = true
	}
	for _, s := range nipae.References(text) {
		c.Links = append(c.Links, string(s))
	}
	return c
}

func shown(v frontmatter.Value) any {
	if s, ok := v.Scalar(); ok {
		return s
	}
	if pairs := v.Pairs(); v.Equal(frontmatter.Mapping(pairs...)) {
		all := [][2]string{}
		for _, p := range pairs {
			all = append(all, [2]string{p.Key, p.Value})
		}
		return map[string]any{"pairs": all}
	}
	return append([]string{}, v.Items()...)
}

// TestGoldenTableOfUnits writes and checks web-units.json.
func TestGoldenTableOfUnits(t *testing.T) {
	texts := append([]string{}, writtenUnits...)
	r := seeded(2)
	for range 260 {
		var b strings.Builder
		b.WriteString("---\n")
		for range 1 + r.IntN(5) {
			b.WriteString(pick(r, lines))
			b.WriteString(pick(r, []string{"\n", "\n", "\n", "\n", "\r\n", ""}))
		}
		b.WriteString(pick(r, []string{"---\n", "---\r\n", "---", "--- \n", ""}))
		b.WriteString(pick(r, bodies))
		text := b.String()
		if r.IntN(3) == 0 { // something put in anywhere
			at := r.IntN(len(text))
			for at > 0 && text[at]&0xc0 == 0x80 {
				at--
			}
			text = text[:at] + pick(r, []string{"\n", ":", "'", `"`, "[", "]", "{", ",", "---\n", " ", "\t", "\u0085", "\u00a0", "\ufeff", "\\", "#", "-", "\r"}) + text[at:]
		}
		texts = append(texts, text)
	}
	var cases, one []any
	heads, seen := 0, map[string]bool{}
	for _, text := range texts {
		if seen[text] {
			continue
		}
		seen[text] = true
		c := unitCaseOf(text)
		if c.Head {
			heads++
		}
		cases = append(cases, c)
	}
	if heads < 100 || len(cases)-heads < 50 {
		t.Errorf("%d of %d texts have front matter", heads, len(cases))
	}
	for _, text := range append(bodies, "a\u2028b", "a\u00a0\u0085b", "\ufeffa\ufeff", "x\u200cy\u200dz", "a\u202eb", "\u00ada", " a  b ", "\x00a\x7f", "a\U000e0100b", "\U000e0041", "\u3000a\u3000", "a\u180eb", "",
		"می\u200cخواهم ශ්\u200dරී x\u200dم", "❤\ufe0f ❤\ufe0e\ufe0f a\ufe0f", "👩\u200d👩\u200d👧\u200d x", "🧑🏽\u200d🚒 🏳\ufe0f\u200d🌈", "1\ufe0f\u20e3 2\ufe0f", "a\u115f\u1160\u3164\uffa0b",
		"🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067x") {
		one = append(one, [2]string{text, frontmatter.OneLine(text)})
	}
	ranges := func(in func(rune) bool) (all []any) {
		for from := rune(0); from <= 0x10ffff; from++ {
			to := from
			for to <= 0x10ffff && in(to) {
				to++
			}
			if to > from {
				all = append(all, [2]rune{from, to - 1})
				from = to
			}
		}
		return all
	}
	(&table{name: "web-units.json", about: "Texts of memories and what nips/unit reads in them; the first of a repeated key. oneLine: a text and what a list shows; hidden: characters that are shown by their number; pictographs and joining: those after and between which some of them stay.",
		sections: []section{{"cases", cases}, {"oneLine", one}, {"hidden", ranges(frontmatter.Hidden)},
			{"pictographs", ranges(func(r rune) bool { return unicode.Is(frontmatter.Pictographs, r) })}, {"joining", ranges(func(r rune) bool { return unicode.Is(frontmatter.Joining, r) })}}}).hold(t, 300)
}

var bodies = []string{"", "body\n", "\n# Heading\ntext", "see [[mem/a]] and [[core]] and [[mem/a]]", "[[[mem/a]] [[mem/A]] [[mem/a/]] [[a]] [[mem/b", "\u0085\u00a0 # x", "\ufeff#\ufeff title", "***\n---\nwords",
	"a\tb\x00c", "\r\n\r\nx\r\n", "💡", "12", "…\n§\nletter", strings.Repeat("é", 130), "#### ####\n##x", "\u202eevil\u202c", "  \u2003 spaced\u3000out "}

var lines = []string{"type: episodic", "type: \"insight\"", "type: 'narrative'", "type: [semantic]", "type: unknown", "type:procedural", "type:  prospective  ", "state: archived", "state: done", "state: Active", "trust: told", "trust: derived", "trust: external",
	"trust: TOLD", "trust: [told]", "trust:", "trust: 'observed'", "tags: [a, b]", "tags: a", "tags: [a, 'b, c', \"d\\n\"]", "tags: []", "tags: ['', a,]", "tags: [a, [b]]", "tags: [a b , c ]", "tags: [a", "tags:\n  - a\n  - 'b'\n  -", "tags:\n- x\n- y", "tags:\n\n  - late",
	"tags: a\n  - b", "description: words of it", "description: \"quo\\\"ted \\u00e9 \\x41 \\U0001F4A1\"", "description: \"\\ud800\"", "description: \"open", "description: 'it''s'", "description: 'it's'", "description: 'a'b", "description: ''", "description: \"\\q\"", "description: |\n  block\n  more",
	"description: >-\n  folded", "description: -", "description: \u0085x\u0085", "description: \ufeffx\ufeff", "title: The title", "title: ''", "source: hook:x", "source: {a: 1}", "emotion: {joy: 0.5, fear: 1}", "emotion: {joy:0.5,}", "emotion: {joy 1}", "emotion: {joy: 'a, b', x: \"y\"}", "emotion: {}",
	"emotion:\n  joy: 1\n  fear: 2\n    deep: x", "emotion:\n    joy: 1\n  fear: 2", "metadata:\n  type: x\n  - y", "a-b_c: 1", "_x: y", "1x: y", "-x: y", "x : y", "x:y", ": y", "# comment", "", "  indented: x", "\tindented", "- item", "key", "key:", "key: value # no comment", "key: a: b", "created: 2024-01-01",
	strings.Repeat("k", 64) + ": x", strings.Repeat("k", 65) + ": x", "é: x", "description: [[mem/in/head]]", "derived_from: [\"[[mem/x]]\", mem/y 0.5]", "pin: true"}

var writtenUnits = func() []string {
	all := append([]string{"---", "---\n", "---\n---\n", "---\na: b\n---", "---\na: b\n---\n", "---\r\na: b\r\n---\r\nbody", " ---\na: b\n---\n", "\ufeff---\na: b\n---\n", "----\na: b\n---\n", "---\n\na: b\n---\n", "---\n a: b\n---\n", "---\na: b\n----\n---\nx",
		"---\na: b\n --- \n---\nx", "---\na: b\n...\nx", "\n---\na: b\n---\n", "---\na: b\n---\n---\nc: d\n---\n", "--- \na: b\n---\n", "---\ra: b\r---\r"}, bodies...)
	for _, n := range []int{4081, 4082, 4083, 4096} { // the fence at the end of what a head may take
		all = append(all, "---\nabcd: "+strings.Repeat("x", n)+"\n---\nbody", "---\nabcd: "+strings.Repeat("é", n/2)+strings.Repeat("x", n%2)+"\n---")
	}
	for _, l := range lines {
		all = append(all, "---\n"+l+"\n---\nbody [[mem/x]]", "---\nfirst: 1\n"+l+"\n---\nbody")
	}
	return append(all, "---\ntrust: told\ntrust: derived\n---\n", "---\ntype:\tinsight\n---\nbody", "---\na: b\n\ttype: insight\n---\n", "---\na:\n-\tb\n---\n", "---\ntags: [\ta\t,\tb\t]\n---\n", "---\ntype: insight\ntype: episodic\n---\n", "---\ntags: [a]\ntags: [b]\n---\n", "---\ndescription: "+strings.Repeat("long ", 40)+"\n---\n")
}()
