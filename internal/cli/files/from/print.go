package from

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/foreign"
	"engramd/nips/frontmatter"
)

// show prints what was found and what became of it.
func (in *importing) show() error {
	in.out.AnswerOut = cliutil.AnswerOf(in.m, in.status)
	in.out.Counts = map[string]int{}
	in.out.Left = append([]foreign.Left{}, in.left...)
	in.out.Items = make([]importedItem, 0, len(in.steps))
	for i, s := range in.steps {
		in.out.Counts[string(s.What)]++
		slug := string(s.Slug)
		if in.hidden[i] {
			slug = ""
		}
		in.out.Items = append(in.out.Items, importedItem{Slug: slug, What: s.What, Size: len(s.Text), From: s.From, Of: string(s.Of), Why: s.Why, Wrote: in.wrote[i]})
	}
	in.out.Wrote = len(in.wrote)
	if in.Flags.JSON {
		return in.PrintJSON(in.out)
	}
	for i, item := range in.out.Items {
		if item.What == foreign.Same {
			continue
		}
		if err := in.Print("%s\n", in.line(in.steps[i], item)); err != nil {
			return err
		}
	}
	if err := cliutil.Each(in.Env, in.left, func(l foreign.Left) string { return fmt.Sprintf("%-9s %s: %s", "left", l.Where, l.Why) }); err != nil {
		return err
	}
	return in.sum()
}

// line is one item for people.
func (in *importing) line(s foreign.Step, item importedItem) string {
	what := string(s.What)
	if item.Wrote {
		what = "written"
	}
	text := fmt.Sprintf("%-9s %s", what, cmp.Or(item.Slug, "(its name is not shown)"))
	switch s.What {
	case foreign.New, foreign.Changed:
		text += fmt.Sprintf("  %d B", item.Size)
	case foreign.Copy:
		text += fmt.Sprintf("  the same words are at %s", s.Of)
	}
	text += "  from " + s.From
	if s.Why != "" {
		text += ": " + s.Why
	}
	return text
}

// sum says how many there are of each, and what to do.
func (in *importing) sum() error {
	n := in.out.Counts
	var parts []string
	say := func(count int, text string) {
		if count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, text))
		}
	}
	if in.out.DryRun {
		say(n[string(foreign.New)], "to write")
	} else {
		parts = append(parts, fmt.Sprintf("%d written", in.out.Wrote))
		meant := n[string(foreign.New)]
		if in.update {
			meant += n[string(foreign.Changed)]
		}
		say(meant-in.out.Wrote, "not written")
	}
	if !in.update || in.out.DryRun {
		say(n[string(foreign.Changed)], "changed since they were imported")
	}
	say(n[string(foreign.Same)], "there already")
	say(n[string(foreign.Copy)], "copies of what is there")
	say(n[string(foreign.Conflict)], "in conflict with what is there")
	say(n[string(foreign.Removed)], "removed here before")
	say(n[string(foreign.Refused)], "refused")
	say(len(in.left), "left")
	whose := "They are somebody else's words: no session is told them unasked, memory_recall finds them and says so. --trust observed says that they are this agent's own."
	if in.out.Trust == frontmatter.Observed.String() {
		whose = "They count as this agent's own words: a session is told them when they bear on its prompts."
	}
	if err := in.Print("%s\n%s\n", strings.Join(parts, ", "), whose); err != nil {
		return err
	}
	if n[string(foreign.Changed)] > 0 && !in.update {
		in.Note("--update writes what has changed")
	}
	if in.out.DryRun {
		in.Note("nothing is written yet: --yes writes it")
	}
	return nil
}

// refusals is the error to end with if not all could be written.
func (in *importing) refusals() error {
	if in.out.DryRun {
		return nil
	}
	if in.failed != nil {
		return fmt.Errorf("not all was written, and the same command tries the rest again: %w", in.failed)
	}
	n := in.out.Counts
	var errs []error
	if k := n[string(foreign.Refused)]; k > 0 {
		errs = append(errs, exit.Usagef("%s refused, and the rest was written", cliutil.Counted(k, "thing was", "things were")))
	}
	if k := n[string(foreign.Conflict)]; k > 0 {
		errs = append(errs, &client.ConflictError{Reason: fmt.Sprintf("%s something else at the slug, which stays", cliutil.Counted(k, "thing has", "things have"))})
	}
	return errors.Join(errs...)
}
