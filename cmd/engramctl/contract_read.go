package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
)

// contractEntryOut is an entry in JSON; times are RFC 3339.
type contractEntryOut struct {
	EntryID     string        `json:"entry_id"`
	Author      partyOut      `json:"author"`
	Role        string        `json:"role,omitempty"` // of its author
	Type        string        `json:"type"`
	Visibility  string        `json:"visibility"`
	Content     string        `json:"content"`
	Attachments []string      `json:"attachments"`
	CreatedAt   string        `json:"created_at"`
	ArrivedAt   string        `json:"arrived_at,omitempty"`
	N           int64         `json:"n,omitempty"` // its number in the order of arrival
	K           int64         `json:"k,omitempty"` // of a private entry: which one of its side it is, after n
	Withdrawn   *withdrawnOut `json:"withdrawn,omitempty"`
	EventID     string        `json:"nostr_event_id,omitempty"`
	Signature   string        `json:"signature"` // holds, differs, unseen, none
	Sealed      bool          `json:"sealed,omitempty"`
	Unreadable  bool          `json:"unreadable,omitempty"`
	Payload     *payloadOut   `json:"payload,omitempty"` // of a sealed entry that the relay lists and does not show
}

type payloadOut struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func entryFrom(e client.ContractEntry, role string) contractEntryOut {
	out := contractEntryOut{EntryID: e.EntryID, Author: *partyFor(e.Author), Role: role, Type: e.Type, Visibility: e.Visibility, Content: e.Content,
		Attachments: e.Attachments, CreatedAt: cliutil.Stamp(e.CreatedAt), EventID: e.EventID, Signature: string(e.Signature), Sealed: e.Sealed, Unreadable: e.Unreadable}
	if e.ArrivedAt != 0 {
		out.ArrivedAt = cliutil.Stamp(e.ArrivedAt)
	}
	if e.Payload != nil {
		out.Payload = &payloadOut{e.Payload.Bytes, e.Payload.SHA256}
	}
	out.N, out.K, out.Withdrawn = e.N, e.K, withdrawnFrom(e.Withdrawn)
	if out.Attachments == nil {
		out.Attachments = []string{}
	}
	return out
}

// withdrawnOut says that an author took something back; event is the signed
// request, or its id, or nothing.
type withdrawnOut struct {
	At    string `json:"at"`
	Event any    `json:"event,omitempty"`
}

func withdrawnFrom(w *client.Withdrawal) *withdrawnOut {
	switch {
	case w == nil:
		return nil
	case w.Event != nil:
		return &withdrawnOut{cliutil.Stamp(w.At), w.Event}
	case w.Request != "":
		return &withdrawnOut{cliutil.Stamp(w.At), w.Request}
	}
	return &withdrawnOut{At: cliutil.Stamp(w.At)}
}

// threadOut is `contract read --json` and `contract search --json`.
type threadOut struct {
	cliutil.AnswerOut
	ContractID string             `json:"contract_id"`
	Status     string             `json:"status"`
	Entries    []contractEntryOut `json:"entries"` // in the order of arrival
	Total      int                `json:"total"`   // that fit, not only those shown
	// Moves are, of a search, those whose notes have the words.
	Moves []moveOut `json:"moves,omitempty"`
}

// entryFlags choose entries.
func entryFlags(c *cobra.Command, f *client.EntryFilter) {
	c.Flags().StringVar(&f.Type, "type", "", "only entries of this `TYPE`")
	c.Flags().StringVar(&f.Visibility, "visibility", "", "only shared or private ones")
	c.Flags().StringVar(&f.Author, "author", "", "only those of `WHO`: poster, worker, a public key or an agent id")
}

