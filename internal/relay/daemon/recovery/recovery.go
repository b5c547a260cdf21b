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

// Found is what only one database has: how many events, and of what no event says the
// commands that would do it again.
type Found struct {
	Events   int
	Unsigned map[store.UnsignedKind][]string
}

// atOnce is how many events are looked up at a time.
const atOnce = 500

// Only finds what a database has, superseded versions too, that none of the others has.
// Signed events go to events, as JSON lines in the order of their arrival. A database that
// cannot be read whole is an error.
func Only(ctx context.Context, from *sqlite.Store, others []*sqlite.Store, events io.Writer) (Found, error) {
	found := Found{Unsigned: map[store.UnsignedKind][]string{}}
	var ids []string
	var lines [][]byte
	look := func() error {
		n, err := unknown(ctx, others, ids, lines, events)
		found.Events += n
		ids, lines = nil, nil
		return err
	}
	add := func(line []byte) error {
		id, err := idOf(line)
		ids, lines = append(ids, id), append(lines, bytes.Clone(line))
		if err == nil && len(ids) == atOnce {
			err = look()
		}
		return err
	}
	err := from.Export(ctx, gate.Operator(), true, nil, add)
	if err == nil {
		err = from.WaitingEntries(ctx, func(ev *nostr.Event) error { return add([]byte(ev.String())) })
	}
	if err = errors.Join(err, look()); err != nil {
		return found, err
	}
	known := map[string]bool{}
	for _, other := range others {
		if err := other.Unsigned(ctx, func(u store.Unsigned) error { known[key(u)] = true; return nil }); err != nil {
			return found, err
		}
	}
	return found, from.Unsigned(ctx, func(u store.Unsigned) error {
		if !known[key(u)] {
			found.Unsigned[u.Kind] = append(found.Unsigned[u.Kind], Command(u))
		}
		return nil
	})
}

func key(u store.Unsigned) string { return string(u.Kind) + "\x00" + strings.Join(u.Row, "\x00") }

func idOf(line []byte) (string, error) {
	var ev struct {
		ID string `json:"id"`
	}
	err := json.Unmarshal(line, &ev)
	return ev.ID, err
}

// unknown writes the lines of the events that no store has, and returns how many.
func unknown(ctx context.Context, stores []*sqlite.Store, ids []string, lines [][]byte, out io.Writer) (n int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	known := map[string]bool{}
	for _, s := range stores {
		err := s.Export(ctx, gate.Operator(), true, []nostr.Filter{{IDs: ids}}, func(line []byte) error {
			id, err := idOf(line)
			known[id] = true
			return err
		})
		if err != nil {
			return n, err
		}
	}
	for i, id := range ids {
		if known[id] {
			continue
		}
		n++
		if _, err := out.Write(append(lines[i], '\n')); err != nil {
			return n, err
		}
	}
	return n, nil
}

// commands do again what is no event, by the words of its row.
var commands = map[store.UnsignedKind]string{
	store.UnsignedIdentity: "engramctl identity %[3]s %[1]s %[1]s.secret",
	store.UnsignedToken:    "engramctl identity token renew %[1]s %[1]s.token",
	store.UnsignedEntry:    "engramctl contract say --visibility=private --type=%[2]s -- %[1]s - # by %[3]s: its text is sealed in that database",
	store.UnsignedDecision: "engramctl contract decide --note=%[3]s -- %[1]s %[2]s",
}

// Command is the command line by which what is no event is done again. It has no text of
// a private entry, and no token: only its owner has these.
func Command(u store.Unsigned) string {
	form, words := commands[u.Kind], make([]any, 0, len(u.Row))
	for _, text := range u.Row {
		words = append(words, word(text))
	}
	switch {
	case u.Kind == store.UnsignedIdentity && u.Row[2] == "bind":
		form = "engramctl identity bind %[1]s # by the agent, with its key %[2]s"
	case u.Kind == store.UnsignedCall:
		return call(u.Row[0], u.Row[1])
	}
	return fmt.Sprintf(form, words...)
}

// call is a call of the management API, or of the operator on the machine.
func call(method, params string) string {
	line, each := "engramctl admin call "+word(method), " "
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
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
