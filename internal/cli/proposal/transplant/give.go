package transplant

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/cli/view"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/transplant"
	"engramd/internal/memory/write"
	"engramd/internal/secrets"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// giveOptions say what is given, to whom and how.
type giveOptions struct {
	to, prefix, query string
	file, recipient   string
	why               string
	dryRun            bool
	allow             bool
}

// maxGiven is how many memories are given at once over relays: the receiver looks at
// so many proposals of all others together.
const maxGiven = 200

func newGive(env *cliutil.Env) *cobra.Command {
	var g giveOptions
	c := env.Command(&cobra.Command{
		Use:   "give --to PUBKEY [SLUG...] [--prefix PREFIX] [--query WORDS] [--file FILE --recipient AGE] [--dry-run] [--json]",
		Short: "Give memories to another agent",
		Long: `Give memories to another agent: those that are named, or those that are active and begin
with a prefix, or that fit a query strongly (recall). Of one that is superseded, or rests
on what is, the newer one is named instead; one that is archived or done is not given
either. Given again, a later version is offered as a correction. Each is proposed to it
with the event that this agent signed; it accepts or rejects (transplant take), and must
list this key (proposals.from). Over relays texts have up to 24 KiB.

With --file, memories of any size go into a file instead, signed by this key and
encrypted with age to --recipient (age1… or an SSH public key): carry it over as you
like. No relay sees it.

The receiver learns of each memory its text, its fields, slug and owner, its address
(d) and its time. stderr says so first. The core is not given, nor what programs keep.`,
		Example: `  engramctl transplant give --to npub1… projects/atlas people/ana
  engramctl transplant give --to npub1… --prefix recipes/ --dry-run
  engramctl transplant give --to npub1… --query "sailing boats" --file boats.age --recipient age1…`,
		Args: cobra.ArbitraryArgs,
	}, func(ctx context.Context, args []string) error { return runGive(ctx, env, g, args) })
	f := c.Flags()
	f.StringVar(&g.to, "to", "", "`pubkey` (npub or hex) of the agent that gets them")
	f.StringVar(&g.prefix, "prefix", "", "give all whose slug begins with it")
	f.StringVar(&g.query, "query", "", "give what fits these words strongly")
	f.StringVar(&g.file, "file", "", "write a `file` instead of asking relays to carry them")
	f.StringVar(&g.recipient, "recipient", "", "age `key` of the receiver, for --file")
	f.StringVar(&g.why, "why", "", "the `reason`, one line, for the receiver")
	f.BoolVar(&g.dryRun, "dry-run", false, "show what would be given, and give nothing")
	cliutil.SecretFlag(c, &g.allow)
	return c
}

func runGive(ctx context.Context, env *cliutil.Env, g giveOptions, named []string) error {
	to, err := settings.PublicKey("--to", "", g.to)
	switch {
	case err != nil:
		return exit.BadUsage(err)
	case to == "":
		return exit.Usagef("to whom? Name the agent (--to)")
	case len(named) == 0 && g.prefix == "" && g.query == "":
		return exit.Usagef("what? Name slugs, --prefix or --query")
	case (g.file == "") != (g.recipient == ""):
		return exit.Usagef("--file and --recipient belong together")
	}
	var recipients bundle.Recipients
	if g.recipient != "" {
		if recipients, err = bundle.ParseRecipients([]string{g.recipient}); err != nil {
			return exit.Usagef("--recipient: %w", err)
		}
	}
	wanted, err := wanted(ctx, env, g, named)
	if err != nil {
		return err
	}
	opened, err := env.Session(ctx)
	if err != nil {
		return err
	}
	defer opened.Close()
	c, m := opened.Client, opened.Memory
	ctx, done := env.Bounded(ctx)
	defer done()
	switch {
	case !m.Writable():
		return fmt.Errorf("%w: an agent gives what it has signed", client.ErrReadOnly)
	case to == m.Agent():
		return exit.BadUsage(proposals.ErrSelf)
	}
	if err := m.Session().Discover(ctx); err != nil {
		return err
	}
	units, err := gathered(ctx, env, m, g, wanted)
	if err != nil {
		return err
	}
	env.Note("the receiver learns of each of these its text and fields, its slug, its owner (%s), its address and its time", settings.Npub(m.Owner()))
	switch {
	case g.dryRun:
		return printGiven(env, g, units, nil)
	case g.file != "":
		return giveFile(env, c, m, g, to, units, recipients)
	}
	return giveOver(ctx, env, c, g, to, units)
}

