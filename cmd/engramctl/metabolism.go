package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/mind"
	"engramd/internal/cli/view"
	"engramd/internal/memory/activity"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/frontmatter"
)

// metabolismFlags are those of engramctl metabolism.
type metabolismFlags struct {
	budget, hot    int
	commit, asJSON bool
	cold, root     string
	encrypt        []string
	recipients     bundle.Recipients // of encrypt
	now            time.Time
}

// metabolismOut is `metabolism --json`.
type metabolismOut struct {
	Tokens     int                `json:"tokens"` // of what is active, a quarter of its bytes
	Memories   int                `json:"memories"`
	Held       int                `json:"held"`   // of these, never archived
	Budget     int                `json:"budget"` // with what was earned
	Earned     int                `json:"earned"`
	Hot        []metabolizedOut   `json:"hot"`
	HotTokens  int                `json:"hot_tokens"` // the room for them
	Candidates []metabolizedOut   `json:"candidates"`
	AsOf       string             `json:"as_of,omitempty"`
	Stale      bool               `json:"stale"`
	Snapshot   string             `json:"snapshot,omitempty"`  // made before
	Cold       string             `json:"cold,omitempty"`      // the file that was written
	Committed  *mind.CommittedOut `json:"committed,omitempty"` // with --commit
}

type metabolizedOut struct {
	Slug       string  `json:"slug"`
	Tokens     int     `json:"tokens"`
	Activation float64 `json:"activation"`
	Why        string  `json:"why"`
	Held       string  `json:"held,omitempty"`
}

func metabolismCommand(env *cliutil.Env) *cobra.Command {
	var f metabolismFlags
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "metabolism [--budget TOKENS] [--hot TOKENS] [--commit] [--cold FILE [--encrypt age:RECIPIENT]…] [--json]",
		Short: "Show what of a memory is active, and archive what is not",
		Long: `Show how many tokens a memory has (its bytes divided by 4), what of it is most active,
and what could be archived so that the rest fits the budget: the largest and least active
first. docs/mind.md says what activation follows from. Age alone never makes a
candidate, and recall looks through everything that is active.

The budget is 2,000,000 tokens, or --budget, and what engramctl feedback earned. Core,
narrative, intentions that are not done, what is pinned, told or linked from the core are
never candidates. A correction is one only after what would be found in its place.

--commit archives the candidates as one plan, up to 180 KiB of texts; run it again for
more. Where --snapshot-root or ENGRAM_SNAPSHOTS names a folder, a snapshot is made
before. engramctl mind undo takes the plan back as one act. --cold writes the candidates'
texts to a new file, a JSON object on each line, readable by you alone (0600), in which
what looks like a key or a token is redacted; with --commit before anything is archived.
With --encrypt it is an age file for whoever is named, and nothing in it is redacted.`,
		Example: `  engramctl metabolism
  engramctl metabolism --budget 500000 --commit --cold cold.jsonl
  engramctl metabolism --cold cold.jsonl.age --encrypt age:age1…
  engramctl metabolism --json | jq -r '.candidates[].slug'`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		if f.budget < 0 || f.hot < 1 {
			return exit.Usagef("--budget cannot be less than 0, and --hot less than 1")
		}
		if len(f.encrypt) > 0 && f.cold == "" {
			return exit.Usagef("--encrypt goes with --cold")
		}
		var err error
		if f.recipients, err = bundle.ParseRecipients(f.encrypt); err != nil {
			return exit.Usagef("--encrypt: %w", err)
		}
		f.now = time.Now()
		if f.commit || f.cold != "" {
			return archiveCandidates(ctx, env, f)
		}
		return cliutil.WithCopy(ctx, env, 0, func(ctx context.Context, s *session.Session, l *session.Copy) error {
			if _, err := view.ReportCopy(ctx, env, l); err != nil {
				return err
			}
			state := s.StateIfKept(ctx, env.NoteLine)
			if state != nil {
				defer state.Close()
			}
			used, err := session.UsedHere(ctx, state)
			if err != nil {
				return err
			}
			out, _, err := f.look(ctx, l.Source(), used)
			if err != nil {
				return err
			}
			return printMetabolism(env, out, f.asJSON)
		})
	}))
	fs := c.Flags()
	fs.IntVar(&f.budget, "budget", 0, "how many `TOKENS` the memory may have, beside what was earned; 0: 2000000")
	fs.IntVar(&f.hot, "hot", 1000, "for how many `TOKENS` the most active are listed")
	fs.BoolVar(&f.commit, "commit", false, "archive the candidates")
	fs.StringVar(&f.cold, "cold", "", "write the candidates' texts to a new `FILE`")
	fs.StringArrayVar(&f.encrypt, "encrypt", nil, "encrypt that file to `age:RECIPIENT` (age1… or an SSH public key); may be given several times")
	fs.StringVar(&f.root, "snapshot-root", "", "`folder` of snapshots, in which one is made before (ENGRAM_SNAPSHOTS)")
	cliutil.JSONFlag(c, &f.asJSON)
	return c
}

