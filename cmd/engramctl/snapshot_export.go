package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/memory/snapshots"
	"engramd/internal/secrets"
	"engramd/internal/snapshot/bundle"
)

// exportedOut is one record of a plaintext export.
type exportedOut struct {
	Slug      string `json:"slug"`
	Owner     string `json:"owner"`
	Text      string `json:"text"`
	Removed   bool   `json:"removed,omitempty"`
	CreatedAt int64  `json:"created_at"`
	ID        string `json:"id"`
	Redacted  int    `json:"redacted,omitempty"` // values that were replaced
}

func (a *app) snapshotExportCommand(f *snapshotFlags) *cobra.Command {
	var id, to string
	var plain bool
	redact := true
	c := a.Command(&cobra.Command{
		Use:   "export ID --to FILE [--plain [--redact-secrets=false]]",
		Short: "Copy a snapshot out, as it is or in plain text",
		Long: `Copy a snapshot, and its .sha256 file, to a new file. With --plain and the agent's or an
owner's key, write what was remembered then as plain text instead: a JSON object for
each record on a line of its own; FILE may be "-". In that, whatever looks like a key
or a token is replaced by "[redacted: KIND]", unless --redact-secrets=false.`,
		Example: `  engramctl snapshot export 20261120T235100Z-0123456789abcdef --to memory.tar.zst
  engramctl snapshot export 20261120T235100Z-0123456789abcdef --plain --to memory.jsonl`,
	}, func(ctx context.Context, args []string) error {
		args = idArgument(&id, args)
		if err := cliutil.FirstOf(noMore(args), needID(id)); err != nil {
			return err
		}
		if to == "" {
			return exit.Usagef("where to? Give --to")
		}
		p, err := a.party(ctx, plain)
		if err != nil {
			return err
		}
		store, err := a.snapshotStore(f)
		if err != nil {
			return err
		}
		if !plain {
			if err := store.Export(f.tenant, p.agent, id, a.Path(to)); err != nil {
				return err
			}
			return a.Print("%s  exported to %s\n", id, to)
		}
		b, err := a.openBundle(ctx, store, f, p, id)
		if err != nil {
			return err
		}
		return a.exportPlain(ctx, b, p, to, redact)
	})
	idFlag(c, &id)
	c.Flags().StringVar(&to, "to", "", "`file` to make")
	c.Flags().BoolVar(&plain, "plain", false, "decrypt it")
	c.Flags().BoolVar(&redact, "redact-secrets", true, "replace what looks like a key or a token in plain text")
	identityFlag(c, f)
	return c
}

func (a *app) exportPlain(ctx context.Context, b *bundle.Bundle, p party, to string, redact bool) (err error) {
	out := a.Out()
	if to != "-" {
		path := a.Path(to)
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return exit.Usagef("--to: %w", err)
		}
		defer func() {
			if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
				_ = os.Remove(path) // half an export looks like a whole one
			}
		}()
		err = a.writePlain(ctx, file, b, p, redact)
		return err
	}
	return a.writePlain(ctx, out, b, p, redact)
}

func (a *app) writePlain(ctx context.Context, out io.Writer, b *bundle.Bundle, p party, redact bool) error {
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	values, unread, err := 0, 0, error(nil)
	err = snapshots.Texts(ctx, b, p.agent, p.keys, func(r snapshots.Text) error {
		if r.Err != nil {
			unread++
			return nil
		}
		e := exportedOut{Slug: string(r.Slug), Owner: r.Owner, Text: r.Text, Removed: r.Removed, CreatedAt: r.CreatedAt, ID: r.ID}
		if redact {
			e.Text, e.Redacted = secrets.Redact(r.Text)
			values += e.Redacted
		}
		return enc.Encode(e)
	})
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if values > 0 {
		a.Note("%d values that look like secrets were replaced", values)
	}
	if unread > 0 {
		a.Note("%d records are for other owners or cannot be read, and were left out", unread)
	}
	return nil
}