// given is one memory that is given.
type given struct {
	transplant.Unit
	origin transplant.Origin
}

// wanted are slugs that were named, or found for a query. Those of a prefix are
// found with the memories.
func wanted(ctx context.Context, env *cliutil.Env, g giveOptions, named []string) (slugs []nipae.Slug, err error) {
	for _, name := range named {
		slug, err := cliutil.OwnSlug(name)
		if err != nil {
			return nil, err
		}
		if slug.IsCore() {
			return nil, exit.Usagef("the core says who this agent is, and is not given")
		}
		slugs = append(slugs, slug)
	}
	if g.query == "" {
		return slugs, nil
	}
	err = view.WithView(ctx, env, 0, func(v answer.View) (view.Seen, error) {
		found, err := answer.Recall(v, answer.Query{Text: g.query, Holds: true}, time.Now())
		for _, h := range found.Hits {
			if h.Fit == recall.Strong { // the nearest of what does not fit is not for others to read
				slugs = append(slugs, nipae.Slug(h.Slug))
			}
		}
		return view.Seen{Found: len(found.Hits), Print: func(view.ViewOut) error { return nil }}, err
	})
	return slugs, err
}

// gathered finds the events of what is given, and checks each as the receiver does.
func gathered(ctx context.Context, env *cliutil.Env, m *session.Memory, g giveOptions, wanted []nipae.Slug) ([]given, error) {
	l, status, err := m.ListAll(ctx)
	if err := env.Report(status, err); err != nil {
		return nil, err
	}
	prefix := ""
	if g.prefix != "" {
		prefix = "mem/" + strings.TrimPrefix(g.prefix, "mem/")
	}
	against, err := holding(ctx, l)
	if err != nil {
		return nil, err
	}
	ids := map[string]client.Entry{}
	for _, e := range l.Memories {
		picked := slices.Contains(wanted, e.Slug)
		if !picked && (prefix == "" || !strings.HasPrefix(string(e.Slug), prefix) || write.Reserved(e.Slug)) {
			continue
		}
		switch why := against(e.Slug); {
		case why == "":
			ids[e.ID] = e
		case picked:
			return nil, exit.Usagef("%s %s: what is active and holds is given", e.Slug, why)
		case frontmatter.Parse(e.Text).Fields().State == frontmatter.Active:
			env.Note("left out: %s %s", e.Slug, why)
		}
		if picked {
			wanted = slices.DeleteFunc(wanted, func(s nipae.Slug) bool { return s == e.Slug })
		}
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("%s: %w", wanted[0], client.ErrNotFound)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("nothing fits: %w", client.ErrNotFound)
	}
	if most := transplant.MaxUnits; len(ids) > most || g.file == "" && len(ids) > maxGiven {
		return nil, exit.Usagef("%d memories: over relays at most %d are given at once, in a file %d", len(ids), maxGiven, most)
	}
	// All heads are read again: a question by ids would tell relays what is given.
	heads, _, err := m.Since(ctx, 0)
	if err != nil {
		return nil, err
	}
	var units []given
	for _, e := range heads {
		entry, wanted := ids[e.Event.ID]
		if !wanted {
			continue
		}
		one, err := signed(env, m, g, entry, e.Event)
		if err != nil {
			return nil, err
		}
		units = append(units, one)
	}
	if len(units) < len(ids) {
		return nil, fmt.Errorf("%w: of %d memories %d were found again", client.ErrPartial, len(ids), len(units))
	}
	slices.SortFunc(units, func(x, y given) int { return strings.Compare(string(x.Slug), string(y.Slug)) })
	return units, nil
}

