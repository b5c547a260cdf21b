// Package verify has the commands that check what relays show of a memory, and sign
// what it is: engramctl verify and attest.
package verify

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/memory/verify"
	"engramd/internal/protocol/writerlog"
)

// logOut is one writer's log, in JSON.
type logOut struct {
	Log      string `json:"log"`
	N        int64  `json:"n"`    // its last number that is known
	Root     string `json:"root"` // of the tree over the first Size numbers
	Size     int64  `json:"size"`
	Complete bool   `json:"complete"`
	Events   int64  `json:"events"` // that are there
	Void     int64  `json:"void,omitempty"`
	Newest   string `json:"newest,omitempty"`
}

// findingOut is one finding, in JSON.
type findingOut struct {
	Kind   writerlog.Kind `json:"kind"`
	Fault  bool           `json:"fault"`
	Log    string         `json:"log"`
	N      int64          `json:"n"`
	IDs    []string       `json:"ids,omitempty"`
	Slug   string         `json:"slug,omitempty"`
	Relay  string         `json:"relay,omitempty"`
	Detail string         `json:"detail"`
}

// promiseOut is what a relay promises of history, in JSON.
type promiseOut struct {
	URL      string `json:"url"`
	Heads    int    `json:"heads"`
	Past     int    `json:"past"`
	Whole    bool   `json:"whole"` // all of both
	Versions int64  `json:"promises_versions"`
	Days     int64  `json:"promises_days,omitempty"`
}

type auditAnswer struct {
	cliutil.AnswerOut
	Events     int                    `json:"events"`
	Unchained  int                    `json:"unchained"`
	Unreadable int                    `json:"unreadable,omitempty"`
	Faults     int                    `json:"faults"`
	Counts     map[writerlog.Kind]int `json:"counts"`
	Logs       []logOut               `json:"logs"`
	Findings   []findingOut           `json:"findings"`
	Showed     []promiseOut           `json:"showed"`
}

// New returns the command verify.
func New(env *cliutil.Env) *cobra.Command {
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "verify [--json]",
		Short: "Check that no memory was left out or rolled back",
		Long: `Check what the relays show of a memory: its heads, its superseded versions, and the
logs of those that write it. Each version that engramctl writes has a number in its
writer's log, the version before it, and a root over all before; this command checks
signatures, numbers and roots, and says of each number that is nowhere why:

  missing      its id is known, and a relay that took it from this machine promises to
               keep it or, where it is not known which took it, every relay: a fault
  forked       two versions have one number: a fault
  rewritten    a root is not that of the numbers before it: a fault
  rolled-back  a relay shows less than it showed this machine once: a fault
  dropped      its id is known, and there is no such promise
  unsure       its id is known, and a relay that may have it did not answer in full,
               or nobody learned that it was stored, or it may be at a relay that is
               not asked any more
  expired      its time is over, or that of what superseded it
  unlogged     nothing tells its id
  behind       a relay shows less than others (engramctl sync)
  late         it was given up, and is there

A relay promises history in the field "history" of its information document (NIP-11).
What was written by other programs, or without a state, is unchained, which is no
fault. --no-mirror forgets what relays showed before.

Exit code 6 if there is a fault; all that is said is on stdout then too.`,
		Example: `  engramctl verify
  engramctl verify --json | jq '.logs[] | {log, n, complete}'
  engramctl verify --key-file owner.key --agent npub1…`,
		Args: cliutil.Arguments(),
	}, func(ctx context.Context, _ []string) error {
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			state, done, err := auditState(ctx, env, m)
			if err != nil {
				return err
			}
			defer done()
			result, err := verify.Run(ctx, m, state, time.Now())
			status := client.Status{}
			for _, r := range result.Relays {
				status.Relays = append(status.Relays, r.RelayStatus)
				status.Partial = status.Partial || r.Err != nil && !r.Whole || !r.Complete
			}
			if err == nil {
				status = m.Besides(ctx, result.Heads, status)
			}
			if err := env.Report(status, err); err != nil {
				return err
			}
			if env.Flags.JSON {
				err = env.PrintJSON(auditOut(m, result, status))
			} else {
				err = printAudit(env, result)
			}
			if err == nil && result.Faults() > 0 {
				err = fmt.Errorf("%w: %s", exit.ErrEvidence, cliutil.Counted(result.Faults(), "fault", "faults"))
			}
			return err
		}, cliutil.Patiently)
	}))
	c.PersistentFlags().BoolVar(&env.Flags.Strict, "strict", false, "a partial answer is a failure (exit code 4, nothing on stdout)")
	return c
}

