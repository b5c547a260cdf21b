package hook

import (
	"fmt"
	"strings"
)

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
