// Package contract has the commands of a contract's memory: engramctl contract.
package contract

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/nbd-wtf/go-nostr"
	"github.com/spf13/cobra"

	"engramd/internal/agent/view"
	"engramd/internal/cli/bearer"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/protocol/wire"
	"engramd/internal/secrets"
	"engramd/nips/nipae"
)

// New returns the command contract.
func New(env *cliutil.Env) *cobra.Command {
	c := cliutil.Group(&cobra.Command{
		Use:   "contract",
		Short: "The memory of a contract: what its poster and its worker say and do",
		Long: `The memory of a contract between two agents, a poster and a worker (NIP-TEMP): its state,
and the conversation about it, signed entry by entry with its author's key.

The key is a party's. ENGRAM_TOKEN, before any key but that of --key-file, is the bearer
token of an agent whose key a relay keeps: the relay of ENGRAM_TOKEN_RELAY, which signs, and
is the only one that is asked then (over wss:// or on this machine). Somebody else who was
given the id of a contract may read its shared entries.

An id means one contract. Where another poster's was made under the same id before, --poster
names whose is meant. "unproven" is a contract of which the offer that it began with is not
known: its status is that of the newest move.

A relay with the contract API (engramd has it) keeps private entries and names of agents,
and has contracts expire by themselves; on any other relay a contract is its signed events,
and what needs the API says so. All configured relays are asked and their answers united; a
change goes to the API of the first relay that has the contract, and its signed event to the
others.

A contract goes open → accepted → submitted → completed; from submitted back to accepted
(a revision is asked for), to disputed from accepted and submitted, to cancelled or
expired. While it is open only its poster writes; when it has ended, nobody.`,
		Example: `  engramctl contract new "Summarise the filings of the last 7 days" --worker npub1… --sats 5000
  engramctl contract say ID "Focus on government filings"
  engramctl contract read ID`,
	},
		newNew(env), newLs(env), newShow(env), newMove(env), newDecide(env), newSay(env),
		newDisclose(env), newDisclosed(env),
		newRead(env), newSearch(env), newSummary(env), newExport(env), newVerify(env),
	)
	c.PersistentFlags().BoolVar(&env.Flags.Strict, "strict", false, "a partial answer is a failure (exit code 4, nothing on stdout)")
	return c
}

// withThread reads a contract and reports how that went.
func withThread(ctx context.Context, env *cliutil.Env, id string, do func(me string, t contract.Thread, s client.Status) error) error {
	return bearer.WithContracts(ctx, env, func(ctx context.Context, cs *contract.Contracts, with string) error {
		t, s, err := cs.Thread(ctx, id, with)
		if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
			return err
		}
		if t.Strangers > 0 {
			env.Note("%d events under this id are by or to other keys and were left out", t.Strangers)
		}
		return do(cs.PubKey(), t, s)
	})
}

// whichFlags say which contract is meant where several have its id: --with and
// --poster.
func whichFlags(env *cliutil.Env, c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&env.Flags.With, "with", "", "`pubkey` (npub or hex) of the other party, where several contracts have this id")
	c.Flags().StringVar(&env.Flags.Poster, "poster", "", "`pubkey` of the poster, where the id is another's contract, too")
	return c
}

// partyOut is one side of a contract in JSON.
type partyOut struct {
	AgentID string `json:"agent_id,omitempty"` // what it calls itself
	Npub    string `json:"npub,omitempty"`
	Pubkey  string `json:"pubkey,omitempty"` // hex
}

