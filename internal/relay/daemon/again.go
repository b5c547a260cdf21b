package daemon

import (
	"context"
	"errors"
	"fmt"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/wiring"
)

// struck reports whether the node has ended because it is no member any more. Where
// the log was trimmed beyond it, which waits for every member, it does not read that.
func (m *member) struck(err error) bool {
	if node := m.node.Load(); node != nil {
		err = errors.Join(err, node.Err())
	}
	return errors.Is(err, cluster.ErrStruck) || errors.Is(err, cluster.ErrTrimmed)
}

// again has a node that was struck out join again, if nothing is lost by that: what it
// has executed, members that run have read.
func again(ctx context.Context, c *common, cfg *config.Config) (err error) {
	lock, err := takeFolder(cfg.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	id, err := membership.Read(cfg.Data)
	if err != nil {
		return err
	}
	was, err := membership.PlaceOf(ctx, wiring.Database(cfg.Data))
	if err != nil {
		return err
	}
	conn, err := jetstream.Open(ctx, membership.LogOptions(cfg))
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Check(ctx); err != nil {
		return err
	}
	hashes, size, err := conn.Hashes(ctx, was.At.Number)
	if err != nil {
		return err
	}
	now := c.member.machine()
	if err := cluster.Again(was, hashes, id.Again, now, clusterFaults(c.env)); err != nil {
		return err
	}
	if free := freeBytes(cfg.Data); free < size {
		return fmt.Errorf("%d bytes are free, and another node's database has %d: make room, and start it again", free, size)
	}
	join := membership.Joining{
		Conn: conn, Dir: cfg.Data, Command: membership.Serving, Again: now, Aside: membership.Aside(),
		Fits: func(p cluster.Place) error {
			if p.Cluster != id.Cluster || p.At.Number < was.At.Number {
				return errors.New("the database that another node gives does not continue this one")
			}
			return nil
		},
	}
	if _, _, err := join.Join(ctx); err != nil {
		return err
	}
	c.log.Warn("this node was struck out, and has joined again: what it had is kept", "folder", join.Aside, "up_to", was.At.Number)
	return nil
}
