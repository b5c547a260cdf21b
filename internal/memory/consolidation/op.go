package consolidation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"engramd/nips/frontmatter"
)

const (
	// MaxOps is how many operations one answer has at most, and maxAnswer how long
	// it is, in bytes.
	MaxOps    = 64
	maxAnswer = 1 << 20
)

// What an operation does.
const (
	OpWrite     = "write"     // slug, text, derived_from; type, description, tags
	OpSupersede = "supersede" // old, new, why
	OpArchive   = "archive"   // slug, why
	OpKeep      = "keep"      // slug
	OpLink      = "link"      // from, to, relation
)

// Op is one operation, as models write it.
type Op struct {
	Op          string   `json:"op"`
	Slug        string   `json:"slug,omitempty"`
	Text        string   `json:"text,omitempty"`
	Type        string   `json:"type,omitempty"`
	Description string   `json:"description,omitempty"`
	Why         string   `json:"why,omitempty"`
	Old         string   `json:"old,omitempty"`
	New         string   `json:"new,omitempty"`
	From        string   `json:"from,omitempty"`
	To          string   `json:"to,omitempty"`
	Relation    string   `json:"relation,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	DerivedFrom []string `json:"derived_from,omitempty"`
	InspiredBy  []string `json:"inspired_by,omitempty"`
	// Copied says whose words the text has, of which who took the operation knows that they
	// are external; "" knows nothing.
	Copied string `json:"-"`
	// Read names what of somebody else's words had been shown before to who thought.
	Read []string `json:"-"`
}

// ErrOps is an answer that is no list of operations.
var ErrOps = errors.New("not a list of operations")

// ParseOps reads {"operations": [...]} or the list alone. Members that no operation
// has are refused, and so is one that stands there twice: what a model means must
// not depend on who reads it. The error is ErrOps, or the reader's.
func ParseOps(r io.Reader) ([]Op, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the operations: %w", err)
	}
	if len(b) > maxAnswer {
		return nil, fmt.Errorf("%w: it is longer than %d bytes", ErrOps, maxAnswer)
	}
	if err := unique(b); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrOps, brief(err.Error()))
	}
	raw, err := list(b)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrOps, brief(err.Error()))
	}
	if len(raw) > MaxOps {
		return nil, fmt.Errorf("%w: %d of them, and one answer has %d at most", ErrOps, len(raw), MaxOps)
	}
	ops := make([]Op, len(raw))
	for i, one := range raw {
		if err := strictly(one, &ops[i]); err != nil {
			return nil, fmt.Errorf("%w: operation %d: %s", ErrOps, i+1, brief(err.Error()))
		}
	}
	return ops, nil
}

// brief is what a message says of somebody's words: one line, and not all of them.
func brief(s string) string {
	const most = 200
	if runes := []rune(frontmatter.OneLine(s)); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return frontmatter.OneLine(s)
}

// list takes the operations out of what stands around them.
func list(b []byte) ([]json.RawMessage, error) {
	var raw []json.RawMessage
	if bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("[")) {
		err := strictly(b, &raw)
		return raw, err
	}
	var in struct {
		Operations *[]json.RawMessage `json:"operations"`
	}
	if err := strictly(b, &in); err != nil {
		return nil, err
	}
	if in.Operations == nil {
		return nil, errors.New(`it must be {"operations": [...]}`)
	}
	return *in.Operations, nil
}

// strictly reads one value and nothing behind it.
func strictly(b []byte, into any) error {
	if bytes.Equal(bytes.TrimSpace(b), []byte("null")) {
		return errors.New("null says nothing")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the end")
	}
	return nil
}

// unique finds a member that an object has twice, as encoding/json reads names:
// whatever their case.
func unique(b []byte) error {
	const (
		deepest = 4  // the list, an operation, a list of slugs, and what is around
		widest  = 32 // an operation has half as many members
	)
	d := json.NewDecoder(bytes.NewReader(b))
	type open struct {
		object bool
		names  [][]byte
		value  bool // what follows is the value of a name
	}
	var stack []open
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		n := len(stack)
		switch t {
		case json.Delim('{'), json.Delim('['):
			if n == deepest {
				return errors.New("it is nested too deep")
			}
			if n > 0 {
				stack[n-1].value = false
			}
			stack = append(stack, open{object: t == json.Delim('{')})
			continue
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:n-1]
			continue
		}
		if n == 0 || !stack[n-1].object {
			continue
		}
		top := &stack[n-1]
		if top.value = !top.value; !top.value {
			continue
		}
		if len(top.names) == widest {
			return fmt.Errorf("an object with more than %d members", widest)
		}
		name, _ := t.(string)
		if slices.ContainsFunc(top.names, func(o []byte) bool { return bytes.EqualFold(o, []byte(name)) }) {
			return fmt.Errorf("%q stands there twice", name)
		}
		top.names = append(top.names, []byte(name))
	}
}
