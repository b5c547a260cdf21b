package command

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"engramd/internal/relay/contracts/identity"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/store/sqlite"
)

// masterKeyCommand is `engramd master-key rotate`.
type masterKeyCommand struct{ base }

const masterKeyUsage = `
It has this command:
  rotate
        make a new master key and seal the private entries and kept keys of contract memory anew with it, through the
        running relay if there is one. Writes wait meanwhile. Backups made before need the former key, which is kept beside
        the new one
`

func (c *masterKeyCommand) flags(*flag.FlagSet) int { return 1 }

func (c *masterKeyCommand) check() error {
	if len(c.operands) == 0 {
		return errors.New("what about it? engramd master-key rotate changes it")
	}
	if c.operands[0] != "rotate" {
		return fmt.Errorf("unexpected argument %q: the command is rotate", c.operands[0])
	}
	return nil
}

// Run changes the key, by the running daemon or here.
func (c *masterKeyCommand) Run(ctx context.Context) error {
	wiring.Private()
	var done vault.Rotated
	err := order(ctx, c.cfg, orders.RotateMaster, nil, &done, nil, func(s *sqlite.Store) (err error) {
		known, err := s.RelayKeys(ctx)
		if err != nil {
			return err
		}
		o, err := wiring.VaultOptions(ctx, c.cfg, c.Env, s)
		if err != nil {
			return err
		}
		if o.Known == nil || len(known) == 0 {
			return errors.New("the database knows no master key, or none of today's: start engramd serve once, which sees to its keys")
		}
		v, err := vault.Open(o)
		if err != nil {
			return err
		}
		done, err = v.Rotate(ctx, identity.Register{Sealed: s})
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "%d private entries and kept keys are sealed with a new master key, in %s\nthe former key is in %s: backups made before need it; remove it when they are gone\n", done.Sealed, done.Place, done.Former)
	return err
}
