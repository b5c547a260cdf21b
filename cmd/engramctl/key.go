package main

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) keyCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "key",
		Short: "Make, show and encrypt keys",
		Long: `Make, show and encrypt keys. Secret keys lie in files that only their user can read
(mode 0600), or in ENGRAM_KEY; they are never printed, and never taken from the
command line.`,
		Example: `  engramctl key new agent.key`,
	}, a.keyNewCommand(), a.keyShowCommand(), a.keyEncryptCommand())
}

// newPassword asks for a password twice, or reads it from a file.
func (a *app) newPassword(ctx context.Context, file string) (string, error) {
	if file != "" {
		return a.passwordFrom(file)
	}
	if a.Terminal.Password == nil {
		return "", usagef("there is no terminal to ask for the new password: give --password-file")
	}
	first, err := a.Terminal.Password(ctx, "New password: ")
	if err != nil {
		return "", usageError{err}
	}
	if first == "" {
		return "", usagef("an empty password protects nothing")
	}
	second, err := a.Terminal.Password(ctx, "The same again: ")
	if err != nil {
		return "", usageError{err}
	}
	if first != second {
		return "", usagef("the two passwords differ")
	}
	return first, nil
}

// printKey shows a public key both ways.
func (a *app) printKey(pubkey string, asJSON bool) error {
	if asJSON {
		return a.printJSON(keyOut{npub(pubkey), pubkey})
	}
	return a.print("%s\n%s\n", npub(pubkey), pubkey)
}

// keyOut is a public key in JSON.
type keyOut struct {
	Npub   string `json:"npub"`
	Pubkey string `json:"pubkey"` // hex
}