func (a *app) contractReadCommand() *cobra.Command {
	var f client.EntryFilter
	var with string
	var asJSON bool
	var limit, offset, last int
	c := a.Command(&cobra.Command{
		Use:   "read ID [--type TYPE] [--author WHO] [--last N] [--json]",
		Short: "Read what was said in a contract",
		Long: `Read what was said in a contract, in the order in which it arrived at the relay that keeps
the contract (by the dates where no relay tells): every shared entry, superseded and
withdrawn ones too, and the private ones of your own side. Each has a line with its number,
time, author's role, type, visibility, id, and whether its signature holds:

  signed      the signed event was seen, and is right
  DIFFERS     the relay's API said something else than was signed; what was signed is shown
  unverified  the relay's API has it, and showed no signed event
  private     never signed

and "withdrawn" where its author took it back. The text below it is indented. Superseded
entries are shown to parties only, by relays that keep them.`,
		Example: `  engramctl contract read ID --last 10
  engramctl contract read ID --type deliverable --json | jq -r '.entries[-1].content'`,
		Args: cliutil.Arguments("ID"),
	}, func(ctx context.Context, args []string) error {
		if limit < 0 || offset < 0 || last < 0 {
			return exit.Usagef("--limit, --offset and --last must not be negative")
		}
		return a.printEntries(ctx, args[0], with, f, asJSON, func(all []client.ContractEntry) []client.ContractEntry {
			all = all[min(offset, len(all)):]
			if limit > 0 {
				all = all[:min(limit, len(all))]
			}
			if last > 0 {
				all = all[max(0, len(all)-last):]
			}
			return all
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	a.whichFlags(c, &with)
	entryFlags(c, &f)
	c.Flags().IntVar(&limit, "limit", 0, "at most `N` entries, the first")
	c.Flags().IntVar(&offset, "offset", 0, "leave out the first `N`")
	c.Flags().IntVar(&last, "last", 0, "only the newest `N`")
	c.MarkFlagsMutuallyExclusive("limit", "last")
	return c
}

func (a *app) contractSearchCommand() *cobra.Command {
	var f client.EntryFilter
	var with string
	var asJSON bool
	c := a.Command(&cobra.Command{
		Use:   "search ID QUERY [--type TYPE] [--json]",
		Short: "Find entries of a contract by their text",
		Long: `Find entries of a contract that have every word of a query in their text or attachments,
whatever the case; private ones of your own side and those encrypted for you included; and
moves that have them in their notes, unless --type, --author or --visibility asks for
entries. Prints them as contract read does. Exit code 1 if there is none, and every relay says so.`,
		Example: `  engramctl contract search ID "government filings"`,
		Args:    cliutil.Arguments("ID", "QUERY"),
	}, func(ctx context.Context, args []string) error {
		f.Query = args[1]
		if strings.TrimSpace(f.Query) == "" {
			return exit.Usagef("the query is empty")
		}
		return a.printEntries(ctx, args[0], with, f, asJSON, nil)
	})
	cliutil.JSONFlag(c, &asJSON)
	a.whichFlags(c, &with)
	entryFlags(c, &f)
	return c
}

// printEntries prints those entries of a contract that fit, and of them those
// that cut leaves.
func (a *app) printEntries(ctx context.Context, id, with string, f client.EntryFilter, asJSON bool, cut func([]client.ContractEntry) []client.ContractEntry) error {
	if key, err := settings.PublicKey("--author", "the command line", f.Author); err == nil {
		f.Author = key // an npub too
	}
	return a.withThread(ctx, id, with, func(_ string, t client.Thread, s client.Status) error {
		entries := t.Select(f)
		out := threadOut{AnswerOut: cliutil.AnswerOf(nil, s), ContractID: t.Contract.ID, Status: t.Contract.Status, Entries: []contractEntryOut{}, Total: len(entries)}
		var moves []client.ContractMove
		if f.Query != "" && f.Type == "" && f.Author == "" && f.Visibility == "" {
			moves = t.SelectMoves(f.Query)
		}
		if f.Query != "" && len(entries) == 0 && len(moves) == 0 {
			if s.Partial {
				return fmt.Errorf("%w, and those that did have no such entry", client.ErrPartial)
			}
			return fmt.Errorf("%w: no entry has these words", client.ErrNotFound)
		}
		if cut != nil {
			entries = cut(entries)
		}
		if asJSON {
			for _, e := range entries {
				out.Entries = append(out.Entries, entryFrom(e, t.Contract.Role(e.Author.PubKey)))
			}
			if len(moves) > 0 {
				out.Moves = movesOut(moves)
			}
			return a.PrintJSON(out)
		}
		for _, e := range entries {
			if err := a.printEntry(t.Contract, e); err != nil {
				return err
			}
		}
		for _, m := range moves {
			if err := a.Print("%s  %s  moved to %s\n%s\n", cliutil.Stamp(m.CreatedAt), cmp.Or(t.Contract.Role(m.By), "unknown"), cliutil.OneLine(m.To, 20), cliutil.Indented(m.Note)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *app) printEntry(c client.Contract, e client.ContractEntry) error {
	state := map[client.Signature]string{client.SignatureHolds: "signed", client.SignatureDiffers: "DIFFERS",
		client.SignatureUnseen: "unverified", client.SignatureNone: "private"}[e.Signature]
	if e.Withdrawn != nil {
		state += ", withdrawn " + cliutil.Stamp(e.Withdrawn.At)
	}
	err := a.Print("%s%s  %s  %s  %s  %s  %s\n", number(e.N, e.K), cliutil.Stamp(e.CreatedAt), cmp.Or(c.Role(e.Author.PubKey), "unknown"), cliutil.OneLine(e.Type, 20), cliutil.OneLine(e.Visibility, 20),
		cliutil.OneLine(e.EntryID, 40), state)
	switch {
	case err != nil:
		return err
	case e.Unreadable:
		return a.Print("    (encrypted between the parties)\n\n")
	}
	text := cliutil.Indented(e.Content)
	for _, url := range e.Attachments {
		text += "    attached: " + cliutil.OneLine(url, 2000) + "\n"
	}
	return a.Print("%s\n", text)
}

// number returns the number of an entry with what goes between it and the next
// column; "" where it is not known.
func number(n, k int64) string {
	switch {
	case k > 0:
		return fmt.Sprintf("%d+%d  ", n, k)
	case n > 0:
		return fmt.Sprintf("%d  ", n)
	}
	return ""
}

// readFileAtMost reads a file, and refuses more than so many bytes.
func readFileAtMost(path string, most int) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return cliutil.ReadAtMost(f, most)
}
