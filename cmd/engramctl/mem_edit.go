package main

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
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

func (a *app) memEditCommand() *cobra.Command {
	var asJSON, allow bool
	c := a.Command(&cobra.Command{
		Use:   "edit SLUG [--allow-secret] [--json]",
		Short: "Change a memory in an editor",
		Long: `Change a memory in an editor ($VISUAL, $EDITOR, else vi): its whole text, with front
matter, in a file of your own that is removed afterwards. A memory that is not there is
made. What the editor leaves is written with the text that it began with as base; the
fields created, source and trust are stamped, and trust is never raised.

If somebody else wrote meanwhile, or it cannot be written for another reason, nothing
is, and stderr says where the file with your text is. Without a change nothing is
written.`,
		Example: `  EDITOR=nano engramctl mem edit projects/atlas`,
		Args:    cliutil.Arguments("SLUG"),
	}, func(ctx context.Context, args []string) error {
		slug, err := cliutil.OwnSlug(args[0])
		if err != nil {
			return err
		}
		return a.memEdit(ctx, asJSON, slug, cliutil.Guard(allow))
	})
	cliutil.JSONFlag(c, &asJSON)
	cliutil.SecretFlag(c, &allow)
	return c
}

func (a *app) memEdit(ctx context.Context, asJSON bool, slug nipae.Slug, check func(old, text string) error) error {
	opened, err := a.open(ctx) // once: who has a password is asked for it once
	if err != nil {
		return err
	}
	defer opened.Close()
	c, m := opened.Client, opened.Memory
	if !m.Writable() {
		return client.ErrReadOnly
	}
	head, err := a.editable(ctx, c, m, slug)
	if err != nil {
		return err
	}
	return a.inEditor(ctx, slug, head.Text, "nothing changed", func(text string) error {
		return a.writeEdited(ctx, asJSON, m, slug, text, client.SetOptions{Base: cmp.Or(head.Hash, client.BaseNone), Check: check})
	})
}

// inEditor has a text edited and hands over what it became. What could not be handed
// over stays in its file.
func (a *app) inEditor(ctx context.Context, slug nipae.Slug, old, unchanged string, do func(text string) error) error {
	file, err := a.draftFile(slug, old)
	if err != nil {
		return err
	}
	text, err := a.edited(ctx, file, old)
	switch {
	case err != nil && untouched(file, old):
		return errors.Join(err, os.RemoveAll(filepath.Dir(file)))
	case err == nil && text == old:
		a.Note("%s: %s", slug, unchanged)
	case err == nil:
		err = do(text)
	}
	if err != nil {
		return fmt.Errorf("%w (your text is in %s)", err, file)
	}
	return os.RemoveAll(filepath.Dir(file))
}

// editable reads what is to be edited; nothing is an empty text.
func (a *app) editable(ctx context.Context, c *client.Client, m *session.Memory, slug nipae.Slug) (client.Entry, error) {
	ctx, done := a.Bounded(ctx)
	defer done()
	if err := m.Session().Discover(ctx); err != nil {
		return client.Entry{}, err
	}
	head, status, err := m.Get(ctx, slug)
	if errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrTombstone) {
		return client.Entry{}, nil
	}
	return head, a.Report(status, cliutil.About(slug, head, err))
}

func (a *app) writeEdited(ctx context.Context, asJSON bool, m *session.Memory, slug nipae.Slug, text string, o client.SetOptions) error {
	ctx, done := a.Bounded(ctx)
	defer done()
	r, err := a.writer(ctx, m).Write(ctx, slug, write.Draft{Text: text, Whole: true}, o)
	if err := a.Report(r.Status, cliutil.About(slug, r.Entry, cliutil.Explained(cliutil.Understood(err)))); err != nil {
		return err
	}
	a.noteCopied(slug, r.From)
	if asJSON {
		return a.PrintJSON(wroteOut{cliutil.AnswerOf(m, r.Status), cliutil.EntryFor(r.Entry)})
	}
	return a.Print("%s  %d B  hash %s\n", r.Slug, r.Size, r.Hash)
}

// draftFile makes a file with a text that nobody else reads.
func (a *app) draftFile(slug nipae.Slug, text string) (string, error) {
	dir, err := os.MkdirTemp(a.Vars["TMPDIR"], "engramctl-edit-") // 0700
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, path.Base(string(slug))+".md")
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// untouched reports whether a file still has that text.
func untouched(file, text string) bool {
	now, err := os.ReadFile(file)
	return err == nil && string(now) == text
}

// edited has a person edit a file and returns what is in it then. A line end
// that an editor adds at the end of what had none is no change.
func (a *app) edited(ctx context.Context, file, before string) (string, error) {
	editor := cmp.Or(a.Vars["VISUAL"], a.Vars["EDITOR"], "vi")
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file)
	if runtime.GOOS == "windows" {
		words := strings.Fields(cmp.Or(a.Vars["VISUAL"], a.Vars["EDITOR"], "notepad"))
		cmd = exec.CommandContext(ctx, words[0], append(words[1:], file)...)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, a.Stderr, a.Stderr // stdout is for what is printed
	if a.Terminal.Stdout {
		cmd.Stdout = a.Stdout
	}
	cmd.Dir = a.Dir
	cmd.Env = slices.DeleteFunc(slices.Clone(a.System.Env), func(kv string) bool {
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
