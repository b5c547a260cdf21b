package harness

import (
	"bytes"
	"strings"
)

// What we write is a value of these: an object keeps its order.
type (
	object []field
	field  struct {
		name  string
		value any // object, list, string, int, bool
	}
	list  []any
	lines []any // a list with each element on a line of its own
)

// How a splice says what was there before, so that cut gives it back:
//
//   - an entry goes behind the last one of its object or list, on a line of its
//     own; whatever stood behind stays there, byte for byte;
//   - an object or list that was there empty gets blanks behind its bracket, one
//     more than the indentation of its end; one that we make gets none: so an
//     empty one stays, and ours goes;
//   - a file that we make ends in a newline, an empty one that was there does not.
type style struct{ newline, unit string }

func styleOf(d *document) style {
	s := style{"\n", "  "}
	if at := bytes.IndexByte(d.src, '\n'); at > 0 && d.src[at-1] == '\r' {
		s.newline = "\r\n"
	}
	if d.root != nil && len(d.root.kids) > 0 {
		if in, own := d.indent(d.root.kids[0].at); own && in != "" {
			s.unit = in
		}
	}
	return s
}

// indent is the white space at the beginning of at's line, and whether nothing
// else stands before at.
func (d *document) indent(at int) (string, bool) {
	start := bytes.LastIndexByte(d.src[:at], '\n') + 1
	if start == 0 && bytes.HasPrefix(d.src, bom) {
		start = len(bom)
	}
	end := start
	for end < at && (d.src[end] == ' ' || d.src[end] == '\t') {
		end++
	}
	return string(d.src[start:end]), end == at
}

// inner is how the entries of a container are indented.
func (d *document) inner(n *node, st style) string {
	if len(n.kids) > 0 {
		if in, own := d.indent(n.kids[0].at); own {
			return in
		}
	}
	in, _ := d.indent(n.s)
	return in + st.unit
}

// add puts entries at the end of an object or list.
func (d *document) add(n *node, entries object) []byte {
	st := styleOf(d)
	in := d.inner(n, st)
	named := n.kind == '{'
	var text strings.Builder
	for i, f := range entries {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(st.newline + in)
		render(&text, f, named, st, in)
	}
	if len(n.kids) == 0 {
		outer, _ := d.indent(n.s)
		return d.put(n.s+1, strings.Repeat(" ", 1+len(outer))+text.String()+st.newline+outer)
	}
	last := n.kids[len(n.kids)-1]
	if last.comma >= 0 {
		return d.put(d.behind(last.comma+1), text.String()+",")
	}
	at := d.behind(last.v.e)
	if at == last.v.e {
		return d.put(at, ","+text.String())
	}
	with := d.put(at, text.String())
	return (&document{src: with}).put(last.v.e, ",")
}

// behind is the end of the comments that stand on the same line behind at.
func (d *document) behind(at int) int {
	for _, c := range d.comments {
		if c.s >= at && len(bytes.Trim(d.src[at:c.s], " \t")) == 0 {
			at = c.e
		}
	}
	return at
}

func (d *document) put(at int, text string) []byte {
	return append(append(append([]byte{}, d.src[:at]...), text...), d.src[at:]...)
}

func (d *document) without(s, e int) []byte {
	return append(append([]byte{}, d.src[:s]...), d.src[e:]...)
}

// drop takes one entry out of a container that keeps others, or that stays.
func (d *document) drop(n *node, i int) []byte {
	k := n.kids[i]
	if len(n.kids) == 1 && k.comma < 0 {
		return d.dropOnly(n, k)
	}
	if i < len(n.kids)-1 {
		return d.dropBefore(k, n.kids[i+1].at)
	}
	s := d.blankBefore(k.at)
	if k.comma >= 0 && !d.holds(k.v.e, k.comma) {
		return d.without(s, k.comma+1)
	}
	if k.comma >= 0 {
		rest := d.without(k.comma, k.comma+1)
		return (&document{src: rest}).without(s, k.v.e)
	}
	rest := d.without(s, k.v.e)
	comma := n.kids[i-1].comma // there is one: an entry follows it
	return (&document{src: rest}).without(comma, comma+1)
}

// dropBefore takes out an entry that another one follows: with the space
// between them, or without where a comment stands there.
func (d *document) dropBefore(k kid, next int) []byte {
	for _, c := range d.comments {
		if c.s >= k.v.e && c.e <= next {
			rest := d.without(k.comma, k.comma+1)
			return (&document{src: rest}).without(k.at, k.v.e)
		}
	}
	return d.without(k.at, next)
}

// dropOnly takes out the one entry of a container that was there before.
func (d *document) dropOnly(n *node, k kid) []byte {
	blanks, newline := d.mark(n)
	end := newline + strings.Repeat(" ", max(blanks-1, 0))
	rest := bytes.ReplaceAll(d.src[k.v.e:min(k.v.e+len(end), n.e)], []byte("\t"), []byte(" "))
	if blanks > 0 && string(rest) == end && !d.holds(n.s, k.at) {
		return d.without(n.s+1, k.v.e+len(end))
	}
	return d.without(d.blankBefore(k.at), k.v.e)
}

// mark says by how many blanks, before which newline, a container is marked as
// one that was there, empty, before our entries; 0 if it is not.
func (d *document) mark(n *node) (int, string) {
	rest := d.src[n.s+1:]
	behind := bytes.TrimLeft(rest, " ")
	for _, newline := range []string{"\n", "\r\n"} {
		if bytes.HasPrefix(behind, []byte(newline)) {
			return len(rest) - len(behind), newline
		}
	}
	return 0, ""
}

func (d *document) marked(n *node) bool {
	blanks, _ := d.mark(n)
	return blanks > 0
}

// blankBefore is where the white space before at begins. A comment's own blanks
// are not ours.
func (d *document) blankBefore(at int) int {
	s := at
	for s > 0 && isBlank(d.src[s-1]) {
		s--
	}
	for _, c := range d.comments {
		if c.s < at && c.e > s && c.e <= at {
			s = c.e
		}
	}
	return s
}

// holds reports whether a comment stands in [s, e).
func (d *document) holds(s, e int) bool {
	for _, c := range d.comments {
		if c.s >= s && c.e <= e {
			return true
		}
	}
	return false
}
