package sync

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/client/transfer"
)

// mostListed is how many events are listed of one relay for a person.
const mostListed = 100

// syncedOut is `sync --json`.
type syncedOut struct {
	DryRun  bool           `json:"dry_run,omitempty"`
	Whole   bool           `json:"up_to_date"`
	Sources []syncedSource `json:"sources"`
	Targets []syncedTarget `json:"targets"`
	Notes   []string       `json:"notes,omitempty"`
}

type syncedSource struct {
	URL         string `json:"url"`
	Undelivered int    `json:"undelivered,omitempty"` // it lists them
	Wrong       int    `json:"wrong,omitempty"`
	Cut         bool   `json:"cut,omitempty"` // it may have more
	Error       string `json:"error,omitempty"`
}

type syncedTarget struct {
	URL      string       `json:"url"`
	Lacked   int          `json:"lacked"`
	Sent     int          `json:"sent"`
	Older    int          `json:"older"` // of them
	Newer    int          `json:"newer_there,omitempty"`
	Deleted  int          `json:"deleted_there,omitempty"`
	Expired  int          `json:"expired,omitempty"`
	Others   int          `json:"vanish_elsewhere,omitempty"`
	NotMoved []movedEvent `json:"not_moved,omitempty"`
	Refused  []movedEvent `json:"refused,omitempty"`
	Error    string       `json:"error,omitempty"`
}

type movedEvent struct {
	ID        string `json:"id"`
	Kind      int    `json:"kind"`
	Author    string `json:"author"`
	D         string `json:"d,omitempty"`
	CreatedAt int64  `json:"created_at"`
	Reason    string `json:"reason"`
}

// synced prints what a sync did. The error says whether something is lacking.
func synced(env *cliutil.Env, r transfer.Report, o options) error {
	behind := doubts(env, r)
	var err error
	if env.Flags.JSON {
		err = env.PrintJSON(syncedJSON(r, o.dryRun, behind == nil))
	} else {
		for _, t := range r.Targets {
			err = cliutil.FirstOf(err, printTarget(env, t, o.dryRun))
		}
	}
	return cliutil.FirstOf(err, behind)
}

// doubts says on stderr how sources did, and returns an error if some target may
// lack something in the end.
func doubts(env *cliutil.Env, r transfer.Report) error {
	for _, note := range r.Notes {
		env.Note("%s", note)
	}
	whole := true
	for _, s := range r.Sources {
		whole = whole && s.Whole()
		if s.Missing > 0 {
			env.Note("%s lists %s; what was superseded meanwhile is found by running it again", s.URL,
				cliutil.Counted(s.Missing, "event that it does not deliver", "events that it does not deliver"))
		}
		if s.Rejected > 0 {
			env.Note("%s sent %s", s.URL, cliutil.Counted(s.Rejected, "event that is wrong or was not asked for", "events that are wrong or were not asked for"))
		}
		if s.Cut {
			env.Note("%s may have more than it sent", s.URL)
		}
		if s.Err != nil {
			env.Note("%s failed: %v", s.URL, s.Err)
		}
	}
	switch {
	case !unanswered(r):
	case slices.ContainsFunc(r.Targets, func(t transfer.Target) bool {
		return !slices.ContainsFunc(r.Sources, func(s transfer.Source) bool { return s.URL == t.URL })
	}):
		return fmt.Errorf("%w of those to copy from: what they have, and what others lack, is not known", client.ErrNoRelay)
	default:
		return fmt.Errorf("%w: what they have, and what they lack, is not known", client.ErrNoRelay)
	}
	n := 0
	for _, t := range r.Targets {
		if !t.UpToDate() {
			n++
		}
	}
	switch {
	case n > 0:
		return fmt.Errorf("%w in full: %d of %d are not up to date", client.ErrPartial, n, len(r.Targets))
	case !whole:
		return fmt.Errorf("%w in full: there may be more to send", client.ErrPartial)
	}
	return nil
}

// unanswered reports whether a sync never came to compare anything.
func unanswered(r transfer.Report) bool {
	return len(r.Sources) > 0 && !slices.ContainsFunc(r.Sources, func(s transfer.Source) bool {
		return s.Err == nil || !errors.Is(s.Err, client.ErrUnconnected) && !errors.Is(s.Err, client.ErrTimeout)
	}) && !slices.ContainsFunc(r.Targets, func(t transfer.Target) bool { return t.Lacked+t.Sent > 0 })
}

func printTarget(env *cliutil.Env, t transfer.Target, dryRun bool) error {
	took := "took"
	if dryRun {
		took = "would be sent"
	}
	parts := []string{fmt.Sprintf("lacked %d", t.Lacked), fmt.Sprintf("%s %d", took, t.Sent)}
	if t.Past > 0 {
		parts[1] += fmt.Sprintf(" (%s)", cliutil.Counted(t.Past, "older version", "older versions"))
	}
	for _, more := range []struct {
		n    int
		text string
	}{{t.Newer, "has %d newer"}, {t.Deleted, "%d deleted there"}, {t.Expired, "%d expired"}, {t.Others, "%d to vanish elsewhere"}, {len(t.NotMoved), "not moved %d"}, {len(t.Refused), "refused %d"}} {
		if more.n > 0 {
			parts = append(parts, fmt.Sprintf(more.text, more.n))
		}
	}
	text := t.URL + "  " + strings.Join(parts, ", ")
	if t.Err != nil {
		text += ": " + t.Err.Error()
	}
	return cliutil.FirstOf(env.Print("%s\n", text), cliutil.FirstOf(printMoved(env, "refused", t.Refused), printMoved(env, "not moved", t.NotMoved)))
}

func printMoved(env *cliutil.Env, what string, moved []transfer.Moved) error {
	for i, m := range moved {
		if i == mostListed {
			return env.Print("  %-9s  and %d more, which --json lists\n", what, len(moved)-i)
		}
		if err := env.Print("  %-9s  %s  kind %-5d  %s  %s\n", what, cliutil.Stamp(int64(m.Event.CreatedAt)), m.Event.Kind, m.Event.ID, m.Reason); err != nil {
			return err
		}
	}
	return nil
}

func syncedJSON(r transfer.Report, dryRun, whole bool) syncedOut {
	out := syncedOut{DryRun: dryRun, Whole: whole, Sources: []syncedSource{}, Targets: []syncedTarget{}, Notes: r.Notes}
	for _, s := range r.Sources {
		out.Sources = append(out.Sources, syncedSource{s.URL, s.Missing, s.Rejected, s.Cut, cliutil.ErrorText(s.Err)})
	}
	for _, t := range r.Targets {
		out.Whole = out.Whole && (!dryRun || t.Sent == 0)
		out.Targets = append(out.Targets, syncedTarget{URL: t.URL, Lacked: t.Lacked, Sent: t.Sent, Older: t.Past, Newer: t.Newer, Deleted: t.Deleted, Expired: t.Expired,
			Others: t.Others, NotMoved: movedEvents(t.NotMoved), Refused: movedEvents(t.Refused), Error: cliutil.ErrorText(t.Err)})
	}
	return out
}

func movedEvents(moved []transfer.Moved) (out []movedEvent) {
	for _, m := range moved {
		out = append(out, movedEvent{m.Event.ID, m.Event.Kind, m.Event.PubKey, m.Event.Tags.GetD(), int64(m.Event.CreatedAt), m.Reason})
	}
	return out
}