// auditState opens what this machine knows of a pair's logs, for an owner too;
// nil if nothing is kept here.
func auditState(ctx context.Context, env *cliutil.Env, m *session.Memory) (state *memorystate.State, done func(), err error) {
	s, err := env.Settings()
	if err != nil {
		return nil, nil, err
	}
	if env.Flags.NoMirror || s.NoMirror {
		return nil, func() {}, nil
	}
	soon, cancel := context.WithTimeout(ctx, env.Allow(session.OpenBudget))
	defer cancel()
	if state, err = m.Session().OpenState(soon, env.NoteLine); err != nil {
		env.Note("what relays showed before is not known: %v", err)
		return nil, func() {}, nil
	}
	return state, func() { _ = state.Close() }, nil
}

func auditOut(m *session.Memory, r verify.Result, status client.Status) auditAnswer {
	out := auditAnswer{AnswerOut: cliutil.AnswerOf(m, status), Events: r.Events, Unchained: r.Unchained, Unreadable: r.Unreadable,
		Faults: r.Faults(), Counts: r.Counts, Logs: []logOut{}, Findings: []findingOut{}, Showed: []promiseOut{}}
	for _, s := range r.Logs {
		out.Logs = append(out.Logs, logOutOf(s))
	}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, findingOut{f.Kind, f.Kind.Fault(), f.W, f.N, f.IDs, f.Slug, f.Relay, f.Detail})
	}
	for _, s := range r.Relays {
		one := promiseOut{URL: settings.ShownURL(s.URL), Heads: s.Heads, Past: s.Past, Whole: s.Whole && s.Kept}
		if s.Promise != nil {
			one.Versions, one.Days = s.Promise.Versions, s.Promise.Days
		}
		out.Showed = append(out.Showed, one)
	}
	return out
}

func logOutOf(s writerlog.State) logOut {
	out := logOut{Log: s.W, N: s.N, Root: hex.EncodeToString(s.Root[:]), Size: s.Size, Complete: s.Complete(), Events: s.Events, Void: s.Void}
	if s.Events > 0 {
		out.Newest = cliutil.Stamp(s.At)
	}
	return out
}

// printAudit prints a result for people: the logs, then what there is to say,
// faults first.
func printAudit(env *cliutil.Env, r verify.Result) error {
	var b strings.Builder
	for _, s := range r.Logs {
		b.WriteString(logLine(s) + "\n")
	}
	if r.Unchained > 0 {
		fmt.Fprintf(&b, "%s in no log\n", cliutil.Counted(r.Unchained, "version is", "versions are"))
	}
	if r.Unreadable > 0 {
		fmt.Fprintf(&b, "%s cannot be read\n", cliutil.Counted(r.Unreadable, "event", "events"))
	}
	said := map[writerlog.Kind]int{}
	for _, fault := range []bool{true, false} {
		for _, f := range r.Findings {
			if f.Kind.Fault() != fault {
				continue
			}
			if said[f.Kind]++; said[f.Kind] <= maxShownFindings {
				b.WriteString(findingLine(f) + "\n")
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(r.Counts)) {
		if said[kind] > maxShownFindings {
			fmt.Fprintf(&b, "%s: %d more (--json)\n", kind, r.Counts[kind]-maxShownFindings)
		}
	}
	if r.Faults() == 0 {
		fmt.Fprintf(&b, "no fault in %s\n", cliutil.Counted(r.Events, "version", "versions"))
	}
	return env.Print("%s", b.String())
}

// maxShownFindings is how many findings of one kind are printed.
const maxShownFindings = 10

// logLine says of a log how far it is complete.
func logLine(s writerlog.State) string {
	line := fmt.Sprintf("writer %s: n=%d, ", s.W, s.N)
	switch {
	case s.Complete():
		line += fmt.Sprintf("complete, root %x", s.Root[:8])
	case s.Size > 0:
		line += fmt.Sprintf("every id known to n=%d", s.Size-1)
	default:
		line += "its beginning is not known"
	}
	line += fmt.Sprintf("; %s kept", cliutil.Counted(int(s.Events), "version", "versions"))
	if s.Events > 0 {
		line += ", the newest of " + cliutil.Stamp(s.At)
	}
	return line
}

func findingLine(f writerlog.Finding) string {
	line := fmt.Sprintf("%s: writer %s n=%d", f.Kind, f.W, f.N)
	if f.Kind.Fault() {
		line = "FAULT " + line
	}
	if f.Slug != "" {
		line += " " + cliutil.Harmless(f.Slug)
	}
	for _, id := range f.IDs {
		line += " " + id[:min(len(id), cliutil.ShortID)]
	}
	if f.Relay != "" {
		line += " at " + settings.ShownURL(f.Relay)
	}
	if f.Detail != "" {
		line += ": " + f.Detail
	}
	return line
}
