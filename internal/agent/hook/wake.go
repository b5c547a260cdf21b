package hook

import (
	"fmt"
	"strings"
	"time"

	"engramd/internal/memory/quote"
)

// Budgets of what a session begins with, as the harness counts (Measure).
const (
	MostText      = 9500
	CoreBudget    = 4000
	ProjectBudget = 1500
)

// Section is one part of what a session begins with.
type Section struct {
	Text   string // whole lines; "" is nothing
	Budget int    // of it; 0 is what is left
	Rest   string // how a reader gets what was cut off
}

// Wake puts what a session begins with together: sections in the order of their
// weight, each within its budget and all within MostText.
func Wake(m Measure, sections ...Section) string {
	var out strings.Builder
	left := MostText
	for _, s := range sections {
		if s.Text == "" {
			continue
		}
		budget := left
		if out.Len() > 0 {
			budget-- // the blank line
		}
		if s.Budget > 0 {
			budget = min(budget, s.Budget)
		}
		text := m.cut(s.Text, budget, s.Rest)
		if text == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteByte('\n')
			left--
		}
		out.WriteString(text)
		left -= m(text)
	}
	return out.String()
}

// Left is how much Wake leaves for a section that follows others.
func Left(m Measure, sections ...Section) int {
	return max(0, MostText-m(Wake(m, sections...))-1) // the blank line
}

// Core is the section with the core as the relays have it now. partial follows a
// core of which a newer version may exist.
func Core(text, partial string) Section {
	return coreSection("[Agent Memory — core]", text, partial)
}

// NoCore is the section of an agent that has none; hint says what to do about
// it, in words of ours.
func NoCore(hint string) Section { return Section{Text: "[Agent Memory — core]\n" + hint + "\n"} }

// Unconfirmed is the section with the core of the local copy, where no relay
// answered in time.
func Unconfirmed(text string, asOf time.Time) Section {
	return coreSection(fmt.Sprintf("[Agent Memory — core, as of %s, unconfirmed; do not rewrite it]", stamp(asOf)), text, "")
}

func coreSection(title, text, partial string) Section {
	if partial != "" {
		// Beside the title, where no cut takes it away.
		title += "\n" + strings.TrimRight(partial, "\n")
	}
	return Section{Text: title + "\n" + quote.Notice + quote.Text(text, false), Budget: CoreBudget, Rest: "the core is longer; memory_read of core gives all of it"}
}

// Unavailable is the section that stands where no memory could be read.
func Unavailable(why string) Section {
	return Section{Text: "[Agent Memory — unavailable]\nYour memory could not be read: " + why + ". It is not empty. Work without it, tell the\nuser so when it matters, and write nothing to it in this session.\n"}
}

// Unread is the section that stands where nothing but the core could be read.
func Unread() Section {
	return Section{Text: "[Agent Memory — the rest was not read]\nNarrative, intentions, what waits and episodes could not be looked through now. They are\nnot gone: memory_recall and engramctl wake may find them later.\n"}
}

// Checkpoint is the request that follows a compaction.
func Checkpoint() Section {
	return Section{Text: "[Agent Memory — checkpoint]\nThis conversation was just compacted. If something in it matters later and is not\nremembered yet, write one checkpoint now, with memory_note: what was done, what was\ndecided and why, what is open. Then go on.\n"}
}

// stamp is a time as people and models read it.
func stamp(at time.Time) string {
	if at.IsZero() {
		return "a time that is not known"
	}
	return at.UTC().Format("2006-01-02 15:04 UTC")
}
