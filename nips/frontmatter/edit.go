package frontmatter

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var (
	// ErrValue is a key or a value that cannot stand in front matter.
	ErrValue = errors.New("not a field")
	// ErrHead is an edit after which the front matter would be longer than
	// MaxHead.
	ErrHead = fmt.Errorf("the front matter would be longer than %d bytes", MaxHead)
)

// Change is what becomes of one key.
type Change struct {
	key    string
	value  Value
	remove bool
}

// Set gives a key a value.
func Set(key string, v Value) Change { return Change{key: key, value: v} }

// Remove takes a key away.
func Remove(key string) Change { return Change{key: key, remove: true} }

// guard is the head of a body that would be taken for one with front matter of
// its own: it says what holds without it.
const guard = "type: semantic"

// Edit returns the text with changes made to its front matter. A key that is
// there keeps its place, and loses its repetitions; a new one comes last.
// Everything else keeps every byte, and so does a key that has that value
// already. Without a key left there is no front matter.
func (d Doc) Edit(changes ...Change) (string, error) {
	if len(changes) == 0 {
		return d.text, nil
	}
	end := d.lineEnd()
	var lines []headLine
	for _, e := range d.entries {
		lines = append(lines, headLine{e.key, d.text[e.from:e.to]})
	}
	for _, c := range changes {
		if !validKey(c.key) {
			return "", fmt.Errorf("%w: a key must be letters, digits, _ and -", ErrValue)
		}
		written := ""
		if all := d.values(c.key); !c.remove && len(all) == 1 && all[0].Equal(c.value) {
			continue
		}
		if !c.remove {
			line, err := c.value.line(c.key)
			if err != nil {
				return "", fmt.Errorf("%s: %w", c.key, err)
			}
			written = line + end
		}
		lines = put(lines, c.key, written)
	}
	return d.join(lines)
}

// headLine is what stands between the fences for one key, or one line that has
// none.
type headLine struct{ key, text string }

// put replaces a key's first lines and drops the others; no text drops all.
func put(lines []headLine, key, text string) []headLine {
	done := text == ""
	kept := lines[:0:0]
	for _, l := range lines {
		switch {
		case l.key != key:
			kept = append(kept, l)
		case !done:
			kept = append(kept, headLine{key, text})
			done = true
		}
	}
	if !done {
		kept = append(kept, headLine{key, text})
	}
	return kept
}

// join puts head and body together, so that Parse takes them apart the same.
func (d Doc) join(lines []headLine) (string, error) {
	end, body := d.lineEnd(), d.Body()
	keyed := slices.IndexFunc(lines, func(l headLine) bool { return l.key != "" })
	switch {
	case len(lines) == 0 && !Parse(body).HasHead():
		return body, nil
	case keyed < 0:
		lines = slices.Insert(lines, 0, headLine{"type", guard + end})
	case keyed > 0: // the second line of a text with front matter is a key
		first := lines[keyed]
		lines = slices.Insert(slices.Delete(lines, keyed, keyed+1), 0, first)
	}
	var out strings.Builder
	out.WriteString(fence + end)
	for _, l := range lines {
		out.WriteString(l.text)
	}
	if out.Len()+len(fence) > MaxHead {
		return "", ErrHead
	}
	if d.HasHead() {
		out.WriteString(d.text[d.shut:d.body]) // it may be the last line, without an end
	} else {
		out.WriteString(fence + end)
	}
	out.WriteString(body)
	return out.String(), nil
}

// lineEnd returns how the front matter's lines end; \n if there is none.
func (d Doc) lineEnd() string {
	if strings.HasPrefix(d.text, fence+"\r\n") {
		return "\r\n"
	}
	return "\n"
}

// WithBody returns the text with another body and the same front matter, byte
// for byte. A body that has front matter of its own stays body.
func (d Doc) WithBody(body string) string {
	switch {
	case d.HasHead():
		head := d.text[:d.body]
		if body != "" && !strings.HasSuffix(head, "\n") {
			head += d.lineEnd()
		}
		return head + body
	case Parse(body).HasHead():
		return fence + "\n" + guard + "\n" + fence + "\n" + body
	}
	return body
}

// Field is a key with its value.
type Field struct {
	Key   string
	Value Value
}

// Render makes a text of fields, in the order of the keys that this package
// knows and then in that given, and a body.
func Render(fields []Field, body string) (string, error) {
	sorted := slices.Clone(fields)
	slices.SortStableFunc(sorted, func(a, b Field) int { return rank(a.Key) - rank(b.Key) })
	changes := make([]Change, len(sorted))
	for i, f := range sorted {
		changes[i] = Set(f.Key, f.Value)
	}
	if len(changes) == 0 {
		return Doc{}.WithBody(body), nil
	}
	return Doc{text: body}.Edit(changes...)
}

// rank is a key's place in a text that Render makes.
func rank(key string) int {
	if i := slices.Index(order, key); i >= 0 {
		return i
	}
	return len(order)
}
