package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// lostCell is one cell of the table: what relays show, and how the machine knows what was
// there.
type lostCell struct{ condition, knows string }

func (c lostCell) String() string { return c.condition + ", " + c.knows }

// which is the version that is there, or what is answered.
type which string

const (
	newest   which = "the newest"
	first    which = "the first"
	nothing  which = "nothing"
	withheld which = "that there is one, and not here"
)

// shown is what all relays together show.
func (c lostCell) shown() which {
	switch c.condition {
	case asItWas, oneOfTwo:
		return newest
	case olderShown, blockedThere, noHistory:
		return first
	}
	return nothing
}

// ended says that what was there need not be there any more.
func (c lostCell) ended() bool { return c.condition == deletedThere || c.condition == expiredThere }

// behind says that this machine knows better than all relays.
func (c lostCell) behind() bool {
	return c.knows != newMachine && c.shown() != newest && !c.ended()
}

// answer is what a reader is told.
func (c lostCell) answer() which {
	switch {
	case !c.behind():
		return c.shown()
	case c.knows == stateIDs:
		return withheld
	}
	return newest
}

// unaccounted says that this agent has written, and that nobody can tell what: its key had
// the core deleted, with its history, and no state of this machine's says so.
func (c lostCell) unaccounted() bool {
	return c.condition == deletedThere && (c.knows == copyKnows || c.knows == newMachine)
}

// neverSaid is what is not said where this machine knows better.
var neverSaid = regexp.MustCompile(`(?i)not found|not_found|nothing is remembered|no core memory|there is no (core|memory)|no memory|no matches|none of \d|nothing to remove|removed at|was deleted|every relay`)

// lineSaid is on stderr where something is behind.
const lineSaid = "engramctl repair"

// question is a command that reads, and how it ends; "" is well.
type question struct {
	args  []string
	stdin string
	wrong func(c lostCell, got hooked) string
	long  bool // it takes seconds
}

// wholeTable has every question asked in every cell; otherwise each is asked in some, so
// that it meets every condition and every machine.
var wholeTable = false

// TestBehind has every command that reads look at relays in every condition, from machines
// that know what was there, each in its own way.
func TestBehind(t *testing.T) {
	t.Parallel()
	l := newLostTable(t, "mem/notes")
	l.cells(t, l.asks)
}

// cells puts the relays into every condition, and looks from every machine side by side,
// each as if it were the first.
func (l *lostTable) cells(t *testing.T, look func(*testing.T, lostCell, *machine)) {
	for _, condition := range conditions {
		t.Run(condition, func(t *testing.T) {
			l.is(condition)
			var cells sync.WaitGroup
			for _, m := range l.machines {
				if m.mortal == (condition == expiredThere) {
					m.again()
					cells.Go(func() { look(t, lostCell{condition, m.knows}, m) })
				}
			}
			cells.Wait()
		})
	}
}

// meets reports whether a question is asked in the cell.
func (c lostCell) meets(question int) bool {
	return wholeTable || (question+c.number())%3 == 0
}

func (c lostCell) number() int {
	return slices.Index(conditions, c.condition) + slices.Index(knowledges, c.knows)
}

// asks asks the questions on a machine, each as if it were the first.
func (l *lostTable) asks(t *testing.T, c lostCell, m *machine) {
	for i, q := range reads {
		if !c.meets(i) || q.long && c.number()%4 != 0 {
			continue
		}
		m.again()
		got := m.run(strings.NewReader(q.stdin), m.filled(q.args)...)
		if wrong := q.wrong(c, got); wrong != "" {
			t.Errorf("%v: %v: %s\n%s%s", c, q.args, wrong, got.stdout, got.stderr)
		}
	}
	l.unopenable(t, c, m)
}

// filled has the relay, a time and a folder in their places.
func (m *machine) filled(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		switch a {
		case "RELAY":
			args[i] = m.relays()[0]
		case "THEN":
			args[i] = m.then
		case "FOLDER":
			args[i] = filepath.Join(m.dir, "exported")
		}
	}
	return args
}
