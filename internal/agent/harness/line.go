package harness

import (
	"fmt"
	"slices"
	"strings"

	"engramd/internal/platform/pattern"
)

// shell is what a harness gives its hook lines to.
type shell int

const (
	posix      shell = iota
	gitBash          // Claude Code on Windows; the lines also work in cmd
	cmdExe           // Codex on Windows
	powershell       // Cursor on Windows; the lines also work in cmd
)

// failSafe ends every line: exit code 2 of a hook means "block" to a harness,
// and Go's fatal errors exit so.
const failSafe = " || exit 0"

var (
	word  = pattern.Later(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	plain = pattern.Later(`^[A-Za-z0-9_@%+:,./-]+$`)
	// hookLine is a line as hookCommand writes it, or did without its end.
	hookLine = pattern.Later(`^(?:cmd /d /c ")?('(?:[^']|'\\'')+'|"[^"]+"|[^\s"'|&;<>]+)` +
		`(?: --profile ([A-Za-z0-9._-]+))? hook ([a-z-]+) --harness ([a-z]+)(?: \|\| exit 0)?"?$`)
	hookWords = pattern.Later(`\bhook\s+[a-z-]+\s+--harness\b`)
)

// hookCommand is the line that a harness runs at an event.
func hookCommand(sh shell, e Entry, event, harness string) (string, error) {
	binary, err := quotePath(sh, e.Binary)
	if err != nil {
		return "", err
	}
	profile := ""
	if e.Profile != "" {
		profile = " --profile " + e.Profile
	}
	line := fmt.Sprintf("%s%s hook %s --harness %s%s", binary, profile, event, harness, failSafe)
	if sh == powershell {
		// PowerShell 5 knows no ||, so cmd runs the line.
		line = `cmd /d /c "` + line + `"`
	}
	return line, nil
}

func quotePath(sh shell, path string) (string, error) {
	move := fmt.Errorf("engramctl's path %q cannot be written into a line for this harness's shell; move it to a folder whose path has only letters, digits and -_./", path)
	switch sh {
	case posix:
		if plain().MatchString(path) && !strings.HasPrefix(path, "-") {
			return path, nil
		}
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'", nil
	case gitBash:
		path = strings.ReplaceAll(path, `\`, "/")
		if strings.ContainsAny(path, "\"$`!%^") {
			return "", move
		}
		return `"` + path + `"`, nil
	}
	// Codex hands the line to cmd as one quoted argument, and Cursor's stands in
	// quotation marks already: others within do not survive.
	if !plain().MatchString(strings.ReplaceAll(path, `\`, "/")) || strings.Contains(path, "%") {
		return "", move
	}
	return path, nil
}

// readLine says whether a line is ours, and what it runs.
func readLine(line, event, harness string) (claim, run) {
	if !hookWords().MatchString(line) {
		return foreign, run{}
	}
	m := hookLine().FindStringSubmatch(line)
	if m == nil {
		return edited, run{}
	}
	r := run{binary: unquotePath(m[1]), profile: m[2]}
	if !isProgram(r.binary) || m[3] != event || m[4] != harness || strings.HasPrefix(line, "cmd ") != strings.HasSuffix(line, `"`) {
		return edited, r
	}
	return ours, r
}

func unquotePath(path string) string {
	switch path[0] {
	case '\'':
		return strings.ReplaceAll(path[1:len(path)-1], `'\''`, "'")
	case '"':
		return path[1 : len(path)-1]
	}
	return path
}

// event is one of a harness's own, and our word for it. The timeout is in
// seconds: what the hook itself takes at most, and some for a busy machine.
type event struct {
	theirs, ours string
	timeout      int
}

// nested is the form of Claude Code and Codex: a list of groups, each with a
// list of commands.
func nested(e Entry, sh shell, harness string, events []event) ([]part, error) {
	parts, err := flatHooks(e, sh, harness, events, "type")
	for i := range parts {
		p := &parts[i]
		command := append(object{{"type", "command"}}, p.value.(object)...)
		p.value = object{{"hooks", list{command}}}
		p.handler = p.claim
		p.claim = func(d *document, n *node) (claim, run) { return group(d, n, p.handler) }
	}
	return parts, err
}

// group says whose a list of commands is.
func group(d *document, n *node, handler func(*document, *node) (claim, run)) (claim, run) {
	handlers := n.member("hooks")
	if handlers.kindOf() != '[' {
		return foreign, run{}
	}
	whose, r := foreign, run{}
	for _, k := range handlers.kids {
		c, at := handler(d, k.v)
		if c > whose {
			whose, r = c, at
		}
	}
	if whose == ours && (len(handlers.kids) != 1 || len(n.kids) != 1) {
		whose = edited // somebody put something beside it
	}
	return whose, r
}

// flatHooks is the form of Cursor: a list of commands.
func flatHooks(e Entry, sh shell, harness string, events []event, more ...string) ([]part, error) {
	known := append([]string{"command", "timeout"}, more...)
	var parts []part
	for _, ev := range events {
		line, err := hookCommand(sh, e, ev.ours, harness)
		if err != nil && e.Binary != "" {
			return nil, err
		}
		parts = append(parts, part{
			label: ev.ours, path: []string{"hooks", ev.theirs},
			value: object{{"command", line}, {"timeout", ev.timeout}},
			claim: func(d *document, n *node) (claim, run) { return handler(d, n, ev, harness, known) },
		})
	}
	return parts, nil
}

// handler says whose one command is: ours as it was written has the members
// that we write, and a timeout that one of our versions wrote.
func handler(d *document, n *node, ev event, harness string, known []string) (claim, run) {
	c, r := readLine(d.string(n.member("command")), ev.ours, harness)
	if c != ours {
		return c, r
	}
	for _, k := range n.kids {
		if !slices.Contains(known, k.name) {
			return edited, r
		}
	}
	if t := n.member("timeout"); t != nil && string(d.src[t.s:t.e]) != fmt.Sprint(ev.timeout) {
		return edited, r
	}
	if t := n.member("type"); t != nil && d.string(t) != "command" {
		return edited, r
	}
	return ours, r
}
