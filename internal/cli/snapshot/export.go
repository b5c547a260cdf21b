package snapshot

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/memory/snapshots"
	"engramd/internal/memory/state"
	"engramd/internal/secrets"
	"engramd/internal/snapshot/bundle"
)

// ExportedOut is one record of a plaintext export.
type ExportedOut struct {
	Slug      string `json:"slug"`
	Owner     string `json:"owner"`
	Text      string `json:"text"`
	Removed   bool   `json:"removed,omitempty"`
	CreatedAt int64  `json:"created_at"`
	ID        string `json:"id"`
	Redacted  int    `json:"redacted,omitempty"` // values that were replaced
}

// ExportMark is the last line of a plaintext export: for each owner the mark by which
// the pair knows that it made all lines before (state.OfExport).
type ExportMark struct {
	Marks map[string]string `json:"marks,omitempty"`
}

func newExport(env *cliutil.Env, f *Options) *cobra.Command {
	var o struct {
		id, to        string
		plain, redact bool
	}
	c := env.Command(&cobra.Command{
		Use:   "export ID --to FILE [--plain [--redact-secrets=false]]",
		Short: "Copy a snapshot out, as it is or in plain text",
		Long: `Copy a snapshot, and its .sha256 file, to a new file. With --plain and the agent's or an
owner's key, write what was remembered then as plain text instead: a JSON object for
each record on a line of its own; FILE may be "-". In that, whatever looks like a key
or a token is replaced by "[redacted: KIND]", unless --redact-secrets=false. The last
line marks all before it as this pair's: import takes them back as the agent's own.`,
		Example: `  engramctl snapshot export 20261120T235100Z-0123456789abcdef --to memory.tar.zst
  engramctl snapshot export 20261120T235100Z-0123456789abcdef --plain --to memory.jsonl`,
		Args: cobra.ArbitraryArgs,
	}, func(ctx context.Context, args []string) error {
		args = idArgument(&o.id, args)
		if err := cliutil.FirstOf(noMore(args), needID(o.id)); err != nil {
			return err
		}
		if o.to == "" {
			return exit.Usagef("where to? Give --to")
		}
		store, p, err := at(ctx, env, f, o.plain)
		if err != nil {
			return err
		}
		if !o.plain {
			if err := store.Export(f.Tenant, p.agent, o.id, env.Path(o.to)); err != nil {
				return err
			}
			return env.Print("%s  exported to %s\n", o.id, o.to)
		}
		b, err := openBundle(ctx, env, store, f, p, o.id)
		if err != nil {
			return err
		}
		return exportPlain(ctx, env, b, p, o.to, o.redact)
	})
	idFlag(c, &o.id)
	c.Flags().StringVar(&o.to, "to", "", "`file` to make")
	c.Flags().BoolVar(&o.plain, "plain", false, "decrypt it")
	c.Flags().BoolVar(&o.redact, "redact-secrets", true, "replace what looks like a key or a token in plain text")
	IdentityFlag(c, f)
	return c
}

func exportPlain(ctx context.Context, env *cliutil.Env, b *bundle.Bundle, p party, to string, redact bool) (err error) {
	out := env.Out()
	if to != "-" {
		path := env.Path(to)
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return exit.Usagef("--to: %w", err)
		}
		defer func() {
			if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
				_ = os.Remove(path) // half an export looks like a whole one
			}
		}()
		err = writePlain(ctx, env, file, b, p, redact)
		return err
	}
	return writePlain(ctx, env, out, b, p, redact)
}

func writePlain(ctx context.Context, env *cliutil.Env, out io.Writer, b *bundle.Bundle, p party, redact bool) error {
	w, sum, owners := bufio.NewWriter(out), sha256.New(), map[string]bool{}
	enc := json.NewEncoder(io.MultiWriter(w, sum))
	enc.SetEscapeHTML(false)
	values, unread, err := 0, 0, error(nil)
	err = snapshots.Texts(ctx, b, p.agent, p.keys, func(r snapshots.Text) error {
		if r.Err != nil {
			unread++
			return nil
		}
		e := ExportedOut{Slug: string(r.Slug), Owner: r.Owner, Text: r.Text, Removed: r.Removed, CreatedAt: r.CreatedAt, ID: r.ID}
		if redact {
			e.Text, e.Redacted = secrets.Redact(r.Text)
			values += e.Redacted
		}
		owners[r.Owner] = true
		return enc.Encode(e)
	})
	if err == nil {
		err = encodeMark(enc, p, owners, hex.EncodeToString(sum.Sum(nil)))
	}
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if values > 0 {
		env.Note("%d values that look like secrets were replaced", values)
	}
	if unread > 0 {
		env.Note("%d records are for other owners or cannot be read, and were left out", unread)
	}
	return nil
}

// encodeMark ends an export with what proves whose it is.
func encodeMark(enc *json.Encoder, p party, owners map[string]bool, sum string) error {
	m := ExportMark{Marks: map[string]string{}}
	for owner := range owners {
		conversation, _ := p.keys(p.agent, owner) // with it the owner's texts were read
		mark, err := state.Pair{Agent: p.agent, Owner: owner, Conversation: conversation}.Mark(state.OfExport, sum)
		if err != nil {
			return err
		}
		m.Marks[owner] = mark
	}
	return enc.Encode(m)
}
