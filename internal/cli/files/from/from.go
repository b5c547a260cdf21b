// Package from brings in what other tools remember.
package from

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/ask"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/foreign"
	"engramd/internal/memory/write"
	"engramd/internal/secrets"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Options are what engramctl import --from is told.
type Options struct {
	From, Prefix, Trust string
	Update, Allow       bool
}

// Flags adds the flags of --from.
func (f *Options) Flags(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.From, "from", "", "read what another tool remembers: `SOURCE` is "+strings.Join(foreign.Names(), ", "))
	_ = c.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(foreign.Names(), cobra.ShellCompDirectiveNoFileComp)) // cannot fail: the flag exists
	fs.StringVar(&f.Prefix, "prefix", "", "with --from: `SLUG` below which everything goes (default mem/imported/SOURCE)")
	fs.StringVar(&f.Trust, "trust", "", "`observed` if you vouch for all of it as if the agent had written it (default external, but for the agent's own folder or export)")
	fs.BoolVar(&f.Update, "update", false, "with --from: also write what has changed at its source since it was imported")
	cliutil.SecretFlag(c, &f.Allow)
}

// Help is the help of --from.
func Help() string {
	var b strings.Builder
	b.WriteString(`With --from, PATH is the folder or the file in which another tool keeps its memory:

`)
	for _, s := range foreign.Sources() {
		fmt.Fprintf(&b, "  %-12s %s\n  %-12s (%s)\n", s.Name, s.About, "", s.Path)
	}
	b.WriteString(`
Everything goes below mem/imported/SOURCE, or --prefix. What would be written is shown;
--yes writes it. What is not understood is listed as left, with the reason.

What is written is external, somebody else's words, whatever a text says of itself: no
session is told it unasked. --trust observed says that you vouch for all of it; of the
memory of claude-code and codex --yes asks on the terminal whether it is this agent's own
words, which is the same. Its place is kept as path. Links to
what is imported as well become [[slug]]. A text that is too long for one memory becomes
several that are linked.

Nothing is written over: importing again writes what is new, shows what has changed at
its source (--update writes that) and leaves alone what has something else at its slug
(exit code 5), what was removed here, and words that are at another slug already. If it
is interrupted, the same command goes on. A text with what looks like a key or a token
is refused and named, and the rest is written (exit code 2). If not every relay says
what it has, nothing is written (exit code 4). docs/importing.md has more.`)
	return b.String()
}

// WhoseWords asks what a harness's own memory is to count as.
const WhoseWords = "Are these this agent's own words, as if it had written them here?"

// ownSources are the harnesses whose memory may be this agent's own.
var ownSources = []string{"claude-code", "codex"}

// own says whether these are this agent's own words.
func (f *Options) own(own bool) {
	f.Trust = map[bool]string{true: frontmatter.Observed.String(), false: frontmatter.External.String()}[own]
}

// Own copies what a harness remembers by itself; own says that these are this
// agent's own words.
func Own(ctx context.Context, env *cliutil.Env, source, path string, own bool) error {
	f := Options{From: source}
	f.own(own)
	return Import(ctx, env, path, f, true)
}

// Import reads what another tool remembers and writes it, or shows what it
// would write.
func Import(ctx context.Context, env *cliutil.Env, path string, f Options, yes bool) error {
	if person := (ask.Person{Env: env, Quiet: env.Flags.JSON}); yes && f.Trust == "" && slices.Contains(ownSources, f.From) && person.Answers() {
		own, err := person.Agrees(ctx, WhoseWords, false)
		if err != nil {
			return err
		}
		f.own(own)
	}
	source, stamp, err := f.check()
	if err != nil {
		return err
	}
	found, err := readSource(env, source, path, f.Prefix)
	if err != nil {
		return err
	}
	if len(found.Items) == 0 {
		redactLeft(found.Left)
		for _, l := range found.Left {
			env.Note("%s: %s", l.Where, l.Why)
		}
		return exit.Usagef("nothing that %s keeps is in %s", source.Name, path)
	}
	opened, err := env.Session(ctx, cliutil.Patiently)
	if err != nil {
		return err
	}
	defer opened.Close()
	m := opened.Memory
	if !m.Writable() {
		return client.ErrReadOnly
	}
	if err := m.Session().Discover(ctx); err != nil {
		return err
	}
	in := &importing{Env: env, m: m, left: found.Left, update: f.Update, out: importedOut{Source: source.Name, Trust: stamp.Most.String(), DryRun: !yes}}
	listing, status, err := m.ListAll(ctx)
	if in.status = status; err != nil {
		return env.Report(status, err)
	}
	if status.Partial && yes {
		return env.Report(status, fmt.Errorf("%w: what it has may be where this would be written, and nothing is written", silent(status)))
	}
	there := held(listing)
	in.steps = foreign.Plan(found.Items, there, stamp)
	in.guard(f.Allow)
	if err := in.external(there); err != nil {
		return err
	}
	if yes {
		err = opened.Copies.InBulk(ctx, func() error { return in.write(ctx) })
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: the same command goes on where it stopped", ctx.Err())
		}
	}
	return errors.Join(in.show(), env.Report(in.status, nil), err, in.refusals())
}

