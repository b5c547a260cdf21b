package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// node is one value of a document, as the bytes [s, e) of it.
type node struct {
	kind byte // '{', '[', '"', or 'v' for the rest
	s, e int
	kids []kid
}

// kid is a member or an element. at is where it begins: at its name, if it has
// one. comma is where the comma behind it stands, -1 if there is none.
type kid struct {
	name  string
	at    int
	v     *node
	comma int
}

// document is a parsed text: the places of its values, and of its comments.
type document struct {
	src      []byte
	root     *node // nil if the text is blank
	comments []span2
}

type span2 struct{ s, e int }

const maxDepth = 200

type scanner struct {
	document
	at     int
	strict bool // neither comments nor commas behind the last one
	depth  int
}

// scan parses JSON, or, if not strict, JSON with comments and trailing commas.
// A byte order mark counts as blank. Its errors name line and column.
func scan(src []byte, strict bool) (*document, error) {
	if !utf8.Valid(src) {
		return nil, errors.New("this is no UTF-8 text; save it as UTF-8 and run setup again")
	}
	p := &scanner{document: document{src: src}, strict: strict}
	if bytes.HasPrefix(src, bom) {
		p.at = len(bom)
	}
	if err := p.blank(); err != nil {
		return nil, err
	}
	if p.at == len(src) {
		if len(p.comments) > 0 {
			return nil, p.wrong("there are only comments; add {} below them")
		}
		return &p.document, nil
	}
	root, err := p.value()
	if err != nil {
		return nil, err
	}
	if err := p.blank(); err != nil {
		return nil, err
	}
	if p.at != len(src) {
		return nil, p.wrong("something follows the end of the document")
	}
	p.root = root
	return &p.document, nil
}

var bom = []byte("\xef\xbb\xbf")

func (p *scanner) wrong(what string) error { return p.document.wrong(p.at, what) }

// wrong is an error that says where.
func (d *document) wrong(at int, what string) error {
	before := d.src[:min(at, len(d.src))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Errorf("line %d, column %d: %s; correct it and run setup again (nothing was written)", line, column, what)
}

// blank skips white space and comments.
func (p *scanner) blank() error {
	for p.at < len(p.src) {
		switch c := p.src[p.at]; {
		case isBlank(c):
			p.at++
		case c == '/':
			if err := p.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// comment notes one without the line's end, which is white space.
func (p *scanner) comment() error {
	rest := p.src[p.at:]
	var end int
	switch {
	case p.strict:
		return p.wrong("this program's settings take no comments")
	case bytes.HasPrefix(rest, []byte("//")):
		if end = bytes.IndexByte(rest, '\n'); end < 0 {
			end = len(rest)
		} else if rest[end-1] == '\r' {
			end--
		}
	case bytes.HasPrefix(rest, []byte("/*")):
		if end = bytes.Index(rest[2:], []byte("*/")); end < 0 {
			return p.wrong("the comment that begins here has no end")
		}
		end += 4
	default:
		return p.wrong("a value is expected here")
	}
	p.comments = append(p.comments, span2{p.at, p.at + end})
	p.at += end
	return nil
}

func (p *scanner) value() (*node, error) {
	if p.at == len(p.src) {
		return nil, p.wrong("the document ends in the middle")
	}
	switch c := p.src[p.at]; c {
	case '{', '[':
		return p.container(c)
	case '"':
		return p.text()
	}
	s := p.at
	for p.at < len(p.src) && !isBlank(p.src[p.at]) && !bytes.ContainsRune([]byte(`,:{}[]"/`), rune(p.src[p.at])) {
		p.at++
	}
	if !json.Valid(p.src[s:p.at]) {
		p.at = s
		return nil, p.wrong("a value is expected here")
	}
	return &node{kind: 'v', s: s, e: p.at}, nil
}

func (p *scanner) text() (*node, error) {
	s := p.at
	for p.at++; p.at < len(p.src) && p.src[p.at] != '"'; p.at++ {
		if p.src[p.at] == '\\' {
			p.at++
		}
	}
	if p.at >= len(p.src) || !json.Valid(p.src[s:p.at+1]) {
		p.at = s
		return nil, p.wrong("the text that begins here is not well formed")
	}
	p.at++
	return &node{kind: '"', s: s, e: p.at}, nil
}

func (p *scanner) container(open byte) (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.wrong("the document is nested too deeply")
	}
	defer func() { p.depth-- }()
	n := &node{kind: open, s: p.at}
	p.at++
	for {
		if err := p.blank(); err != nil {
			return nil, err
		}
		if p.at < len(p.src) && p.src[p.at] == open+2 { // } and ] stand two behind { and [
			if len(n.kids) > 0 && n.kids[len(n.kids)-1].comma >= 0 && p.strict {
				return nil, p.wrong("this program's settings take no comma behind the last entry")
			}
			p.at++
			n.e = p.at
			return n, nil
		}
		if len(n.kids) > 0 && n.kids[len(n.kids)-1].comma < 0 {
			return nil, p.wrong("a comma or the end of the list is expected here")
		}
		k, err := p.kid(open)
		if err != nil {
			return nil, err
		}
		n.kids = append(n.kids, k)
	}
}

func (p *scanner) kid(open byte) (kid, error) {
	k := kid{at: p.at, comma: -1}
	if open == '{' {
		if p.at == len(p.src) || p.src[p.at] != '"' {
			return k, p.wrong("a name in quotation marks is expected here")
		}
		name, err := p.text()
		if err != nil {
			return k, err
		}
		k.name = p.document.string(name)
		if err := p.blank(); err != nil {
			return k, err
		}
		if p.at == len(p.src) || p.src[p.at] != ':' {
			return k, p.wrong("a colon is expected here")
		}
		p.at++
		if err := p.blank(); err != nil {
			return k, err
		}
	}
	var err error
	if k.v, err = p.value(); err != nil {
		return k, err
	}
	if err := p.blank(); err != nil {
		return k, err
	}
	if p.at < len(p.src) && p.src[p.at] == ',' {
		k.comma = p.at
		p.at++
	}
	return k, nil
}

// string is the text of a node; "" if it is none.
func (d *document) string(n *node) (s string) {
	if n == nil || n.kind != '"' || json.Unmarshal(d.src[n.s:n.e], &s) != nil {
		return ""
	}
	return s
}

// member finds the last member of a name, which is the one that counts.
func (n *node) member(name string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	for i := len(n.kids) - 1; i >= 0; i-- {
		if n.kids[i].name == name {
			return n.kids[i].v
		}
	}
	return nil
}
