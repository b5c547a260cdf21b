package verify

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"
	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/memory/snapshots"
	"engramd/internal/memory/verify/attestation"
	"engramd/internal/protocol/writerlog"
	"engramd/internal/snapshot"
	"engramd/nips/nipae"
)

// attestVerifyOut is `attest verify --json`.
type attestVerifyOut struct {
	ID         string `json:"id"`
	Agent      string `json:"agent"`
	Time       string `json:"time"`
	Writer     string `json:"writer"`
	N          int64  `json:"n"`
	Root       string `json:"root"`
	HeadsRoot  string `json:"heads_root"`
	Signature  string `json:"signature"`
	Consistent string `json:"consistent"` // "ok", "failed" or "not checked"
	Reason     string `json:"reason,omitempty"`
	// The log as it is known today.
	From    string `json:"from"` // "state" or "relays"
	NowN    int64  `json:"now_n"`
	NowRoot string `json:"now_root"`
}

func newVerify(env *cliutil.Env) *cobra.Command {
	c := env.Command(&cobra.Command{
		Use:   "verify EVENT [--json]",
		Short: "Verify what an agent signed of its memory",
		Long: `Verify what an agent signed of its memory by engramctl attest: the signature, that it
says what an attestation says and nothing else, and that the log of today begins with
the numbers that were attested: by a proof of consistency (RFC 6962) over the log in
this machine's state or, where another machine writes that log and for an owner, over
what the relays show of it.

EVENT is a file, "-" for stdin, or what the relays are asked for: note1…, nevent1…,
naddr1… or 64 hex digits. The root over the heads is shown, not checked: it is that of a
snapshot made then (engramctl snapshot verify).

Exit code 6 unless all of it is so: also where too little of the log is known to tell;
4 if that is because some relay did not answer.`,
		Example: `  engramctl attest verify attestation.json
  engramctl attest verify naddr1… --agent npub1… --key-file owner.key`,
	}, func(ctx context.Context, args []string) error { return runVerify(ctx, env, args[0]) })
	return c
}

func runVerify(ctx context.Context, env *cliutil.Env, name string) error {
	filter, fetched, err := attestedAt(name)
	if err != nil {
		return err
	}
	opened, err := env.Session(ctx, cliutil.Patiently)
	if err != nil {
		return err
	}
	defer opened.Close()
	c, m := opened.Client, opened.Memory
	var made attestation.Attestation
	if fetched {
		made, err = fetchAttestation(ctx, env, c, m, filter)
	} else {
		made, err = readAttestation(env, name)
	}
	if err != nil {
		return err
	}
	if made.Agent != m.Agent() {
		return fmt.Errorf("%w: %s, and the memory is that of %s", attestation.ErrForeign, settings.Npub(made.Agent), settings.Npub(m.Agent()))
	}
	out := attestVerifyOut{ID: made.ID, Agent: settings.Npub(made.Agent), Time: cliutil.Stamp(made.At), Writer: made.W, N: made.N, Root: hex.EncodeToString(made.Root[:]),
		HeadsRoot: hex.EncodeToString(made.Heads[:]), Signature: "ok", Consistent: "ok", From: "state"}
	log, whole := ownLog(ctx, env, m, made.W), true
	if short := log.Own && int64(len(log.IDs)) < made.N; !log.Own || short { // a state that was restored has less than relays
		shown, all, err := relaysLog(ctx, env, c, m, made.W)
		if err != nil {
			return err
		}
		if !short || !all || int64(len(shown.IDs)) >= made.N {
			out.From, log, whole = "relays", shown, all
		}
	}
	out.NowN = int64(len(log.IDs))
	out.NowRoot, err = attestation.Check(made, log)
	if errors.Is(err, attestation.ErrUnknown) {
		if out.Consistent = "not checked"; !whole {
			err = fmt.Errorf("%w in full, and so %v", client.ErrPartial, err)
		}
	} else if err != nil {
		out.Consistent = "failed"
	}
	out.Reason = cliutil.ErrorText(err)
	if env.Flags.JSON {
		return cliutil.FirstOf(env.PrintJSON(out), err)
	}
	return cliutil.FirstOf(env.Print("%s", out.text()), err)
}

