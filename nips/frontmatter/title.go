package frontmatter

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Heading returns what stands for the unit in a list: its description, its
// title, or the first line of its body that says something, without the marks of
// a heading; on one line and at most that many characters long, "…" for the
// rest. "" means that there is nothing to show.
func (d Doc) Heading(most int) string {
	f := d.Fields()
	for _, s := range []string{f.Description, f.Title} {
		if line := OneLine(s); says(line) {
			return cut(line, most)
		}
	}
	for line := range strings.Lines(d.Body()) {
		if line = OneLine(strings.TrimLeft(strings.TrimSpace(line), "#")); says(line) {
			return cut(line, most)
		}
	}
	return ""
}

// says reports whether there is a letter, a digit or a symbol in a line; one
// that has only punctuation is a rule, or the mark of a text in several lines.
func says(line string) bool {
	return strings.ContainsFunc(line, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.So, r)
	})
}

// OneLine puts one blank for each run of blanks and control characters, and leaves
// out what is not [Visible]: a text as a list shows it.
func OneLine(s string) string {
	return strings.Join(strings.Fields(Visible(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))), " ")
}

func cut(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// Hidden reports whether a character shows nothing of its own: control characters,
// those that turn the direction of writing, and those that can carry words which a
// model reads and a person does not see. Some of them are needed where they stand,
// which [Visible] knows.
func Hidden(r rune) bool {
	if r < unicode.MaxASCII {
		return r < ' '
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// The characters around which some that are Hidden have a use. They are blocks
// rather than properties, so that no version of Unicode changes them; the owner's
// page has the same (testdata/vectors/web-units.json).
var (
	// Pictographs are those of which a selector chooses the form, and which joiners
	// make one.
	Pictographs = table(0xa9, 0xa9, 0xae, 0xae, 0x203c, 0x203c, 0x2049, 0x2049, 0x2122, 0x2122, 0x2139, 0x2139, 0x2194, 0x21aa, 0x231a, 0x23ff,
		0x24c2, 0x24c2, 0x25a0, 0x27bf, 0x2934, 0x2935, 0x2b05, 0x2b55, 0x3030, 0x3030, 0x303d, 0x303d, 0x3297, 0x3297, 0x3299, 0x3299,
		0x1f000, 0x1f0ff, 0x1f170, 0x1f1e5, 0x1f201, 0x1faff)
	// Joining are the letters of scripts that joiners shape: Arabic and its
	// neighbours, those of India and of South-East Asia, Mongolian.
	Joining = table(0x620, 0x7ff, 0x840, 0x109f, 0x1780, 0x18af, 0x1a20, 0x1c4f, 0xa800, 0xa82f, 0xa840, 0xa8ff, 0xa930, 0xa9ff, 0xaa00, 0xaadf, 0xaae0, 0xabff,
		0xfb50, 0xfdff, 0xfe70, 0xfefc, 0x10a00, 0x10fff, 0x11000, 0x11fff, 0x1e900, 0x1e95f)
)

func table(bounds ...rune) *unicode.RangeTable {
	t := &unicode.RangeTable{}
	for i := 0; i < len(bounds); i += 2 {
		t.R32 = append(t.R32, unicode.Range32{Lo: uint32(bounds[i]), Hi: uint32(bounds[i+1]), Stride: 1})
	}
	return t
}

// flags are the sequences of tags that are flags: England, Scotland and Wales.
var flags = []string{
	"\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
	"\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
	"\U0001f3f4\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
}

const (
	zwnj, zwj = '\u200c', '\u200d'
	keycap    = "\ufe0f\u20e3"
)

// Visible leaves out of a text what is Hidden, but for line feeds and tabs, joiners
// between letters that they shape, and what belongs to an emoji: its selector,
// joiners between several, and the tags of a flag.
func Visible(s string) string { return instead(s, func(rune) string { return "" }) }

// Shown puts in place of what [Visible] leaves out its number, as the owner's page does:
// for a person who has to see what a model would read.
func Shown(s string) string {
	return instead(s, func(r rune) string { return fmt.Sprintf("⟨U+%04X⟩", r) })
}

// instead replaces what is Hidden and has no use where it stands.
func instead(s string, of func(rune) string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && r != '\t' && Hidden(r) }) {
		return s
	}
	var out strings.Builder
	before := rune(0)
	for len(s) > 0 {
		if n := emoji(s); n > 0 {
			out.WriteString(s[:n])
			s, before = s[n:], 0
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		after, _ := utf8.DecodeRuneInString(s)
		joins := (r == zwnj || r == zwj) && unicode.Is(Joining, before) && unicode.Is(Joining, after)
		if joins || r == '\n' || r == '\t' || !Hidden(r) {
			out.WriteRune(r)
		} else {
			out.WriteString(of(r))
		}
		before = r
	}
	return out.String()
}

// emoji returns how many bytes of a text's beginning are one emoji; 0 for none.
func emoji(s string) (n int) {
	for _, flag := range flags {
		if strings.HasPrefix(s, flag) {
			return len(flag)
		}
	}
	if strings.ContainsRune("0123456789#*", rune(s[0])) && strings.HasPrefix(s[1:], keycap) {
		return 1 + len(keycap)
	}
	for {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !unicode.Is(Pictographs, r) {
			return n
		}
		joined := n + size
		if r, size := utf8.DecodeRuneInString(s[joined:]); r == '\ufe0e' || r == '\ufe0f' || r >= 0x1f3fb && r <= 0x1f3ff {
			joined += size
		}
		n = joined
		next, size := utf8.DecodeRuneInString(s[n:])
		if after, _ := utf8.DecodeRuneInString(s[n+size:]); next != zwj || !unicode.Is(Pictographs, after) {
			return n
		}
		n += size
	}
}
