package main

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"engramd/internal/cli/core"
)

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
	{args: []string{"mem", "ls", "--json"}, wrong: listed},
	{args: []string{"mem", "get", "notes", "--relay", "RELAY"}, wrong: named},
	{args: []string{"mem", "get", "notes", "--at", "2m"}, wrong: past},
	{args: []string{"mem", "log", "notes", "--text"}, wrong: logged},
	{args: []string{"mem", "diff", "notes"}, wrong: logged},
	{args: []string{"log"}, wrong: told},
	{args: []string{"mem", "stats"}, wrong: told},
	{args: []string{"mem", "graph"}, wrong: told},
	{args: []string{"mem", "timeline"}, wrong: told},
	{args: []string{"export", "FOLDER"}, wrong: told},
	{args: []string{"snapshot", "create"}, wrong: kept},
	{args: []string{"recall", "the gate"}, wrong: recalled},
	{args: []string{"recall", "the gate", "--json"}, wrong: recalled},
	{args: []string{"mem", "search", "gate"}, wrong: recalled},
	{args: []string{"recall", "the gate", "--relay", "RELAY"}, wrong: recalledThere},
	{args: []string{"wake"}, wrong: woken},
	{args: []string{"wake", "--json"}, wrong: woken},
	{args: []string{"hook", "session-start"}, stdin: hooks, wrong: begun},
	{args: []string{"hook", "prompt"}, stdin: hooks, wrong: prompted},
	{args: []string{"attest"}, wrong: attested},
	{args: []string{"doctor"}, wrong: examined, long: true},
}

const hooks = `{"session_id":"s","cwd":"/","prompt":"What colour is the gate of notes?"}`

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

// empty says that nothing at all is left to be shown.
func (c lostCell) empty() bool { return c.condition == allGone || c.condition == prunedThere }

// there is the version that lists have: what is withheld is in none unless relays show
// an older one.
func (c lostCell) there() which {
	if a := c.answer(); a != withheld {
		return a
	}
	return c.shown()
}

func word(v which) string { return map[which]string{first: firstWord, newest: newestWord}[v] }

// listed is the end of mem ls.
func listed(c lostCell, got hooked) string {
	code := 0
	if c.answer() == withheld && c.empty() {
		code = 6
	}
	if has := strings.Contains(got.stdout, "mem/notes"); got.code != code || has != (c.there() != nothing) {
		return fmt.Sprintf("exit code %d, listed: %v; want %d, %v", got.code, has, code, c.there() != nothing)
	}
	return c.line(got, "")
}

// told is the end of what counts or takes the whole memory along.
func told(c lostCell, got hooked) string {
	if got.code != 0 && !(c.empty() && c.there() == nothing) {
		return fmt.Sprintf("exit code %d", got.code)
	}
	return c.line(got, "")
}

// kept is the end of a snapshot of what relays show.
func kept(c lostCell, got hooked) string {
	code := map[bool]int{true: 1}[c.empty()]
	if c.empty() && c.behind() {
		code = 6
	}
	if got.code != code {
		return fmt.Sprintf("exit code %d, want %d", got.code, code)
	}
	return c.line(got, "")
}

// recalledThere is the end of what looks for words at one relay: where that shows no
// memory at all, it is not said that nothing was ever written.
func recalledThere(c lostCell, got hooked) string {
	none := 0
	if got.code == 6 && c.empty() && c.behind() && strings.Contains(got.stderr, "this agent has written") {
		none = 6
	}
	return c.atRelay(got, none)
}

// named is the end of a question for one text to one relay.
func named(c lostCell, got hooked) string { return c.atRelay(got, 1) }

// atRelay is the end of a question to one relay: what that shows is the answer; none is
// the code for nothing.
func (c lostCell) atRelay(got hooked, none int) string {
	shown := c.shown()
	if c.condition == oneOfTwo {
		shown = first
	}
	code := 0
	if shown == nothing {
		code = none
	}
	if said := strings.Contains(got.stderr, "without --relay engramctl asks all relays"); said != (c.behind() || c.condition == oneOfTwo && c.knows != newMachine) {
		return fmt.Sprintf("that this machine knows better is said: %v", said)
	}
	return ends(got, code, word(shown))
}

