package edit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

func editCommand(env *cliutil.Env) *cobra.Command {
	var allow bool
	c := env.Command(&cobra.Command{
		Use:   "edit SLUG [--allow-secret] [--json]",
		Short: "Change a memory in an editor",
		Long: `Change a memory in an editor ($VISUAL, $EDITOR, else vi): its whole text, with front
matter, in a file of your own that is removed afterwards. A memory that is not there is
made. What the editor leaves is written with the text that it began with as base; the
fields created, source and trust are stamped, and trust is never raised.

If somebody else wrote meanwhile, the lines that you changed are put into that text, if
they stand there once and the fields are the same. Otherwise, or if it cannot be written
for another reason, nothing is, and stderr says where the file with your text is. Without
a change nothing is written.`,
		Example: `  EDITOR=nano engramctl mem edit projects/atlas`,
	}, cliutil.OnSlug(cliutil.OwnSlug, func(ctx context.Context, slug nipae.Slug, args []string) error {
		return memEdit(ctx, env, slug, cliutil.Guard(allow))
	}))
	cliutil.SecretFlag(c, &allow)
	return c
}

func memEdit(ctx context.Context, env *cliutil.Env, slug nipae.Slug, check func(old, text string) error) error {
	opened, err := env.Session(ctx) // once: who has a password is asked for it once
	if err != nil {
		return err
	}
	defer opened.Close()
	c, m := opened.Client, opened.Memory
	if !m.Writable() {
		return client.ErrReadOnly
	}
	head, err := editable(ctx, env, c, m, slug)
	if err != nil {
		return err
	}
	return InEditor(ctx, env, slug, head.Text, "nothing changed", func(text string) error {
		return writeEdited(ctx, env, m, head, slug, text, memory.SetOptions{Check: check, Later: &memory.Later{}})
	})
}

// InEditor has a text edited and hands over what it became. What could not be handed
// over stays in its file.
func InEditor(ctx context.Context, env *cliutil.Env, slug nipae.Slug, old, unchanged string, do func(text string) error) error {
	file, err := draftFile(env, slug, old)
	if err != nil {
		return err
	}
	text, err := edited(ctx, env, file, old)
	now, unread := os.ReadFile(file)
	switch {
	case err != nil && unread == nil && string(now) == old:
		return errors.Join(err, os.RemoveAll(filepath.Dir(file)))
	case err == nil && text == old:
		env.Note("%s: %s", slug, unchanged)
	case err == nil:
		err = do(text)
	}
	if err != nil {
		return fmt.Errorf("%w (your text is in %s)", err, file)
	}
	return os.RemoveAll(filepath.Dir(file))
}

// editable reads what is to be edited; nothing is an empty text.
func editable(ctx context.Context, env *cliutil.Env, c *client.Client, m *session.Memory, slug nipae.Slug) (client.Entry, error) {
	ctx, done := env.Bounded(ctx)
	defer done()
	if err := m.Session().Discover(ctx); err != nil && !client.Silent(err) {
		return client.Entry{}, err
	}
	head, status, err := m.Writes().Get(ctx, slug)
	if errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrTombstone) {
		return client.Entry{}, nil
	}
	return head, env.Report(status, cliutil.About(slug, head, err))
}

func writeEdited(ctx context.Context, env *cliutil.Env, m *session.Memory, head client.Entry, slug nipae.Slug, text string, o memory.SetOptions) error {
	ctx, done := env.Bounded(ctx)
	defer done()
	r, err := write.Revise(ctx, m.Writer(ctx), slug, head.Text, text, o)
	if err := env.Report(r.Status, cliutil.About(slug, r.Entry, cliutil.Explained(cliutil.Understood(err)))); err != nil {
		return err
	}
	NoteCopied(env, slug, r.From)
	return Wrote(ctx, env, m, r.Entry, r.Status)
}

// draftFile makes a file with a text that nobody else reads.
func draftFile(env *cliutil.Env, slug nipae.Slug, text string) (string, error) {
	dir, err := os.MkdirTemp(env.Vars["TMPDIR"], "engramctl-edit-") // 0700
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, path.Base(string(slug))+".md")
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// edited has a person edit a file and returns what is in it then. A line end
// that an editor adds at the end of what had none is no change.
func edited(ctx context.Context, env *cliutil.Env, file, before string) (string, error) {
	editor := cmp.Or(env.Vars["VISUAL"], env.Vars["EDITOR"], "vi")
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file)
	if runtime.GOOS == "windows" {
		words := strings.Fields(cmp.Or(env.Vars["VISUAL"], env.Vars["EDITOR"], "notepad"))
		cmd = exec.CommandContext(ctx, words[0], append(words[1:], file)...)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = env.Stdin, env.Stderr, env.Stderr // stdout is for what is printed
	if env.Terminal.Stdout {
		cmd.Stdout = env.Stdout
	}
	cmd.Dir = env.Dir
	cmd.Env = slices.DeleteFunc(slices.Clone(env.System.Env), func(kv string) bool {
		return strings.HasPrefix(kv, "ENGRAM_KEY=") || strings.HasPrefix(kv, "ENGRAM_TOKEN=")
	})
	if err := cmd.Run(); err != nil {
		return "", exit.Usagef("the editor %q: %w", editor, err)
	}
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := cliutil.ReadAtMost(f, nipae.MaxBody)
	if err != nil {
		return "", err
	}
	if text == before+"\n" && !strings.HasSuffix(before, "\n") {
		text = before
	}
	return text, cliutil.CheckText(text)
}
