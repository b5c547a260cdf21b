package relays

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/nips/nipae"
)

// repairing is one run of repair.
type repairing struct {
	dryRun, yes, lost, all, accept, tombstone, undo bool

	env *cliutil.Env
	m   *session.Memory
	r   *session.Repair
}

// NewRepair returns the command repair.
func NewRepair(env *cliutil.Env) *cobra.Command {
	p := &repairing{env: env}
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "repair [SLUG…] [--dry-run] [--yes] [--lost] [--accept-loss [--all]|--tombstone|--undo-rollback] [--json]",
		Short: "Send again what this machine knows and no relay shows",
		Long: `Send again what this machine knows and no relay shows, byte for byte as it was signed: a
relay that lost its disk, or went back to an older backup, has it again. Requests to
delete go first, then removals, then texts. Superseded versions are not brought back.
What one relay shows and another lacks is for engramctl sync.

Other machines may have deleted what this one would bring back. So it is listed, and a
person is asked (--yes answers), where no relay had confirmed the copy on this machine
for an hour, something was written elsewhere since, or a relay does not answer. What
relays show nothing of, an owner sends with --lost: the agent may have deleted it.

  sent       a relay took it
  refused    no relay took it (quota, kinds, bans); the next run tries again
  removed    a relay's operator removed it, and can bring it back
  expired    a relay had a version after it, which has expired
  deleted    the agent's key had it deleted: it is not missing
  left       a relay failed, or held back by rate for a minute or the time limit
  text only  an older engramctl kept its text alone, which cannot be sent
  no text    this machine wrote it, and its text is not here
  not sent   an owner's, without --lost

--accept-loss gives up what is named, or --all that is missing: this machine tells of it
no more. --tombstone signs the removal of what is named, once every relay answers.
--undo-rollback signs anew, dated now, what operators removed.

Exit code 4 if a relay failed, 6 if something cannot be sent, 2 if nobody can be asked.`,
		Example: `  engramctl repair --dry-run
  engramctl repair
  engramctl repair --accept-loss core`,
		Args: cobra.ArbitraryArgs,
	}, p.open))
	f := c.Flags()
	f.BoolVar(&p.dryRun, "dry-run", false, "say what would be done, and do nothing")
	f.BoolVar(&p.yes, "yes", false, "do not ask")
	f.BoolVar(&p.lost, "lost", false, "as an owner, send also what relays show nothing of")
	f.BoolVar(&p.accept, "accept-loss", false, "give up what is named, and tell of it no more")
	f.BoolVar(&p.all, "all", false, "with --accept-loss: all that is missing")
	f.BoolVar(&p.tombstone, "tombstone", false, "sign the removal of what is named instead")
	f.BoolVar(&p.undo, "undo-rollback", false, "sign anew what operators removed")
	c.MarkFlagsMutuallyExclusive("accept-loss", "tombstone", "undo-rollback")
	return c
}

func (p *repairing) open(ctx context.Context, args []string) error {
	slugs := make([]nipae.Slug, len(args))
	for i, arg := range args {
		var err error
		if slugs[i], err = cliutil.SlugArgument(arg); err != nil {
			return err
		}
	}
	if p.all && (!p.accept || len(slugs) > 0) || (p.accept || p.tombstone) && len(slugs) == 0 && !p.all {
		return exit.Usagef("--accept-loss and --tombstone are for memories that are named, and --all is for --accept-loss alone")
	}
	s, err := p.env.Session(ctx, cliutil.Patiently)
	if err != nil {
		return err
	}
	defer s.Close()
	if p.m = s.Memory; (p.tombstone || p.undo) && !p.m.Writable() {
		return client.ErrReadOnly
	}
	return s.Repair(ctx, p.lost, func(ctx context.Context, r *session.Repair) error {
		p.r = r
		return p.run(ctx, slugs)
	})
}

