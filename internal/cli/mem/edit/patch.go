package edit

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

// maxPatch is the size of the largest patch that can make sense, in bytes:
// every line of the largest text out and in, with as much again for headers.
const maxPatch = 1 << 20

func patchCommand(env *cliutil.Env) *cobra.Command {
	var o struct {
		set   memory.SetOptions
		allow bool
	}
	c := env.Command(&cobra.Command{
		Use:   "patch SLUG [FILE|-] [--base HASH] [--allow-empty] [--allow-secret] [--json]",
		Short: "Change a memory by a unified diff",
		Long: `Change a memory by a unified diff (diff -u, git diff) from FILE or stdin. It is
applied only to the version that it was made for, and only where every hunk fits
exactly, at the lines it names: nothing is searched for, shifted or ignored. If
it is another version by now, or a hunk does not fit, nothing is written and the
exit code is 5.

The version that the patch was made for is --base, the SHA-256 of its text (mem
hash, or sha256sum of the file that mem get wrote). A patch of git diff names it
itself (its "index" line) and needs no --base; if there are both, both must hold.
A patch that names none is refused, and so is one that adds what looks like a
secret, or makes the text claim more of itself than it may (see mem set).`,
		Example: `  engramctl mem get notes > old; cp old new; $EDITOR new
  diff -u old new | engramctl mem patch notes --base "$(sha256sum < old | cut -c1-64)"
  git diff --no-index old new | engramctl mem patch notes`,
	}, cliutil.OnSlug(cliutil.OwnSlug, func(ctx context.Context, slug nipae.Slug, args []string) error {
		if err := cliutil.CheckHash(o.set.Base); err != nil {
			return err
		}
		p, err := readPatch(env, args[1:])
		if err != nil {
			return err
		}
		if o.set.Base == "" && p.blob() == "" {
			return exit.Usagef("which version is the patch made for? Give --base (engramctl mem hash %s), or make it with git diff", slug)
		}
		return writeOne(ctx, env, slug, func(ctx context.Context, m *session.Memory) (client.Entry, client.Status, error) {
			entry, status, err := m.Writes().Get(ctx, slug)
			if err != nil {
				return entry, status, err
			}
			text, err := p.applyTo(entry, o.set.Base)
			if err != nil {
				return entry, status, err
			}
			to := o.set
			to.Whole, to.Later = env.Flags.Strict, &memory.Later{Silent: status.Stale || status.Queued}
			to.Check = AsItStands(ctx, env, m, slug, cliutil.Guard(o.allow))
			to.Base = entry.Hash // whoever writes in between is not written over
			return m.Set(ctx, slug, text, to)
		})
	}))
	cliutil.BaseFlag(c, &o.set.Base)
	cliutil.SecretFlag(c, &o.allow)
	c.Flags().BoolVar(&o.set.AllowEmpty, "allow-empty", false, "write also if nothing is left")
	return c
}

// readPatch reads the patch from the file named, or from stdin.
func readPatch(env *cliutil.Env, args []string) (patch, error) {
	from := env.Stdin
	if len(args) == 1 && args[0] != "-" {
		f, err := os.Open(env.Path(args[0]))
		if err != nil {
			return patch{}, exit.BadUsage(err)
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxPatch+1))
	switch {
	case err != nil:
		return patch{}, exit.Usagef("the patch: %w", err)
	case len(text) > maxPatch:
		return patch{}, exit.Usagef("the patch is larger than %d bytes", maxPatch)
	case len(text) == 0:
		return patch{}, exit.Usagef("the patch is empty")
	}
	if err := cliutil.CheckText(string(text)); err != nil {
		return patch{}, err
	}
	return parsePatch(string(text))
}

// applyTo applies the patch to a version, if it is the one that it was made
// for.
func (p patch) applyTo(entry client.Entry, base string) (string, error) {
	if base != "" && base != entry.Hash {
		return "", &client.ConflictError{Theirs: &entry, Reason: "the text is not the one that the patch was made for"}
	}
	if id := p.blob(); id != "" && !isBlob(entry.Text, id) {
		return "", &client.ConflictError{Theirs: &entry, Reason: fmt.Sprintf("the text is not the one that the patch was made for (%s in git)", id)}
	}
	return p.apply(entry.Text)
}