func (o attestVerifyOut) text() string {
	by := "the log in this machine's state"
	if o.From == "relays" {
		by = "what the relays show of the log"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "attestation  %s by %s\nwriter       %s n %d root %s\nheads root   %s: not checked; a snapshot made then has it\n", o.Time, o.Agent, o.Writer, o.N, o.Root, o.HeadsRoot)
	fmt.Fprintf(&b, "signature    %s\nconsistent   %s", o.Signature, o.Consistent)
	if o.Consistent == "ok" {
		fmt.Fprintf(&b, ": by %s, which has now n %d root %s, and begins with what was attested", by, o.NowN, o.NowRoot)
	} else {
		fmt.Fprintf(&b, ": by %s: %s", by, o.Reason)
	}
	b.WriteString("\n")
	return b.String()
}

// attestedAt is what the relays are asked for, if a name is not that of a file.
func attestedAt(name string) (nostr.Filter, bool, error) {
	lower := strings.TrimPrefix(strings.ToLower(name), "nostr:")
	if strings.HasPrefix(lower, "naddr1") {
		_, value, err := nip19.Decode(lower)
		at, ok := value.(nostr.EntityPointer)
		if err != nil || !ok || at.Kind != attestation.Kind || !nostr.IsValid32ByteHex(at.PublicKey) {
			return nostr.Filter{}, false, exit.Usagef("this naddr is damaged, or no attestation's")
		}
		return nostr.Filter{Kinds: []int{at.Kind}, Authors: []string{at.PublicKey}, Tags: nostr.TagMap{"d": {at.Identifier}}}, true, nil
	}
	raw, err := hex.DecodeString(lower)
	if strings.HasPrefix(lower, "note1") || strings.HasPrefix(lower, "nevent1") || err == nil && len(raw) == 32 {
		id, err := cliutil.EventID("EVENT", name)
		if err != nil {
			return nostr.Filter{}, false, err
		}
		return nostr.Filter{IDs: []string{id}}, true, nil
	}
	return nostr.Filter{}, false, nil
}

// fetchAttestation asks the relays for one; the newest of its address.
func fetchAttestation(ctx context.Context, env *cliutil.Env, c *client.Client, m *session.Memory, filter nostr.Filter) (made attestation.Attestation, err error) {
	if err := m.Session().Discover(ctx); err != nil {
		return made, err
	}
	found, err := c.Ask(ctx, filter)
	if err := env.Report(client.Status{Relays: found.Relays}, err); err != nil {
		return made, err
	}
	switch {
	case len(found.Events) > 0:
		return attestation.Of(found.Events[0])
	case found.Partial():
		return made, fmt.Errorf("%w: whether there is such an event is not known", client.ErrPartial)
	}
	return made, fmt.Errorf("the event: %w", client.ErrNotFound)
}

// readAttestation reads one from a file, or from stdin.
func readAttestation(env *cliutil.Env, name string) (made attestation.Attestation, err error) {
	from := env.Stdin
	if name != "-" {
		file, err := os.Open(env.Path(name))
		if err != nil {
			return made, exit.BadUsage(err)
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, attestation.MaxBytes+1))
	if err != nil {
		return made, exit.BadUsage(err)
	}
	return attestation.Parse(text)
}

// ownLog is a log as this machine has written it; not Own where it has not.
func ownLog(ctx context.Context, env *cliutil.Env, m *session.Memory, w string) attestation.Log {
	none := attestation.Log{Fork: -1}
	state := m.Session().StateIfKept(ctx, env.NoteLine)
	if state == nil {
		return none
	}
	defer state.Close()
	log := attestation.Log{Fork: -1}
	for {
		ids, err := state.Links.IDs(ctx, w, int64(len(log.IDs)), writerlog.UnitSize)
		if err != nil {
			env.Note("what this machine has written is not known: %v", err)
			return none
		}
		if log.IDs = append(log.IDs, ids...); len(ids) < writerlog.UnitSize {
			log.Own = len(log.IDs) > 0
			return log
		}
	}
}

// relaysLog is a log as the relays show it, and whether all answered in full.
func relaysLog(ctx context.Context, env *cliutil.Env, c *client.Client, m *session.Memory, w string) (log attestation.Log, whole bool, err error) {
	if err := m.Session().Discover(ctx); err != nil {
		return log, false, err
	}
	captured, err := snapshots.Take(ctx, c, snapshots.Wanted{Agent: m.Agent()}, time.Now)
	if err := env.Report(captured.Status, err); err != nil {
		return log, false, err
	}
	keys := func(agent, owner string) (nipae.ConversationKey, bool) {
		return nipae.ConversationKey(m.Conversation()), agent == m.Agent() && owner == m.Owner()
	}
	logs, err := snapshot.ReadLogs(ctx, captured, m.Agent(), keys, "")
	if err != nil {
		return log, false, err
	}
	in := logs.Evidence()
	return attestation.Known(w, in.Events, in.Units), !captured.Status.Partial, nil
}