func (p *repairing) run(ctx context.Context, slugs []nipae.Slug) error {
	all, err := p.chosen(ctx, slugs)
	ends, asks := p.accept || p.tombstone, p.tombstone && len(all) > 0
	for _, m := range all {
		if asks = asks || m.Fate == session.ToSend; ends {
			m.Fate = session.ToEnd
		}
	}
	if why := p.doubt(); err == nil && asks && why != "" && !p.dryRun && !p.yes {
		err = p.confirm(ctx, all, why)
	}
	switch {
	case err != nil:
		return err
	case p.dryRun:
	case p.tombstone && len(p.r.Silent) > 0:
		return fmt.Errorf("%w: %s: nothing is removed before all do", client.ErrPartial, strings.Join(p.r.Silent, " and "))
	case !ends:
		err = p.r.SendAgain(ctx, all)
	}
	for _, m := range all {
		switch {
		case err != nil || p.dryRun:
		case p.accept:
			err = p.r.GiveUp(ctx, m)
		case p.tombstone, p.undo && m.Fate == session.Removed:
			err = p.r.Anew(ctx, m, p.tombstone)
		}
	}
	return cliutil.FirstOf(err, p.report(all, !ends))
}

// chosen returns what is named, else all.
func (p *repairing) chosen(ctx context.Context, slugs []nipae.Slug) (all []*session.Missing, err error) {
	if len(slugs) == 0 {
		return slices.DeleteFunc(p.r.Missing, func(m *session.Missing) bool { return p.accept && m.Act != nil }), nil
	}
	for _, slug := range slugs {
		d := nipae.AddressIn(p.m.Conversation(), p.m.Agent(), p.m.Owner(), slug)
		m := &session.Missing{Newest: client.Newest{D: d, At: p.m.Session().Client.Now()}}
		if i := slices.IndexFunc(p.r.Missing, func(m *session.Missing) bool { return m.D == d }); i >= 0 {
			m = p.r.Missing[i]
		} else if _, _, err := p.m.Get(ctx, slug); !p.accept || !slug.IsCore() || !errors.Is(err, client.ErrNotFound) {
			p.env.Note("%s: relays show what this machine knows", slug)
			continue // but for a core that is not shown, and may have been written
		}
		m.Slug = slug // that of what is here by its id is not known otherwise
		all = append(all, m)
	}
	return all, nil
}

// doubt says why a person is to be asked; "" if none is.
func (p *repairing) doubt() string {
	var why []string
	if len(p.r.Silent) > 0 {
		why = append(why, strings.Join(p.r.Silent, " and ")+" does not answer")
	}
	switch confirmed := cliutil.Stamp(p.r.Confirmed.Unix()); {
	case p.r.Confirmed.IsZero():
		why = append(why, "no relay had confirmed a copy on this machine before")
	case time.Since(p.r.Confirmed) > time.Hour:
		why = append(why, "relays last confirmed the copy on this machine at "+confirmed)
	case p.r.Others > 0:
		why = append(why, fmt.Sprintf("%s written elsewhere since %s", cliutil.Counted(p.r.Others, "version was", "versions were"), confirmed))
	}
	switch {
	case p.accept:
		return ""
	case p.tombstone:
		return "these are removed for good"
	case p.lost && !p.m.Writable():
		why = append(why, "the agent may have deleted these")
	case len(why) > 0:
		why = append(why, "other machines may have deleted these")
	}
	return strings.Join(why, "; ")
}

// confirm lists what is about to be done, and asks.
func (p *repairing) confirm(ctx context.Context, all []*session.Missing, why string) error {
	if err := p.print(all); err != nil {
		return err
	}
	if !p.env.Terminal.Stdin || p.env.Terminal.Line == nil || p.env.Flags.JSON {
		return exit.Usagef("%s: nothing was sent (--yes sends it)", why)
	}
	answer, err := p.env.Terminal.Line(ctx, why+". Go on? [y/N] ")
	if word := strings.ToLower(strings.TrimSpace(answer)); err == nil && word != "y" && word != "yes" {
		err = exit.Usagef("nothing was sent")
	}
	return err
}

