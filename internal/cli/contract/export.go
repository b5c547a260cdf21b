package contract

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/client/evidence"
	paper "engramd/internal/client/transcript"
)

// transcriptFile is what people read of an export.
const transcriptFile = evidence.TranscriptFile

func newExport(env *cliutil.Env) *cobra.Command {
	var o struct {
		to              string
		shared, partial bool
	}
	c := env.Command(&cobra.Command{
		Use:   "export ID --to DIR [--shared-only] [--allow-partial]",
		Short: "Write a contract's whole thread down, for a dispute",
		Long: `Write the whole thread of a contract into a new folder:

  events.jsonl   every signed event, states, entries and the requests by which they were
                 withdrawn, in the order of arrival, one a line, as engramd import takes
                 them and every program that knows Nostr checks
  order.json     the order of arrival and its gaps, signed by the relay that keeps the
                 contract (kind 24174), if it gave one
  sealed.json    for one who is no party: the number, size and hash of the entries that
                 are sealed between the parties, by the word of the relay that does not
                 show them
  transcript.md  who said and did what, and of each entry whether its signature holds,
                 when it was created by its author's word, and when it arrived, if known
  transcript.json
                 what the transcript is made of beside the events, which nobody signed

The transcript has the private entries of your own side too, marked as such: they are not
signed. What encrypted entries say stands apart, because the signature covers only the
payload. --shared-only leaves both out, for a file that is given to others: an encrypted
entry is there with the size and hash of its payload. What an answer that is not whole
would leave out is not exported, unless --allow-partial: then the transcript says that it
may lack something. engramctl contract verify checks the folder.`,
		Example: `  engramctl contract export ID --to dispute
  engramctl contract export ID --to for-the-arbitrator --shared-only`,
	}, func(ctx context.Context, args []string) error {
		if o.to == "" {
			return exit.Usagef("where to? Give --to")
		}
		env.Flags.Strict = !o.partial
		return withThread(ctx, env, args[0], func(me string, t contract.Thread, s client.Status) error {
			p := paper.Options{By: me, At: time.Now(), Notes: doubts(s)}
			for _, r := range cliutil.Once(s.Relays) {
				p.Relays = append(p.Relays, r.URL)
			}
			p.Relays = distinct(p.Relays)
			if o.shared {
				p.Withheld = len(t.Entries)
				t.Entries = t.Select(contract.EntryFilter{Visibility: contract.VisibilityShared})
				p.Withheld -= len(t.Entries)
				p.Closed = true
			}
			if err := writeExport(env.Path(o.to), t, p); err != nil {
				return err
			}
			return env.Print("%d entries, %d signed events: %s\n", len(t.Entries), len(paper.Signed(t)), filepath.Join(o.to, transcriptFile))
		})
	})
	whichFlags(env, c)
	c.Flags().StringVar(&o.to, "to", "", "`folder` to make")
	c.Flags().BoolVar(&o.shared, "shared-only", false, "leave private entries out")
	c.Flags().BoolVar(&o.partial, "allow-partial", false, "export also if some relay failed")
	return c
}

// doubts returns why an export may not be whole.
func doubts(s client.Status) []string {
	var notes []string
	for _, r := range cliutil.Once(s.Relays) {
		switch {
		case errors.Is(r.Err, client.ErrNoHistory):
			notes = append(notes, r.URL+" keeps no history that it shows: entries that were superseded there may be missing")
		case r.Err != nil:
			notes = append(notes, fmt.Sprintf("%s failed: %v", r.URL, r.Err))
		case !r.Complete:
			notes = append(notes, r.URL+" may have more than it sent")
		}
	}
	return distinct(notes)
}

func distinct(all []string) []string {
	var out []string
	for _, s := range all {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// writeExport makes the folder with its files, or nothing.
func writeExport(dir string, t contract.Thread, o paper.Options) (err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return exit.Usagef("--to: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir) // half an export looks like a whole one
		}
	}()
	if err := cliutil.WriteNew(filepath.Join(dir, evidence.EventsFile), func(w io.Writer) error { return paper.Events(w, t) }); err != nil {
		return err
	}
	if t.Order != nil {
		if err := cliutil.WriteNew(filepath.Join(dir, evidence.OrderFile), func(w io.Writer) error { return paper.Order(w, t) }); err != nil {
			return err
		}
	}
	if len(paper.Unseen(t)) > 0 {
		if err := cliutil.WriteNew(filepath.Join(dir, evidence.SealedList), func(w io.Writer) error { return paper.Sealed(w, t) }); err != nil {
			return err
		}
	}
	if err := cliutil.WriteNew(filepath.Join(dir, evidence.UnsignedFile), func(w io.Writer) error { return paper.Unsigned(w, t, o) }); err != nil {
		return err
	}
	files, err := evidence.Read(dir)
	if err != nil {
		return err
	}
	r, err := evidence.Verify(files, evidence.Options{})
	if err != nil && !errors.Is(err, evidence.ErrInput) { // nothing of it is signed
		return err
	}
	return cliutil.WriteNew(filepath.Join(dir, transcriptFile), func(w io.Writer) error {
		_, err := paper.Remake(w, files, r)
		return err
	})
}