// silent is the error of an answer that is not whole, with the first relay that
// failed.
func silent(s client.Status) error {
	for _, r := range s.Relays {
		if r.Err != nil {
			return fmt.Errorf("%w: %s: %w", client.ErrPartial, r.URL, r.Err)
		}
	}
	return client.ErrPartial
}

// check reads the flags.
func (f Options) check() (foreign.Source, frontmatter.Stamp, error) {
	source, ok := foreign.ByName(f.From)
	stamp := frontmatter.Stamp{Now: time.Now(), Source: "import:" + f.From, Most: frontmatter.External}
	switch f.Trust {
	case "", frontmatter.External.String():
	case frontmatter.Observed.String():
		stamp.Most = frontmatter.Observed
	default:
		return source, stamp, exit.Usagef("--trust %q: what is imported is external, or observed if you vouch for it", f.Trust)
	}
	if !ok {
		return source, stamp, exit.Usagef("--from %q: want one of %s", f.From, strings.Join(foreign.Names(), ", "))
	}
	if f.Prefix != "" {
		slug, err := nipae.NormalizeSlug(strings.TrimSuffix(f.Prefix, "/"))
		if err != nil || slug.IsCore() || len(slug) > 120 {
			return source, stamp, exit.Usagef("--prefix: want a slug of at most 120 characters that begins with mem/")
		}
		if write.Reserved(slug + "/x") {
			return source, stamp, exit.Usagef("--prefix: %w", write.ErrReserved)
		}
	}
	return source, stamp, nil
}

// readSource reads a folder or a file. Nothing outside of the folder is read,
// whatever links in it say.
func readSource(env *cliutil.Env, source foreign.Source, path, prefix string) (foreign.Result, error) {
	s, err := env.Settings()
	if err != nil {
		return foreign.Result{}, err
	}
	whole, err := filepath.Abs(env.Path(path))
	if err != nil {
		return foreign.Result{}, exit.BadUsage(err)
	}
	info, err := os.Stat(whole)
	if err != nil {
		return foreign.Result{}, exit.Usagef("%s: %w", path, cause(err))
	}
	o := foreign.Options{Owner: s.Owner, Prefix: strings.TrimSuffix(prefix, "/")}
	if o.Prefix != "" {
		slug, err := nipae.NormalizeSlug(o.Prefix)
		if err != nil {
			return foreign.Result{}, exit.BadUsage(err)
		}
		o.Prefix = string(slug)
	}
	if info.Mode().IsRegular() {
		whole, o.File = filepath.Dir(whole), filepath.Base(whole)
	} else if !info.IsDir() {
		return foreign.Result{}, exit.Usagef("%s: neither a file nor a folder", path)
	}
	root, err := os.OpenRoot(whole)
	if err != nil {
		return foreign.Result{}, exit.Usagef("%s: %w", path, cause(err))
	}
	defer root.Close()
	o.Place = filepath.ToSlash(whole)
	return source.Read(root.FS(), o), nil
}

// cause is an error of a file without its path, which is said already.
func cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// held is what is in memory.
func held(l memory.Listing) []foreign.Held {
	all := make([]foreign.Held, 0, len(l.Memories)+len(l.Tombstones))
	for _, e := range l.Memories {
		all = append(all, foreign.Held{Slug: e.Slug, Text: e.Text})
	}
	for _, e := range l.Tombstones {
		all = append(all, foreign.Held{Slug: e.Slug, Removed: true})
	}
	return all
}

// guard refuses what holds a secret. Of that neither slug nor place is shown as it
// is: the words may be in them.
func (in *importing) guard(allow bool) {
	in.hidden = map[int]bool{}
	if !allow {
		for i := range in.steps {
			in.guardStep(i)
		}
		redactLeft(in.left)
	}
	// A copy of what is refused is of words that will be nowhere.
	refused := map[nipae.Slug]string{}
	for _, s := range in.steps {
		if s.What == foreign.Refused {
			refused[s.Slug] = s.Why
		}
	}
	for i := range in.steps {
		if s := &in.steps[i]; s.What == foreign.Copy && refused[s.Of] != "" {
			s.What, s.Of, s.Why = foreign.Refused, "", "as the same words are elsewhere: "+refused[s.Of]
		}
	}
}

func (in *importing) guardStep(i int) {
	s := &in.steps[i]
	err := secrets.CheckChange(s.Base, s.Text)
	if err == nil || s.What == foreign.Same {
		return
	}
	in.hidden[i] = true
	if s.What == foreign.New || s.What == foreign.Changed {
		s.What, s.Why = foreign.Refused, err.Error()+" (--allow-secret writes it all the same)"
	}
	s.From, _ = secrets.Redact(s.From)
}

func redactLeft(left []foreign.Left) {
	for i := range left {
		left[i].Where, _ = secrets.Redact(left[i].Where)
		left[i].Why, _ = secrets.Redact(left[i].Why)
	}
}