// holding reads which memories do not hold: it returns what is said against the one at
// a slug, "" for one that is active and rests on nothing that is superseded.
func holding(ctx context.Context, l memory.Listing) (against func(slug nipae.Slug) string, err error) {
	held := make([]answer.Held, 0, len(l.Memories))
	states := map[nipae.Slug]frontmatter.State{}
	for _, e := range l.Memories {
		held = append(held, answer.Held{Head: answer.Head{Slug: string(e.Slug), UpdatedAt: e.CreatedAt}, Text: e.Text})
		states[e.Slug] = frontmatter.Parse(e.Text).Fields().State
	}
	all, err := answer.Load(held, answer.State{})
	if err != nil {
		return nil, err
	}
	err = all.Read(ctx, func(v answer.View) error { // texts in memory: it stays
		against = func(slug nipae.Slug) string {
			newer := strings.Join(v.Index().Truth().Of(string(slug)).SupersededBy, ", ")
			switch {
			case v.Index().Truth().Stale(string(slug)):
				return "rests on what is superseded by " + newer
			case states[slug] == frontmatter.Superseded:
				return "is superseded by " + cmp.Or(newer, "nothing that is there")
			case states[slug] != frontmatter.Active:
				return "is " + string(states[slug])
			}
			return ""
		}
		return nil
	})
	return against, err
}

// signed makes the origin of one memory; what it proves must be what is there.
func signed(env *cliutil.Env, m *session.Memory, g giveOptions, e client.Entry, ev *nostr.Event) (given, error) {
	o, u, err := transplant.Of(m.Conversation(), ev)
	if err != nil {
		return given{}, fmt.Errorf("%s: %w", e.Slug, err)
	}
	if u.Text != e.Text || u.Slug != e.Slug {
		return given{}, fmt.Errorf("%s: %w: what was signed is another text", e.Slug, transplant.ErrOrigin)
	}
	if !g.allow {
		if err := secrets.CheckChange("", u.Text); err != nil {
			return given{}, exit.Usagef("%s: %w; --allow-secret gives it all the same", e.Slug, err)
		}
	}
	if g.file == "" && len(u.Text) > transplant.MaxOffered {
		return given{}, fmt.Errorf("%s: %w: over relays a text has up to %d bytes, and it has %d: give it with --file", e.Slug, client.ErrTooLarge, transplant.MaxOffered, len(u.Text))
	}
	return given{u, o}, nil
}

// giveOver proposes each memory.
func giveOver(ctx context.Context, env *cliutil.Env, c *client.Client, g giveOptions, to string, units []given) error {
	by := &proposals.Author{Client: c}
	made := map[string]string{}
	for _, u := range units {
		name := proposals.FromPrefix + proposals.NameOf(u.Author) + "/" + transplant.Rest(u.Slug)
		slug, err := nipae.ParseSlug(name)
		if err != nil {
			return exit.Usagef("%s: its slug is too long to be given", u.Slug)
		}
		p, status, err := by.Propose(ctx, proposals.Proposal{Agent: to, Act: proposals.Write, Slug: slug, Base: memory.BaseNone, Why: g.why, Origin: u.origin.JSON()})
		if err := env.ReportWith(status, err, "giving it again sends another proposal"); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", u.Slug, err), printGiven(env, g, units[:len(made)], made))
		}
		made[u.ID] = p.EventID
	}
	return printGiven(env, g, units, made)
}

// giveFile writes a package. A file that is there already is not written over.
func giveFile(env *cliutil.Env, c *client.Client, m *session.Memory, g giveOptions, to string, units []given, recipients bundle.Recipients) error {
	p := transplant.Package{Giver: m.Agent(), To: to, CreatedAt: time.Now().Unix()}
	for _, u := range units {
		p.Origins = append(p.Origins, u.origin)
	}
	var plain, out bytes.Buffer
	if err := p.Write(&plain, c.Identity().Sign); err != nil {
		return exit.BadUsage(err)
	}
	if err := recipients.Encrypt(&out, &plain); err != nil {
		return exit.BadUsage(err)
	}
	if err := cliutil.WriteNew(env.Path(g.file), func(w io.Writer) error { _, err := out.WriteTo(w); return err }); err != nil {
		return exit.Usagef("--file: %w", err)
	}
	return printGiven(env, g, units, nil)
}

func printGiven(env *cliutil.Env, g giveOptions, units []given, made map[string]string) error {
	out := []plantedOut{}
	for _, u := range units {
		one := plantedFor(u.Unit)
		one.ID, one.Status = made[u.ID], "given"
		if g.dryRun {
			one.Status = "would be given"
		}
		out = append(out, one)
	}
	if env.Flags.JSON {
		return env.PrintJSON(struct {
			Given []plantedOut `json:"given"`
		}{out})
	}
	return cliutil.Each(env, out, func(one plantedOut) string {
		line := one.Was + "  " + one.Status
		if one.ID != "" {
			line += "  id " + one.ID[:cliutil.ShortID]
		}
		return line
	})
}
