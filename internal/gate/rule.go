package gate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parseRule reads one line of gate.rules into the kind and the class that its
// events get. "21059 p" had a use before it was built in, and may still be there.
func parseRule(line string) (kind int, class Class, err error) {
	fields := strings.Fields(line)
	if len(fields) < 2 || len(fields) > 3 {
		return 0, 0, errors.New("want KIND READERS [GRANTS], such as 30078 author or 4550 author,p ids")
	}
	k, err := strconv.ParseUint(fields[0], 10, 16)
	if err != nil {
		return 0, 0, fmt.Errorf("%q is no kind (0 to 65535)", fields[0])
	}
	kind = int(k)
	if builtin(kind) && (kind != kindPassingWrap || len(fields) != 2 || fields[1] != "p") {
		return 0, 0, fmt.Errorf("kind %d has a built-in rule, which cannot be changed", kind)
	}
	readers, err := parseFlags(fields[1], readerFlags)
	if err != nil {
		return 0, 0, fmt.Errorf("readers: %w", err)
	}
	var grants rights
	if len(fields) == 3 {
		if grants, err = parseFlags(fields[2], grantFlags); err != nil {
			return 0, 0, fmt.Errorf("grants: %w", err)
		}
	}
	if grants&byD != 0 && (kind < 30000 || kind > 39999) {
		return 0, 0, fmt.Errorf("kind %d is not addressable: its events have no d to be named by", kind)
	}
	return kind, configured | Class(readers|grants), nil
}

// builtin reports whether the kind's events are judged by a rule of our own.
// Kind 30078 is not among them: a rule may gate it, and the list of approved
// agents stays its author's under any such rule.
func builtin(kind int) bool { return kind == kindDeletion || builtinGated(kind) }

// A flag is one word of a rule.
type flag struct {
	word string
	bit  rights
}

var (
	readerFlags = [2]flag{{"author", byAuthor}, {"p", byTag}}
	grantFlags  = [2]flag{{"ids", byID}, {"d", byD}}
)

func parseFlags(list string, known [2]flag) (rights, error) {
	var out rights
	for word := range strings.SplitSeq(list, ",") {
		var bit rights
		for _, f := range known {
			if f.word == word {
				bit = f.bit
			}
		}
		if bit == 0 {
			return 0, fmt.Errorf("%q is neither %s nor %s", word, known[0].word, known[1].word)
		}
		if out&bit != 0 {
			return 0, fmt.Errorf("%q is there twice", word)
		}
		out |= bit
	}
	return out, nil
}
