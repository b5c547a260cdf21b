package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
)

// node is a JSON value whose members keep their order.
type node struct {
	text    string // of a scalar
	list    []node
	members []member
	form    byte // 's'calar, '[' or '{'
}

type member struct {
	name  string
	value node
}

// maxDepth is deeper than any result.
const maxDepth = 20

var errDepth = errors.New("nested too deeply")

// readNode reads one value.
func readNode(dec *json.Decoder, depth int) (n node, err error) {
	if depth > maxDepth {
		return n, errDepth
	}
	token, err := dec.Token()
	if err != nil {
		return n, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return node{form: 's', text: scalarText(token)}, nil
	}
	n.form = byte(delim)
	for dec.More() {
		var m member
		if delim == '{' {
			name, err := dec.Token()
			if err != nil {
				return n, err
			}
			m.name = fmt.Sprint(name)
		}
		if m.value, err = readNode(dec, depth+1); err != nil {
			return n, err
		}
		n.list, n.members = append(n.list, m.value), append(n.members, m)
	}
	_, err = dec.Token() // the end
	return n, err
}

func scalarText(token json.Token) string {
	if token == nil {
		return "-"
	}
	return cliutil.Plain(fmt.Sprint(token))
}

// managedText returns a result for people: true is "done", a list has a line
// for each thing, an object a line for each member. Others' texts are shown
// without what steers a terminal.
func managedText(result json.RawMessage) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(result))
	dec.UseNumber()
	n, err := readNode(dec, 0)
	if err != nil {
		return "", err
	}
	if n.form == 's' && n.text == "true" {
		return "done\n", nil
	}
	var b strings.Builder
	n.write(&b, "")
	return b.String(), nil
}

// flatMembers is up to how many members an object in a list is one line.
const flatMembers = 3

func (n node) write(b *strings.Builder, indent string) {
	switch n.form {
	case 's':
		writeLine(b, indent, n.text)
	case '[':
		for _, v := range n.list {
			switch {
			case v.form == '{' && v.flat():
				var parts []string
				for _, m := range v.members {
					parts = append(parts, strings.ReplaceAll(m.shown(), "\n", " "))
				}
				writeLine(b, indent, strings.Join(parts, "  "))
			case v.form == '{':
				var inner strings.Builder
				v.write(&inner, indent+"  ")
				b.WriteString(strings.Replace(inner.String(), indent+"  ", indent+"- ", 1))
			default:
				v.write(b, indent)
			}
		}
	case '{':
		for _, m := range n.members {
			if m.value.form == 's' {
				writeLine(b, indent, cliutil.Plain(m.name)+": "+m.shown())
			} else {
				writeLine(b, indent, cliutil.Plain(m.name)+":")
				m.value.write(b, indent+"  ")
			}
		}
	}
}

// flat reports whether an object has few members, and scalars alone.
func (n node) flat() bool {
	for _, m := range n.members {
		if m.value.form != 's' {
			return false
		}
	}
	return len(n.members) <= flatMembers
}

// shown returns a member's value; keys are shown as people write them.
func (m member) shown() string {
	if (m.name == "pubkey" || m.name == "agent") && nostr.IsValid32ByteHex(m.value.text) {
		return settings.Npub(m.value.text)
	}
	return m.value.text
}

// writeLine writes a text, whose further lines are indented as well.
func writeLine(b *strings.Builder, indent, text string) {
	b.WriteString(indent + strings.ReplaceAll(text, "\n", "\n"+indent) + "\n")
}
