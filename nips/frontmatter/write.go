package frontmatter

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// words are those that YAML takes for something else than text.
var words = []string{"true", "false", "yes", "no", "on", "off", "y", "n", "null"}

// line returns a key with its value as one line of front matter, without its
// end. What another reader of YAML could take for something else is quoted.
func (v Value) line(key string) (string, error) {
	if !v.valid() {
		return "", fmt.Errorf("%w: it is not UTF-8", ErrValue)
	}
	var items []string
	switch {
	case v.form == listForm:
		for _, item := range v.list {
			items = append(items, written(item))
		}
		return key + ": [" + strings.Join(items, ", ") + "]", nil
	case v.form == mapForm:
		for _, p := range v.pairs {
			if !validKey(p.Key) {
				return "", fmt.Errorf("%w: a mapping's key must be letters, digits, _ and -", ErrValue)
			}
			items = append(items, p.Key+": "+member(p.Value))
		}
		return key + ": {" + strings.Join(items, ", ") + "}", nil
	case v.bare:
		return key + ": " + v.scalar, nil
	}
	return key + ": " + written(v.scalar), nil
}

func (v Value) valid() bool {
	invalid := func(s string) bool { return !utf8.ValidString(s) }
	return utf8.ValidString(v.scalar) && !slices.ContainsFunc(v.list, invalid) &&
		!slices.ContainsFunc(v.pairs, func(p Pair) bool { return invalid(p.Value) })
}

// member writes a mapping's value: numbers as they are.
func member(s string) string {
	if _, ok := number(s); ok {
		return s
	}
	return written(s)
}

// written returns a scalar plain where every reader takes it for this text, else
// in double quotes.
func written(s string) string {
	if plain(s) {
		return s
	}
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff':
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

// plain reports whether a text needs no quotes: it begins with a letter, is
// words of letters, digits and . / _ - with single blanks between, and is none
// of YAML's words.
func plain(s string) bool {
	before := rune(' ')
	for i, r := range s {
		letter := r < utf8.RuneSelf && unicode.IsLetter(r)
		digit := r >= '0' && r <= '9' || strings.ContainsRune("./_-", r)
		if !letter && (i == 0 || !digit && (r != ' ' || before == ' ')) {
			return false
		}
		before = r
	}
	return before != ' ' && !slices.Contains(words, strings.ToLower(s))
}
