package frontmatter

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Value is what a key has: a scalar, a flat list of scalars, or a flat mapping
// to scalars. Its zero value is the empty scalar.
type Value struct {
	form   form
	scalar string
	list   []string
	pairs  []Pair
	// bare says that a scalar was made as it shall be written: a number, a time
	// or a truth value, which YAML reads as such without quotes.
	bare bool
}

// Pair is one member of a mapping.
type Pair struct{ Key, Value string }

type form uint8

const (
	scalarForm form = iota
	listForm
	mapForm
)

// String returns the scalar s as a value.
func String(s string) Value { return Value{scalar: s} }

// Strings returns a list as a value.
func Strings(items ...string) Value { return Value{form: listForm, list: slices.Clone(items)} }

// Number returns a number as a value.
func Number(f float64) Value {
	return Value{scalar: strconv.FormatFloat(f, 'f', -1, 64), bare: true}
}

// Truth returns true or false as a value.
func Truth(b bool) Value { return Value{scalar: strconv.FormatBool(b), bare: true} }

// Mapping returns a flat mapping as a value.
func Mapping(pairs ...Pair) Value { return Value{form: mapForm, pairs: slices.Clone(pairs)} }

// Scalar returns the value if it is a scalar.
func (v Value) Scalar() (string, bool) { return v.scalar, v.form == scalarForm }

// Items returns a list's items; a scalar that is not empty is a list of one,
// and a mapping has none.
func (v Value) Items() []string {
	if v.form == scalarForm && v.scalar != "" {
		return []string{v.scalar}
	}
	return slices.Clone(v.list)
}

// Pairs returns the members of a mapping, nothing of another value.
func (v Value) Pairs() []Pair { return slices.Clone(v.pairs) }

// Equal reports whether two values say the same, however they are written.
func (v Value) Equal(o Value) bool {
	return v.form == o.form && v.scalar == o.scalar && slices.Equal(v.list, o.list) && slices.Equal(v.pairs, o.pairs)
}

// parseInline reads what stands behind a key on its line. What the subset does
// not take is the scalar as it stands.
func parseInline(rest string) Value {
	switch {
	case strings.HasPrefix(rest, "["):
		if items, ok := parseFlow(rest, ']', flowItem); ok {
			return Value{form: listForm, list: items}
		}
	case strings.HasPrefix(rest, "{"):
		if pairs, ok := parseFlow(rest, '}', flowPair); ok {
			return Value{form: mapForm, pairs: pairs}
		}
	}
	return String(scalarOf(rest))
}

// scalarOf returns a scalar without its quotes, if it is a quoted one as a
// whole; else as it stands.
func scalarOf(s string) string {
	if v, rest, ok := quoted(s); ok && rest == "" {
		return v
	}
	return s
}

// quoted reads a quoted scalar from the beginning of s and returns what follows
// it.
func quoted(s string) (value, rest string, ok bool) {
	switch {
	case strings.HasPrefix(s, `'`):
		return singleQuoted(s[1:])
	case strings.HasPrefix(s, `"`):
		return doubleQuoted(s[1:])
	}
	return "", s, false
}

func singleQuoted(s string) (value, rest string, ok bool) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(s, "'")
		if !found {
			return "", "", false
		}
		out.WriteString(before)
		if !strings.HasPrefix(after, "'") {
			return out.String(), after, true
		}
		out.WriteByte('\'')
		s = after[1:]
	}
}

func doubleQuoted(s string) (value, rest string, ok bool) {
	var out strings.Builder
	for i := 0; i < len(s); {
		switch s[i] {
		case '"':
			return out.String(), s[i+1:], true
		case '\\':
			r, n := escape(s[i+1:])
			if n == 0 {
				return "", "", false
			}
			out.WriteRune(r)
			i += 1 + n
		default:
			out.WriteByte(s[i])
			i++
		}
	}
	return "", "", false
}

// escapes are those of YAML that stand for one byte's character.
const escapes = `"\/ntr0`

var escaped = [...]rune{'"', '\\', '/', '\n', '\t', '\r', 0}

// escape returns the character that an escape stands for, and how many bytes it
// takes after the backslash; 0 if it is none.
func escape(s string) (rune, int) {
	if s == "" {
		return 0, 0
	}
	if i := strings.IndexByte(escapes, s[0]); i >= 0 {
		return escaped[i], 1
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]
	if digits == 0 || len(s) < 1+digits {
		return 0, 0
	}
	n, err := strconv.ParseUint(s[1:1+digits], 16, 32)
	if err != nil || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return 0, 0
	}
	return rune(n), 1 + digits
}

// parseFlow reads [a, b] or {a: 1, b: 2}: what stands between the bracket and
// its end, which must be the end of the line.
func parseFlow[T any](s string, end byte, one func(string) (T, string, bool)) ([]T, bool) {
	var all []T
	s = strings.TrimLeft(s[1:], " \t")
	for len(s) > 0 && s[0] != end {
		item, rest, ok := one(s)
		rest = strings.TrimLeft(rest, " \t")
		if !ok || rest == "" || rest[0] != end && rest[0] != ',' {
			return nil, false
		}
		all = append(all, item)
		if rest[0] == ',' {
			rest = strings.TrimLeft(rest[1:], " \t")
		}
		s = rest
	}
	return all, s == string(end)
}

// flowItem reads an item of a list. A plain one ends at a comma or a bracket and
// holds no other.
func flowItem(s string) (item, rest string, ok bool) {
	if s[0] == '"' || s[0] == '\'' {
		return quoted(s)
	}
	i := strings.IndexAny(s, ",[]{}")
	if i <= 0 || s[i] != ',' && s[i] != ']' {
		return "", "", false
	}
	return strings.TrimRight(s[:i], " \t"), s[i:], true
}

// flowPair reads a member of a mapping.
func flowPair(s string) (p Pair, rest string, ok bool) {
	i := strings.IndexAny(s, ":,[]{}")
	if i < 0 || s[i] != ':' || !validKey(s[:i]) {
		return Pair{}, "", false
	}
	p.Key, s = s[:i], strings.TrimLeft(s[i+1:], " \t")
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		p.Value, rest, ok = quoted(s)
		return p, rest, ok
	}
	i = strings.IndexAny(s, ",[]{}")
	if i < 0 || s[i] != ',' && s[i] != '}' {
		return Pair{}, "", false
	}
	p.Value = strings.TrimRight(s[:i], " \t")
	return p, s[i:], true
}

// parseBlock reads the lines below a key: a list, a mapping (of which lines that
// are indented further are left out), or else the empty scalar.
func parseBlock(lines string) Value {
	var v Value
	depth := -1
	for at := 0; at < len(lines); {
		line, next := lineAt(lines, at)
		at = next
		content := strings.TrimSpace(line)
		if content == "" {
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		if depth < 0 {
			depth = indent
			v.form = mapForm
			if isItem(content) {
				v.form = listForm
			}
		}
		key := keyOf(content)
		switch {
		case v.form == listForm && indent == depth && isItem(content):
			v.list = append(v.list, scalarOf(strings.TrimSpace(content[1:])))
		case v.form == mapForm && indent == depth && key != "":
			v.pairs = append(v.pairs, Pair{key, scalarOf(strings.TrimSpace(content[len(key)+1:]))})
		case v.form == mapForm && indent > depth && len(v.pairs) > 0:
		default:
			return Value{}
		}
	}
	return v
}
