package contract

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/contract"
)

// entryOut is an entry in JSON; times are RFC 3339.
type entryOut struct {
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
	Verdict     string        `json:"verdict,omitempty"` // of a sealed entry that was opened
	Unreadable  bool          `json:"unreadable,omitempty"`
	Payload     *payloadOut   `json:"payload,omitempty"` // of a sealed entry that the relay lists and does not show
}

type payloadOut struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func entryFrom(e contract.Entry, role string) entryOut {
	out := entryOut{EntryID: e.EntryID, Author: partyOf(e.Author), Role: role, Type: e.Type, Visibility: e.Visibility, Content: e.Content,
		Attachments: e.Attachments, CreatedAt: cliutil.Stamp(e.CreatedAt), EventID: e.EventID, Signature: string(e.Signature), Sealed: e.Sealed, Unreadable: e.Unreadable,
		ArrivedAt: view.Known(e.ArrivedAt), N: e.N, K: e.K, Withdrawn: withdrawnFrom(e.Withdrawn)}
	if e.Sealed && !e.Unreadable {
		out.Verdict = e.Verdict()
	}
	if e.Payload != nil {
		out.Payload = &payloadOut{e.Payload.Bytes, e.Payload.SHA256}
	}
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

func withdrawnFrom(w *contract.Withdrawal) *withdrawnOut {
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
	ContractID string     `json:"contract_id"`
	Status     string     `json:"status"`
	Entries    []entryOut `json:"entries"` // in the order of arrival
	Total      int        `json:"total"`   // that fit, not only those shown
	// Moves are, of a search, those whose notes have the words.
	Moves []moveOut `json:"moves,omitempty"`
}

type readOptions struct {
	searchOptions
	limit, offset, last int
}

func newRead(env *cliutil.Env) *cobra.Command {
	var o readOptions
	c := env.Command(&cobra.Command{
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
	}, func(ctx context.Context, args []string) error {
		if o.limit < 0 || o.offset < 0 || o.last < 0 {
			return exit.Usagef("--limit, --offset and --last must not be negative")
		}
		return printEntries(ctx, env, o, args[0])
	})
	o.flags(env, c)
	c.Flags().IntVar(&o.limit, "limit", 0, "at most `N` entries, the first")
	c.Flags().IntVar(&o.offset, "offset", 0, "leave out the first `N`")
	c.Flags().IntVar(&o.last, "last", 0, "only the newest `N`")
	c.MarkFlagsMutuallyExclusive("limit", "last")
	return c
}

type searchOptions struct {
	filter contract.EntryFilter
}

func (o *searchOptions) flags(env *cliutil.Env, c *cobra.Command) {
	whichFlags(env, c)
	c.Flags().StringVar(&o.filter.Type, "type", "", "only entries of this `TYPE`")
	c.Flags().StringVar(&o.filter.Visibility, "visibility", "", "only shared or private ones")
	c.Flags().StringVar(&o.filter.Author, "author", "", "only those of `WHO`: poster, worker, a public key or an agent id")
}

func newSearch(env *cliutil.Env) *cobra.Command {
	var o searchOptions
	c := env.Command(&cobra.Command{
		Use:   "search ID QUERY [--type TYPE] [--json]",
		Short: "Find entries of a contract by their text",
		Long: `Find entries of a contract that have every word of a query in their text or attachments,
whatever the case; private ones of your own side and those encrypted for you included; and
moves that have them in their notes, unless --type, --author or --visibility asks for
entries. Prints them as contract read does. Exit code 1 if there is none, and every relay says so.`,
		Example: `  engramctl contract search ID "government filings"`,
	}, func(ctx context.Context, args []string) error {
		o.filter.Query = args[1]
		if strings.TrimSpace(o.filter.Query) == "" {
			return exit.Usagef("the query is empty")
		}
		return printEntries(ctx, env, readOptions{searchOptions: o}, args[0])
	})
	o.flags(env, c)
	return c
}

// printEntries prints those entries of a contract that fit.
func printEntries(ctx context.Context, env *cliutil.Env, o readOptions, id string) error {
	if key, err := settings.PublicKey("--author", "the command line", o.filter.Author); err == nil {
		o.filter.Author = key // an npub too
	}
	return withThread(ctx, env, id, func(_ string, t contract.Thread, s client.Status) error {
		entries := t.Select(o.filter)
		out := threadOut{AnswerOut: cliutil.AnswerOf(nil, s), ContractID: t.Contract.ID, Status: t.Contract.Status, Entries: []entryOut{}, Total: len(entries)}
		var moves []contract.Move
		if o.filter.Query != "" && o.filter.Type == "" && o.filter.Author == "" && o.filter.Visibility == "" {
			moves = t.SelectMoves(o.filter.Query)
		}
		if o.filter.Query != "" && len(entries) == 0 && len(moves) == 0 {
			if s.Partial {
				return fmt.Errorf("%w, and those that did have no such entry", client.ErrPartial)
			}
			return fmt.Errorf("%w: no entry has these words", client.ErrNotFound)
		}
		entries = entries[min(o.offset, len(entries)):]
		if o.limit > 0 {
			entries = entries[:min(o.limit, len(entries))]
		}
		if o.last > 0 {
			entries = entries[max(0, len(entries)-o.last):]
		}
		if env.Flags.JSON {
			for _, e := range entries {
				out.Entries = append(out.Entries, entryFrom(e, t.Contract.Role(e.Author.PubKey)))
			}
			if len(moves) > 0 {
				out.Moves = movesOut(moves)
			}
			return env.PrintJSON(out)
		}
		for _, e := range entries {
			if err := printEntry(env, t.Contract, e); err != nil {
				return err
			}
		}
		return cliutil.Each(env, moves, func(m contract.Move) string {
			return fmt.Sprintf("%s  %s  moved to %s\n%s", cliutil.Stamp(m.CreatedAt), cmp.Or(t.Contract.Role(m.By), "unknown"), cliutil.OneLine(m.To, 20), cliutil.Indented(m.Note))
		})
	})
}

func printEntry(env *cliutil.Env, c contract.Contract, e contract.Entry) error {
	state := map[contract.Signature]string{contract.SignatureHolds: "signed", contract.SignatureDiffers: "DIFFERS",
		contract.SignatureUnseen: "unverified", contract.SignatureNone: "private"}[e.Signature]
	if e.Withdrawn != nil {
		state += ", withdrawn " + cliutil.Stamp(e.Withdrawn.At)
	}
	err := env.Print("%s%s  %s  %s  %s  %s  %s\n", number(e.N, e.K), cliutil.Stamp(e.CreatedAt), cmp.Or(c.Role(e.Author.PubKey), "unknown"), cliutil.OneLine(e.Type, 20), cliutil.OneLine(e.Visibility, 20),
		cliutil.OneLine(e.EntryID, 40), state)
	switch {
	case err != nil:
		return err
	case e.Unreadable:
		return env.Print("    (encrypted between the parties)\n\n")
	}
	text := cliutil.Indented(e.Content)
	for _, url := range e.Attachments {
		text += "    attached: " + cliutil.OneLine(url, 2000) + "\n"
	}
	return env.Print("%s\n", text)
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
