package admin

import (
	"strconv"
	"strings"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
)

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