// report says what became of all. The error is what is missing still; sent: all was to be
// sent.
func (p *repairing) report(all []*session.Missing, sent bool) error {
	if err := cliutil.FirstOf(p.env.Report(p.r.Status, nil), p.print(all)); err != nil {
		return err
	}
	n := map[session.Fate]int{}
	for _, m := range all {
		n[m.Fate]++
	}
	cannot := n[session.Refused] + n[session.Removed] + n[session.Expired] + n[session.TextOnly] + n[session.NoText]
	switch {
	case n[session.Left] > 0:
		return fmt.Errorf("%w: %d of %d are left: run it again", client.ErrPartial, n[session.Left], len(all))
	case sent && len(p.r.Silent) > 0:
		return fmt.Errorf("%w: %s", client.ErrPartial, strings.Join(p.r.Silent, " and "))
	case sent && cannot > 0:
		return fmt.Errorf("%w: %d of %d cannot be sent again", client.ErrBehind, cannot, len(all))
	}
	return nil
}

// mostRepaired is how many lines of each fate are printed.
const mostRepaired = 100

// repairedLine is one line of `repair --json`.
type repairedLine struct {
	State     session.Fate `json:"state"`
	Slug      nipae.Slug   `json:"slug,omitempty"`
	Kind      int          `json:"kind"`
	ID        string       `json:"id"`
	Time      string       `json:"time"`
	Removal   bool         `json:"removal,omitempty"`
	Published any          `json:"published,omitempty"`
}

func (p *repairing) print(all []*session.Missing) (err error) {
	n, lines := map[session.Fate]int{}, []repairedLine{}
	for _, m := range all {
		l := repairedLine{m.Fate, m.Slug, nipae.Kind, m.ID, cliutil.Stamp(m.At), m.Tombstone, nil}
		name := cmp.Or(string(m.Slug), "version "+m.ID)
		if m.Act != nil {
			l.Kind, name = m.Act.Kind, fmt.Sprintf("request of kind %d", m.Act.Kind)
		}
		for _, s := range m.Published {
			name += fmt.Sprintf("  %s: %s", s.URL, cmp.Or(cliutil.ErrorText(s.Err), "took it"))
			l.Published = cliutil.AnswerOf(nil, client.Status{Published: m.Published}).Published
		}
		lines = append(lines, l)
		if n[m.Fate]++; n[m.Fate] <= mostRepaired && !p.env.Flags.JSON {
			err = cliutil.FirstOf(err, p.env.Print("%-10s  %s  %s\n", m.Fate, l.Time, cliutil.Harmless(name)))
		}
	}
	if p.env.Flags.JSON {
		return p.env.PrintJSON(struct {
			cliutil.AnswerOut
			DryRun bool           `json:"dry_run,omitempty"`
			Found  []repairedLine `json:"found"`
		}{cliutil.AnswerOf(p.m, p.r.Status), p.dryRun, lines})
	}
	for fate, n := range n {
		if n > mostRepaired {
			p.env.Note("%s: %d more, which --json lists", fate, n-mostRepaired)
		}
	}
	if n[session.TextOnly] > 0 {
		p.env.Note("engramctl recall shows a text that is here alone: keep it, then engramctl repair --accept-loss SLUG and engramctl mem set SLUG write it anew")
	}
	if n[session.Removed] > 0 {
		p.env.Note("the relay's operator brings back what he removed by engramd snapshot quarantine release; engramctl repair --undo-rollback signs it anew, and --accept-loss gives it up")
	}
	if n[session.Expired] > 0 {
		p.env.Note("what expired at a relay took the versions before it along; engramctl repair --accept-loss gives them up here")
	}
	if len(p.r.Missing) == 0 && len(all) == 0 {
		return p.env.Print("relays show all that this machine knows\n")
	}
	return err
}
