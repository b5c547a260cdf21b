package files

import (
	"errors"
	"fmt"
	"strings"

	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/memory/folder"
)

// folderOut is what export, import and sync of a folder print as JSON.
type folderOut struct {
	cliutil.AnswerOut
	DryRun   bool                `json:"dry_run"`
	Snapshot string              `json:"snapshot,omitempty"` // that was made before the memory was first written
	Counts   map[folder.What]int `json:"counts"`
	Items    []folder.Step       `json:"items"` // but what is the same
	Left     []folder.Leaving    `json:"left"`  // files that no memory can be
	Other    int                 `json:"other"` // files that do not end in .md
}

// begin begins what is said of one comparison.
func (r *folderRun) begin(l *folder.Listing) {
	r.out = folderOut{DryRun: r.out.DryRun, Counts: map[folder.What]int{}, Items: []folder.Step{}, Left: l.Left, Other: l.Other}
	if r.out.Left == nil {
		r.out.Left = []folder.Leaving{}
	}
	r.writer.failed, r.writer.status = nil, client.Status{}
	for _, x := range l.Left {
		r.Note("%s is left alone: %s", cliutil.Harmless(x.Path), x.Why)
	}
}

// did says what became of a step.
func (r *folderRun) did(s folder.Step) {
	r.out.Counts[s.What]++
	if s.What == folder.Same || s.What == folder.Forget {
		return
	}
	if r.out.Items = append(r.out.Items, s); r.Flags.JSON {
		return
	}
	arrow := map[folder.What]string{folder.ToFolder: "-> ", folder.ToMemory: "<- ", folder.RemoveFile: "-> ", folder.RemoveMemory: "<- "}[s.What]
	does := map[folder.What]string{folder.ToFolder: "write", folder.ToMemory: "write", folder.RemoveFile: "delete", folder.RemoveMemory: "remove", folder.Conflict: "conflict", folder.Left: "left", folder.Refused: "refused"}[s.What]
	to := map[folder.What]string{folder.ToFolder: s.Path, folder.RemoveFile: s.Path}[s.What]
	if to == "" {
		to = string(s.Slug)
		if s.What == folder.Conflict || s.What == folder.Left || s.What == folder.Refused {
			to = s.Path
		}
	}
	line := arrow + does + "  " + cliutil.Harmless(to)
	if s.Why != "" {
		line += "  (" + strings.ReplaceAll(cliutil.Harmless(s.Why), "\n", " ") + ")"
	}
	_ = r.Print("%s\n", line) // the end says if nothing can be printed
}

// finish says how it went as a whole, and what to end with.
func (r *folderRun) finish() error {
	status := r.writer.status
	if len(status.Relays) == 0 {
		status = r.status
	}
	status.Partial = status.Partial || r.status.Partial
	r.out.AnswerOut, r.out.Snapshot = cliutil.AnswerOf(r.m, r.status), r.state.Snapshot
	failed := r.Report(status, nil)
	if idle := r.quiet && len(r.out.Items) == 0; !r.Flags.JSON && !idle {
		if err := r.Print("%s\n", r.summary()); err != nil {
			return err
		}
	}
	if r.out.DryRun {
		if !r.DryRun {
			r.Note("this is the first run with %s, and nothing was done: --yes does it", r.dir)
		}
		return failed
	}
	if n := r.out.Counts[folder.Refused]; n > 0 {
		err := r.writer.failed
		if err == nil {
			err = errors.New("files could not be written")
		}
		failed = errors.Join(failed, fmt.Errorf("%s refused, the first: %w", cliutil.Counted(n, "text was", "texts were"), err))
	}
	if n := r.out.Counts[folder.Conflict]; n > 0 {
		failed = errors.Join(failed, fmt.Errorf("%w: %s: the memory's text is in NAME.conflict.md beside NAME.md; make NAME.md what it should be, delete the other, and run this again",
			client.ErrConflict, cliutil.Counted(n, "file differs", "files differ")))
	}
	return failed
}

func (r *folderRun) summary() string {
	n := r.out.Counts
	var parts []string
	for _, p := range []struct {
		what folder.What
		text string
	}{
		{folder.ToFolder, "to the folder"}, {folder.ToMemory, "to the memory"}, {folder.RemoveFile, "deleted in the folder"},
		{folder.RemoveMemory, "removed from the memory"}, {folder.Conflict, "in conflict"}, {folder.Refused, "refused"}, {folder.Left, "left"},
	} {
		if n[p.what] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[p.what], p.text))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing to do"}
	}
	text := fmt.Sprintf("%s, %d the same", strings.Join(parts, ", "), n[folder.Same])
	if r.out.DryRun {
		return "would be: " + text
	}
	return text
}
