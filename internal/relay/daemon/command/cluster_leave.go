package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/config"
	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/keys/keyfile"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// leave makes the database one that stands alone. The folder is no node's before
// the database forgets where it stands: between the two neither serve takes it
// for a new node, which would execute the log once more over what is there, nor
// does it stand alone. Another leave ends what one began.
func (c *clusterCommand) leave(ctx context.Context) error {
	if id, err := membership.Read(c.cfg.Data); err == nil && id.Boot > 0 {
		if err := c.goodbye(ctx); err != nil {
			fmt.Fprintf(c.Stderr, "the other nodes do not know of it (%v): they count this node for half an hour, or until engramd cluster remove %s there\n", err, membership.Name(c.cfg))
		}
	}
	return c.standAlone(ctx)
}

// standAlone is leave without a word to the others.
func (c *clusterCommand) standAlone(ctx context.Context) error {
	if err := os.Remove(filepath.Join(c.cfg.Data, membership.PastFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err // its numbers mean something else in another log
	}
	err := keyfile.Remove(filepath.Join(c.cfg.Data, membership.File))
	none := errors.Is(err, os.ErrNotExist)
	if err != nil && !none {
		return err
	}
	path := engine.File(c.cfg.Data)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if none {
			return membership.ErrNone
		}
		return nil
	}
	if none {
		if _, err := membership.PlaceOf(ctx, wiring.Database(c.cfg.Data)); err != nil {
			return errors.Join(membership.ErrNone, err)
		}
	}
	table, err := wiring.Table(c.cfg)
	if err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, sqlite.Options{Options: wiring.Database(c.cfg.Data), Table: table, Sequenced: true})
	if err != nil {
		return err
	}
	return errors.Join(s.LeaveSequence(ctx), s.Close())
}

// tellTime is how long leave tries to tell the others: the log may be what is lost.
const tellTime = 10 * time.Second

// goodbye says in the log that this node takes no part any more.
func (c *clusterCommand) goodbye(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tellTime)
	defer cancel()
	place, err := membership.PlaceOf(ctx, wiring.Database(c.cfg.Data))
	if err != nil {
		return err
	}
	if place.Version < 2 {
		return fmt.Errorf("the cluster is at version %d; leaving is known from version 2", place.Version)
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if whose, _, err := conn.Whose(ctx); err != nil || whose != place.Cluster {
		return cmp.Or(err, errors.New("the log is another cluster's"))
	}
	id, err := membership.NextBoot(c.cfg.Data)
	if err != nil {
		return err
	}
	return membership.Say(ctx, conn, id, cluster.Join{Name: membership.Name(c.cfg), Version: membership.Version}, cluster.Remove{Node: id.Node})
}

// tell has a running node give the command.
func (c *clusterCommand) tell(ctx context.Context) error {
	name, args := orders.Raise, any(orders.ClusterArgs{Number: c.number})
	switch c.verb {
	case "configure":
		name, args = orders.Configure, orders.ClusterArgs{Text: config.SharedText(c.cfg)}
	case "remove":
		name, args = orders.Remove, orders.RemoveArgs{Node: c.operands[0], Live: c.yes}
	}
	lock, err := engine.Lock(c.cfg.Data)
	if errors.Is(err, engine.ErrLocked) {
		_, err = control.Ask(ctx, c.cfg.Data, name, args, nil)
		return err
	}
	if err != nil {
		return err
	}
	return errors.Join(errors.New("no relay runs with this data folder; start engramd serve --cluster"), lock.Unlock())
}

// void tells the log what is to be skipped: the command before which this node
// stands, that is, the next one. A node that runs has executed it.
func (c *clusterCommand) void(ctx context.Context) error {
	if _, err := membership.Read(c.cfg.Data); err != nil {
		return err
	}
	place, err := membership.PlaceOf(ctx, wiring.Database(c.cfg.Data))
	if err != nil {
		return err
	}
	next := place.At.Number < c.number
	if place.At.Number == c.number && !place.Whole {
		next = c.index > place.At.Index
	}
	if !next {
		return fmt.Errorf("void: this node has executed the log up to message %d, command %d", place.At.Number, place.At.Index)
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, last, err := conn.Bounds(ctx); err != nil {
		return err
	} else if c.number > last {
		return fmt.Errorf("void: the log ends at message %d", last)
	}
	id, err := membership.NextBoot(c.cfg.Data)
	if err != nil {
		return err
	}
	return membership.Say(ctx, conn, id, cluster.Join{Name: membership.Name(c.cfg), Version: membership.Version}, cluster.Void{Number: c.number, Index: c.index})
}
