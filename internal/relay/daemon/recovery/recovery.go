// Package recovery finds what one database of several has that the others lack, where
// the nodes that they are of have read different logs.
package recovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
)

// Found counts what only one database has.
type Found struct {
	Events   int
	Unsigned map[store.UnsignedKind]int // what no event says
}

// atOnce is how many events are looked up at a time.
const atOnce = 500

// Only finds what a database has, superseded versions too, that none of the others has.
// Signed events go to events, as JSON lines in the order of their arrival; for what is no
// event the commands that would do it again go to commands. A database that cannot be
// read whole is an error.
func Only(ctx context.Context, from *sqlite.Store, others []*sqlite.Store, events, commands io.Writer) (Found, error) {
	found := Found{Unsigned: map[store.UnsignedKind]int{}}
	l := looking{ctx: ctx, others: others, out: events}
	err := from.Export(ctx, gate.Operator(), true, nil, l.add)
	if err == nil {
		err = from.WaitingEntries(ctx, func(ev *nostr.Event) error {
			line, err := json.Marshal(ev)
			if err != nil {
				return err
			}
			return l.add(line)
		})
	}
	if err = errors.Join(err, l.flush()); err != nil {
		return found, err
	}
	found.Events = l.found
	known := map[string]bool{}
	for _, other := range others {
		if err := other.Unsigned(ctx, func(u store.Unsigned) error { known[key(u)] = true; return nil }); err != nil {
			return found, err
		}
	}
	return found, from.Unsigned(ctx, func(u store.Unsigned) error {
		if known[key(u)] {
			return nil
		}
		found.Unsigned[u.Kind]++
		_, err := fmt.Fprintln(commands, Command(u))
		return err
	})
}

func key(u store.Unsigned) string { return string(u.Kind) + "\x00" + strings.Join(u.Row, "\x00") }

// looking looks events up in the others.
type looking struct {
	ctx    context.Context
	others []*sqlite.Store
	out    io.Writer
	ids    []string
	lines  [][]byte
	found  int
}

func (l *looking) add(line []byte) error {
	id, err := idOf(line)
	if err != nil {
		return err
	}
	l.ids, l.lines = append(l.ids, id), append(l.lines, bytes.Clone(line))
	if len(l.ids) < atOnce {
		return nil
	}
	return l.flush()
}

func idOf(line []byte) (string, error) {
	var ev struct {
		ID string `json:"id"`
	}
	err := json.Unmarshal(line, &ev)
	return ev.ID, err
}

func (l *looking) flush() error {
	if len(l.ids) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, other := range l.others {
		err := other.Export(l.ctx, gate.Operator(), true, []nostr.Filter{{IDs: l.ids}}, func(line []byte) error {
			id, err := idOf(line)
			known[id] = true
			return err
		})
		if err != nil {
			return err
		}
	}
	for i, id := range l.ids {
		if known[id] {
			continue
		}
		l.found++
		if _, err := l.out.Write(append(l.lines[i], '\n')); err != nil {
			return err
		}
	}
	l.ids, l.lines = nil, nil
	return nil
}

// Command is the command line by which what is no event is done again. It has no text of
// a private entry, and no token: nobody but its owner has these.
func Command(u store.Unsigned) string {
	row := make([]string, len(u.Row))
	for i, text := range u.Row {
		row[i] = word(text)
	}
	switch u.Kind {
	case store.UnsignedCall:
		return call(row[0], u.Row[1])
	case store.UnsignedIdentity:
		line := "engramctl identity " + row[2] + " " + row[0]
		if row[2] == "bind" {
			return line + " # by the agent, with its key " + row[1]
		}
		return line + " " + word(u.Row[0]+".secret")
	case store.UnsignedToken:
		return "engramctl identity token renew " + row[0] + " " + word(u.Row[0]+".token")
	case store.UnsignedEntry:
		return "engramctl contract say --visibility=private --type=" + row[1] + " -- " + row[0] + " - # by " + row[2] + ": its text is sealed in that database"
	default:
		return "engramctl contract decide --note=" + row[2] + " -- " + row[0] + " " + row[1]
	}
}

// call is a call of the management API, or of the operator on the machine.
func call(method, params string) string {
	line, each := "engramctl admin call "+method, " "
	if method == "delete" {
		line, each = "engramd delete", " --filter "
	}
	var all []json.RawMessage
	if json.Unmarshal([]byte(params), &all) != nil {
		all = []json.RawMessage{json.RawMessage(params)}
	}
	for _, one := range all {
		line += each + word(string(one))
	}
	return line
}

// word is a text as one word of a shell, with nothing in it that a terminal hides.
func word(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./-", r)
	}
	if text != "" && strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
