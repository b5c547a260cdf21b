package frontmatter

import "strings"

const (
	// MaxHead is the most that front matter takes, in bytes: the closing line
	// ends within it.
	MaxHead = 4 << 10
	// maxKey is the longest key, in bytes.
	maxKey = 64
	fence  = "---"
)

// Doc is a text taken apart. Its zero value is the empty text.
type Doc struct {
	text string
	// entries are the lines between the fences, in order; all of them together
	// are text[open:shut].
	entries    []entry
	open, shut int
	body       int // where the body begins; 0 without front matter
}

// entry is a key with the lines that belong to it, or one line without a key.
type entry struct {
	key      string // "" for a line that is none of ours
	from, to int    // bytes of the text, the last line's end included
	value    Value
}

// Parse takes a text apart. Every text can be.
func Parse(text string) Doc {
	d := Doc{text: text}
	open, shut, body, ok := findHead(text)
	if !ok {
		return d
	}
	d.open, d.shut, d.body = open, shut, body
	for at := open; at < shut; {
		e := nextEntry(text[:shut], at)
		d.entries = append(d.entries, e)
		at = e.to
	}
	return d
}

// findHead returns where the lines between the fences begin and end, and where
// the body begins.
func findHead(text string) (open, shut, body int, ok bool) {
	line, open := lineAt(text, 0)
	if line != fence || open >= len(text) {
		return 0, 0, 0, false
	}
	if second, _ := lineAt(text, open); keyOf(second) == "" {
		return 0, 0, 0, false
	}
	for at := open; at < len(text) && at+len(fence) <= MaxHead; {
		line, next := lineAt(text, at)
		if line == fence {
			return open, at, next, true
		}
		at = next
	}
	return 0, 0, 0, false
}

// lineAt returns the line that begins at a byte, without its end, and where the
// next one begins. An end is \n or \r\n.
func lineAt(text string, at int) (line string, next int) {
	end := strings.IndexByte(text[at:], '\n')
	if end < 0 {
		return strings.TrimSuffix(text[at:], "\r"), len(text)
	}
	return strings.TrimSuffix(text[at:at+end], "\r"), at + end + 1
}

// keyOf returns the key that a line begins with: a letter or _, then letters,
// digits, _ and -, then a colon, which a blank or the line's end follows. ""
// means none.
func keyOf(line string) string {
	key, rest, ok := strings.Cut(line, ":")
	if !ok || !validKey(key) || rest != "" && !blank(rest[0]) {
		return ""
	}
	return key
}

func validKey(key string) bool {
	if key == "" || len(key) > maxKey {
		return false
	}
	for i := range len(key) {
		c := key[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '-')) {
			return false
		}
	}
	return true
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// nextEntry reads the entry that begins at a byte; the text ends where the head
// does.
func nextEntry(text string, at int) entry {
	line, next := lineAt(text, at)
	key := keyOf(line)
	if key == "" {
		return entry{from: at, to: next}
	}
	rest := strings.TrimSpace(line[len(key)+1:])
	end := continued(text, next, rest == "")
	below := text[next:end]
	if below == "" {
		return entry{key: key, from: at, to: end, value: parseInline(rest)}
	}
	if rest != "" { // more than a line, which the subset does not take
		return entry{key: key, from: at, to: end, value: String(rest)}
	}
	return entry{key: key, from: at, to: end, value: parseBlock(below)}
}

// continued returns where the lines end that belong to the key above: indented
// ones, blank ones between those, and items of a list if the key has nothing on
// its own line.
func continued(text string, at int, items bool) int {
	end := at
	for at < len(text) {
		line, next := lineAt(text, at)
		switch {
		case strings.TrimSpace(line) == "": // counts if an indented line follows
		case blank(line[0]), items && isItem(line):
			end = next
		default:
			return end
		}
		at = next
	}
	return end
}

func isItem(line string) bool { return line == "-" || strings.HasPrefix(line, "- ") }

// HasHead reports whether the text has front matter.
func (d Doc) HasHead() bool { return d.body > 0 }

// Text returns the whole text, as it was given to Parse.
func (d Doc) Text() string { return d.text }

// Body returns what follows the front matter; all of a text that has none.
func (d Doc) Body() string { return d.text[d.body:] }

// Keys returns the keys of the front matter in order, a repeated one as often as
// it stands there.
func (d Doc) Keys() []string {
	var keys []string
	for _, e := range d.entries {
		if e.key != "" {
			keys = append(keys, e.key)
		}
	}
	return keys
}

// Value returns the value of a key, the first if it is repeated.
func (d Doc) Value(key string) (Value, bool) {
	for _, e := range d.entries {
		if e.key == key {
			return e.value, true
		}
	}
	return Value{}, false
}

// values returns all values of a key.
func (d Doc) values(key string) []Value {
	var all []Value
	for _, e := range d.entries {
		if e.key == key {
			all = append(all, e.value)
		}
	}
	return all
}
