// Package admin manages a relay (NIP-86): engramctl admin.
package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
)

// New returns engramctl admin.
func New(env *cliutil.Env) *cobra.Command {
	subs := []*cobra.Command{}
	for _, m := range adminMethods() {
		subs = append(subs, methodCommand(env, m))
	}
	return cliutil.Group(&cobra.Command{
		Use:   "admin",
		Short: "Manage a relay over the network (NIP-86)",
		Long: `Manage a relay over the network (NIP-86): who may not write, which events are banned,
what the relay calls itself, its snapshots. Each method of the API is a command of the same
name; a relay says which it has (supportedmethods). docs/management.md says what each does.

The key is a managing one: with engramd, one of admin.keys. The relay is exactly one,
named as everywhere (--relay, ENGRAM_RELAYS or a profile). A call is signed for this relay,
with what it asks for, and counts once.

PUBKEY is npub, nprofile or 64 hex digits, EVENT is note, nevent or 64 hex digits. What is
entered here is kept for good: texts that seem to hold a secret are refused.

Exit code 3 if the key does not manage the relay, or the relay's own configuration says
otherwise; 2 for what the relay calls wrong, and where a relay has no management API.`,
		Example: `  engramctl admin banpubkey npub1… "spam" --key-file op.key --relay wss://relay.example
  engramctl admin listbannedpubkeys --json | jq -r '.result[].pubkey'`,
	}, append(subs, callCommand(env))...)
}

// methodCommand returns the command of one method.
func methodCommand(env *cliutil.Env, m adminMethod) *cobra.Command {
	var c *cobra.Command
	c = env.Command(&cobra.Command{
		Use:     m.use(),
		Short:   m.short,
		Long:    m.long,
		Example: "  engramctl admin " + m.example,
	}, func(ctx context.Context, args []string) error {
		params, err := m.params(env, c.Flags(), args)
		if err != nil {
			return err
		}
		return manage(ctx, env, m.name, params)
	})
	for _, name := range m.flags {
		f := adminFlags[name]
		if f.value == "" {
			c.Flags().Bool(name, false, f.help)
			continue
		}
		c.Flags().String(name, f.or, f.help)
		if words := strings.Split(strings.TrimSpace(f.value), "|"); len(words) > 1 {
			_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // cannot fail: the flag exists
		}
	}
	return c
}

func callCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "call METHOD [PARAM…] [--json]",
		Short: "Call any method, with parameters in JSON",
		Long: `Call any method of a relay's management API, also one that has no command here. Each
PARAM is JSON; one that is not is taken as a text.`,
		Example: `  engramctl admin call allowkind 30023
  engramctl admin call listeventsneedingmoderation`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("METHOD is missing")
			}
			return nil
		},
	}, func(ctx context.Context, args []string) error {
		params := []any{}
		for _, text := range args[1:] {
			if json.Valid([]byte(text)) {
				params = append(params, json.RawMessage(text))
			} else {
				params = append(params, text)
			}
		}
		if err := cliutil.GuardManaged(args...); err != nil {
			return err
		}
		return manage(ctx, env, args[0], params)
	})
}

// managedOut is a result in JSON.
type managedOut struct {
	Relay  string          `json:"relay"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
}

// manage makes a call and prints its result.
func manage(ctx context.Context, env *cliutil.Env, method string, params []any) error {
	c, s, err := env.Client(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if len(s.Relays) != 1 {
		return exit.Usagef("management is of one relay, and %d are configured: name it with --relay", len(s.Relays))
	}
	ctx, done := env.Bounded(ctx)
	defer done()
	result, err := c.Manage(ctx, method, params...)
	if err != nil {
		return err
	}
	if env.Flags.JSON {
		return env.PrintJSON(managedOut{c.Relays()[0], method, result})
	}
	text, err := managedText(result)
	if err != nil {
		return fmt.Errorf("%w: its result is not JSON", client.ErrMisbehaved)
	}
	return env.Print("%s", text)
}

// adminArg is one argument of a method: how it is called, and what it is as a
// parameter.
type adminArg struct {
	name string
	read func(env *cliutil.Env, name, text string) (any, error)
}

// member returns what an object calls it.
func (arg adminArg) member() string { return strings.ToLower(arg.name) }

var (
	pubkeyArg  = adminArg{"PUBKEY", readPubkey}
	agentArg   = adminArg{"AGENT", readPubkey}
	eventArg   = adminArg{"EVENT", readEvent}
	kindArg    = adminArg{"KIND", readKind}
	networkArg = adminArg{"ADDRESS", readText}
	idArg      = adminArg{"ID", readText}
	textArg    = adminArg{"TEXT", readText}
	reasonArg  = adminArg{"REASON", readText}
)

func readPubkey(_ *cliutil.Env, name, text string) (any, error) {
	key, err := settings.PublicKey(name, "the command line", text)
	if err == nil && key == "" {
		err = exit.Usagef("%s is empty", name)
	}
	return key, err
}

func readEvent(_ *cliutil.Env, name, text string) (any, error) {
	return cliutil.EventID(name, text)
}

func readKind(_ *cliutil.Env, name, text string) (any, error) {
	kind, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, exit.Usagef("%s: want a number from 0 to 65535", name)
	}
	return kind, nil
}

// readText takes a text as it is, or with "-" from stdin; the relay says what
// may be in it.
func readText(env *cliutil.Env, _, text string) (any, error) {
	if text == "-" {
		var err error
		if text, err = cliutil.Input(env); err != nil {
			return nil, err
		}
		text = strings.TrimSuffix(text, "\n")
	}
	return text, cliutil.GuardManaged(text)
}
