package main

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"engramd/internal/cli/core"
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
var neverSaid = regexp.MustCompile(`(?i)not found|no core memory|write a short profile|there is no core|no memory|nothing (is|was|to) |absent|removed at`)

// lineSaid is on stderr where something is behind.
const lineSaid = "engramctl repair"

// question is a command that reads, and how it ends; "" is well.
type question struct {
	args  []string
	stdin string
	wrong func(c lostCell, got hooked) string
}

// reads are the commands that answer with a text.
var reads = []question{
	{args: []string{"mem", "get", "notes"}, wrong: text(1)},
	{args: []string{"mem", "get", "notes", "--json"}, wrong: text(1)},
	{args: []string{"mem", "get", "notes", "--strict"}, wrong: strictly(text(1))},
	{args: []string{"mem", "get", "core"}, wrong: text(1)},
	{args: []string{"mem", "hash", "notes"}, wrong: func(c lostCell, got hooked) string {
		if got.code == 0 && len(got.stdout) == 65 {
			got.stdout = hashes[got.stdout[:64]]
		}
		return text(1)(c, got)
	}},
	{args: []string{"core"}, wrong: coreText},
	{args: []string{"core", "--format", "json"}, wrong: coreText},
	{args: []string{"core", "--strict"}, wrong: strictly(coreText)},
	{args: []string{"mem", "ls"}, wrong: listed},
	{args: []string{"mem", "ls", "--strict"}, wrong: strictly(listed)},
}

// text is the end of a command that prints one text, or ends with a code if there is none.
func text(none int) func(c lostCell, got hooked) string {
	return func(c lostCell, got hooked) string {
		code, words := 0, ""
		switch c.answer() {
		case newest:
			words = newestWord
		case first:
			words = firstWord
		case nothing:
			code = none
		case withheld:
			code = 6
		}
		return c.line(got, ends(got, code, words))
	}
}

// ends compares the code, and which of the versions is on stdout; "" is none.
func ends(got hooked, code int, word string) string {
	has := ""
	for _, w := range []string{firstWord, newestWord} {
		if strings.Contains(got.stdout, w) {
			has += w
		}
	}
	if got.code != code || has != word {
		return fmt.Sprintf("exit code %d with %q, want %d with %q", got.code, has, code, word)
	}
	return ""
}

// line adds what is said beside an answer, and what is never said.
func (c lostCell) line(got hooked, wrong string) string {
	switch said := strings.Contains(got.stderr, lineSaid); {
	case wrong != "":
		return wrong
	case said != c.behind():
		return fmt.Sprintf("that something is behind is said: %v", said)
	case c.behind() && neverSaid.MatchString(got.stdout+got.stderr):
		return fmt.Sprintf("it says %q", neverSaid.FindString(got.stdout+got.stderr))
	}
	return ""
}

// strictly has a command fail where something is behind.
func strictly(wrong func(c lostCell, got hooked) string) func(c lostCell, got hooked) string {
	return func(c lostCell, got hooked) string {
		if c.behind() {
			return c.line(got, ends(got, 6, ""))
		}
		return wrong(c, got)
	}
}

// coreText is the end of core.
func coreText(c lostCell, got hooked) string {
	switch {
	case c.unaccounted():
		if got.code != 6 || got.stdout != "" || !strings.Contains(got.stderr, "no core is shown; this agent has written") {
			return "it does not say that no core is shown"
		}
		return ""
	case c.answer() == nothing:
		if !strings.Contains(got.stdout, core.CoreHint) {
			return "it does not say how to begin"
		}
	}
	return text(0)(c, got)
}

// listed is the end of mem ls: what is withheld is in no list unless relays show it.
func listed(c lostCell, got hooked) string {
	there, code := c.answer(), 0
	if there == withheld {
		there = c.shown()
		if c.condition == allGone || c.condition == prunedThere {
			code = 6
		}
	}
	if has := strings.Contains(got.stdout, "mem/notes "); got.code != code || has != (there != nothing) {
		return fmt.Sprintf("exit code %d, listed: %v; want %d, %v", got.code, has, code, there != nothing)
	}
	return c.line(got, "")
}

// wholeTable has every question asked in every cell; otherwise each is asked in some, so
// that it meets every condition and every machine.
var wholeTable = false

// TestBehind has every command that reads look at relays in every condition, from machines
// that know what was there, each in its own way.
func TestBehind(t *testing.T) {
	t.Parallel()
	l := newLostTable(t, "mem/notes")
	for _, condition := range conditions {
		t.Run(condition, func(t *testing.T) {
			l.is(condition)
			var cells sync.WaitGroup
			for _, m := range l.machines {
				if m.mortal != (condition == expiredThere) {
					continue
				}
				cells.Go(func() { l.asks(t, lostCell{condition, m.knows}, m) })
			}
			cells.Wait()
		})
	}
}

// meets reports whether a question is asked in the cell.
func (c lostCell) meets(question int) bool {
	return wholeTable || (question+slices.Index(conditions, c.condition)+slices.Index(knowledges, c.knows))%3 == 0
}

// asks asks the questions on a machine, each as if it were the first.
func (l *lostTable) asks(t *testing.T, c lostCell, m *machine) {
	for i, q := range reads {
		if !c.meets(i) {
			continue
		}
		m.again()
		got := m.run(strings.NewReader(q.stdin), q.args...)
		if wrong := q.wrong(c, got); wrong != "" {
			t.Errorf("%v: %v: %s\n%s%s", c, q.args, wrong, got.stdout, got.stderr)
		}
	}
}

// hashes are those of the texts of mem/notes, with the word that stands for each.
var hashes = map[string]string{
	fmt.Sprintf("%x", sha256.Sum256([]byte(firstText("mem/notes")))):  firstWord,
	fmt.Sprintf("%x", sha256.Sum256([]byte(newestText("mem/notes")))): newestWord,
}
