package gate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// addRule reads one line of gate.rules and puts its kind into the table.
func (t *Table) addRule(line string) error {
	fields := strings.Fields(line)
	if len(fields) < 2 || len(fields) > 3 {
		return errors.New("want KIND READERS [GRANTS], such as 30078 author or 4550 author,p ids")
	}
	n, err := strconv.ParseUint(fields[0], 10, 16)
	if err != nil {
		return fmt.Errorf("%q is no kind (0 to %d)", fields[0], maxKind)
	}
	ruled := entry{Number: int(n)}
	if e := t.kinds[ruled.Number]; e != nil {
		switch {
		case e.Class >= configured:
			return fmt.Errorf("kind %d has a rule already", n)
		case e.WasRule != "" && slices.Equal(fields[1:], []string{e.WasRule}):
			return nil
		case !e.Rules:
			return fmt.Errorf("kind %d has a built-in rule, which cannot be changed", n)
		}
		ruled = *e
	}
	if ruled.Class, err = parseRule(ruled.Number, fields[1:]); err != nil {
		return err
	}
	t.kinds[ruled.Number] = &ruled
	return nil
}

// parseRule reads READERS [GRANTS] of a rule into the class that the kind's
// events get.
func parseRule(kind int, fields []string) (Class, error) {
	readers, err := parseFlags(fields[0], readerFlags)
	if err != nil {
		return 0, fmt.Errorf("readers: %w", err)
	}
	var grants rights
	if len(fields) == 2 {
		if grants, err = parseFlags(fields[1], grantFlags); err != nil {
			return 0, fmt.Errorf("grants: %w", err)
		}
	}
	if grants&byD != 0 && (kind < 30000 || kind > 39999) {
		return 0, fmt.Errorf("kind %d is not addressable: its events have no d to be named by", kind)
	}
	return configured | Class(readers|grants), nil
}

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