// candidate is a unit that could be archived, with its text.
type candidate struct {
	activity.Active
	text, why string
}

// look finds out what is active, and what could be archived.
func (f *metabolismFlags) look(ctx context.Context, from answer.Source, used session.Used) (out metabolismOut, all []candidate, err error) {
	err = from.Read(ctx, func(v answer.View) error {
		units := answer.Units(v, used.Known(v, f.now))
		state := v.State()
		out = metabolismOut{Tokens: activity.Total(units), Memories: len(units), Budget: activity.Budget(f.budget, used.Earned), HotTokens: f.hot,
			Hot: []metabolizedOut{}, Candidates: []metabolizedOut{}, Stale: state.Stale || state.Unfinished}
		out.Earned = out.Budget - activity.Budget(f.budget, 0)
		if !state.AsOf.IsZero() {
			out.AsOf = state.AsOf.UTC().Format(time.RFC3339)
		}
		for _, u := range units {
			if u.Held != "" {
				out.Held++
			}
		}
		for _, u := range activity.HotSet(units, f.hot, f.now) {
			out.Hot = append(out.Hot, f.metabolized(u))
		}
		for _, u := range activity.Candidates(units, out.Budget, f.now) {
			one := f.metabolized(u)
			out.Candidates = append(out.Candidates, one)
			text, _ := v.Text(u.Slug)
			all = append(all, candidate{u, text, one.Why})
		}
		return nil
	})
	return out, all, err
}

func (f *metabolismFlags) metabolized(u activity.Active) metabolizedOut {
	return metabolizedOut{u.Slug, u.Tokens, u.Activation, f.why(u), u.Held}
}

// why says what an activation follows from.
func (f *metabolismFlags) why(u activity.Active) string {
	parts := []string{fmt.Sprintf("says %.2f", u.Information), fmt.Sprintf("%d days old", max(0, int(f.now.Sub(u.Created).Hours()/24)))}
	if u.Uses.N == 0 {
		parts = append(parts, "never used")
	} else {
		parts = append(parts, fmt.Sprintf("used %d times, last on %s", u.Uses.N, u.Uses.Last.UTC().Format(time.DateOnly)))
	}
	if u.Salience > 0 {
		parts = append(parts, fmt.Sprintf("salience %.2f", u.Salience))
	}
	if n := u.Feedback.Useful; n > 0 {
		parts = append(parts, fmt.Sprintf("useful %d times", n))
	}
	if n := u.Feedback.Wrong; n > 0 {
		parts = append(parts, fmt.Sprintf("wrong %d times", n))
	}
	return strings.Join(parts, ", ")
}

func printMetabolism(env *cliutil.Env, out metabolismOut, asJSON bool) error {
	if asJSON {
		return env.PrintJSON(out)
	}
	if err := env.Print("%s active, %d tokens (bytes / 4), of a budget of %d (%d earned); %d never archived\n",
		cliutil.Counted(out.Memories, "memory", "memories"), out.Tokens, out.Budget, out.Earned, out.Held); err != nil {
		return err
	}
	w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
	table := func(title string, all []metabolizedOut) {
		fmt.Fprintf(w, "\n%s:\n", title)
		for _, u := range all {
			fmt.Fprintf(w, "%s\t%d\t%.2f\t%s\n", cliutil.Harmless(frontmatter.OneLine(u.Slug)), u.Tokens, u.Activation, u.Why)
		}
	}
	table(fmt.Sprintf("hot, in %d tokens (slug, tokens, activation)", out.HotTokens), out.Hot)
	if len(out.Candidates) > 0 {
		table("to archive", out.Candidates)
	} else if out.Tokens > out.Budget {
		fmt.Fprintf(w, "\nnothing may be archived\n")
	} else {
		fmt.Fprintf(w, "\nnothing to archive\n")
	}
	return w.Flush()
}
