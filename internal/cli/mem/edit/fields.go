package edit

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// AsItStands also refuses a text that says more of itself than it may. The core
// cannot say whose words it has: that is only told.
func AsItStands(ctx context.Context, env *cliutil.Env, m *session.Memory, slug nipae.Slug, check func(old, text string) error) func(old, text string) error {
	copies := m.Session().Copies
	copied := copies.Copied(ctx)
	if slug.IsCore() {
		copied = nil
	}
	return func(old, text string) error {
		var claim *write.ClaimError
		err := write.Claims(old, text, copied)
		if errors.As(err, &claim) && claim.CopiedFrom != "" {
			return exit.Usagef("%w (mem set --trust external does)", err)
		}
		if err != nil {
			return exit.Usagef("%w; leave it out, or keep what the memory has (mem edit and the flags of mem set stamp it)", err)
		}
		if err := (&write.Writer{Memory: m, Holds: copies.Holds}).Keeps(ctx, slug, old, text); err != nil {
			return err
		}
		if slug.IsCore() {
			from, _ := copies.Copied(ctx)(text)
			NoteCopied(env, slug, from)
		}
		if check == nil {
			return nil
		}
		return check(old, text)
	}
}

// fieldFlags are the fields that mem set sets.
type fieldFlags struct {
	kind, description, trust string
	expires                  string
	tags, supersedes         []string
	salience                 float64
}

// fieldNames are their flags.
var fieldNames = []string{"type", "description", "tag", "salience", "supersedes", "trust", "expires"}

func (f *fieldFlags) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.kind, "type", "", "what it is, a `TYPE`: semantic episodic procedural insight prospective narrative")
	c.Flags().StringVar(&f.description, "description", "", "one `LINE`, the title in lists")
	c.Flags().StringArrayVar(&f.tags, "tag", nil, "a `TAG`; may be repeated, and replaces those that are there (\"\": none)")
	c.Flags().Float64Var(&f.salience, "salience", frontmatter.DefaultSalience, "how much it matters, a `NUMBER` from 0 to 1")
	c.Flags().StringArrayVar(&f.supersedes, "supersedes", nil, "the `SLUG` of a memory that no longer holds; may be repeated")
	c.Flags().StringVar(&f.trust, "trust", "", "\"external\" for somebody else's `WORDS`")
	ExpiresFlag(c, &f.expires)
	_ = c.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(write.Types(), cobra.ShellCompDirectiveNoFileComp)) // cannot fail: the flag exists
}

// ExpiresFlag is --expires.
func ExpiresFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "expires", "", "when it expires: a `TIME`, or from now such as 30d")
}

// changed reports whether one of them is given.
func (f *fieldFlags) changed(c *cobra.Command) bool {
	return slices.ContainsFunc(fieldNames, c.Flags().Changed)
}

func (f *fieldFlags) fields(c *cobra.Command) (write.Fields, error) {
	fields := write.Fields{Type: f.kind, Description: f.description, Tags: f.tags, Trust: f.trust}
	var err error
	if fields.Expires, err = memory.ParseExpiry(f.expires, time.Now()); err != nil {
		return fields, err
	}
	if c.Flags().Changed("salience") {
		fields.Salience = &f.salience
	}
	for _, arg := range f.supersedes {
		slug, err := cliutil.OwnSlug(arg)
		if err != nil {
			return fields, err
		}
		fields.Supersedes = append(fields.Supersedes, slug)
	}
	if fields.None() {
		return fields, exit.Usagef("%w: every field that is given is empty", write.ErrField)
	}
	return fields, nil
}

// setUnit writes a memory with fields, and marks those that it supersedes.
func setUnit(ctx context.Context, env *cliutil.Env, slug nipae.Slug, draft write.Draft, o memory.SetOptions) error {
	var failed []*write.AbsentError
	var from string
	err := writeOne(ctx, env, slug, func(ctx context.Context, m *session.Memory) (client.Entry, client.Status, error) {
		r, _, left, err := m.Writer(ctx).Supersede(ctx, slug, draft, o)
		failed, from = left, r.From
		return r.Entry, r.Status, err
	})
	if err == nil {
		NoteCopied(env, slug, from)
	}
	if err != nil || len(failed) == 0 {
		return err
	}
	for _, f := range failed {
		env.Note("%s is written, but %s is not marked as superseded: %v", slug, f.Slug, f.Unwrap())
	}
	return failed[0]
}

// NoteCopied says that a memory is external now because of whose words it has.
func NoteCopied(env *cliutil.Env, slug nipae.Slug, from string) {
	switch {
	case from == "":
	case slug.IsCore():
		env.Note("the words are those of %s, which is external, and core cannot say so", from)
	default:
		env.Note("the words are those of %s, which is external, and so is %s now", from, slug)
	}
}