// past is the end of a question for the version of two minutes ago, which was the newest:
// where the state has its id alone, what relays show of before is told.
func past(c lostCell, got hooked) string {
	switch {
	case c.ended():
		return "" // the history of what was there
	case c.answer() == withheld && c.shown() == first:
		return c.line(got, ends(got, 0, firstWord))
	}
	return text(1)(c, got)
}

// logged is the end of what shows the versions, the newest first.
func logged(c lostCell, got hooked) string {
	code, at := 0, strings.Index(got.stdout, newestWord)
	switch there := c.there(); {
	case c.ended():
		return "" // history
	case there == nothing:
		if code = 1; c.behind() {
			code = 6
		}
	case there == newest && at < 0, there == first && at >= 0:
		return "it has not the newest"
	case there == newest && c.condition == olderShown && !strings.Contains(got.stdout, firstWord):
		return "it has not the one before"
	}
	if got.code != code {
		return fmt.Sprintf("exit code %d, want %d", got.code, code)
	}
	return c.line(got, "")
}

// recalled is the end of what looks for words.
func recalled(c lostCell, got hooked) string {
	code := 0
	if c.answer() == withheld && c.there() == nothing {
		code = 6
	}
	return c.line(got, ends(got, code, word(c.there())))
}

// woken is the end of wake, of which the text says it too.
func woken(c lostCell, got hooked) string {
	switch {
	case c.unaccounted() && c.knows == copyKnows:
		return "" // it begins a state, which may know by then that the core was deleted
	case c.unaccounted():
		if got.code != 6 || !strings.Contains(got.stdout, "no core is shown; this agent has written") {
			return "it does not say that no core is shown"
		}
		return ""
	case c.answer() == nothing && !strings.Contains(got.stdout, core.CoreHint):
		return "it does not say how to begin"
	case c.answer() == newest && strings.Contains(got.stdout, lineSaid) != c.behind():
		return "the text does not say what is behind"
	}
	return text(0)(c, got)
}

// begun is the end of a session's beginning.
func begun(c lostCell, got hooked) string {
	switch {
	case got.code != 0:
		return "a hook fails"
	case c.answer() == withheld:
		if !strings.Contains(got.stdout, "Your memory could not be read") || !strings.Contains(got.stdout, "It is not empty") || !strings.Contains(got.stdout, lineSaid) {
			return "it does not say that the memory is not empty"
		}
		return c.line(got, "")
	case c.unaccounted() && c.knows == newMachine:
		got.code = 6
	}
	return woken(c, got)
}

// prompted is the end of a prompt, which is answered from what is here.
func prompted(c lostCell, got hooked) string {
	copied := c.knows == wroteIt || c.knows == anotherDid || c.knows == copyKnows
	switch {
	case got.code != 0 || c.behind() && neverSaid.MatchString(got.stdout):
		return "it fails, or says that nothing is there"
	case c.behind() && c.knows != stateIDs && strings.Contains(got.stdout, firstWord), copied && !c.ended() && !strings.Contains(got.stdout, newestWord):
		return "it has not the newest"
	}
	return ""
}

// attested is the end of attest, which signs nothing that relays do not show.
func attested(c lostCell, got hooked) string {
	code := 0
	switch {
	case c.knows == copyKnows, c.knows == newMachine, c.condition == expiredThere:
		code = 1 // nothing was written there
	case c.behind():
		code = 6
	}
	if got.code != code || (got.stdout != "") != (code == 0) {
		return fmt.Sprintf("exit code %d, want %d", got.code, code)
	}
	return ""
}

// examined is the end of doctor, which names what is missing, and the remedy.
func examined(c lostCell, got hooked) string {
	for l := range strings.Lines(got.stdout) {
		if said := strings.HasPrefix(l, "FAILED") && strings.Contains(l, lineSaid); said && !c.behind() {
			return "it fails where nothing is missing"
		} else if said {
			return ""
		}
	}
	if c.behind() {
		return "it does not say what is missing"
	}
	return ""
}

// hashes are those of the texts of mem/notes, with the word that stands for each.
var hashes = map[string]string{
	fmt.Sprintf("%x", sha256.Sum256([]byte(firstText("mem/notes")))):  firstWord,
	fmt.Sprintf("%x", sha256.Sum256([]byte(newestText("mem/notes")))): newestWord,
}
