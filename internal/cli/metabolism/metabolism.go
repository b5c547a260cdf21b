// Package metabolism lists memories that were not used for long, and archives them: engramctl metabolism.
package metabolism

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	agentview "engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/mind"
	clisnapshot "engramd/internal/cli/snapshot"
	"engramd/internal/cli/view"
	"engramd/internal/memory/activity"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/frontmatter"
)

// options are those of engramctl metabolism.
type options struct {
	budget, hot int
	commit      bool
	cold, root  string
	encrypt     []string
	recipients  bundle.Recipients // of encrypt
	now         time.Time
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

// New returns engramctl metabolism.
func New(env *cliutil.Env) *cobra.Command {
	var f options
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
			return printMetabolism(env, out)
		})
	}))
	fs := c.Flags()
	fs.IntVar(&f.budget, "budget", 0, "how many `TOKENS` the memory may have, beside what was earned; 0: 2000000")
	fs.IntVar(&f.hot, "hot", 1000, "for how many `TOKENS` the most active are listed")
	fs.BoolVar(&f.commit, "commit", false, "archive the candidates")
	fs.StringVar(&f.cold, "cold", "", "write the candidates' texts to a new `FILE`")
	fs.StringArrayVar(&f.encrypt, "encrypt", nil, "encrypt that file to `age:RECIPIENT` (age1… or an SSH public key); may be given several times")
	fs.StringVar(&f.root, "snapshot-root", "", "`folder` of snapshots, in which one is made before (ENGRAM_SNAPSHOTS)")
	return c
}

// candidate is a unit that could be archived, with its text.
type candidate struct {
	activity.Active
	text, why string
}

// look finds out what is active, and what could be archived.
func (f *options) look(ctx context.Context, from answer.Source, used session.Used) (out metabolismOut, all []candidate, err error) {
	err = from.Read(ctx, func(v answer.View) error {
		units := answer.Units(v, used.Known(v, f.now))
		state := v.State()
		out = metabolismOut{Tokens: activity.Total(units), Memories: len(units), Budget: activity.Budget(f.budget, used.Earned), HotTokens: f.hot,
			Hot: []metabolizedOut{}, Candidates: []metabolizedOut{}, Stale: state.Stale || state.Unfinished, AsOf: agentview.When(state.AsOf.UTC())}
		out.Earned = out.Budget - activity.Budget(f.budget, 0)
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

func (f *options) metabolized(u activity.Active) metabolizedOut {
	return metabolizedOut{u.Slug, u.Tokens, u.Activation, f.why(u), u.Held}
}

// why says what an activation follows from.
func (f *options) why(u activity.Active) string {
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

func printMetabolism(env *cliutil.Env, out metabolismOut) error {
	if env.Flags.JSON {
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

const (
	// archivedBytes and archivedMost bound what one plan archives, so that its
	// record has room for all texts.
	archivedBytes = 180 << 10
	archivedMost  = 300
)

// archiveCandidates is metabolism --commit, and --cold without it.
func archiveCandidates(ctx context.Context, env *cliutil.Env, f options) error {
	return mind.WithPlans(ctx, env, func(ctx context.Context, p mind.Thinking) error {
		state := p.S.StateIfKept(ctx, env.NoteLine)
		if state == nil {
			return errors.New("the agent's state cannot be opened")
		}
		defer state.Close()
		used, err := session.UsedHere(ctx, state)
		if err != nil {
			return err
		}
		out, all, err := f.look(ctx, p.Copy.Source(), used)
		if err != nil {
			return err
		}
		if f.commit {
			all = roomFor(all, archivedBytes)
		}
		if len(all) == 0 {
			return printMetabolism(env, out)
		}
		if f.commit {
			if out.Snapshot, err = snapshotFirst(ctx, env, p, f); err != nil {
				return err
			}
		}
		if f.cold != "" {
			if err := f.writeCold(env.Path(f.cold), all); err != nil {
				return err
			}
			out.Cold = f.cold
			env.Note("%s written to %s", cliutil.Counted(len(all), "memory", "memories"), f.cold)
		}
		if !f.commit {
			return printMetabolism(env, out)
		}
		r, err := archiveAll(ctx, env, p, all, out, f.now)
		if err != nil {
			return mind.UnderstoodPlan(err)
		}
		if !env.Flags.JSON {
			if err := mind.PrintCommitted(env, r); err != nil {
				return err
			}
			if rest := len(out.Candidates) - len(r.Changes); rest > 0 {
				env.Note("%d more could be archived: run it again", rest)
			}
			return nil
		}
		done := mind.CommittedOf(r)
		out.Committed = &done
		return env.PrintJSON(out)
	})
}

// roomFor returns the first of all that one plan has room for.
func roomFor(all []candidate, room int) []candidate {
	for i, c := range all {
		if room -= len(c.text); i == archivedMost || room < 0 && i > 0 {
			return all[:i]
		}
	}
	return all
}

// snapshotFirst makes a snapshot where a folder for them is configured.
func snapshotFirst(ctx context.Context, env *cliutil.Env, p mind.Thinking, f options) (string, error) {
	if cmp.Or(f.root, env.Vars["ENGRAM_SNAPSHOTS"]) == "" {
		return "", nil
	}
	flags := &clisnapshot.Options{Root: f.root, Tenant: bundle.DefaultTenant, LockTimeout: time.Minute}
	made, err := clisnapshot.Taker(env, p.S, flags)(ctx, "before archiving")
	if errors.Is(err, session.ErrNothing) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("a snapshot before archiving: %w; nothing was archived", err)
	}
	env.Note("snapshot %s", made.ID)
	return made.ID, nil
}

// archiveAll archives candidates as one plan. Texts that take more room in the
// record than expected halve it.
func archiveAll(ctx context.Context, env *cliutil.Env, p mind.Thinking, all []candidate, out metabolismOut, now time.Time) (plans.Result, error) {
	for {
		plan := consolidation.Plan{Kind: consolidation.Archive, Made: now.UTC(), Stale: out.Stale}
		var ops []consolidation.Op
		for _, c := range all {
			plan.Units = append(plan.Units, consolidation.Shown{Slug: c.Slug, Hash: consolidation.Hash(c.text), Role: consolidation.Stale})
			ops = append(ops, consolidation.Op{Op: consolidation.OpArchive, Slug: c.Slug, Why: fmt.Sprintf("activation %.2f, %d tokens: %s", c.Activation, c.Tokens, c.why)})
		}
		plan = plan.Identify()
		if err := p.Keep(ctx, plan); err != nil {
			return plans.Result{}, err
		}
		r, err := p.Commit(ctx, plan.ID, ops)
		if !errors.Is(err, plans.ErrTooLarge) || len(all) == 1 {
			return r, err
		}
		all = all[:len(all)/2]
	}
}
