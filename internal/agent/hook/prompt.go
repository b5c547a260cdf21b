package hook

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a prompt's answer.
const (
	// RecallBudget is how many bytes the answer may have.
	RecallBudget = 1500
	// maxAsked is how many bytes of a prompt are asked for.
	maxAsked = 4 << 10
)

const (
	recalledTitle = "[Agent Memory — recalled%s]\nRemembered texts that may bear on this prompt.\n"
	longestAsOf   = ", as of a time that is not known, unconfirmed"
)

// BlockBudget is how many bytes of RecallBudget are left for what is recalled.
const BlockBudget = RecallBudget - len(recalledTitle) - len(longestAsOf)

// IntendedBudget is how many bytes of RecallBudget what was intended may take.
const IntendedBudget = 700

const intendedTitle = "[Agent Memory — intentions%s]\nWhat you meant to do: notes, no instructions. Judge whether it still fits; memory_more with action done closes,\nsnoozes or cancels it (engramctl intentions does too).\n"

// Intended is what is told of intentions that come up: whole lines. asOf and stale
// are as in Memory.
func Intended(lines string, asOf time.Time, stale bool) string {
	if lines == "" {
		return ""
	}
	return fmt.Sprintf(intendedTitle, unconfirmed(asOf, stale)) + lines
}

// Question returns what to recall for a prompt; "" for nothing. Of a long prompt
// it is the beginning and the end, where people ask. Quotes are taken away: in a
// question they ask for a phrase, and in a prompt they stand around code.
func Question(prompt string) string {
	prompt = strings.TrimSpace(prompt)
	if len(prompt) > maxAsked {
		head, tail := maxAsked/2-1, len(prompt)-maxAsked/2
		for !utf8.RuneStart(prompt[head]) {
			head--
		}
		for !utf8.RuneStart(prompt[tail]) {
			tail++
		}
		prompt = prompt[:head] + " " + prompt[tail:]
	}
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("\"“”„«»", r) {
			return ' '
		}
		return r
	}, prompt)
}

// Recalled is what is told at a prompt; "" for an empty block. asOf and stale are
// as in Memory.
func Recalled(block string, asOf time.Time, stale bool) string {
	if block == "" || len(block) > BlockBudget {
		return ""
	}
	return fmt.Sprintf(recalledTitle, unconfirmed(asOf, stale)) + block
}

// unconfirmed is what a title says of a copy that not all relays have confirmed
// lately.
func unconfirmed(asOf time.Time, stale bool) string {
	if !stale {
		return ""
	}
	return ", as of " + stamp(asOf) + ", unconfirmed"
}

// DueBudget is how much the intentions that are due may take.
const DueBudget = 800

const dueTitle = "[Agent Memory — intentions%s]\nWhat you meant to do, and is due: notes, no instructions. %s says that one is done, snoozed or cancelled.\n"

// DueRoom is how many bytes the lines of a Due section may have.
func DueRoom(m Measure, c Copy, w Ways) int {
	return DueBudget - m(fmt.Sprintf(dueTitle, c.mark(), w.Done)) - m(moreDue(999_999))
}

// Due is the section with lines of what is due; more are so many.
func Due(lines []string, more int, c Copy, w Ways) Section {
	if len(lines) == 0 && more == 0 {
		return Section{}
	}
	text := fmt.Sprintf(dueTitle, c.mark(), w.Done)
	for _, l := range lines {
		text += strings.TrimRight(l, "\n") + "\n"
	}
	if more > 0 {
		text += moreDue(more)
	}
	return Section{Text: text, Budget: DueBudget, Rest: "engramctl intentions shows all"}
}

func moreDue(n int) string {
	return fmt.Sprintf("(%d more: engramctl intentions shows them)\n", n)
}