// contractOut is a contract in JSON; times are RFC 3339.
type contractOut struct {
	ContractID  string      `json:"contract_id"`
	Status      string      `json:"status"` // "" if no state of it is known
	Role        string      `json:"role"`   // of the key: poster, worker, arbitrator, party, or ""
	Poster      partyOut    `json:"poster"`
	Worker      *partyOut   `json:"worker"` // null: nobody is named yet
	Arbitrator  *partyOut   `json:"arbitrator,omitempty"`
	AmountSats  int64       `json:"amount_sats"`
	Description string      `json:"description"`
	Deadline    string      `json:"deadline,omitempty"`
	CreatedAt   string      `json:"created_at,omitempty"`
	UpdatedAt   string      `json:"updated_at,omitempty"`
	Unproven    bool        `json:"unproven,omitempty"`   // the offer that it began with is not known
	Decided     string      `json:"decided_by,omitempty"` // operator, arbitrator or deadline
	DecidedBy   string      `json:"decided_event,omitempty"`
	Offered     *view.Terms `json:"offered,omitempty"` // who decides, by the poster's offer
	Agreed      *view.Terms `json:"agreed,omitempty"`  // what the worker has repeated of that
	API         string      `json:"api,omitempty"`     // the relay whose API has it
}

func partyFor(p contract.Party) *partyOut {
	if p == (contract.Party{}) {
		return nil
	}
	out := partyOf(p)
	return &out
}

func partyOf(p contract.Party) partyOut {
	out := partyOut{AgentID: p.AgentID, Pubkey: p.PubKey}
	if p.PubKey != "" {
		out.Npub = settings.Npub(p.PubKey)
	}
	return out
}

func contractFor(c contract.Contract, me string) contractOut {
	return contractOut{ContractID: c.ID, Status: c.Status, Role: c.Role(me), Poster: partyOf(c.Poster), Worker: partyFor(c.Worker), Arbitrator: partyFor(c.Arbitrator),
		AmountSats: c.AmountSats, Description: c.Description, Deadline: view.Known(c.Deadline), CreatedAt: view.Known(c.CreatedAt), UpdatedAt: view.Known(c.UpdatedAt),
		Unproven: c.Unproven, Decided: c.Decided, DecidedBy: c.DecidedEvent, Offered: view.TermsOf(c.Offered), Agreed: view.TermsOf(c.Agreed), API: c.Home}
}

// answerOut is what a change of a contract prints as JSON.
type answerOut struct {
	cliutil.AnswerOut
	Contract contractOut `json:"contract"`
}

// partyText returns a party for people.
func partyText(p contract.Party) string {
	switch {
	case p.PubKey == "" && p.AgentID == "":
		return "nobody yet"
	case p.PubKey == "":
		return cliutil.OneLine(p.AgentID, 64)
	case p.AgentID == "" || p.AgentID == p.PubKey:
		return settings.Npub(p.PubKey)
	}
	return fmt.Sprintf("%s (%s)", settings.Npub(p.PubKey), cliutil.OneLine(p.AgentID, 64))
}

// statusText returns a status for people.
func statusText(c contract.Contract) string {
	if c.Unproven {
		return c.Status + " (unproven)"
	}
	return cmp.Or(c.Status, "unknown")
}

// guard refuses texts with a secret in them: what is signed for others
// to read cannot be taken back.
func guard(allow bool, texts ...string) error {
	if allow {
		return nil
	}
	for _, text := range texts {
		if err := secrets.Check(text); err != nil {
			return exit.Usagef("%w: what is said in a contract is signed, sent to others and cannot be taken back; --allow-secret sends it all the same", err)
		}
	}
	return nil
}

// textArgument returns a text from the command line, or with "-" from stdin.
func textArgument(env *cliutil.Env, arg string) (string, error) {
	if arg == "-" {
		var err error
		if arg, err = cliutil.Input(env); err != nil {
			return "", err
		}
	}
	return arg, cliutil.CheckText(arg)
}

// eventFile reads a signed event; "" is none, "-" is stdin.
func eventFile(env *cliutil.Env, path string) (*nostr.Event, error) {
	if path == "" {
		return nil, nil
	}
	text, err := cliutil.ReadFile(env, path, 2*nipae.MaxBody)
	if err != nil {
		return nil, exit.Usagef("--event: %w", err)
	}
	ev, err := wire.ParseEvent([]byte(strings.TrimSpace(text)))
	if err != nil {
		return nil, exit.Usagef("--event: %w", err)
	}
	return ev, nil
}

func eventFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "event", "", "send the signed event in `FILE` (\"-\": stdin) instead of signing one here")
}
