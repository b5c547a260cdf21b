package hook

import (
	"fmt"

	"engramd/internal/memory/quote"
	"engramd/internal/memory/recall/answer"
)

// WordsBudget is how many bytes of the owner's words a prompt is told at once, beside
// RecallBudget; the longest one fits.
const WordsBudget = 4500

// Words is the section with lines of what the owner says of memories that stand elsewhere
// in the context; none without lines.
func Words(lines string) Section {
	if lines == "" {
		return Section{}
	}
	return Section{Text: "[Agent Memory — your owner's word]\nIt counts at once, before you have answered: memory_proposal takes it over (engramctl proposals accept).\n" + quote.Notice + lines}
}

// WordLine is what Words has of one memory; "" for the zero Word.
func WordLine(slug string, w answer.Word) string {
	switch {
	case w.ID == "":
		return ""
	case w.Withholds():
		return fmt.Sprintf("%s: your owner takes it back (proposal %.8s). Go by it no more.\n", slug, w.ID)
	}
	return slug + ": " + w.Beneath()
}

// Took is the section on what was taken over of the owner unasked: lines that say how it
// is undone.
func Took(lines string) Section {
	if lines == "" {
		return Section{}
	}
	return Section{Text: "[Agent Memory — taken over from your owner]\nEach line ends with what undoes it.\n" + lines, Budget: ProjectBudget, Rest: "engramctl log names all writes"}
}
