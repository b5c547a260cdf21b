package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/keys/keyfile"
)

// leave makes the database one that stands alone. The folder is no node's before
// the database forgets where it stands: between the two neither serve takes it
// for a new node, which would execute the log once more over what is there, nor
// does it stand alone. Another leave ends what one began.
func (c *clusterCommand) leave(ctx context.Context) error {
	err := keyfile.Remove(filepath.Join(c.cfg.Data, membership.File))
	none := errors.Is(err, os.ErrNotExist)
	if err != nil && !none {
		return err
	}
	path := wiring.DatabaseFile(c.cfg.Data)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if none {
			return membership.ErrNone
		}
		return nil
	}
	if none {
		if _, err := placeOf(ctx, path); err != nil {
			return errors.Join(membership.ErrNone, err)
		}
	}
	table, err := wiring.Table(c.cfg)
	if err != nil {
		return err
	}
	s, err := wiring.OpenDatabase(ctx, wiring.DatabaseOptions{Path: path, Table: table, Sequenced: true})
	if err != nil {
		return err
	}
	return errors.Join(s.LeaveSequence(ctx), s.Close())
}
